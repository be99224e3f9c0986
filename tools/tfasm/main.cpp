// The command line tool. A failure is a message and an exit code: nothing thrown leaves this file.

#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "tools/tfasm/command.h"

namespace {

int run(int argc, char** argv) {
  using namespace tfvm::tool;
  const std::string_view name = argc > 1 ? argv[1] : "help";
  for (const bool all : {name == "help", true}) {
    Application app(all ? std::string_view() : name);
    for (const auto add :
         {add_run, add_test, add_fmt, add_check, add_asm, add_dis, add_ops, add_gradcheck, add_transform, add_explain,
          add_show, add_bench, add_bisect, add_memory, add_cache, add_help})
      add(app);
    if (all || app.has_command()) return app.run(argc, argv);
  }
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
