#pragma once
// Loops of the block ops over functors, and tables that pick an instance by dtype. Compiled with -O3.

#include <cstdint>
#include <type_traits>

#include "jit/region/block_op.h"

namespace tfvm::region {

using Truth = std::uint8_t;  // an element of dtype bool

template <class... Ts>
struct Types {};
using Signed = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
using Ints = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t>;
using Floats = Types<float, double>;
using Reals = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                    std::uint64_t, float, double>;
// Of these alone where integers with a sign have the same bits: see without_sign.
using Unsigned = Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using Modular = Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, float, double>;

template <class T>
inline constexpr DType kDTypeOf = DType::F32;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::I8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::I16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::I32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::I64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::U8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::U16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::U32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::U64;
template <>
inline constexpr DType kDTypeOf<double> = DType::F64;

// Arithmetic of this type never promotes to a signed type, so nothing overflows.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

// One element is common (scalar programs) and skips the vector loop. ivdep: out may be an operand, element for element.
template <class F, class T>
void unary_block(void* out, const void* a, const void*, const void*, std::int64_t n) {
  using R = decltype(F{}(T{}));
  auto* o = static_cast<R*>(out);
  const auto* x = static_cast<const T*>(a);
  if (n == 1) {
    o[0] = F{}(x[0]);
    return;
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[i] = F{}(x[i]);
}

template <class F, class T>
[[gnu::noinline]] void binary_block(void* out, const void* a, const void* b, const void*, std::int64_t n) {
  using R = decltype(F{}(T{}, T{}));
  auto* o = static_cast<R*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  if (n == 1) {
    o[0] = F{}(x[0], y[0]);
    return;
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[i] = F{}(x[i], y[i]);
}

template <class F, class T>
void ternary_block(void* out, const void* a, const void* b, const void* c, std::int64_t n) {
  auto* o = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  const auto* z = static_cast<const T*>(c);
  if (n == 1) {
    o[0] = F{}(x[0], y[0], z[0]);
    return;
  }
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[i] = F{}(x[i], y[i], z[i]);
}

template <class F, class... Ts>
BlockFn unary_of(DType d, Types<Ts...>) {
  BlockFn fn = nullptr;
  ((d == kDTypeOf<Ts> ? void(fn = &unary_block<F, Ts>) : void()), ...);
  return fn;
}

template <class F, class... Ts>
BlockFn binary_of(DType d, Types<Ts...>) {
  BlockFn fn = nullptr;
  ((d == kDTypeOf<Ts> ? void(fn = &binary_block<F, Ts>) : void()), ...);
  return fn;
}

template <class F, class... Ts>
BlockFn ternary_of(DType d, Types<Ts...>) {
  BlockFn fn = nullptr;
  ((d == kDTypeOf<Ts> ? void(fn = &ternary_block<F, Ts>) : void()), ...);
  return fn;
}

// bool is computed on as u8 where 0 and 1 stay among themselves.
constexpr DType as_bits(DType d) { return d == DType::Bool ? DType::U8 : d; }

constexpr DType without_sign(DType d) {
  switch (d) {
    case DType::I8:
      return DType::U8;
    case DType::I16:
      return DType::U16;
    case DType::I32:
      return DType::U32;
    case DType::I64:
      return DType::U64;
    default:
      return d;
  }
}

struct BlockRow {
  Op op;
  BlockFn (*find)(DType);
};

// The rows of each family of functions; find_block_op searches them.
BlockFn find_arithmetic(Op op, DType d);
BlockFn find_integer(Op op, DType d);
BlockFn find_compare(Op op, DType d);
BlockFn find_math(Op op, DType d);

template <std::size_t N>
BlockFn find_row(const BlockRow (&rows)[N], Op op, DType d) {
  for (const BlockRow& row : rows)
    if (row.op == op) return row.find(d);
  return nullptr;
}

}  // namespace tfvm::region
