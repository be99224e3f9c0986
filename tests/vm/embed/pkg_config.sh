#!/bin/sh
# pkg_config.sh DIR SOURCE OUT: a C host built with what pkg-config says of the package in DIR, and run.
set -eu
export PKG_CONFIG_PATH="$1"
cc -std=c99 -Wall -Wextra -pedantic -Werror -o "$3" $(pkg-config --cflags tfvm) "$2" $(pkg-config --libs tfvm)
exec "$3"
