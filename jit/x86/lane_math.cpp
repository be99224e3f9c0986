#include "jit/x86/lane_math.h"

#include <algorithm>

namespace tfvm::x86 {

namespace {

// Hundreds of operations in f64: a call of the block interpreter's function takes a few per cent of their time.
constexpr std::string_view kCalled[] = {"lgamma", "digamma", "erfinv"};

}  // namespace

TraceFn find_trace(std::string_view name, int width) {
  if (std::ranges::find(kCalled, name) != std::end(kCalled)) return nullptr;
  return width == 4 ? find_trace_of<float>(name) : find_trace_of<double>(name);
}

}  // namespace tfvm::x86
