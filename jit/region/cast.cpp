// Block ops that convert: every pair of dtypes but complex ones.
#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>

#include "jit/math/convert.h"
#include "jit/region/block_loop.h"

namespace tfvm {

namespace {

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t bit;
};

// To f32 or wider first where the source is a 16-bit float: exact.
template <class S>
auto widened(S s) {
  if constexpr (std::is_same_v<S, F16>)
    return math::f16_to_f32(s.bits);
  else if constexpr (std::is_same_v<S, BF16>)
    return math::bf16_to_f32(s.bits);
  else if constexpr (std::is_same_v<S, Bool>)
    return s.bit;
  else
    return s;
}

template <class V>
std::uint16_t to_f16(V v) {
  if constexpr (std::is_same_v<V, double>)
    return math::f64_to_f16(v);
  else if constexpr (std::is_same_v<V, float>)
    return math::f32_to_f16(v);
  else if constexpr (std::is_unsigned_v<V>)
    return math::u64_to_f16(v);
  else
    return math::i64_to_f16(v);
}

template <class V>
std::uint16_t to_bf16(V v) {
  if constexpr (std::is_same_v<V, double>)
    return math::f64_to_bf16(v);
  else if constexpr (std::is_same_v<V, float>)
    return math::f32_to_bf16(v);
  else if constexpr (std::is_unsigned_v<V>)
    return math::u64_to_bf16(v);
  else
    return math::i64_to_bf16(v);
}

template <class D, class S>
D converted(S s) {
  const auto v = widened(s);
  using V = std::remove_const_t<decltype(v)>;
  if constexpr (std::is_same_v<D, S>)
    return s;
  else if constexpr (std::is_same_v<D, Bool>)
    return {static_cast<std::uint8_t>(v != 0)};
  else if constexpr (std::is_same_v<D, F16>)
    return {to_f16<V>(v)};
  else if constexpr (std::is_same_v<D, BF16>)
    return {to_bf16<V>(v)};
  else if constexpr (std::is_integral_v<D> && std::is_floating_point_v<V>)
    return math::saturate_cast<D>(v);
  else
    return static_cast<D>(v);
}

template <class D, class S>
[[gnu::noinline]] void cast_block(void* out, const void* in, const void*, const void*, std::int64_t n) {
  auto* o = static_cast<D*>(out);
  const auto* x = static_cast<const S*>(in);
  for (std::int64_t i = 0; i < n; ++i) o[i] = converted<D>(x[i]);
}

template <class D>
[[gnu::noinline]] void clamp_block(D* out, const std::int32_t* in, std::int64_t n) {
  using Limits = std::numeric_limits<D>;
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<D>(std::clamp<std::int32_t>(in[i], Limits::min(), Limits::max()));
}

// From floats to integers of 8 and 16 bits: over i32, which is the same and less code than for each pair.
template <class D, class S>
void narrow_block(void* out, const void* in, const void*, const void*, std::int64_t n) {
  constexpr std::int64_t kStep = 128;
  std::int32_t whole[kStep];
  for (std::int64_t at = 0; at < n; at += kStep) {
    const std::int64_t count = std::min(kStep, n - at);
    cast_block<std::int32_t, S>(whole, static_cast<const S*>(in) + at, nullptr, nullptr, count);
    clamp_block(static_cast<D*>(out) + at, whole, count);
  }
}

// One instance for all pairs that are the same on bits: from a bool as from u8, to an integer whatever its sign, and
// whatever the sign of the integer it comes from where no bits are added.
template <class T>
struct UnsignedOf {
  using Type = T;
};
template <std::integral T>
struct UnsignedOf<T> {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct UnsignedOf<Bool> {
  using Type = std::uint8_t;
};

template <class D, class S>
BlockFn cast_to() {
  using US = typename UnsignedOf<S>::Type;
  if constexpr (std::is_same_v<D, Bool> || std::is_same_v<S, Bool>)
    return &cast_block<D, US>;
  else if constexpr (std::is_integral_v<D> && std::is_integral_v<S>)
    return &cast_block<std::make_unsigned_t<D>, std::conditional_t<sizeof(D) <= sizeof(S), US, S>>;
  else if constexpr (std::is_integral_v<D> && sizeof(D) < sizeof(std::int32_t))
    return &narrow_block<D, S>;
  else
    return &cast_block<D, S>;
}

template <class S>
BlockFn cast_from(DType to) {
  switch (to) {
    case DType::Bool:
      return cast_to<Bool, S>();
    case DType::I8:
      return cast_to<std::int8_t, S>();
    case DType::I16:
      return cast_to<std::int16_t, S>();
    case DType::I32:
      return cast_to<std::int32_t, S>();
    case DType::I64:
      return cast_to<std::int64_t, S>();
    case DType::U8:
      return cast_to<std::uint8_t, S>();
    case DType::U16:
      return cast_to<std::uint16_t, S>();
    case DType::U32:
      return cast_to<std::uint32_t, S>();
    case DType::U64:
      return cast_to<std::uint64_t, S>();
    case DType::F16:
      return cast_to<F16, S>();
    case DType::BF16:
      return cast_to<BF16, S>();
    case DType::F32:
      return cast_to<float, S>();
    case DType::F64:
      return cast_to<double, S>();
    default:
      return nullptr;
  }
}

void round_f16(void* out, const void* in, const void*, const void*, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    static_cast<float*>(out)[i] = math::f16_to_f32(math::f32_to_f16(static_cast<const float*>(in)[i]));
}
void round_bf16(void* out, const void* in, const void*, const void*, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    static_cast<float*>(out)[i] = math::bf16_to_f32(math::f32_to_bf16(static_cast<const float*>(in)[i]));
}

}  // namespace

BlockFn find_cast(DType from, DType to) {
  switch (from) {
    case DType::Bool:
      return cast_from<Bool>(to);
    case DType::I8:
      return cast_from<std::int8_t>(to);
    case DType::I16:
      return cast_from<std::int16_t>(to);
    case DType::I32:
      return cast_from<std::int32_t>(to);
    case DType::I64:
      return cast_from<std::int64_t>(to);
    case DType::U8:
      return cast_from<std::uint8_t>(to);
    case DType::U16:
      return cast_from<std::uint16_t>(to);
    case DType::U32:
      return cast_from<std::uint32_t>(to);
    case DType::U64:
      return cast_from<std::uint64_t>(to);
    case DType::F16:
      return cast_from<F16>(to);
    case DType::BF16:
      return cast_from<BF16>(to);
    case DType::F32:
      return cast_from<float>(to);
    case DType::F64:
      return cast_from<double>(to);
    default:
      return nullptr;
  }
}

BlockFn find_rounding(DType d) { return d == DType::F16 ? &round_f16 : d == DType::BF16 ? &round_bf16 : nullptr; }

bool is_exact_in_half(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::max:
    case Op::min:
    case Op::copysign:
    case Op::select:
    case Op::clamp:
      return true;
    default:
      return false;
  }
}

}  // namespace tfvm
