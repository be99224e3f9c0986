// Block ops of the transcendental functions: jit/math over arrays, by name.
#include <array>
#include <utility>

#include "jit/math/array.h"
#include "jit/region/block_loop.h"

namespace tfvm::region {

namespace {

template <class T, std::size_t Fn>
void math_block(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  static const math::ArrayFn<T> fn = math::array_fn<T>(static_cast<math::MathFn>(Fn));
  fn(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<const T*>(c), static_cast<T*>(out),
     static_cast<std::size_t>(n));
}

template <class T, std::size_t... Fn>
constexpr std::array<BlockFn, sizeof...(Fn)> table(std::index_sequence<Fn...>) {
  return {&math_block<T, Fn>...};
}

constexpr auto kF32 = table<float>(std::make_index_sequence<math::kMathFnCount>{});
constexpr auto kF64 = table<double>(std::make_index_sequence<math::kMathFnCount>{});

}  // namespace

BlockFn find_math(Op op, DType d) {
  const auto fn = math::math_fn(name(op));
  if (!fn) return nullptr;
  if (d == DType::F32) return kF32[static_cast<std::size_t>(*fn)];
  return d == DType::F64 ? kF64[static_cast<std::size_t>(*fn)] : nullptr;
}

}  // namespace tfvm::region
