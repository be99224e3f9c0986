# Tools without shared libraries, where the system has what that takes: to find, map and relocate five of them takes a
# process a millisecond, a third of what a first result from the cache may take. Hosts link libtfvm.a as they like.
include(CheckCXXSourceCompiles)

option(TFVM_STATIC "Link tools statically, where that can be done" ON)

find_library(TFVM_XXHASH_ARCHIVE NAMES libxxhash.a)
mark_as_advanced(TFVM_XXHASH_ARCHIVE)
if(TFVM_STATIC AND TFVM_XXHASH_ARCHIVE AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TFVM_SANITIZE)
  get_target_property(CMAKE_REQUIRED_INCLUDES fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
  set(CMAKE_REQUIRED_LIBRARIES "${TFVM_XXHASH_ARCHIVE}")
  check_cxx_source_compiles("
    #include \"${CMAKE_SOURCE_DIR}/cmake/fmt.cpp\"
    #include <xxhash.h>
    int main(int argc, char** argv) { fmt::vprint(argv[0], fmt::make_format_args(argc)); return XXH32(argv[0], 1, 0) != 0; }"
    TFVM_CAN_BE_STATIC)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()

# tfvm_static(): behind all layers. What a target with TFVM_STATIC links in the place of shared libraries.
function(tfvm_static)
  if(NOT TFVM_CAN_BE_STATIC)
    return()
  endif()
  add_library(tfvm_fmt STATIC "${CMAKE_SOURCE_DIR}/cmake/fmt.cpp")
  target_include_directories(tfvm_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(tfvm_fmt PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)  # as headers are precompiled
  set(static "$<BOOL:$<TARGET_PROPERTY:TFVM_STATIC>>")
  get_target_property(libraries tfvm_bytecode INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM libraries REPLACE "^fmt::fmt$" "$<${static}:tfvm_fmt>;$<$<NOT:${static}>:fmt::fmt>")
  list(TRANSFORM libraries REPLACE "^xxhash::xxhash$" "$<${static}:${TFVM_XXHASH_ARCHIVE}>;$<$<NOT:${static}>:xxhash::xxhash>")
  set_target_properties(tfvm_bytecode PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
endfunction()
