// The command line tool. A failure is a message and an exit code: nothing thrown leaves this file.

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "tools/tfasm/command.h"

namespace {

int run(int argc, char** argv) {
  using namespace tfvm::tool;
  CLI::App app("tfasm: assemble, check, transform and run tensor programs", "tfasm");
  app.footer(
      "`tfasm help COMMAND` shows the options of a command, with examples.\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage or an unreadable file.");
  int exit_code = kDone;
  for (const auto add : {add_run, add_test, add_fmt, add_check, add_asm, add_dis, add_ops, add_gradcheck, add_transform,
                         add_explain, add_show, add_bench, add_bisect, add_memory, add_cache, add_help})
    add(app, exit_code);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, std::cout, std::cerr) == 0 ? kDone : kUsage;
  }
  if (!app.get_subcommands().empty()) return exit_code;
  std::cerr << app.help();
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
  }
  return tfvm::tool::kFailed;
}
