# One function per kind of target. Sources are always named, never globbed.
include(TfvmPrecompile)

# GCC sees optionals uninitialised at these levels, and, where headers are precompiled, what it leaves out of system
# headers otherwise. Tests are compiled more often than run.
set(TFVM_SMALL "$<$<CONFIG:Release>:-Oz;-Wno-maybe-uninitialized>")
set(TFVM_TEST "$<$<CONFIG:Release>:-O1;-Wno-maybe-uninitialized>" -Wno-array-bounds -Wno-stringop-overflow)

# tfvm_small(target): for size.
function(tfvm_small target)
  target_compile_options(${target} PRIVATE ${TFVM_SMALL})
  tfvm_precompile(${target} NAME tfvm_precompiled_small OPTIONS ${TFVM_SMALL} HEADERS ${TFVM_PRECOMPILED})
endfunction()

# tfvm_library(name SMALL SOURCES a.cpp … DEPS tfvm_x fmt::fmt …)
# A static library; one without sources (headers only) is an interface library. SMALL: for size, which halves the code,
# but for sources named by the functions below.
function(tfvm_library name)
  cmake_parse_arguments(ARG "SMALL" "" "SOURCES;DEPS" ${ARGN})
  foreach(dep IN LISTS ARG_DEPS)
    if(NOT dep MATCHES "^tfvm_")
      set_property(GLOBAL APPEND PROPERTY TFVM_EXTERNALS ${dep})
    endif()
  endforeach()
  if(ARG_SOURCES)
    set_property(GLOBAL APPEND PROPERTY TFVM_LIBRARIES ${name})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC tfvm_options ${ARG_DEPS})
    if(ARG_SMALL)
      tfvm_small(${name})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tfvm_options ${ARG_DEPS})
  endif()
endfunction()

# tfvm_tool(name STATIC SOURCES main.cpp … DEPS …): an executable in <build>/bin. STATIC: without shared libraries, where
# that can be done (TfvmStatic).
function(tfvm_tool name)
  cmake_parse_arguments(ARG "STATIC" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tfvm_options ${ARG_DEPS})
  if(ARG_STATIC AND TFVM_CAN_BE_STATIC)
    set_target_properties(${name} PROPERTIES TFVM_STATIC ON)
    target_link_options(${name} PRIVATE -static-pie)
  endif()
endfunction()

# tfvm_test(name SOURCES a.test.cpp … DEPS …): a GoogleTest executable whose cases are found by ctest.
function(tfvm_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  tfvm_tool(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} tfvm_test_paths fmt::fmt GTest::gtest GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${TFVM_TEST})
  tfvm_precompile(${name} NAME tfvm_precompiled_test OPTIONS ${TFVM_TEST} HEADERS ${TFVM_PRECOMPILED_TEST}
    DEPS GTest::gtest)
  gtest_discover_tests(${name} TEST_PREFIX "${name}/" DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()

# tfvm_bench(name SOURCES a.cpp … DEPS …): a Google Benchmark executable in <build>/bin.
function(tfvm_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  tfvm_tool(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} benchmark::benchmark benchmark::benchmark_main)
  add_dependencies(benches ${name})
endfunction()

# tfvm_link_test(target): a test that links every object of that layer with only what the layer depends on, so that a
# layer which needs a symbol from above fails. It links when the test runs, not in the build: a hole is one red test.
function(tfvm_link_test target)
  get_target_property(type ${target} TYPE)
  set(library ${target})
  if(type STREQUAL "STATIC_LIBRARY")
    set(library "$<LINK_LIBRARY:WHOLE_ARCHIVE,${target}>")
  endif()
  tfvm_tool(link_${target} SOURCES main.cpp DEPS ${library})
  set_target_properties(link_${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_test(NAME link/${target}
    COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target link_${target})
  set_tests_properties(link/${target} PROPERTIES RESOURCE_LOCK ninja)
endfunction()

# tfvm_fast(file …): -O2 for sources of a SMALL library that calls come through.
function(tfvm_fast)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# tfvm_lean(file …): -O2 that inlines little, two thirds of the code of -O2 at nearly its speed, for sources of a SMALL
# library that calls come through but don't stay in.
function(tfvm_lean)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_OPTIONS "-O2;--param=max-inline-insns-single=12;-fno-align-functions;-fno-align-loops;-fno-align-jumps;-freorder-blocks-algorithm=simple"
      SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# tfvm_prepares(file …): the same for what makes code. An interpreter alone has little to make, and is chosen for its size.
function(tfvm_prepares)
  if(TFVM_JIT)
    tfvm_lean(${ARGN})
  endif()
endfunction()

# tfvm_vectorise(file …): -O2 with vectors, for sources of many loops that are run over blocks: -O3 doubles their code.
function(tfvm_vectorise)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_OPTIONS "-O2;-ftree-vectorize;-fvect-cost-model=dynamic" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# tfvm_optimise(file …): -O3 for sources that are inner loops.
function(tfvm_optimise)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
