# tfvm_embed_files(target OUTPUT x.cpp NAMESPACE tfvm::stdlib [LEAN] FILES a.tfa …)
# Adds to `target` a source that defines `std::span<const EmbeddedFile> NAMESPACE::files()` (stdlib/embedded.h)
# with the bytes of each file, made anew when a file changes. LEAN: without the comments of .tfa files.
set(TFVM_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake")

function(tfvm_embed_files target)
  cmake_parse_arguments(ARG "LEAN" "OUTPUT;NAMESPACE" "FILES" ${ARGN})
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT}")
  set(paths)
  foreach(file IN LISTS ARG_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND paths "${file}")
  endforeach()
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" "-DNAMESPACE=${ARG_NAMESPACE}" "-DLEAN=${ARG_LEAN}" "-DFILES=${paths}" -P "${TFVM_EMBED_SCRIPT}"
    DEPENDS ${paths} "${TFVM_EMBED_SCRIPT}" VERBATIM)
  target_sources(${target} PRIVATE "${out}")
endfunction()
