// take, take_along and gather within nests: the bits of their kernels, and their failures, for places that anyone may
// give.
#include "vm/plan/lookup.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/vm/made.h"
#include "vm/plan/plan.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

using test::Made;

constexpr std::string_view kProgram = R"(
func @elements(%x: FLOAT[20,n], %i: INT[3,m]) {
  %y = take %x, %i {axis=1, mode="MODE"}
  %z = neg %y
  ret %z
}
func @rows(%x: FLOAT[n,k], %i: INT[m], %b: FLOAT[m,k]) {
  %y = take %x, %i {mode="MODE"}
  %z = add %y, %b
  %s = reduce_sum %z {axes=[1]}
  %c = reduce_max %y {axes=[0]}
  ret %z, %s, %c
}
func @along(%x: FLOAT[9,n], %i: INT[9,m]) {
  %y = take_along %x, %i {axis=1, mode="MODE"}
  %t = transpose %x {perm=[1,0]}
  %j = transpose %i {perm=[1,0]}
  %z = take_along %t, %j {axis=0, mode="MODE"}
  %u = neg %z
  %w = neg %y
  ret %w, %y, %u
}
func @down(%x: FLOAT[9,n], %i: INT[m,n]) {
  %y = take_along %x, %i {axis=0, mode="MODE"}
  %z = neg %y
  ret %z
}
func @windows(%x: FLOAT[6,n,20], %i: INT[..], %b: FLOAT[m,4,5]) {
  %y = gather %x, %i {offset_dims=[1,2], collapsed_slice_dims=[0], start_index_map=[2,0], index_vector_dim=DIM, slice_sizes=[1,4,5], mode="MODE"}
  %z = mul %y, %b
  %o = gather %x, %i {offset_dims=[0,1], collapsed_slice_dims=[0], start_index_map=[2,0], index_vector_dim=DIM, slice_sizes=[1,2,20], mode="clip"}
  %p = neg %o
  ret %z, %p
}
func @points(%x: FLOAT[9,n], %i: INT[m,2]) {
  %y = gather %x, %i {offset_dims=[], collapsed_slice_dims=[0,1], start_index_map=[1,0], slice_sizes=[1,1], mode="MODE"}
  %z = neg %y
  ret %z
}
func @numbers(%x: FLOAT[n], %i: INT[m]) {
  %y = gather %x, %i {offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1], mode="MODE"}
  %z = neg %y
  ret %z
}
func @table(%x: f32[20], %u: f32[n], %p: i32[n], %w: f32[20]) {
  %i = cast %u {dtype=i32}
  %j = add %i, 1
  %a = take %x, %i
  %b = take %x, %j
  %c = take %w, %i
  %q = take %p, %i {mode="clip"}
  %d = take %x, %q
  %ab = sub %b, %a
  %cd = sub %c, %d
  %y = mul %ab, %cd
  ret %y
}
func @known(%x: f32[9,30], %m: f32[30,5]) {
  %a = take_along %m, [[1, -1, 0, 29, -30], [2, 3, 4, 5, 6]] {axis=0}
  %b = gather %x, [[1, 2], [8, 29]] {offset_dims=[], collapsed_slice_dims=[0,1], start_index_map=[0,1], slice_sizes=[1,1]}
  %a2 = neg %a
  %b2 = neg %b
  ret %a2, %b2
}
func @sizes(%x: f32[n], %i: i64[m]) {
  %y = take %x, %i
  %z = neg %y
  ret %z
}
func @spread(%x: f32[20], %i: i64[n], %s: i64[m,n]) {
  %b = broadcast_to %i {shape=[4,n]}
  %y = take %x, %b
  %v = slice %s {start=[0,1], limit=[3,9], stride=[1,2]}
  %w = take %x, %v
  %y2 = neg %y
  %w2 = neg %w
  ret %y2, %w2
}
func @behind(%a: f32[70,40], %b: f32[40,96], %x: f32[20,96], %i: i64[70]) {
  %p = dot_general %a, %b {contract=[[1],[0]]}
  %y = take %x, %i
  %z = add %p, %y
  %r = max %z, 0
  ret %r
}
func @in_order(%x: f32[20], %i: i32[n], %b: bool) {
  %y = take %x, %i
  assert %b {message="between"}
  %w = add %i, 1
  %z = take %x, %w
  %s = add %y, %z
  ret %s
}
)";

