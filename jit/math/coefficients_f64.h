// Polynomial coefficients, lowest degree first, made by fit.py: do not edit.
#pragma once

#include <array>

#include "jit/math/coefficients.h"

namespace tfvm::math {

// (exp(r) - 1 - r) / r^2, |r| <= ln2/2; error 2^-55.6.
template <>
inline constexpr std::array<double, 10> kExp<double> = {
    0x1.0000000000005p-1,  0x1.555555555555cp-3,  0x1.55555555520b9p-5,  0x1.111111110e6c1p-7,  0x1.6c16c17f47858p-10,
    0x1.a01a01b5e05fdp-13, 0x1.a019a652d9b9fp-16, 0x1.71dde9efb980dp-19, 0x1.28a2e091bb88ap-22, 0x1.af76d329025a6p-26};

// (2^r - 1) / r, |r| <= 1/2; error 2^-56.2.
template <>
inline constexpr std::array<double, 11> kExp2<double> = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c598p-3,  0x1.c6b08d704a0cbp-5,  0x1.3b2ab6fba1ddap-7,
    0x1.5d87fe78a2ccfp-10, 0x1.430913097012bp-13, 0x1.ffcbfc743b869p-17, 0x1.62bfd476bb1b5p-20,
    0x1.b524dcc525edfp-24, 0x1.e60640d9aae7cp-28, 0x1.ea04358ff2294p-32};

// (sin(r) - r) / r^3 in r^2, |r| <= pi/4; error 2^-57.9.
template <>
inline constexpr std::array<double, 6> kSinQuarter<double> = {-0x1.5555555555548p-3,  0x1.111111110f7aep-7,
                                                              -0x1.a01a019bf987cp-13, 0x1.71de3563de658p-19,
                                                              -0x1.ae5e575e7b366p-26, 0x1.5d8edd1fcecefp-33};

// (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4; error 2^-64.2.
template <>
inline constexpr std::array<double, 6> kCosQuarter<double> = {0x1.555555555554cp-5,  -0x1.6c16c16c15161p-10,
                                                              0x1.a01a019caece8p-16, -0x1.27e4f807b9626p-22,
                                                              0x1.1ee9ea57e26bbp-29, -0x1.8fadc4ffcb233p-37};

// (atan(t) - t) / t^3 in t^2, |t| <= tan(pi/8); error 2^-59.4.
template <>
inline constexpr std::array<double, 11> kAtan<double> = {
    -0x1.555555555553dp-2, 0x1.99999999957c9p-3, -0x1.24924922aa2d5p-3, 0x1.c71c70e5002a4p-4,
    -0x1.745cf8c1bfbcdp-4, 0x1.3b11177507b83p-4, -0x1.10eba749fd0e7p-4, 0x1.df0e6991d9a6fp-5,
    -0x1.9ccf15ad30a89p-5, 0x1.37cd0ca119b65p-5, -0x1.2558d40f2ac16p-6};

// (asin(t) - t) / t^3 in t^2, |t| <= 1/2; error 2^-55.9.
template <>
inline constexpr std::array<double, 12> kAsin<double> = {
    0x1.5555555555390p-3, 0x1.333333336e7bap-4, 0x1.6db6db427d232p-5,  0x1.f1c72c38336c8p-6,
    0x1.6e89f450a8068p-6, 0x1.1c6be0c4e4676p-6, 0x1.c6fdd19e03efcp-7,  0x1.8ec29bda5358fp-7,
    0x1.abd2675033641p-8, 0x1.3ff2b84dc63fep-6, -0x1.09d04d78ce021p-6, 0x1.056c81708c180p-5};

// (sinh(x) - x) / x^3 in x^2, |x| <= 1; error 2^-63.3.
template <>
inline constexpr std::array<double, 7> kSinh<double> = {
    0x1.5555555555556p-3,  0x1.11111111110a6p-7,  0x1.a01a01a02899cp-13, 0x1.71de3a465b222p-19,
    0x1.ae64671b196dap-26, 0x1.611a561c89183p-33, 0x1.b4c75b23e6ac7p-41};

// (2 atanh(s)/s - 2) / s^2 in s^2, s = f/(2 + f) of the logarithm; error 2^-58.5.
inline constexpr std::array<double, 7> kAtanh = {0x1.5555555555592p-1, 0x1.999999997fd7cp-2, 0x1.24924941f4d71p-2,
                                                 0x1.c71c52061e432p-3, 0x1.74663f9d7b6f0p-3, 0x1.39a1a7832bf76p-3,
                                                 0x1.2f062df7587dbp-3};

