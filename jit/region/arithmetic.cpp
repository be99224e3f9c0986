// Block ops: arithmetic of integers and floats, rounding to integers.
#include "jit/region/scalar_floats.h"

namespace tfvm::region {

namespace {
struct NextAfter {
  float operator()(float a, float b) const {
    return from_bits<float>(next_after_bits<std::uint32_t, 0x7f800000u>(bits_of(a), bits_of(b)));
  }
  double operator()(double a, double b) const {
    return from_bits<double>(next_after_bits<std::uint64_t, 0x7ff0000000000000u>(bits_of(a), bits_of(b)));
  }
};
template <std::uint16_t Inf>
struct NextAfterHalf {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const { return next_after_bits<std::uint16_t, Inf>(a, b); }
};

BlockFn find_next_after(DType d) {
  if (d == DType::F16) return &binary_block<NextAfterHalf<0x7c00>, std::uint16_t>;
  if (d == DType::BF16) return &binary_block<NextAfterHalf<0x7f80>, std::uint16_t>;
  return binary_of<NextAfter>(d, Floats{});
}

constexpr BlockRow kRows[] = {
    {Op::add, [](DType d) { return binary_of<Add>(without_sign(d), Modular{}); }},
    {Op::sub, [](DType d) { return binary_of<Sub>(without_sign(d), Modular{}); }},
    {Op::mul, [](DType d) { return binary_of<Mul>(without_sign(d), Modular{}); }},
    {Op::div, [](DType d) { return binary_of<Div>(d, Reals{}); }},
    {Op::rem, [](DType d) { return binary_of<Rem>(d, Ints{}); }},
    {Op::max, [](DType d) { return binary_of<Max>(d, Reals{}); }},
    {Op::min, [](DType d) { return binary_of<Min>(d, Reals{}); }},
    {Op::zmul, [](DType d) { return binary_of<ZMul>(without_sign(d), Modular{}); }},
    {Op::neg, [](DType d) { return unary_of<Neg>(without_sign(d), Modular{}); }},
    {Op::abs, [](DType d) { return unary_of<Abs>(d, Reals{}); }},
    {Op::sign, [](DType d) { return unary_of<Sign>(d, Reals{}); }},
    {Op::square, [](DType d) { return unary_of<Square>(without_sign(d), Modular{}); }},
    {Op::clamp, [](DType d) { return ternary_of<Clamp>(d, Reals{}); }},
    {Op::fma, [](DType d) { return ternary_of<Fma>(d, Floats{}); }},
    {Op::zfma, [](DType d) { return ternary_of<ZFma>(d, Floats{}); }},
    {Op::floor, [](DType d) { return unary_of<Floor>(d, Floats{}); }},
    {Op::ceil, [](DType d) { return unary_of<Ceil>(d, Floats{}); }},
    {Op::trunc, [](DType d) { return unary_of<Trunc>(d, Floats{}); }},
    {Op::round, [](DType d) { return unary_of<Round>(d, Floats{}); }},
    {Op::sqrt, [](DType d) { return unary_of<Sqrt>(d, Floats{}); }},
    {Op::reciprocal, [](DType d) { return unary_of<Reciprocal>(d, Floats{}); }},
    {Op::copysign, [](DType d) { return binary_of<CopySign>(d, Floats{}); }},
    {Op::nextafter, find_next_after},
};
}  // namespace

BlockFn find_arithmetic(Op op, DType d) { return find_row(kRows, op, d); }

}  // namespace tfvm::region
