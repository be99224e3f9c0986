#include "tools/tfasm/bad_file.h"

#include <filesystem>

#include <fmt/format.h>

#include "tools/tfasm/files.h"
#include "vm/npy/npy.h"

namespace tfvm::tool {

namespace {

constexpr std::string_view kMark = "//! ";

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void replace_all(std::string& text, const std::string& what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
}

// With paths relative to the file's folder, so that it doesn't matter where the tests are run from.
std::string errors_of(const std::string& path) {
  const Result<std::unique_ptr<VM>> vm = VM::create();
  if (!vm) return "error: " + vm.error().message + '\n';
  std::vector<Error> errors;
  if (Status s = load_file(**vm, path); !s)
    errors.push_back(s.error());
  else
    errors = (*vm)->program().check();
  std::string text;
  for (const Error& e : errors) text += error_text(e, (*vm)->tables().strings);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  replace_all(text, folder.string() + "/", "");
  replace_all(text, "'" + folder.string() + "'", "'.'");
  replace_all(text, folder.parent_path().string() + "/", "../");
  return text;
}

struct Parts {
  std::string program, expected;
};

Parts split(std::string_view text) {
  Parts parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const bool marked = line.starts_with(kMark.substr(0, 3));
    if (marked) line.remove_prefix(std::min(kMark.size(), line.find('\n')));
    (marked ? parts.expected : parts.program) += line;
  }
  return parts;
}

std::string marked(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = std::string(kMark) + std::string(text.substr(0, end));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

bool is_bad_file(const std::string& path) { return file_name(path).starts_with("bad-"); }

std::optional<Failure> run_bad_file(const std::string& path, bool update) {
  const auto failed = [&](const std::string& message) {
    return Failure{path, "errors", 1, message, fmt::format("{}: error: {}\n", path, message)};
  };
  const auto bytes = read_file(path);
  if (!bytes) return failed(bytes.error().message);
  const Parts parts = split({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  const std::string found = errors_of(std::filesystem::absolute(path).lexically_normal().string());
  if (found.empty()) return failed("it has no errors");
  const std::string wanted = split(marked(found)).expected;
  if (wanted == parts.expected) return std::nullopt;
  if (!update) return failed("other errors than expected (--update rewrites them):\n" + marked(found));
  if (Status s = write_file(path, bytes_of(parts.program + marked(found))); !s) return failed(s.error().message);
  return std::nullopt;
}

}  // namespace tfvm::tool
