#pragma once
// The values of LaneBuilder (lane_builder.h): lanes of floats of type T, of integers of the same width, and truth
// values. One without code is a number.

#include <bit>
#include <type_traits>

#include "jit/x86/lane_code.h"

namespace tfvm::x86 {

template <class T>
struct LaneMask {
  static constexpr int width = sizeof(T);
  LaneCode* code;
  LaneId v;
  LaneMask on(LaneOp o, LaneMask b) const { return {code, code->op(o, width, v, b.v)}; }
  friend LaneMask operator&(LaneMask a, LaneMask b) { return a.on(LaneOp::MaskAnd, b); }
  friend LaneMask operator|(LaneMask a, LaneMask b) { return a.on(LaneOp::MaskOr, b); }
  friend LaneMask operator!(LaneMask a) { return {a.code, a.code->op(LaneOp::MaskNot, width, a.v)}; }
  friend LaneMask operator==(LaneMask a, LaneMask b) { return !a.on(LaneOp::MaskXor, b); }
};

template <class T>
struct LaneInt {
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using UInt = std::make_unsigned_t<Int>;
  static constexpr int width = sizeof(T);
  LaneCode* code = nullptr;  // null: the number
  LaneId v = kNoLane;
  Int number = 0;
  LaneInt(Int s) : number(s) {}
  LaneInt(LaneCode* c, LaneId id) : code(c), v(id) {}
  LaneId in(LaneCode* c) const { return code ? v : c->constant(width, UInt(number)); }
  template <class Fn>
  static LaneInt binary(LaneOp o, LaneInt a, LaneInt b, Fn fn) {
    LaneCode* c = a.code ? a.code : b.code;
    if (!c) return LaneInt(Int(fn(UInt(a.number), UInt(b.number))));
    return {c, c->op(o, width, a.in(c), b.in(c))};
  }
  friend LaneInt operator+(LaneInt a, LaneInt b) {
    return binary(LaneOp::IAdd, a, b, [](UInt x, UInt y) { return x + y; });
  }
  friend LaneInt operator-(LaneInt a, LaneInt b) {
    return binary(LaneOp::ISub, a, b, [](UInt x, UInt y) { return x - y; });
  }
  friend LaneInt operator&(LaneInt a, LaneInt b) {
    return binary(LaneOp::And, a, b, [](UInt x, UInt y) { return x & y; });
  }
  friend LaneInt operator|(LaneInt a, LaneInt b) {
    return binary(LaneOp::Or, a, b, [](UInt x, UInt y) { return x | y; });
  }
  friend LaneInt operator^(LaneInt a, LaneInt b) {
    return binary(LaneOp::Xor, a, b, [](UInt x, UInt y) { return x ^ y; });
  }
  friend LaneInt operator<<(LaneInt a, int n) {
    if (!a.code) return LaneInt(Int(UInt(a.number) << n));
    return {a.code, a.code->op(LaneOp::Shl, width, a.v, kNoLane, kNoLane, n)};
  }
  friend LaneInt shr(LaneInt a, int n) {
    if (!a.code) return LaneInt(Int(UInt(a.number) >> n));
    return {a.code, a.code->op(LaneOp::ShrL, width, a.v, kNoLane, kNoLane, n)};
  }
  // Of two numbers there is no comparison: no template makes one.
  static LaneMask<T> compare(LaneOp o, LaneInt a, LaneInt b) {
    LaneCode* c = a.code ? a.code : b.code;
    return {c, c->op(o, width, a.in(c), b.in(c))};
  }
  friend LaneMask<T> operator==(LaneInt a, LaneInt b) { return compare(LaneOp::IEq, a, b); }
  friend LaneMask<T> operator<(LaneInt a, LaneInt b) { return compare(LaneOp::IGt, b, a); }
  friend LaneMask<T> operator>(LaneInt a, LaneInt b) { return compare(LaneOp::IGt, a, b); }
};

template <class T>
struct LaneFloat {
  using UInt = typename LaneInt<T>::UInt;
  static constexpr int width = sizeof(T);
  LaneCode* code = nullptr;
  LaneId v = kNoLane;
  T number = 0;
  LaneFloat() = default;
  LaneFloat(T s) : number(s) {}
  LaneFloat(LaneCode* c, LaneId id) : code(c), v(id) {}
  LaneId in(LaneCode* c) const { return code ? v : c->constant(width, std::bit_cast<UInt>(number)); }
  template <class Fn>
  static LaneFloat binary(LaneOp o, LaneFloat a, LaneFloat b, Fn fn) {
    LaneCode* c = a.code ? a.code : b.code;
    if (!c) return LaneFloat(fn(a.number, b.number));
    return {c, c->op(o, width, a.in(c), b.in(c))};
  }
  friend LaneFloat operator+(LaneFloat a, LaneFloat b) {
    return binary(LaneOp::Add, a, b, [](T x, T y) { return x + y; });
  }
  friend LaneFloat operator-(LaneFloat a, LaneFloat b) {
    return binary(LaneOp::Sub, a, b, [](T x, T y) { return x - y; });
  }
  friend LaneFloat operator*(LaneFloat a, LaneFloat b) {
    return binary(LaneOp::Mul, a, b, [](T x, T y) { return x * y; });
  }
  friend LaneFloat operator/(LaneFloat a, LaneFloat b) {
    return binary(LaneOp::Div, a, b, [](T x, T y) { return x / y; });
  }
  friend LaneFloat operator-(LaneFloat a) {
    if (!a.code) return LaneFloat(-a.number);
    return {a.code, a.code->op(LaneOp::Xor, width, a.v, LaneFloat(T(-0.0)).in(a.code))};
  }
  static LaneMask<T> compare(int predicate, LaneFloat a, LaneFloat b) {
    LaneCode* c = a.code ? a.code : b.code;
    return {c, c->op(LaneOp::Compare, width, a.in(c), b.in(c), kNoLane, predicate)};
  }
  friend LaneMask<T> operator<(LaneFloat a, LaneFloat b) { return compare(0x11, a, b); }
  friend LaneMask<T> operator<=(LaneFloat a, LaneFloat b) { return compare(0x12, a, b); }
  friend LaneMask<T> operator>(LaneFloat a, LaneFloat b) { return compare(0x1e, a, b); }
  friend LaneMask<T> operator>=(LaneFloat a, LaneFloat b) { return compare(0x1d, a, b); }
  friend LaneMask<T> operator==(LaneFloat a, LaneFloat b) { return compare(0x00, a, b); }
  friend LaneMask<T> operator!=(LaneFloat a, LaneFloat b) { return compare(0x04, a, b); }
};

}  // namespace tfvm::x86
