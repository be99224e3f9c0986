// Block ops of integers and bools: bits, shifts, powers.
#include "jit/math/ints.h"
#include "jit/region/scalar_bits.h"
#include "jit/region/scalar_ops.h"

namespace tfvm::region {

namespace {
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  Truth operator()(Truth a) const { return static_cast<Truth>(a ^ 1); }
};
struct PopCount {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(std::popcount(bits_of(a)));
  }
};
struct Clz {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(std::countl_zero(bits_of(a)));
  }
};
// Counts are read as unsigned; the width or more gives 0, to the right the sign.
struct Shl {
  template <class T>
  T operator()(T a, T count) const {
    constexpr unsigned width = 8 * sizeof(T);
    const auto c = bits_of(count);
    return c < width ? static_cast<T>(static_cast<Wide<T>>(a) << (c & (width - 1))) : T{0};
  }
};
struct Shr {
  template <class T>
  T operator()(T a, T count) const {
    constexpr unsigned width = 8 * sizeof(T);
    const auto c = bits_of(count);
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (c < width ? c : width - 1));
    else
      return c < width ? static_cast<T>(a >> (c & (width - 1))) : T{0};
  }
};
struct Pow {
  template <class T>
  T operator()(T base, T exponent) const {
    return math::int_pow(base, exponent);
  }
};

constexpr BlockRow kRows[] = {
    {Op::and_, [](DType d) { return binary_of<And>(without_sign(as_bits(d)), Unsigned{}); }},
    {Op::or_, [](DType d) { return binary_of<Or>(without_sign(as_bits(d)), Unsigned{}); }},
    {Op::xor_, [](DType d) { return binary_of<Xor>(without_sign(as_bits(d)), Unsigned{}); }},
    {Op::not_,
     [](DType d) {
       return d == DType::Bool ? &unary_block<LogicalNot, Truth> : unary_of<Not>(without_sign(d), Unsigned{});
     }},
    {Op::popcount, [](DType d) { return unary_of<PopCount>(without_sign(d), Unsigned{}); }},
    {Op::clz, [](DType d) { return unary_of<Clz>(without_sign(d), Unsigned{}); }},
    {Op::shl, [](DType d) { return binary_of<Shl>(without_sign(d), Unsigned{}); }},
    {Op::shr, [](DType d) { return binary_of<Shr>(d, Ints{}); }},
    {Op::pow, [](DType d) { return binary_of<Pow>(d, Ints{}); }},
};
}  // namespace

BlockFn find_integer(Op op, DType d) { return find_row(kRows, op, d); }

}  // namespace tfvm::region
