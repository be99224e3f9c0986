// tfasm check: every error of a program without running its functions.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"

namespace tfvm::tool {

namespace {

constexpr std::size_t kShown = 20;  // errors of one program

int check(const std::string& file, bool quiet) {
  Result<std::unique_ptr<VM>> vm = VM::create();
  if (!vm) return report(vm.error(), StringTable());
  const StringTable& strings = (*vm)->tables().strings;
  if (Status s = load_file(**vm, file); !s) return report(s.error(), strings);
  const std::vector<Error> errors = (*vm)->program().check();
  for (std::size_t k = 0; k < errors.size() && k < kShown; ++k) report(errors[k], strings);
  if (errors.size() > kShown) fmt::print(stderr, "{}: {} more errors\n", file, errors.size() - kShown);
  if (!errors.empty()) return kFailed;
  if (!quiet) fmt::print("{}: ok\n", file);
  return kDone;
}

}  // namespace

void add_check(Application& app) {
  const Command cmd = app.command("check", "Report every error of a program without running it");
  struct Options {
    std::vector<std::string> files;
    bool quiet = false;
  };
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->files, "Programs, .tfa or .tfbc").required();
  cmd.flag("-q,--quiet", o->quiet, "Say nothing about programs without errors");
  cmd.footer(
      "Loads the program, which runs the initialisers of its params and buffers, and builds every function whose\n"
      "parameter types are concrete, with all that it calls.\n\n"
      "Examples:\n"
      "  tfasm check first.tfa\n"
      "  tfasm check --quiet examples/*.tfa");
  cmd.action([o] {
    int code = kDone;
    for (const std::string& file : o->files) code = std::max(code, check(file, o->quiet));
    return code;
  });
}

}  // namespace tfvm::tool
