# The installed package: one archive, libtfvm.a, of all layers; the headers of the C API; find_package(tfvm CONFIG) and
# pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# How a host links what a layer links: dependency for CMake, then the linker's name for pkg-config.
set(TFVM_LINK_fmt::fmt fmt fmt::fmt -lfmt)
set(TFVM_LINK_Threads::Threads Threads Threads::Threads -pthread)
set(TFVM_LINK_xxhash::xxhash "" xxhash -lxxhash)
set(TFVM_LINK_asmjit::asmjit asmjit asmjit::asmjit -lasmjit)

# tfvm_install(): after all layers are there (tfvm_library notes them).
function(tfvm_install)
  get_property(layers GLOBAL PROPERTY TFVM_LIBRARIES)
  get_property(externals GLOBAL PROPERTY TFVM_EXTERNALS)
  list(REMOVE_DUPLICATES externals)
  set(objects)
  foreach(layer IN LISTS layers)
    list(APPEND objects "$<TARGET_OBJECTS:${layer}>")
  endforeach()
  set(find "")
  set(PC_LIBS "")
  add_library(tfvm STATIC ${objects})
  foreach(external IN LISTS externals)
    if(NOT DEFINED TFVM_LINK_${external})
      message(FATAL_ERROR "cmake/TfvmInstall.cmake has to say how hosts of the installed package link ${external}")
    endif()
    list(GET TFVM_LINK_${external} 0 package)
    list(GET TFVM_LINK_${external} 1 target)
    list(GET TFVM_LINK_${external} 2 flag)
    target_link_libraries(tfvm INTERFACE ${target})
    string(APPEND PC_LIBS " ${flag}")
    if(package)
      string(APPEND find "find_dependency(${package})\n")
    endif()
  endforeach()
  set_target_properties(tfvm PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(tfvm INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

  install(TARGETS tfvm EXPORT tfvm-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS tfasm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/vm/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tfvm)
  install(EXPORT tfvm-targets NAMESPACE tfvm:: DESTINATION ${package_dir})
  file(CONFIGURE OUTPUT tfvm-config.cmake @ONLY CONTENT
"include(CMakeFindDependencyMacro)
${find}include(\"\${CMAKE_CURRENT_LIST_DIR}/tfvm-targets.cmake\")
")
  write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tfvm-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
  file(RELATIVE_PATH PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  file(CONFIGURE OUTPUT tfvm.pc @ONLY CONTENT
"libdir=\${pcfiledir}/..
prefix=\${pcfiledir}/@PC_UP@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: tfvm
Description: tensor programs with derivatives and batches, embedded
Version: @PROJECT_VERSION@
Cflags: -I\${includedir}
Libs: -L\${libdir} -ltfvm@PC_LIBS@ -lstdc++ -lm
")
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tfvm-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/tfvm-config-version.cmake"
    DESTINATION ${package_dir})
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tfvm.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
