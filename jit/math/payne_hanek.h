// Reduction of large arguments modulo pi/2.
//
// Source: Payne and Hanek, "Radian reduction for trigonometric functions" (1983): of 2/pi's binary digits only those
// matter whose product with x is neither a multiple of 4 nor too small. Here a digit is 53 bits, held in a double, so
// each partial product is exact as a sum of two doubles.
#pragma once

#include "jit/math/extended.h"

namespace tfvm::math {

/// An argument of n pi/2 + r + r_low, |r| <= pi/4 (and a hair more); n counts modulo 4.
template <class B>
struct Angle {
  typename B::I n;
  typename B::F r, r_low;
};

/// 2/pi = sum of kTwoOverPi[i] * 2^(-53 (i + 1)).
inline constexpr std::array<double, 25> kTwoOverPi = {
    0x145f306dc9c882p0, 0x14a7f09d5f47d4p0, 0x1a6ee06db14accp0, 0x13c439041fe516p0, 0x757bd778ac36ep0,
    0x91b8e909374b8p0,  0x324977504e8cp0,   0x121cfe1deb1cb1p0, 0x534e7dd1046bep0,  0x14baed1213a671p0,
    0x18135a2fbf209cp0, 0x191d639835339fp0, 0x93908bf177bf2p0,  0xa0ec7fe25fff7p0,  0x102cc07f79788cp0,
    0xb5a0a6d1f6d36p0,  0xfd9e4f96136e9p0,  0x1d18fd9a797fa8p0, 0x16ba93dd63f5f2p0, 0x1f17b3d0739f78p0,
    0x14a525d4d7f6bfp0, 0xc47e357421580p0,  0x198237e3db5d5fp0, 0x10cfbc209af436p0, 0x3b53c722c2bdcp0};

/// x = x * 2^(-53 skip) * 2^(53 skip): the first digit that matters, and x scaled so that it has weight 2^-53.
template <class B>
struct DigitWindow {
  typename B::I skip;
  typename B::F scaled;
};

template <class B>
DigitWindow<B> digit_window(B b, typename B::F x) {
  constexpr double two_to_52 = 0x1p52;
  const auto biased = b.from_bits(shr(b.bits(x), 52) | bits_of<B>(two_to_52)) - two_to_52;
  // Digit i times x is a multiple of 4 where 53 (i + 1) <= exponent of x's last bit - 2 = biased - 1077.
  const auto skip = b.floor((biased - 1076.5) * (1.0 / 53));
  const auto first = nearest(b, b.select(skip > 0.0, skip, 0.0));
  return {first.i, x * power_of_two(b, nearest(b, first.f * -53.0).i)};
}

/// Reduces finite x >= 2^30 (f64).
template <class B>
Angle<B> reduce_large_angle(B b, typename B::F x) {
  using F = typename B::F;
  constexpr int digits = 5, terms = 2 * digits;
  constexpr double weights[digits] = {0x1p-53, 0x1p-106, 0x1p-159, 0x1p-212, 0x1p-265};
  // Of inf and NaN the caller drops the result; the index must be inside all the same.
  const auto window = digit_window(b, b.select(x < kInf<double>, x, 0x1p30));
  F term[terms];
  F quarters = 0.0;
  for (int i = 0; i < digits; ++i) {
    const F digit = b.lookup(kTwoOverPi.data() + i, window.skip) * weights[i];
    const auto product = two_product(b, window.scaled, digit);
    term[2 * i] = product.hi;
    term[2 * i + 1] = product.lo;
  }
  for (auto& t : term) {
    const auto whole = b.round(t);
    t = t - whole;
    quarters = quarters + (whole - 4.0 * b.round(whole * 0.25));
  }
  // Three passes of exact sums leave the leading two terms right even where the fractions nearly cancel.
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = terms - 1; i > 0; --i) {
      const auto sum = two_sum(b, term[i - 1], term[i]);
      term[i - 1] = sum.hi;
      term[i] = sum.lo;
    }
  }
  const auto whole = b.round(term[0]);
  const auto fraction = fast_two_sum(b, term[0] - whole, term[1] + term[2]);
  const auto angle = multiply(b, fraction, Pair<B>{Format<double>::half_pi[0], Format<double>::half_pi[1]});
  return {nearest(b, quarters + whole).i, angle.hi, angle.lo};
}

}  // namespace tfvm::math
