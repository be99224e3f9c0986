# Script mode: writes OUT, a C++ source with the bytes of each of FILES. With LEAN comments are left out; lines and
# columns stay. See TfvmEmbed.cmake.
set(arrays "")
set(rows "")
set(i 0)
foreach(file IN LISTS FILES)
  file(READ "${file}" text)
  cmake_path(GET file FILENAME name)
  if(LEAN)
    string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
  endif()
  string(HEX "${text}" hex)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,){32})" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char bytes${i}[] = {\n${bytes}0x00};\n")
  string(APPEND rows "    {\"${name}\", {reinterpret_cast<const char*>(bytes${i}), ${size}}},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE "${OUT}.new" "// Generated from ${i} files; do not edit.
#include <array>

#include \"stdlib/embedded.h\"

namespace {
${arrays}}  // namespace

namespace ${NAMESPACE} {
std::span<const EmbeddedFile> files();
}

std::span<const tfvm::EmbeddedFile> ${NAMESPACE}::files() {
  static const std::array<tfvm::EmbeddedFile, ${i}> table{{
${rows}  }};
  return table;
}
")
file(RENAME "${OUT}.new" "${OUT}")