const std::vector<std::int64_t> kAnywhere{
    0, -1, 2, 29, 30, 5, -9, 15, 4, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, (std::int64_t{1} << 32) + 1};

Tensor values(DType d, std::vector<std::int64_t> dims) {
  Tensor t = *Tensor::make({}, d, dims);
  for (std::int64_t k = 0; k < t.elements(); ++k) {
    const double v = k % 17 == 3 ? NAN : static_cast<double>(k) / 4 - 9;
    if (d == DType::F32) t.as<float>()[k] = static_cast<float>(v);
    if (d == DType::F64) t.as<double>()[k] = v;
    if (d == DType::I32) t.as<std::int32_t>()[k] = static_cast<std::int32_t>(k % 23 - 1);
    if (d == DType::I64) t.as<std::int64_t>()[k] = k * 1000000007;
  }
  return t;
}

template <class I>
void put(Tensor& t, const std::vector<std::int64_t>& places, std::mt19937_64& rng) {
  for (std::int64_t k = 0; k < t.elements(); ++k) t.as<I>()[k] = static_cast<I>(places[rng() % places.size()]);
}

Tensor indices(DType d, std::vector<std::int64_t> dims, const std::vector<std::int64_t>& places, unsigned seed = 1) {
  std::mt19937_64 rng(seed);
  Tensor t = *Tensor::make({}, d, dims);
  switch (d) {
    case DType::I8:
      return put<std::int8_t>(t, places, rng), t;
    case DType::U8:
      return put<std::uint8_t>(t, places, rng), t;
    case DType::I16:
      return put<std::int16_t>(t, places, rng), t;
    case DType::I32:
      return put<std::int32_t>(t, places, rng), t;
    case DType::U64:
      return put<std::uint64_t>(t, places, rng), t;
    default:
      return put<std::int64_t>(t, places, rng), t;
  }
}

std::string program(DType x, DType i, std::string_view mode, int vector_dim = 1) {
  std::string text(kProgram);
  const auto replace = [&](std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
      text.replace(at, what.size(), by);
  };
  replace("FLOAT", name(x));
  replace("INT", name(i));
  replace("MODE", mode);
  replace("DIM", std::to_string(vector_dim));
  return text;
}

// Which kernels are left, `check`s apart, in the code for these inputs.
struct Left {
  std::size_t checks = 0, others = 0;
};

Left kernels_of(const Plan& plan) {
  Left left;
  for (const KernelStep& k : plan.kernels) ++(k.is_check ? left.checks : left.others);
  return left;
}

// The same results, or the same failure, from kernels and from all kinds of code.
Left expect_same(const std::string& text, std::string_view callee, const std::vector<Tensor>& in) {
  Made kernels({.tier = Tier::Interp}, text, callee, in);
  const auto expected = kernels.call(in);
  Left left;
  for (const bool few : {false, true})
    for (Isa isa : {Isa::Avx2, Isa::Avx512}) {
      if (isa == Isa::Avx512 && NestCompiler::best_isa() != Isa::Avx512) continue;
      Made code({.tier = Tier::Jit, .isa = isa, .few_registers = few}, text, callee, in);
      left = kernels_of(*code.f.plan);
      const auto got = code.call(in);
      EXPECT_EQ(got ? "" : got.error().message, expected ? "" : expected.error().message) << callee;
      EXPECT_EQ(got ? Code::Index : got.error().code, Code::Index) << callee;
      for (std::size_t k = 0; got && expected && k < got->size(); ++k)
        EXPECT_TRUE(same_bits((*got)[k], (*expected)[k])) << callee << " result " << k << tfvm::text(*code.f.plan);
    }
  return left;
}

