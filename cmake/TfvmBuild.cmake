# Language level, code generation, warnings, sanitizers, compiler cache: what every target shares.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -ffunction-sections")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")

set(TFVM_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address or undefined")

add_library(tfvm_options INTERFACE)
target_include_directories(tfvm_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(tfvm_options INTERFACE
  -march=x86-64-v3
  -ffp-contract=off   # a*b+c is two roundings everywhere, so tiers agree bit for bit
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
  $<$<CXX_COMPILER_ID:GNU>:-Werror>   # clang, for the fuzzers, has other warnings
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
if(TFVM_JIT)
  target_compile_definitions(tfvm_options INTERFACE ASMJIT_STATIC)  # as asmjit's package says, in all: precompiled headers are shared
endif()
if(TFVM_SANITIZE)
  target_compile_options(tfvm_options INTERFACE
    "-fsanitize=${TFVM_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)  # GCC 12 sees <regex> uninitialised under sanitizers
  target_link_options(tfvm_options INTERFACE "-fsanitize=${TFVM_SANITIZE}")
endif()

# Checkouts of the same repository share the cache: paths are hashed relative to the root.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE_PROGRAM}")
endif()
