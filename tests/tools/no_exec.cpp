// no_exec COMMAND…: runs a command that gets no executable memory (no_exec.h).
#include "tests/tools/no_exec.h"

#include <cstdio>

#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: no_exec COMMAND…\n", stderr);
    return 2;
  }
  if (!tfvm::testing::deny_executable_memory()) {
    std::perror("no_exec: no filter can be set");
    return 77;  // skipped
  }
  // The filter holds: else nothing is tested.
  if (mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
    std::fputs("no_exec: the filter lets executable memory pass\n", stderr);
    return 1;
  }
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 1;
}