// In "clip" and "fill" of places anywhere, in "error" of places inside, and then of places anywhere, which fails.
void expect_in_modes(std::string_view callee, const std::vector<Tensor>& floats, std::vector<std::int64_t> dims,
                     const std::vector<std::int64_t>& inside, int vector_dim = 1) {
  const DType x = floats[0].dtype();
  for (const DType i : {DType::I32, DType::I64, DType::I8, DType::U64})
    for (std::string_view mode : {"clip", "fill", "error"}) {
      const std::string text = program(x, i, mode, vector_dim);
      std::vector<Tensor> in = floats;
      in.insert(in.begin() + 1, indices(i, dims, mode == "error" ? inside : kAnywhere));
      const Left left = expect_same(text, callee, in);
      if (mode == "error") {
        in[1] = indices(i, dims, kAnywhere);
        expect_same(text, callee, in);
      }
      if (!NestCompiler::is_available() || (i != DType::I32 && i != DType::I64)) continue;
      EXPECT_EQ(left.others, 0u) << callee << mode;
      EXPECT_EQ(left.checks > 0, mode == "error") << callee << mode;
    }
}

const std::vector<std::int64_t> kWrapping{0, -1, 2, 5, -9, 7, 8}, kInside{0, 1, 2};

TEST(Lookup, EveryOpAndMode) {
  for (const DType d : {DType::F32, DType::F64})
    for (std::int64_t m : {1, 5, 40}) {
      expect_in_modes("elements", {values(d, {20, 30})}, {3, m}, kWrapping);
      expect_in_modes("along", {values(d, {9, 30})}, {9, m}, kWrapping);
      expect_in_modes("down", {values(d, {9, 30})}, {m, 30}, kWrapping);
      expect_in_modes("points", {values(d, {9, 30})}, {m, 2}, kInside);
      expect_in_modes("numbers", {values(d, {30})}, {m}, kInside);
    }
}

TEST(Lookup, Rows) {
  for (const DType d : {DType::F32, DType::F64})
    for (std::int64_t m : {1, 9, 70})
      for (std::int64_t k : {1, 3, 8, 17, 100})
        expect_in_modes("rows", {values(d, {30, k}), values(d, {m, k})}, {m}, kWrapping);
}

TEST(Lookup, Windows) {
  for (std::int64_t m : {1, 3, 40}) {
    const std::vector<Tensor> floats{values(DType::F32, {6, 11, 20}), values(DType::F32, {m, 4, 5})};
    expect_in_modes("windows", floats, {m, 2}, kInside, 1);
    expect_in_modes("windows", floats, {2, m}, kInside, 0);
  }
}

TEST(Lookup, FusesWithWhatMakesPlacesAndTakesElements) {
  for (std::int64_t n : {1, 100, 5000}) {
    Tensor u = values(DType::F32, {n});
    for (std::int64_t k = 0; k < n; ++k) u.as<float>()[k] = static_cast<float>(k % 19);
    const std::vector<Tensor> in{values(DType::F32, {20}), u, values(DType::I32, {n}), values(DType::F32, {20})};
    const Left left = expect_same(program(DType::F32, DType::I32, "error"), "table", in);
    if (!NestCompiler::is_available()) continue;
    Made code({.tier = Tier::Jit}, program(DType::F32, DType::I32, "error"), "table", in);
    EXPECT_EQ(code.f.plan->nests.size(), 1u) << text(*code.f.plan);
    EXPECT_EQ(left.others, 0u);
    EXPECT_EQ(left.checks, 3u) << "the third take asks what the first did: " << text(*code.f.plan);
  }
}

