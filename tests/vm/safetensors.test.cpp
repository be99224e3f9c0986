// safetensors: round trips, the bytes of the format, and files that lie.
#include "vm/safetensors/safetensors.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include <gtest/gtest.h>

#include "vm/print.h"

namespace tfvm {
namespace {

std::vector<std::byte> file(std::string_view header, std::string_view data, std::uint64_t length) {
  std::vector<std::byte> out(8 + header.size() + data.size());
  std::memcpy(out.data(), &length, 8);
  std::memcpy(out.data() + 8, header.data(), header.size());
  std::memcpy(out.data() + 8 + header.size(), data.data(), data.size());
  return out;
}
std::vector<std::byte> file(std::string_view header, std::string_view data) {
  return file(header, data, header.size());
}

std::string error_of(const std::vector<std::byte>& bytes) {
  const auto t = parse_safetensors(bytes);
  return t ? "none" : t.error().message;
}

TEST(Safetensors, TheBytesAreThoseOfTheFormat) {
  const auto t = to_safetensors({{"w", *parse_tensor("i16[2] [1, -2]")}});
  ASSERT_TRUE(t);
  const std::string_view header = R"({"w":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}  )";
  ASSERT_EQ(header.size() % 8, 0u);
  EXPECT_EQ(*t, file(header, std::string_view("\x01\x00\xfe\xff", 4)));
}

TEST(Safetensors, RoundTripsOfEveryDtypeAndShape) {
  NamedTensors in;
  for (const char* text : {"f32[2,2] [[1, 2], [3, 4.5]]", "f64 0.1", "bool[3] [true, false, true]",
                           "u64[1] [18446744073709551615]", "bf16[2] [1, 2]", "f16[0,3] []", "i8[1,1,1] [[[-7]]]"})
    in.emplace_back(text, *parse_tensor(text));
  in.emplace_back("transposed \"\\", in[0].second.with_layout(Layout{{2, 2}, {1, 2}, 0}));
  const auto bytes = to_safetensors(in);
  ASSERT_TRUE(bytes);
  const auto out = parse_safetensors(*bytes);
  ASSERT_TRUE(out) << out.error().message;
  for (const auto& [name, t] : in) {
    const auto it = std::ranges::find(*out, name, [](const auto& o) { return o.first; });
    ASSERT_NE(it, out->end()) << name;
    EXPECT_TRUE(same_bits(it->second, t)) << name;
  }
}

TEST(Safetensors, MetadataIsReadOver) {
  const auto t = parse_safetensors(
      file(R"({"__metadata__":{"format":"pt"},"b":{"shape":[],"data_offsets":[0,1],"dtype":"U8"}})", "\x07"));
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(print(t->at(0).second), "u8 7");
}

TEST(Safetensors, WhatIsRefused) {
  const auto one = [](std::string_view member) { return file("{\"a\":{" + std::string(member) + "}}", "1234"); };
  const struct {
    std::vector<std::byte> bytes;
    std::string_view error;
  } cases[] = {
      {{}, "no header"},
      {file("{}", "", 3), "longer than the file"},
      {file("{}", "", ~std::uint64_t{0}), "longer than the file"},
      {file("{}", "1"), "bytes behind the last tensor"},
      {file("{} x", ""), "something behind the header's object"},
      {file("[]", ""), "byte 0 of the header: expected '{'"},
      {file("{\"a", ""), "a string without end"},
      {file("{\"a\\", ""), "a string without end"},
      {file("{\"\\q\":{}}", ""), "a bad escape"},
      {one(R"("dtype":"U8","shape":[4])"), "dtype, shape and data_offsets"},
      {one(R"("dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4])"), "a member twice"},
      {one(R"("dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1)"), "no member \"x\""},
      {one(R"("dtype":"U8","shape":[4],"data_offsets":[0])"), "data_offsets has two numbers"},
      {one(R"("dtype":"U8","shape":[4],"data_offsets":[0,1,4])"), "a list of more than 2 numbers"},
      {one(R"("dtype":"U8","shape":[-4],"data_offsets":[0,4])"), "expected a count"},
      {one(R"("dtype":"U8","shape":[4.0],"data_offsets":[0,4])"), "expected ']'"},
      {one(R"("dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,4])"), "expected a count"},
      {one(R"("dtype":"U8","shape":[5],"data_offsets":[0,4])"), "which don't hold u8[5]"},
      {one(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,4])"), "which don't hold"},
      {one(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4])"), "which don't hold"},
      {one(R"("dtype":"U8","shape":[8],"data_offsets":[0,8])"), "ends behind the file"},
      {one(R"("dtype":"U8","shape":[3],"data_offsets":[1,4])"), "does not start where"},
      {one(R"("dtype":"U8","shape":[0],"data_offsets":[4,0])"), "does not start where"},
      {one(R"("dtype":"BOOL","shape":[4],"data_offsets":[0,4])"), "neither 0 nor 1"},
      {one(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])"), "no counterpart"},
      {file(
           R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
           ""),
       "the name \"a\" twice"},
      {file(R"({"__metadata__":{"a":1}})", ""), "expected '\"'"},
  };
  for (const auto& c : cases)
    EXPECT_NE(error_of(c.bytes).find(c.error), std::string::npos) << c.error << " in: " << error_of(c.bytes);
  EXPECT_FALSE(to_safetensors({{"a", *parse_tensor("1")}, {"a", *parse_tensor("1")}}));
  std::complex<double> z[1] = {};
  EXPECT_FALSE(to_safetensors({{"a", Tensor::over(z, DType::C128, row_major({}))}}));
}

TEST(Safetensors, EveryDamagedByteIsAnErrorOrAnotherTensor) {
  const auto whole =
      to_safetensors({{"a", *parse_tensor("f32[2] [1, 2]")}, {"b", *parse_tensor("i64[2,1] [[1], [2]]")}});
  ASSERT_TRUE(whole);
  for (std::size_t k = 0; k < whole->size(); ++k) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> bytes = *whole;
      bytes[k] ^= static_cast<std::byte>(1 << bit);
      (void)error_of(bytes);
    }
    (void)error_of({whole->begin(), whole->begin() + static_cast<std::ptrdiff_t>(k)});
  }
}

}  // namespace
}  // namespace tfvm
