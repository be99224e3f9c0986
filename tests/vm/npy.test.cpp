#include "vm/npy/npy.h"

#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "vm/print.h"

namespace tfvm {
namespace {

std::vector<std::byte> file(std::string_view header, std::size_t data) {
  std::string s = "\x93NUMPY";
  s += '\x01';
  s += '\0';
  s += static_cast<char>(header.size() & 0xff);
  s += static_cast<char>(header.size() >> 8);
  s += header;
  s.append(data, '\1');
  const auto* p = reinterpret_cast<const std::byte*>(s.data());
  return {p, p + s.size()};
}

TEST(Npy, EveryDtypeGoesThere) {
  for (std::size_t d = 0; d < kDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    auto t = Tensor::make({}, dtype, std::vector<std::int64_t>{3, 2});
    std::memset(t->data(), 1, static_cast<std::size_t>(t->bytes()));
    const auto bytes = to_npy(*t);
    EXPECT_EQ(bytes.size() % 2, 0u);
    const auto back = parse_npy(bytes);
    ASSERT_TRUE(back) << name(dtype) << ": " << back.error().message;
    EXPECT_TRUE(same_bits(*back, *t)) << name(dtype);
  }
}

TEST(Npy, ScalarsVectorsAndViews) {
  for (const char* text : {"f32 2.5", "i32[3] [1, 2, 3]", "f64[0,4] []", "bool[1,1,1] [[[true]]]"}) {
    const auto t = parse_tensor(text);
    const auto back = parse_npy(to_npy(*t));
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(print(*back), text);
  }
  const auto t = parse_tensor("i64[2,2] [[1, 2], [3, 4]]");
  const Tensor flipped = t->with_layout(transposed(t->layout(), std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(print(*parse_npy(to_npy(flipped))), "i64[2,2] [[1, 3], [2, 4]]");
}

TEST(Npy, ForeignFilesAreClearErrors) {
  const auto message = [](std::string_view descr, std::string_view order) {
    const auto t =
        parse_npy(file(fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': (2,), }}\n", descr, order), 8));
    return t ? std::string("accepted") : t.error().message;
  };
  EXPECT_EQ(message("'<f4'", "False"), "accepted");
  EXPECT_EQ(message("'>f4'", "False"), ".npy: dtype '>f4' is big-endian; convert it by .astype('<f4')");
  EXPECT_EQ(message("'<f4'", "True"), ".npy: Fortran order; convert it by numpy.ascontiguousarray");
  EXPECT_EQ(message("'|O'", "False"), ".npy: dtype '|O' has no counterpart");
  EXPECT_EQ(message("[('a', '<f4')]", "False"), ".npy: structured dtypes have no counterpart");
  EXPECT_EQ(message("'<f8'", "False"), ".npy: 8 bytes of data, where f64[2] has 16");
}

TEST(Npy, HostileHeaders) {
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", "{'descr': '<f4' 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "{'x': 1}"})
    EXPECT_FALSE(parse_npy(file(header, 8))) << header;
  std::vector<std::byte> whole = to_npy(*parse_tensor("[1, 2, 3]"));
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(parse_npy(std::span(whole).first(n))) << n;
}

TEST(Npz, RoundTripAndDamage) {
  const NamedTensors in{{"w", *parse_tensor("f32[2] [1.0, 2.0]")}, {"sub/b", *parse_tensor("i64 3")}};
  const auto bytes = to_npz(in);
  ASSERT_TRUE(bytes);
  const auto back = parse_npz(*bytes);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[1].first, "sub/b");
  EXPECT_EQ(print((*back)[0].second), "f32[2] [1.0, 2.0]");
  for (std::size_t n = 0; n < bytes->size(); ++n) EXPECT_FALSE(parse_npz(std::span(*bytes).first(n)));
  for (std::size_t n = 0; n < bytes->size(); ++n) {
    auto bad = *bytes;
    bad[n] ^= std::byte{0x40};
    (void)parse_npz(bad);  // an error or other names; never out of bounds
  }
}

TEST(Npy, FilesAreReplacedWhole) {
  const auto dir = std::filesystem::temp_directory_path() / fmt::format("tfvm-npy-{}", ::getpid());
  std::filesystem::create_directories(dir);
  const std::string path = dir / "a.npy";
  ASSERT_TRUE(write_npy(path, *parse_tensor("[1, 2]")));
  ASSERT_TRUE(write_npy(path, *parse_tensor("[3.5]")));
  EXPECT_EQ(print(*read_npy(path)), "f32[1] [3.5]");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1);
  const auto missing = read_npy(dir / "b.npy");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::Io);
  EXPECT_FALSE(write_npy(dir / "no" / "c.npy", *parse_tensor("[1]")));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace tfvm
