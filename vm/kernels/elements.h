#pragma once
// C++ types of elements for kernels that compute: f16 and bf16 are read as float and rounded when written.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "bytecode/dtype.h"
#include "jit/math/convert.h"
#include "jit/region/scalar_ops.h"  // Add, Mul, Max, Min: one definition for nests and kernels

namespace tfvm {

// Storage S of an element and the type T that is computed with.
template <class S, class T, T (*Load)(S), S (*Store)(T)>
struct Element {
  using Stored = S;
  using Value = T;
  static T load(S s) { return Load(s); }
  static S store(T v) { return Store(v); }
};

template <class T>
T same_value(T v) {
  return v;
}
template <class T>
using Plain = Element<T, T, same_value<T>, same_value<T>>;
using Half = Element<std::uint16_t, float, math::f16_to_f32, math::f32_to_f16>;
using Brain = Element<std::uint16_t, float, math::bf16_to_f32, math::f32_to_bf16>;

// f(Element) for a real dtype or bool (as u8).
template <class F>
auto with_element(DType d, F f) {
  switch (d) {
    case DType::I8:
      return f(Plain<std::int8_t>{});
    case DType::I16:
      return f(Plain<std::int16_t>{});
    case DType::I32:
      return f(Plain<std::int32_t>{});
    case DType::I64:
      return f(Plain<std::int64_t>{});
    case DType::U16:
      return f(Plain<std::uint16_t>{});
    case DType::U32:
      return f(Plain<std::uint32_t>{});
    case DType::U64:
      return f(Plain<std::uint64_t>{});
    case DType::F16:
      return f(Half{});
    case DType::BF16:
      return f(Brain{});
    case DType::F32:
      return f(Plain<float>{});
    case DType::F64:
      return f(Plain<double>{});
    default:
      return f(Plain<std::uint8_t>{});
  }
}

}  // namespace tfvm
