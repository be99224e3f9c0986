// tfasm fmt: canonical text, in place.

#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "bytecode/text/print.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "vm/npy/npy.h"

namespace tfvm::tool {

namespace {

// Formats one file; the exit code. Keeps the file's permissions, and touches only a file that changes.
int format(const std::string& file, bool check) {
  StringTable strings;
  const auto bytes = read_file(file);
  if (!bytes) return report(bytes.error(), strings);
  const std::string_view source(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const Result<std::string> text = format_source(source, file, strings);
  if (!text) return report(text.error(), strings);
  if (*text == source) return kDone;
  if (check) {
    fmt::print("{}\n", file);
    return kFailed;
  }
  std::error_code no_such_link, ignored;
  const auto target = std::filesystem::canonical(file, no_such_link);
  const std::string path = no_such_link ? file : target.string();
  const auto permissions = std::filesystem::status(path, ignored).permissions();
  if (Status s = write_file(path, bytes_of(*text)); !s) return report(s.error(), strings);
  std::filesystem::permissions(path, permissions, ignored);
  return kDone;
}

}  // namespace

void add_fmt(Application& app) {
  const Command cmd = app.command("fmt", "Format .tfa files in place; comments stay");
  struct Options {
    std::vector<std::string> files;
    bool check = false;
  };
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->files, "Files to format").required();
  cmd.flag("--check", o->check, "Change nothing; name the files that would change and fail if there are any");
  cmd.footer("Examples:\n  tfasm fmt first.tfa\n  tfasm fmt --check examples/*.tfa");
  cmd.action([o] {
    int code = kDone;
    for (const std::string& file : o->files) code = std::max(code, format(file, o->check));
    return code;
  });
}

}  // namespace tfvm::tool
