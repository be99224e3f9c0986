// The array functions: the same bits at every length and place, nothing touched past the end, in-place use.
#include "jit/math/array.h"

#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "tests/jit/math/reference.h"

namespace tfvm::math::test {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
Bits<T> bits(T x) {
  return std::bit_cast<Bits<T>>(x);
}

/// Arguments of all kinds: every 7th of each block of the reference values.
template <class T>
std::vector<T> mixed_arguments() {
  std::vector<T> out;
  for (const auto& block : read_blocks<T>()) {
    for (std::size_t i = 0; i < block.x.size(); i += 7) out.push_back(block.x[i]);
  }
  return out;
}

template <class T>
struct Operands {
  std::vector<T> a = mixed_arguments<T>(), b, c;

  Operands() : b(a.rbegin(), a.rend()), c(a) { std::rotate(c.begin(), c.begin() + 5, c.end()); }
};

template <class T>
void expect_same_bits_alone_and_in_a_row() {
  const Operands<T> in;
  std::vector<T> together(in.a.size());
  for (std::size_t f = 0; f < kMathFnCount; ++f) {
    const auto fn = array_fn<T>(static_cast<MathFn>(f));
    fn(in.a.data(), in.b.data(), in.c.data(), together.data(), together.size());
    std::size_t differ = 0;
    for (std::size_t i = 0; i < together.size(); ++i) {
      T alone = 0;
      fn(&in.a[i], &in.b[i], &in.c[i], &alone, 1);
      differ += bits(alone) != bits(together[i]);
    }
    EXPECT_EQ(differ, 0u) << kMathFns[f].name;
  }
}

TEST(MathArray, OneLaneHasTheBitsOfMany) {
  expect_same_bits_alone_and_in_a_row<float>();
  expect_same_bits_alone_and_in_a_row<double>();
}

template <class T>
void expect_tails() {
  const Operands<T> in;
  constexpr std::size_t most = 21;
  constexpr T guard = T(1234.5);
  for (std::size_t f = 0; f < kMathFnCount; ++f) {
    const auto fn = array_fn<T>(static_cast<MathFn>(f));
    std::vector<T> whole(most);
    fn(in.a.data(), in.b.data(), in.c.data(), whole.data(), most);
    for (std::size_t n = 0; n < most; ++n) {
      std::vector<T> a(in.a.begin(), in.a.begin() + n), out(n + 1, guard);  // exact size: asan sees a read past n
      a.shrink_to_fit();
      fn(a.data(), in.b.data(), in.c.data(), out.data(), n);
      EXPECT_EQ(out[n], guard) << kMathFns[f].name;
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(bits(out[i]), bits(whole[i])) << kMathFns[f].name;
      fn(a.data(), in.b.data(), in.c.data(), a.data(), n);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(bits(a[i]), bits(whole[i])) << kMathFns[f].name;
    }
  }
}

TEST(MathArray, TailsAndInPlace) {
  expect_tails<float>();
  expect_tails<double>();
}

TEST(MathArray, NamesAreThoseOfOps) {
  EXPECT_EQ(math_fn("logistic"), MathFn::logistic);
  EXPECT_EQ(math_fn("atan2"), MathFn::atan2);
  EXPECT_EQ(math_fn("no_such"), std::nullopt);
  EXPECT_EQ(kMathFns[static_cast<std::size_t>(MathFn::clamp)].arity, 3);
}

}  // namespace
}  // namespace tfvm::math::test
