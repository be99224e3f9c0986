#include "jit/x86/lane_trace.h"

namespace tfvm::x86 {

template <>
TraceFn find_trace_of<double>(std::string_view name) {
  return trace_by_name<double>(name);
}

}  // namespace tfvm::x86
