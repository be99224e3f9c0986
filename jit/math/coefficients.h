// The names of the tables that exist for both types; coefficients_f32.h and _f64.h fill them.
#pragma once

namespace tfvm::math {

template <class T>
inline constexpr int kExp = 0;
template <class T>
inline constexpr int kExp2 = 0;
template <class T>
inline constexpr int kSinQuarter = 0;
template <class T>
inline constexpr int kCosQuarter = 0;
template <class T>
inline constexpr int kAtan = 0;
template <class T>
inline constexpr int kAsin = 0;
template <class T>
inline constexpr int kSinh = 0;

}  // namespace tfvm::math