// (atanh(s)/s - 1 - s^2/3) / s^4 in s^2; error 2^-73.5.
inline constexpr std::array<double, 8> kAtanhTail = {0x1.9999999999996p-3, 0x1.2492492493036p-3, 0x1.c71c71c5804e8p-4,
                                                     0x1.745d18325f0a7p-4, 0x1.3b1362b2ca695p-4, 0x1.1120b61ddf954p-4,
                                                     0x1.de335d0997cf1p-5, 0x1.eb11c497df81ap-5};

// erf(x)/x - 1 in x^2, |x| <= 0.65; error 2^-57.7.
inline constexpr std::array<double, 10> kErf = {0x1.06eba8214db68p-3,  -0x1.812746b0379c3p-2,  0x1.ce2f21a03ff82p-4,
                                                -0x1.b82ce31137609p-6, 0x1.565bccbcf8776p-8,   -0x1.c02d9d6356fe7p-11,
                                                0x1.f99f52b49dc67p-14, -0x1.f46b4815a2111p-17, 0x1.b34e901605a11p-20,
                                                -0x1.22a2f5e05a567p-23};

// (1 + 2x) exp(x^2) erfc(x) in q = (x - 3.75)/(x + 3.75), 0.64 <= x <= 28; error 2^-58.7.
inline constexpr std::array<double, 22> kErfc = {
    0x1.3ccda0b5d5dc2p+0,  -0x1.1f367683f89a8p-3,  0x1.d5f294815a3b6p-9,   0x1.510169d0969a6p-4,
    -0x1.bda9309a29803p-4, 0x1.7a14188a953dfp-4,   -0x1.e0d0fa6dc7eb9p-5,  0x1.d0b0037f2e376p-6,
    -0x1.3f603c4145112p-7, 0x1.cc3a0d32e5683p-10,  0x1.33fb33b2414e9p-12,  -0x1.303f85703813fp-12,
    0x1.b14193ee9f4bfp-15, 0x1.77841f36ecdd6p-16,  -0x1.7fe0e1bf71aa1p-17, -0x1.04350f962e2d5p-20,
    0x1.d3c0c68c91c1ep-20, -0x1.10783c55008d2p-24, -0x1.06aae7123ebfep-22, 0x1.e4bb43ed33f10p-26,
    0x1.c2cf6b68de957p-26, -0x1.5f19341cd0f4fp-28};
inline constexpr double kErfcLow = 0x1.dec3a37b07fdfp-54;  // what rounding took from its first

// lgamma(2 + t) / t, |t| <= 1/2; error 2^-57.8.
inline constexpr std::array<double, 18> kLgamma = {
    0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa7p-2,  -0x1.13e001a557553p-4,  0x1.51322ac7d7c42p-6,
    -0x1.e404fc21d9ad5p-8,  0x1.7add6eaebf535p-9,  -0x1.38ac5bfc8c8d0p-10, 0x1.0b36af0cf3a03p-11,
    -0x1.d3fd6abba14e3p-13, 0x1.a127ed77979b2p-14, -0x1.78d8f2a78efa5p-15, 0x1.5804e969c6344p-16,
    -0x1.3d4d535873cc7p-17, 0x1.2661e6eddcd0bp-18, -0x1.08f899db676acp-19, 0x1.eb93048e35412p-21,
    -0x1.380e67f994c40p-21, 0x1.2fc44d78658ddp-22};

// x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2) in 1/x^2, x >= 8; error 2^-54.6.
inline constexpr std::array<double, 6> kStirling = {0x1.5555555555553p-4,  -0x1.6c16c16bb8498p-9,
                                                    0x1.a019fd44c6470p-11, -0x1.380ec92780873p-11,
                                                    0x1.b6fd9fcec2396p-11, -0x1.b162e117543e3p-10};

// digamma(x) / (x - root) in x - 3/2, 1 <= x <= 2; error 2^-58.5.
inline constexpr std::array<double, 23> kDigamma = {
    0x1.e6f0cbb873616p-1,  -0x1.b1cb63005ee98p-2,  0x1.eca189b8e6f8ap-3,  -0x1.2feeeb98a78cbp-3,
    0x1.8512e59036c5cp-4,  -0x1.fb44202a259e7p-5,  0x1.4de9aa18921f9p-5,  -0x1.b9f8b11b2f06dp-6,
    0x1.25647132696cap-6,  -0x1.863564178383ap-7,  0x1.03c0b7ef0c849p-7,  -0x1.5a06a239eb0b0p-8,
    0x1.cd1e33baceecbp-9,  -0x1.336df9d0c2e36p-9,  0x1.99efde18416a3p-10, -0x1.0fb1241172dc0p-10,
    0x1.69324c176ed3dp-11, -0x1.fdad00cf0b684p-12, 0x1.59f20452128ebp-12, -0x1.2f410dccb2141p-13,
    0x1.6ac55a79cbad0p-14, -0x1.7613ef35f7365p-13, 0x1.087fb9f973deep-13};
