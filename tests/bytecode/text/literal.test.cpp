// Numbers are rounded once, from their text; and print as the shortest text that reads back.

#include "bytecode/literal.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "bytecode/consts.h"
#include "bytecode/half.h"

namespace tfvm {
namespace {

template <class T>
T read(ElemKind kind, std::string_view text, DType d) {
  std::byte buffer[16]{};
  auto s = store_number(kind, text, d, buffer);
  EXPECT_TRUE(s) << s.error().message;
  T v;
  std::memcpy(&v, buffer, sizeof v);
  return v;
}

std::string error(ElemKind kind, std::string_view text, DType d) {
  std::byte buffer[16]{};
  auto s = store_number(kind, text, d, buffer);
  return s ? "" : s.error().message;
}

TEST(Literal, RoundsOnce) {
  // Halfway between two floats as a double, but not as written.
  const std::string_view above = "1.00000005960464477540", below = "1.00000005960464477538";
  EXPECT_EQ(parse_double(above), parse_double(below));
  EXPECT_EQ(read<float>(ElemKind::Float, above, DType::F32), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(read<float>(ElemKind::Float, below, DType::F32), 1.0f);
  // The same for f16: 1 + 2^-11 and a little, less than a double sees.
  EXPECT_EQ(read<std::uint16_t>(ElemKind::Float, "1.00048828125", DType::F16), 0x3c00);
  EXPECT_EQ(read<std::uint16_t>(ElemKind::Float, "1.000488281250000000000001", DType::F16), 0x3c01);
  EXPECT_EQ(read<std::uint16_t>(ElemKind::Float, "-1.000488281250000000000001", DType::F16), 0xbc01);
  EXPECT_EQ(read<std::uint16_t>(ElemKind::Float, "1.000488281249999999999999", DType::F16), 0x3c00);
  EXPECT_EQ(read<std::uint16_t>(ElemKind::Float, "1.0009765625e0", DType::F16), 0x3c01);
  // Integers too: 2^24 + 1 in f32.
  EXPECT_EQ(read<float>(ElemKind::Int, "16777217", DType::F32), 16777216.0f);
}

TEST(Literal, SpecialFloats) {
  EXPECT_EQ(read<std::uint64_t>(ElemKind::Float, "nan", DType::F64), 0x7ff8000000000000u);
  EXPECT_EQ(read<std::uint32_t>(ElemKind::Float, "-inf", DType::F32), 0xff800000u);
  EXPECT_EQ(read<std::uint16_t>(ElemKind::Float, "inf", DType::BF16), 0x7f80);
  EXPECT_EQ(read<std::uint32_t>(ElemKind::Float, "1e39", DType::F32), 0x7f800000u);
  EXPECT_EQ(read<std::uint32_t>(ElemKind::Float, "-1e-60", DType::F32), 0x80000000u);
  EXPECT_EQ(read<std::uint64_t>(ElemKind::Float, "-1e-400", DType::F64), 0x8000000000000000u);
  EXPECT_EQ(read<std::uint64_t>(ElemKind::Float, "1e400", DType::F64), 0x7ff0000000000000u);
  EXPECT_EQ(read<std::uint64_t>(ElemKind::Float, "0e999999999999", DType::F64), 0u);
  EXPECT_EQ(read<std::uint64_t>(ElemKind::Float, "5e-324", DType::F64), 1u);
  EXPECT_EQ(read<double>(ElemKind::Float, "0x1.8p3", DType::F64), 12.0);
  EXPECT_EQ(read<std::uint32_t>(ElemKind::Int, "-0", DType::F32), 0x80000000u);
  EXPECT_EQ(read<std::uint32_t>(ElemKind::Bits, "7fc00001", DType::F32), 0x7fc00001u);
}

TEST(Literal, IntegersFit) {
  EXPECT_EQ(read<std::int8_t>(ElemKind::Int, "-128", DType::I8), -128);
  EXPECT_EQ(error(ElemKind::Int, "128", DType::I8), "128 does not fit i8");
  EXPECT_EQ(error(ElemKind::Int, "-1", DType::U32), "-1 does not fit u32");
  EXPECT_EQ(read<std::uint64_t>(ElemKind::Int, "18446744073709551615", DType::U64), ~0ull);
  EXPECT_EQ(error(ElemKind::Int, "18446744073709551616", DType::U64), "18446744073709551616 does not fit u64");
  EXPECT_EQ(read<std::int32_t>(ElemKind::Int, "0xffffffff", DType::I32), -1);  // a pattern of 32 bits
  EXPECT_EQ(read<std::int64_t>(ElemKind::Float, "2.0", DType::I64), 2);
  EXPECT_EQ(error(ElemKind::Float, "2.5", DType::I64), "2.5 is no integer, as i64 needs");
  EXPECT_EQ(error(ElemKind::Float, "1.000000000000000000001", DType::I64),
            "1.000000000000000000001 is no integer, as i64 needs");
  EXPECT_EQ(error(ElemKind::Float, "nan", DType::I64), "nan is no integer, as i64 needs");
  EXPECT_EQ(error(ElemKind::Int, "1", DType::Bool), "1 is a number, not a bool");
  EXPECT_EQ(error(ElemKind::Bool, "true", DType::F32), "true is a bool, not f32");
  EXPECT_EQ(error(ElemKind::Bits, "100", DType::U8), "bits(0x100) does not fit u8");
}

TEST(Literal, HexFloatsAreExact) {
  EXPECT_TRUE(is_exact_hex_float("0x1.fffffffffffffp1023"));
  EXPECT_FALSE(is_exact_hex_float("0x1.fffffffffffff8p1023"));
  EXPECT_FALSE(is_exact_hex_float("0x1p1024"));
  EXPECT_TRUE(is_exact_hex_float("0x1p-1074"));
  EXPECT_FALSE(is_exact_hex_float("0x1p-1075"));
}

// All patterns of the 16-bit formats, many of the others: text reads back to the same bits.
TEST(Literal, TextReadsBack) {
  std::mt19937_64 random(3);
  const auto check = [](DType d, std::uint64_t bits) {
    std::byte in[16]{}, out[16]{};
    std::memcpy(in, &bits, 8);
    const std::string text = element_text(d, in);
    const bool is_bits = text.starts_with("bits(0x");
    const std::string_view digits =
        is_bits ? std::string_view(text).substr(7, text.size() - 8) : std::string_view(text);
    const bool is_integer = digits.find_first_not_of("-0123456789") == digits.npos;
    const ElemKind kind = is_bits ? ElemKind::Bits : is_integer ? ElemKind::Int : ElemKind::Float;
    ASSERT_TRUE(store_number(kind, digits, d, out)) << text;
    ASSERT_EQ(std::memcmp(in, out, static_cast<std::size_t>(size_of(d))), 0) << text;
  };
  for (std::uint64_t b = 0; b < 0x10000; ++b)
    for (DType d : {DType::F16, DType::BF16, DType::I16, DType::U16}) check(d, b);
  for (int k = 0; k < 20'000; ++k)
    for (DType d : {DType::F32, DType::F64, DType::I8, DType::I32, DType::U64, DType::I64}) check(d, random());
}

}  // namespace
}  // namespace tfvm
