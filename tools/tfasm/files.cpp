#include "tools/tfasm/files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/diagnostics.h"
#include "bytecode/text/parse.h"
#include "stdlib/embedded.h"
#include "tools/tfasm/command.h"
#include "vm/npy/npy.h"

namespace tfvm::tool {

namespace fs = std::filesystem;

namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether `path` lies below `folder` once every link is followed.
bool is_below(const fs::path& folder, const fs::path& path) {
  std::error_code e1, e2;
  const fs::path root = fs::weakly_canonical(folder, e1), full = fs::weakly_canonical(path, e2);
  if (e1 || e2) return false;
  return std::mismatch(root.begin(), root.end(), full.begin(), full.end()).first == root.end();
}

// The text that `file` names in a message: of the stdlib, or of a file; "" where there is none.
std::string source_text(const std::string& file) {
  for (const EmbeddedFile& f : stdlib::files())
    if (file == "stdlib/" + std::string(f.name)) return std::string(f.bytes);
  const auto bytes = read_file(file);
  return bytes && !is_tfbc(*bytes) ? std::string(text_of(*bytes)) : std::string();
}

}  // namespace

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

Result<Module> read_module(StringTable& strings, std::span<const std::byte> bytes, const std::string& file) {
  if (is_tfbc(bytes)) return read_tfbc(strings, bytes, file);
  return parse_module(strings, text_of(bytes), file);
}

Result<Module> read_module(StringTable& strings, const std::string& file) {
  const auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  return read_module(strings, *bytes, file);
}

FileLoader files_below(const std::string& file) {
  fs::path folder = fs::path(file).parent_path();
  if (folder.empty()) folder = ".";
  return [folder](const std::string& path) -> Result<std::vector<std::byte>> {
    if (!is_below(folder, path))
      return Error(Code::Io, fmt::format("'{}' lies outside of the program's folder '{}'", path, folder.string()));
    return read_file(path);
  };
}

ModuleLoader modules_below(StringTable& strings, const std::string& file) {
  return [&strings, load = files_below(file)](const std::string& path) -> Result<Module> {
    const auto bytes = load(path);
    if (!bytes) return bytes.error();
    return read_module(strings, *bytes, path);
  };
}

Status load_file(VM& vm, const std::string& file) {
  Result<Module> m = read_module(vm.tables().strings, file);
  if (!m) return std::move(m).error();
  return vm.load(*std::move(m), files_below(file));
}

std::string line_text(const std::string& file, std::uint32_t line) {
  std::istringstream source(source_text(file));
  std::string text;
  for (; line > 0 && std::getline(source, text); --line) {
  }
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.back())) text.pop_back();
  return line > 0 ? std::string() : std::string(std::ranges::find_if_not(text, is_blank), text.end());
}

std::string error_text(const Error& error, const StringTable& strings) {
  const bool placed = error.loc.line != 0 && error.loc.file != kNone<StrId>;
  return render_error(error, placed ? source_text(std::string(strings[error.loc.file])) : std::string(), strings);
}

int report(const Error& error, const StringTable& strings) {
  std::fputs(error_text(error, strings).c_str(), stderr);
  return error.code == Code::Io ? kUsage : kFailed;
}

}  // namespace tfvm::tool
