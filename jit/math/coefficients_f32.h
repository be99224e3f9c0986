// Polynomial coefficients, lowest degree first, made by fit.py: do not edit.
#pragma once

#include <array>

#include "jit/math/coefficients.h"

namespace tfvm::math {

// (exp(r) - 1 - r) / r^2, |r| <= ln2/2; error 2^-26.2.
template <>
inline constexpr std::array<float, 5> kExp<float> = {
    0x1.0000000000000p-1F, 0x1.5554ae0000000p-3F, 0x1.5554860000000p-5F, 0x1.12284c0000000p-7F, 0x1.6d998e0000000p-10F};

// (2^r - 1) / r, |r| <= 1/2; error 2^-27.0.
template <>
inline constexpr std::array<float, 6> kExp2<float> = {0x1.62e4300000000p-1F,  0x1.ebfbe00000000p-3F,
                                                      0x1.c6af6c0000000p-5F,  0x1.3b29e40000000p-7F,
                                                      0x1.5f08940000000p-10F, 0x1.446c800000000p-13F};

// (sin(r) - r) / r^3 in r^2, |r| <= pi/4; error 2^-28.0.
template <>
inline constexpr std::array<float, 3> kSinQuarter<float> = {-0x1.5555460000000p-3F, 0x1.1107360000000p-7F,
                                                            -0x1.9942100000000p-13F};

// (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4; error 2^-33.3.
template <>
inline constexpr std::array<float, 3> kCosQuarter<float> = {0x1.55554a0000000p-5F, -0x1.6c0c860000000p-10F,
                                                            0x1.9a00be0000000p-16F};

// (atan(t) - t) / t^3 in t^2, |t| <= tan(pi/8); error 2^-30.5.
template <>
inline constexpr std::array<float, 5> kAtan<float> = {-0x1.55554a0000000p-2F, 0x1.9991960000000p-3F,
                                                      -0x1.23b51e0000000p-3F, 0x1.b1ebe60000000p-4F,
                                                      -0x1.f1ebf80000000p-5F};

// (asin(t) - t) / t^3 in t^2, |t| <= 1/2; error 2^-27.6.
template <>
inline constexpr std::array<float, 5> kAsin<float> = {
    0x1.5555c80000000p-3F, 0x1.3301e40000000p-4F, 0x1.747e3e0000000p-5F, 0x1.8c28b80000000p-6F, 0x1.596cbe0000000p-5F};

// (sinh(x) - x) / x^3 in x^2, |x| <= 1; error 2^-34.2.
template <>
inline constexpr std::array<float, 4> kSinh<float> = {0x1.5555560000000p-3F, 0x1.1111340000000p-7F,
                                                      0x1.9ffe920000000p-13F, 0x1.7a15b60000000p-19F};

// (log(1 + f) - f + f^2/2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2); error 2^-27.4.
inline constexpr std::array<float, 8> kLog1pF32 = {
    0x1.5555540000000p-2F, -0x1.0002280000000p-2F, 0x1.99a00a0000000p-3F, -0x1.5472400000000p-3F,
    0x1.22d9f00000000p-3F, -0x1.0d85300000000p-3F, 0x1.055c6a0000000p-3F, -0x1.38b8420000000p-4F};

// erf(x)/x - 1 in x^2, |x| <= 1; error 2^-29.7.
inline constexpr std::array<float, 7> kErfF32 = {
    0x1.06eba80000000p-3F, -0x1.81273e0000000p-2F,  0x1.ce2d200000000p-4F, -0x1.b7fbb40000000p-6F,
    0x1.5419f20000000p-8F, -0x1.a485da0000000p-11F, 0x1.4ae4a20000000p-14F};

// log(erfc(x)) / x, 1 <= x <= 4; error 2^-31.0.
inline constexpr std::array<float, 7> kLogErfcF32 = {
    -0x1.20f15c0000000p+0F, -0x1.45208e0000000p-1F, -0x1.b40fa60000000p-4F, 0x1.886bd20000000p-6F,
    -0x1.e8fee20000000p-9F, 0x1.68f3440000000p-12F, -0x1.bfcf6a0000000p-17F};

// (1 + 2x) exp(x^2) erfc(x) in q = (x - 2.5)/(x + 2.5), 0.64 <= x <= 10.5; error 2^-29.6.
inline constexpr std::array<float, 10> kErfcF32 = {
    0x1.43cc700000000p+0F,  -0x1.f52c620000000p-4F, -0x1.959a9e0000000p-4F, 0x1.42d3d20000000p-3F,
    -0x1.a5c3e60000000p-4F, 0x1.0c4e340000000p-5F,  0x1.f4d7280000000p-11F, -0x1.1c07f40000000p-8F,
    0x1.b45ec00000000p-12F, 0x1.0dc5820000000p-11F};
inline constexpr float kErfcF32Low = -0x1.2ed0360000000p-25F;  // what rounding took from its first

// (tanh(x) - x) / x^3 in x^2, |x| <= 5/8; error 2^-27.8.
inline constexpr std::array<float, 5> kTanhF32 = {-0x1.5555320000000p-2F, 0x1.1107260000000p-3F, -0x1.b83c5c0000000p-5F,
                                                  0x1.5226a40000000p-6F, -0x1.75e1e40000000p-8F};

}  // namespace tfvm::math
