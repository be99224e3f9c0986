#include "jit/x86/lane_math.h"

namespace tfvm::x86 {

TraceFn find_trace(std::string_view name, int width) {
  return width == 4 ? find_trace_of<float>(name) : find_trace_of<double>(name);
}

}  // namespace tfvm::x86
