#pragma once
// The values of LaneBuilder (lane_builder.h): lanes of floats of type T, of integers of the same width, and truth
// values. One without code is a number. The templates of jit/math are a few thousand operations on them, so a value is
// two words and an operation one call.

#include <bit>
#include <type_traits>

#include "jit/x86/lane_code.h"

namespace tfvm::x86 {

struct LaneValue {
  LaneCode* code = nullptr;
  std::uint64_t bits = 0;  // a LaneId; without code those of the number
  LaneId id() const { return static_cast<LaneId>(bits); }
};

// The value in code `c`, a number as a constant.
LaneId lane_in(LaneCode* c, int width, LaneValue v);
// Of two numbers the result is a number: float or integer arithmetic of `width` bytes.
LaneValue lane_binary(LaneOp o, int width, LaneValue a, LaneValue b);
LaneValue lane_shift(LaneOp o, int width, LaneValue a, int n);
LaneValue lane_negated(int width, LaneValue a);
// Of two numbers there is no comparison: no template makes one.
LaneValue lane_compare(LaneOp o, int width, LaneValue a, LaneValue b, int predicate = 0);
LaneValue lane_fma(LaneCode* c, int width, LaneValue a, LaneValue b, LaneValue d);
LaneValue lane_unary(LaneCode* c, LaneOp o, int width, LaneValue a, int imm = 0);
LaneValue lane_select(LaneCode* c, int width, LaneId mask, LaneValue a, LaneValue b);

template <class T>
struct LaneMask {
  static constexpr int width = sizeof(T);
  LaneCode* code;
  LaneId v;
  LaneMask(LaneValue m) : code(m.code), v(m.id()) {}
  operator LaneValue() const { return {code, v}; }
  friend LaneMask operator&(LaneMask a, LaneMask b) { return lane_binary(LaneOp::MaskAnd, width, a, b); }
  friend LaneMask operator|(LaneMask a, LaneMask b) { return lane_binary(LaneOp::MaskOr, width, a, b); }
  friend LaneMask operator!(LaneMask a) { return lane_unary(a.code, LaneOp::MaskNot, width, a); }
  friend LaneMask operator==(LaneMask a, LaneMask b) { return !LaneMask(lane_binary(LaneOp::MaskXor, width, a, b)); }
};

template <class T>
struct LaneInt : LaneValue {
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using UInt = std::make_unsigned_t<Int>;
  static constexpr int width = sizeof(T);
  LaneInt(Int s) : LaneValue{nullptr, UInt(s)} {}
  LaneInt(LaneValue v) : LaneValue(v) {}
  friend LaneInt operator+(LaneInt a, LaneInt b) { return lane_binary(LaneOp::IAdd, width, a, b); }
  friend LaneInt operator-(LaneInt a, LaneInt b) { return lane_binary(LaneOp::ISub, width, a, b); }
  friend LaneInt operator&(LaneInt a, LaneInt b) { return lane_binary(LaneOp::And, width, a, b); }
  friend LaneInt operator|(LaneInt a, LaneInt b) { return lane_binary(LaneOp::Or, width, a, b); }
  friend LaneInt operator^(LaneInt a, LaneInt b) { return lane_binary(LaneOp::Xor, width, a, b); }
  friend LaneInt operator<<(LaneInt a, int n) { return lane_shift(LaneOp::Shl, width, a, n); }
  friend LaneInt shr(LaneInt a, int n) { return lane_shift(LaneOp::ShrL, width, a, n); }
  friend LaneMask<T> operator==(LaneInt a, LaneInt b) { return lane_compare(LaneOp::IEq, width, a, b); }
  friend LaneMask<T> operator<(LaneInt a, LaneInt b) { return lane_compare(LaneOp::IGt, width, b, a); }
  friend LaneMask<T> operator>(LaneInt a, LaneInt b) { return lane_compare(LaneOp::IGt, width, a, b); }
};

template <class T>
struct LaneFloat : LaneValue {
  static constexpr int width = sizeof(T);
  LaneFloat() = default;
  LaneFloat(T s) : LaneValue{nullptr, std::bit_cast<typename LaneInt<T>::UInt>(s)} {}
  LaneFloat(LaneValue v) : LaneValue(v) {}
  T number() const { return std::bit_cast<T>(static_cast<typename LaneInt<T>::UInt>(bits)); }
  friend LaneFloat operator+(LaneFloat a, LaneFloat b) { return lane_binary(LaneOp::Add, width, a, b); }
  friend LaneFloat operator-(LaneFloat a, LaneFloat b) { return lane_binary(LaneOp::Sub, width, a, b); }
  friend LaneFloat operator*(LaneFloat a, LaneFloat b) { return lane_binary(LaneOp::Mul, width, a, b); }
  friend LaneFloat operator/(LaneFloat a, LaneFloat b) { return lane_binary(LaneOp::Div, width, a, b); }
  friend LaneFloat operator-(LaneFloat a) { return lane_negated(width, a); }
  friend LaneMask<T> operator<(LaneFloat a, LaneFloat b) { return lane_compare(LaneOp::Compare, width, a, b, 0x11); }
  friend LaneMask<T> operator<=(LaneFloat a, LaneFloat b) { return lane_compare(LaneOp::Compare, width, a, b, 0x12); }
  friend LaneMask<T> operator>(LaneFloat a, LaneFloat b) { return lane_compare(LaneOp::Compare, width, a, b, 0x1e); }
  friend LaneMask<T> operator>=(LaneFloat a, LaneFloat b) { return lane_compare(LaneOp::Compare, width, a, b, 0x1d); }
  friend LaneMask<T> operator==(LaneFloat a, LaneFloat b) { return lane_compare(LaneOp::Compare, width, a, b, 0x00); }
  friend LaneMask<T> operator!=(LaneFloat a, LaneFloat b) { return lane_compare(LaneOp::Compare, width, a, b, 0x04); }
};

}  // namespace tfvm::x86