// The check is behind the nest that makes the places.
TEST(Lookup, WhatFailsLaterReadsNoOtherMemory) {
  Tensor u = values(DType::F32, {100});
  for (const float far : {1e9f, -1e9f, 3e9f, 20.f, 19.f, -21.f}) {
    for (std::int64_t k = 0; k < 100; ++k) u.as<float>()[k] = k == 70 ? far : 3;
    const std::vector<Tensor> in{values(DType::F32, {20}), u, values(DType::I32, {100}), values(DType::F32, {20})};
    expect_same(program(DType::F32, DType::I32, "error"), "table", in);
  }
}

TEST(Lookup, FailuresOfVectors) {
  for (std::int64_t at = 0; at < 12; ++at)
    for (std::int64_t bad : {-1, 9, 30}) {
      Tensor i = indices(DType::I64, {6, 2}, kInside);
      i.as<std::int64_t>()[at] = bad;
      expect_same(program(DType::F32, DType::I64, "error"), "points", {values(DType::F32, {9, 30}), i});
    }
}

// On each block of the product as it is done.
TEST(Lookup, BehindAProduct) {
  std::vector<Tensor> in{values(DType::F32, {70, 40}), values(DType::F32, {40, 96}), values(DType::F32, {20, 96}),
                         indices(DType::I64, {70}, kWrapping)};
  for (std::int64_t k = 0; k < 70 * 40; ++k) in[0].as<float>()[k] = static_cast<float>(k % 13);
  for (std::int64_t k = 0; k < 40 * 96; ++k) in[1].as<float>()[k] = static_cast<float>(k % 7 - 3);
  const std::string text = program(DType::F32, DType::I64, "error");
  expect_same(text, "behind", in);
  in[3].as<std::int64_t>()[69] = 20;
  expect_same(text, "behind", in);
}

TEST(Lookup, KnownPlacesNeedNoCheck) {
  const Left left = expect_same(program(DType::F32, DType::I32, "error"), "known",
                                {values(DType::F32, {9, 30}), values(DType::F32, {30, 5})});
  EXPECT_TRUE(!NestCompiler::is_available() || left.checks + left.others == 0);
}

TEST(Lookup, OfNothing) {
  const std::string text = program(DType::F32, DType::I64, "error");
  for (const auto& [n, m] : {std::pair{0, 0}, {5, 0}, {0, 3}})
    expect_same(text, "sizes", {values(DType::F32, {n}), indices(DType::I64, {m}, {1})});
}

// A check looks once at what is repeated, and names the place among all.
TEST(Lookup, FailuresOfViews) {
  const std::string text = program(DType::F32, DType::I64, "error");
  for (std::int64_t bad = 0; bad < 70; ++bad) {
    Tensor i = indices(DType::I64, {10}, kWrapping), s = indices(DType::I64, {6, 10}, kWrapping);
    (bad < 10 ? i.as<std::int64_t>()[bad] : s.as<std::int64_t>()[bad - 10]) = bad % 2 ? 20 : -21;
    const Left left = expect_same(text, "spread", {values(DType::F32, {20}), i, s});
    EXPECT_TRUE(!NestCompiler::is_available() || left.checks == 2);
  }
}

TEST(Lookup, FailuresKeepTheirOrder) {
  const std::string program_text = program(DType::F32, DType::I32, "error");
  struct Case {
    std::int32_t index;
    bool holds;
    std::string_view message;
  };
  for (const Case& c : {Case{20, false, "[take] index 20"}, {19, false, "between"}, {19, true, "[take] index 20"}}) {
    Tensor i = indices(DType::I32, {40}, {3}), b = *Tensor::make({}, DType::Bool, std::vector<std::int64_t>{});
    i.as<std::int32_t>()[17] = c.index;
    b.as<bool>()[0] = c.holds;
    for (Tier tier : {Tier::Interp, Tier::Jit}) {
      const std::vector<Tensor> in{values(DType::F32, {20}), i, b};
      Made made({.tier = tier}, program_text, "in_order", in);
      const auto got = made.call(in);
      ASSERT_FALSE(got);
      EXPECT_NE(got.error().message.find(c.message), std::string::npos) << got.error().message;
    }
  }
}

}  // namespace
}  // namespace tfvm
