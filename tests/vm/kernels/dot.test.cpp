// dot_general against one chain per element, in the order that the language fixes, bit for bit.
#include "vm/kernels/dot.h"

#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "bytecode/half.h"

namespace tfvm {
namespace {

// Sums of one element, over operands given as k values each.
template <class T>
T reference(const std::vector<T>& a, const std::vector<T>& b) {
  T total{};
  for (std::size_t k0 = 0; k0 < a.size(); k0 += 256) {
    T sum{};
    for (std::size_t k = k0; k < std::min(a.size(), k0 + 256); ++k) {
      if constexpr (std::is_floating_point_v<T>)
        sum = std::fma(a[k], b[k], sum);
      else
        sum = static_cast<T>(a[k] * b[k] + sum);
    }
    total = k0 == 0 ? sum : static_cast<T>(total + sum);
  }
  return total;
}

// A bf16, which is computed with as a float.
struct Brain {
  std::uint16_t bits = 0;
  Brain() = default;
  explicit Brain(double v) : bits(bf16_bits(v)) {}
  operator float() const { return static_cast<float>(bf16_value(bits)); }
};

struct DotTest : testing::Test {
  Tables t;
  std::mt19937 rng{1};
  bool avx512 = true;

  Kernel kernel(TypeId x, TypeId y, Ints bx, Ints by, Ints cx, Ints cy, TypeId& result) {
    Builder b(t, {});
    const ValueId vx = b.param(x), vy = b.param(y);
    const AttrId batch[] = {t.attrs.ints(bx), t.attrs.ints(by)}, contract[] = {t.attrs.ints(cx), t.attrs.ints(cy)};
    const ValueId r =
        b.emit(Op::dot_general, {vx, vy}, {{Key::batch, t.attrs.list(batch)}, {Key::contract, t.attrs.list(contract)}});
    EXPECT_FALSE(b.failed()) << b.error().message;
    result = b.type(r);
    const TypeId operands[] = {x, y};
    return *make_dot_kernel(t.types, t.attrs, b.body().attrs.back(), operands, {&result, 1}, avx512);
  }

  template <class T>
  std::vector<T> values(std::size_t n) {
    std::vector<T> v(n);
    for (T& e : v) {
      const int i = static_cast<int>(rng() % 2001) - 1000;
      if constexpr (std::is_same_v<T, Brain>)
        e = Brain(i / 7.0);
      else if constexpr (std::is_floating_point_v<T>)
        e = static_cast<T>(i) / 7;
      else
        e = static_cast<T>(i);
    }
    return v;
  }

  // x[2,m,k] by y[2,k,n], both row-major or both with their dims swapped in memory.
  template <class T, class Sum = T>
  void check(DType d, std::int64_t m, std::int64_t n, std::int64_t k, bool swapped) {
    TypeId result;
    const std::int64_t lot[] = {0}, two[] = {2}, one[] = {1};
    const Kernel kern = kernel(t.types.tensor(d, {2, m, k}), t.types.tensor(d, {2, k, n}), lot, lot, two, one, result);
    const auto x = values<T>(static_cast<std::size_t>(2 * m * k)), y = values<T>(static_cast<std::size_t>(2 * k * n));
    std::vector<T> out(static_cast<std::size_t>(2 * m * n));
    const std::int64_t dx[] = {2, m, k}, dy[] = {2, k, n}, dout[] = {2, m, n};
    const std::int64_t sx[] = {m * k, swapped ? 1 : k, swapped ? m : 1},
                       sy[] = {k * n, swapped ? 1 : n, swapped ? k : 1}, so[] = {m * n, n, 1};
    const auto bytes = [](const std::vector<T>& v) {
      return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(v.data()));
    };
    const View in[] = {{bytes(x), d, 3, dx, sx}, {bytes(y), d, 3, dy, sy}};
    const View to{bytes(out), d, 3, dout, so};
    std::vector<std::byte> scratch(kern.scratch_bytes + 64);
    std::byte* aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    kern({in, &to, aligned, nullptr});
    std::vector<Sum> a(static_cast<std::size_t>(k)), b(a);
    for (std::int64_t l = 0; l < 2; ++l)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t p = 0; p < k; ++p) {
            a[static_cast<std::size_t>(p)] = x[static_cast<std::size_t>(l * sx[0] + i * sx[1] + p * sx[2])];
            b[static_cast<std::size_t>(p)] = y[static_cast<std::size_t>(l * sy[0] + p * sy[1] + j * sy[2])];
          }
          ASSERT_EQ(out[static_cast<std::size_t>((l * m + i) * n + j)], T(reference(a, b)))
              << m << " " << n << " " << k << " at " << i << "," << j;
        }
  }
};

