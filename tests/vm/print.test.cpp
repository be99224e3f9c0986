#include "vm/print.h"

#include <bit>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

namespace tfvm {
namespace {

using Vec = std::vector<std::int64_t>;

template <class T>
Tensor tensor(DType d, const Vec& dims, const std::vector<T>& values) {
  auto t = Tensor::make({}, d, dims, std::as_bytes(std::span(values)));
  return *std::move(t);
}

void expect_round_trip(const Tensor& t, const std::string& text) {
  EXPECT_EQ(print(t, {.full = true}), text);
  const auto back = parse_tensor(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(same_bits(*back, t)) << text;
}

TEST(Print, LiteralsReadBack) {
  expect_round_trip(tensor<float>(DType::F32, {2, 2}, {1, 0.1f, -0.0f, 1e-30f}),
                    "f32[2,2] [[1.0, 0.1], [-0.0, 1e-30]]");
  expect_round_trip(tensor<std::int64_t>(DType::I64, {}, {-5}), "i64 -5");
  expect_round_trip(tensor<std::uint64_t>(DType::U64, {1}, {~0ull}), "u64[1] [18446744073709551615]");
  expect_round_trip(tensor<std::uint8_t>(DType::Bool, {2}, {1, 0}), "bool[2] [true, false]");
  expect_round_trip(tensor<float>(DType::C64, {1}, {1.5f, -2.f}), "c64[1] [complex(1.5, -2.0)]");
  expect_round_trip(tensor<float>(DType::F32, {0, 3}, {}), "f32[0,3] []");
  expect_round_trip(tensor<float>(DType::F32, {2, 0}, {}), "f32[2,0] [[], []]");
  const float inf = INFINITY;
  expect_round_trip(
      tensor<float>(DType::F32, {4}, {inf, -inf, std::bit_cast<float>(0x7fc00000u), std::bit_cast<float>(0xffc00001u)}),
      "f32[4] [inf, -inf, nan, bits(0xffc00001)]");
  expect_round_trip(tensor<double>(DType::F64, {2}, {0.1, 5e-324}), "f64[2] [0.1, 5e-324]");
}

TEST(Print, EveryHalfReadsBack) {
  for (const DType d : {DType::F16, DType::BF16}) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto h = static_cast<std::uint16_t>(bits);
      const Tensor t = tensor<std::uint16_t>(d, {}, {h});
      const auto back = parse_tensor_as(print_literal(t), d, Vec{});
      ASSERT_TRUE(back) << print(t);
      ASSERT_TRUE(same_bits(*back, t)) << print(t);
    }
  }
}

TEST(Print, LongOnesAreCut) {
  std::vector<float> v(1000, 1.f);
  EXPECT_EQ(print(tensor<float>(DType::F32, {1000}, v)), "f32[1000] [1.0, 1.0, 1.0, …, 1.0, 1.0, 1.0]");
  EXPECT_EQ(print(tensor<float>(DType::F32, {500, 2}, v)),
            "f32[500,2] [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], …, [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]");
}

TEST(Print, ParseInfersTypeAndShape) {
  EXPECT_EQ(parse_tensor("[[1, 2], [3, 4]]")->type_text(), "i64[2,2]");
  EXPECT_EQ(parse_tensor("[1, 2.5]")->type_text(), "f32[2]");
  EXPECT_EQ(parse_tensor("true")->type_text(), "bool");
  EXPECT_EQ(parse_tensor("[[], []]")->type_text(), "f32[2,0]");
  EXPECT_EQ(parse_tensor_as("[1, 2]", DType::F64, Vec{2})->type_text(), "f64[2]");
}

TEST(Print, ParseErrorsSayWhatIsWrong) {
  for (const char* bad :
       {"", "[", "[1", "[1] 2", "[[1], 2]", "[[1, 2], [3]]", "[1, [2]]", "f32[2] [1.0, 2.0, 3.0]", "f32[ [1]",
        "i8 300", "u8 -1", "bool 1", "f32 x", "i64 1.5", "bits(1)", "f32[3] []"}) {
    const auto t = parse_tensor(bad);
    EXPECT_FALSE(t) << bad;
    if (!t) {
      EXPECT_FALSE(t.error().message.empty());
    }
  }
  std::string deep(100'000, '[');
  EXPECT_FALSE(parse_tensor(deep));
}

}  // namespace
}  // namespace tfvm
