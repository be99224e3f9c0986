#include "jit/math/array_loop.h"

namespace tfvm::math {

template <>
ArrayFn<double> array_fn<double>(MathFn fn) {
  static constexpr auto table = make_array_fns<double>();
  return table[static_cast<std::size_t>(fn)];
}

}  // namespace tfvm::math
