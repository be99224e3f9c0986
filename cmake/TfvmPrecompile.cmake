# Headers of the standard library, fmt and GoogleTest, parsed once for each set of flags: a quarter of a build from
# nothing. Never headers of the project, so that a change of one compiles only what includes it. The debug preset
# builds without them, and so finds includes that are missing.

option(TFVM_PRECOMPILE "Precompile headers of the standard library and of GoogleTest" ON)

set(TFVM_PRECOMPILED
  <algorithm> <array> <bit> <cmath> <cstdint> <cstdio> <cstring> <functional> <limits> <map> <memory> <mutex> <optional>
  <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)
set(TFVM_PRECOMPILED_TEST ${TFVM_PRECOMPILED} <random> <gtest/gtest.h>)

# tfvm_precompile(target NAME OPTIONS … HEADERS … DEPS …)
# The target shares the precompiled headers called NAME, whose options and macros must be its own: GCC refuses others.
function(tfvm_precompile target)
  cmake_parse_arguments(ARG "" "NAME" "OPTIONS;HEADERS;DEPS" ${ARGN})
  if(NOT TFVM_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET ${ARG_NAME})
    set(empty "${CMAKE_BINARY_DIR}/${ARG_NAME}.cpp")
    file(CONFIGURE OUTPUT "${empty}" CONTENT "")
    add_library(${ARG_NAME} OBJECT "${empty}")
    target_link_libraries(${ARG_NAME} PRIVATE tfvm_options fmt::fmt ${ARG_DEPS})
    target_compile_options(${ARG_NAME} PRIVATE ${ARG_OPTIONS})
    target_precompile_headers(${ARG_NAME} PRIVATE ${ARG_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${ARG_NAME})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
  endif()
endfunction()