inline constexpr double kDigammaLow = 0x1.87dd0c29d3234p-55;  // what rounding took from its first

// x^2 (log(x) - 1/(2x) - digamma(x)) in 1/x^2, x >= 5; error 2^-63.1.
inline constexpr std::array<double, 9> kDigammaTail = {
    0x1.5555555555540p-4,  -0x1.11111110e3c31p-7, 0x1.0410408397bebp-8,  -0x1.1110b7c328352p-8, 0x1.f058be4cd94bep-8,
    -0x1.576ec5a2ef727p-6, 0x1.3fff19b726d55p-4,  -0x1.3d1fa297fef76p-2, 0x1.9f3f4ec2a607bp-1};

// erfinv(x)/x in w - 3 where w = -log(1 - x^2) <= 6; error 2^-34.9.
inline constexpr std::array<double, 15> kErfinv = {
    0x1.9fa072ed6e221p+0,   0x1.eedbebd76cd1ap-3,   -0x1.780deee0b99dfp-8,  -0x1.b66653f65ac8ap-11,
    0x1.9912afec47c8ep-13,  -0x1.aab84dcb1cb9bp-17, -0x1.d532daa417fe7p-20, 0x1.e3a55076a4247p-22,
    -0x1.97b6d19ff9560p-26, -0x1.803eb42f570f8p-28, 0x1.343c32572f58fp-30,  -0x1.b9e4dd49c9154p-37,
    -0x1.4ba13b254a4fep-36, 0x1.50403a7218d26p-40,  0x1.330948bf8ab25p-43};

// erfinv(x)/x in sqrt(w) - 4.25, 6 <= w <= 37; error 2^-33.1.
inline constexpr std::array<double, 18> kErfinvTail = {
    0x1.05e6fd1341996p+2,  0x1.028defb73061dp+0,   0x1.75aef969c6521p-11,  -0x1.3eb6ba43f54dcp-11,
    0x1.bd0f43cd88ad2p-13, -0x1.0e1ce08b15f92p-14, 0x1.6e5ae53c4f887p-16,  -0x1.578204b956c8fp-17,
    0x1.9581202a33c58p-18, -0x1.a9c8bb83e4730p-19, 0x1.5562d8372dc00p-20,  -0x1.1ddf0b778454bp-21,
    0x1.cb860d83f8850p-23, 0x1.bc793ef675190p-26,  -0x1.2b1d20e950364p-24, 0x1.1abe06a4efb85p-26,
    0x1.110b2311ae879p-28, -0x1.881195551e5fdp-30};

// a^(-1/3), 1/2 <= a <= 4; error 2^-8.4.
inline constexpr std::array<double, 6> kCbrt = {0x1.cb96b4784b034p+0,  -0x1.80e8f5a52ae1dp+0, 0x1.06fa88f0330a1p+0,
                                                -0x1.8e88a2bf44e3fp-2, 0x1.313213d02873cp-4,  -0x1.705a5543ede2ep-8};

// log2(m)/s in s^2, s = (m - 1)/(m + 1), to f32 pow's accuracy; error 2^-36.3.
inline constexpr std::array<double, 5> kLog2Short = {0x1.71547652bee81p+1, 0x1.ec709d123cc9dp-1, 0x1.2777804932a85p-1,
                                                     0x1.a58d5fc34e3b2p-2, 0x1.5ceb0db204b10p-2};

// 2^r, |r| <= 1/2, to f32 pow's accuracy; error 2^-29.0.
inline constexpr std::array<double, 7> kExp2Short = {0x1.ffffffff4e6abp-1, 0x1.62e430d041b3ep-1, 0x1.ebfbe10e02adfp-3,
                                                     0x1.c6aecc599d975p-5, 0x1.3b2995fc40b29p-7, 0x1.5f48c5440381cp-10,
                                                     0x1.4498ffc06674cp-13};

// The positive root of digamma, as a sum.
inline constexpr double kDigammaRoot = 0x1.762d86356be3fp+0, kDigammaRootLow = 0x1.b86a722197829p-54;

}  // namespace tfvm::math
