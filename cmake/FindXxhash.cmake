# Debian's libxxhash-dev brings pkg-config, no CMake package: target xxhash::xxhash.
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
add_library(xxhash::xxhash ALIAS PkgConfig::XXHASH)
