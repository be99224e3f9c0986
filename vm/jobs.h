#pragma once
// Who runs pieces of one call at the same time: the host's job system. Without one a call stays on its thread.

#include <cstddef>

namespace tfvm {

struct Jobs {
  // Calls job(arg, k) once for each k < count, from any threads, and returns when all have ended.
  void (*run)(void* user, void (*job)(void* arg, std::size_t k), void* arg, std::size_t count) = nullptr;
  void* user = nullptr;
  std::size_t width = 1;  // how many run at a time
};

}  // namespace tfvm