TEST_F(DotTest, EveryPathHasTheOrderOfTheLanguage) {
  for (const bool allowed : {true, false}) {
    avx512 = allowed;
    for (std::int64_t m : {1, 3, 6, 13, 97})
      for (std::int64_t n : {1, 2, 9, 16, 20, 33, 90})
        for (std::int64_t k : {1, 5, 256, 300, 2600})
          for (bool swapped : {false, true}) {
            check<float>(DType::F32, m, n, k, swapped);
            check<double>(DType::F64, m, n, k, swapped);
          }
    for (bool swapped : {false, true}) check<float>(DType::F32, 150, 530, 300, swapped);
  }
}

TEST_F(DotTest, IntegersWrap) {
  for (std::int64_t n : {2, 40}) {
    check<std::uint8_t>(DType::U8, 7, n, 300, false);
    check<std::int16_t>(DType::I16, 7, n, 300, true);
    check<std::int32_t>(DType::I32, 7, n, 300, false);
    check<std::uint64_t>(DType::U64, 7, n, 300, false);
  }
}

// Few elements, a row of long k, packed panels; lanes side by side and not.
TEST_F(DotTest, NarrowElementsAreConverted) {
  for (const bool allowed : {true, false}) {
    avx512 = allowed;
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {1, 1, 3}, {3, 4, 5}, {1, 1, 5000}, {1, 3, 5000}, {7, 2, 300}, {2, 7, 300}, {20, 50, 300}})
      for (bool swapped : {false, true}) {
        check<Brain, float>(DType::BF16, m, n, k, swapped);
        check<std::int8_t>(DType::I8, m, n, k, swapped);
        check<std::uint16_t>(DType::U16, m, n, k, swapped);
      }
  }
}

TEST_F(DotTest, NothingToSumIsZeroAndNoElementsAreFine) {
  check<float>(DType::F32, 3, 4, 0, false);
  check<float>(DType::F32, 0, 4, 5, false);
  check<double>(DType::F64, 3, 0, 5, false);
}

TEST_F(DotTest, HalvesAccumulateInF32AndRoundOnce) {
  TypeId result;
  const std::int64_t zero[] = {0};
  const Kernel kern =
      kernel(t.types.tensor(DType::F16, {600}), t.types.tensor(DType::F16, {600}), {}, {}, zero, zero, result);
  std::vector<std::uint16_t> x(600);
  float total = 0, sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (k % 256 == 0) total += std::exchange(sum, 0.0f);
    x[k] = f16_bits(std::sin(static_cast<double>(k)));
    sum = std::fma(static_cast<float>(f16_value(x[k])), static_cast<float>(f16_value(x[k])), sum);
  }
  std::uint16_t out = 0;
  const std::int64_t dims[] = {600}, strides[] = {1};
  const View v{reinterpret_cast<std::byte*>(x.data()), DType::F16, 1, dims, strides};
  const View in[] = {v, v}, to{reinterpret_cast<std::byte*>(&out), DType::F16, 0, nullptr, nullptr};
  std::vector<std::byte> scratch(kern.scratch_bytes + 64);
  kern({in, &to, scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64, nullptr});
  EXPECT_EQ(out, f16_bits(total + sum));
}

}  // namespace
}  // namespace tfvm
