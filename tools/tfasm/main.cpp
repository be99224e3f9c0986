// The command line tool. A failure is a message and an exit code: nothing thrown leaves this file.

#include <cstdio>
#include <exception>
#include <new>

#include "tools/tfasm/command.h"

namespace {

int run(int argc, char** argv) {
  using namespace tfvm::tool;
  Application app;
  for (const auto add : {add_run, add_test, add_fmt, add_check, add_asm, add_dis, add_ops, add_gradcheck, add_transform,
                         add_explain, add_show, add_bench, add_bisect, add_memory, add_cache, add_help})
    add(app);
  return app.run(argc, argv);
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
