// The functions over contiguous arrays: what the block interpreter calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tfvm::math {

enum class MathFn : std::uint8_t {
#define MATH_FN(name, arity, length) name,
#include "jit/math/functions.def"
#undef MATH_FN
};

struct MathFnInfo {
  std::string_view name;
  int arity;
};

/// By MathFn.
inline constexpr auto kMathFns = std::to_array<MathFnInfo>({
#define MATH_FN(name, arity, length) {#name, arity},
#include "jit/math/functions.def"
#undef MATH_FN
});
inline constexpr std::size_t kMathFnCount = kMathFns.size();

/// The function of an op's name, if it is one of these.
constexpr std::optional<MathFn> math_fn(std::string_view name) {
  for (std::size_t i = 0; i < kMathFnCount; ++i) {
    if (kMathFns[i].name == name) return static_cast<MathFn>(i);
  }
  return std::nullopt;
}

/// out[i] = fn(a[i], b[i], c[i]) for i < n. Operands beyond the function's arity are not read and may be null. `out`
/// may be one of the operands; any other overlap is an error of the caller. Nothing past n is read or written; every
/// element has the same bits whatever n and its place.
template <class T>
using ArrayFn = void (*)(const T* a, const T* b, const T* c, T* out, std::size_t n);

/// T is float or double.
template <class T>
ArrayFn<T> array_fn(MathFn fn);

template <>
ArrayFn<float> array_fn<float>(MathFn fn);
template <>
ArrayFn<double> array_fn<double>(MathFn fn);

}  // namespace tfvm::math
