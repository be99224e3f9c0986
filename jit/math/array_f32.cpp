#include "jit/math/array_loop.h"

namespace tfvm::math {

template <>
ArrayFn<float> array_fn<float>(MathFn fn) {
  static constexpr auto table = make_array_fns<float>();
  return table[static_cast<std::size_t>(fn)];
}

}  // namespace tfvm::math
