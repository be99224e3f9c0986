// Pieces of a concat are made where they stand in the whole, along any dim: no step copies them, and the bits are those
// of plans without fusion.
#include "vm/plan/join.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "vm/context.h"
#include "vm/plan/planner.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
func @two(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = mul %x, 3
  %b = add %y, 1
  %c = concat %a, %b
  %t = take %c, %k {mode="clip"}
  ret %t
}
func @nested(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = mul %x, 3
  %b = add %y, 1
  %c = concat %a, %b
  %d = neg %y
  %e = concat %d, %c
  %s = reverse %a {axes=[0]}
  %t = take %e, %k {mode="clip"}
  %u = take %c, %k {mode="clip"}
  ret %t, %u, %s
}
// The whole is a result, and a piece of it is read by what comes later.
func @result(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = mul %x, 3
  %b = cumsum %a
  %c = concat %b, %a
  %s = cumsum %b
  %z = cumsum %y
  ret %c, %s, %z
}
// Pieces that are updated, before and behind.
func @updated(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = cumsum %x
  %b = dynamic_update_slice %a, [5], 1
  %d = cumsum %y
  %c = concat %b, %d
  %e = dynamic_update_slice %c, [7], 0
  %f = cumsum %d
  %t = take %e, %k {mode="clip"}
  ret %e, %f, %t
}
// A piece that is updated when the whole is no longer read.
func @overtaken(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = cumsum %x
  %d = cumsum %y
  %c = concat %a, %d
  %t = take %c, %k {mode="clip"}
  %v = cumsum %t
  %at = cast %v {dtype=i32}
  %i = slice %at {start=[0], limit=[1]}
  %j = reshape %i {shape=[]}
  %b = dynamic_update_slice %a, [5], %j
  %u = cumsum %b
  ret %v, %u
}
// These stay steps: a value twice, an input, another dim, a constant.
func @stay(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = cumsum %x
  %c = concat %a, %a
  %d = concat %a, %x
  %b = reshape %a {shape=[n,1]}
  %e = sin %b
  %g = cumsum %e
  %f = concat %b, %g {axis=1}
  %h = concat %c, [7, 8]
  %s = take %c, %k {mode="clip"}
  %t = take %d, %k {mode="clip"}
  %u = take %h, %k {mode="clip"}
  ret %s, %t, %u, %f
}
func @loop(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %r, %all = scan (%c = %x; %i = %k) {
    %a = cumsum %c
    %p = slice %a {start=[0], limit=[3]}
    %q = slice %a {start=[3], limit=[n]}
    %u = mul %p, 0.5
    %v = neg %q
    %w = concat %v, %u
    yield %w; %w
  }
  ret %r, %all
}

// Along inner dims.
func @stacked(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = sin %x
  %b = cos %x
  %s = stack %a, %b, %a {axis=1}
  %p = stack %b, %a {axis=1}
  %t = cumsum %p {axis=0}
  ret %p, %t
}
func @matrices(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = sin %x
  %b = cos %x
  %c = neg %a
  %d = add %b, 1
  %r = stack %a, %b {axis=1}
  %s = stack %c, %d {axis=1}
  %z = stack %r, %s {axis=1}
  %t = cumsum %z {axis=0}
  ret %t
}
// Blocks of several dims; a piece that others read, forwards and backwards.
func @blocks(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %p = reshape %x {shape=[2, 3, (size(%x, [0]) / 6)]}
  %c = cumsum %p {axis=2}
  %a = sin %c
  %b = cos %c
  %w = concat %b, %a {axis=1}
  %r = reverse %a {axes=[1]}
  %u = reduce_sum %r {axes=[1]}
  %v = cumsum %w {axis=0}
  ret %v, %u
}
// An input, a constant and what a kernel reads are copied.
func @copied(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %p = reshape %x {shape=[n, 1]}
  %a = sin %p
  %b = cos %p
  %c = cumsum %a {axis=0}
  %d = neg %c
  %e = mul %b, 2
  %one = broadcast_to 1.0 {shape=[n, 1]} : f32[n,1]
  %w = concat %d, %p, %e, %b, %one {axis=1}
  %t = cumsum %w {axis=0}
  ret %t, %c
}
func @reduced(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %p = reshape %x {shape=[2, (size(%x, [0]) / 2)]}
  %a = reduce_sum %p {axes=[1]}
  %b = reduce_max %p {axes=[1]}
  %w = stack %a, %b {axis=1}
  %t = cumsum %w {axis=0}
  ret %w, %t
}
// The second piece is made where %c is read for the last time, at equal places; it can't have the memory of %c, which
// holds the first piece by then.
func @between(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %c = cumsum %x
  %p = reshape %c {shape=[(size(%x, [0]) / 2), 2]}
  %p0 = select %p {axis=1, index=0}
  %p1 = select %p {axis=1, index=1}
  %a = sin %p1
  %s = cumsum %c
  %l = slice %s {start=[(size(%x, [0]) - 1)], limit=[n]}
  %q = cumsum %l
  %z = reshape %q {shape=[]}
  %b = mul %p0, %z
  %w = stack %b, %a {axis=1}
  %t = cumsum %w {axis=0}
  ret %t
}
// Loops that go from block to block.
func @stay_in_a_line(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %a = sin %x
  %b = cos %x
  %p = reshape %a {shape=[2, 3, (size(%x, [0]) / 6)]}
  %q = reshape %b {shape=[2, 3, (size(%x, [0]) / 6)]}
  %w = concat %p, %q {axis=1}
  %t = cumsum %w {axis=0}
  ret %t
}
// These stay steps: a value twice, what kernels make, most of it copied.
func @stay_within(%x: f32[n], %y: f32[m], %k: i32[7]) {
  %p = reshape %x {shape=[n, 1]}
  %a = sin %p
  %c = concat %a, %a {axis=1}
  %e = cumsum %p {axis=0}
  %f = concat %e, %e, %a {axis=1}
  %g = cos %p
  %h = concat %p, %g, %p {axis=1}
  %s = cumsum %c {axis=0}
  %t = cumsum %f {axis=0}
  %u = cumsum %h {axis=0}
  ret %s, %t, %u
}
)";

std::size_t concats(const Plan& plan) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.kernels, [](const KernelStep& k) { return k.op == Op::concat; }));
}

class Join : public ::testing::Test {
 protected:
  Join() : vm_(*VM::create({})) {
    const Status loaded = vm_->load_text(kProgram, "join.tfa");
    EXPECT_TRUE(loaded) << loaded.error().message;
  }

  // `left`: concats that are steps.
  void check(std::string_view callee, std::int64_t n, std::int64_t m, std::size_t left) {
    SCOPED_TRACE(callee);
    std::mt19937 rng(1);
    std::vector<Tensor> in;
    for (const auto& [d, size] :
         {std::pair(DType::F32, n), std::pair(DType::F32, m), std::pair(DType::I32, std::int64_t{7})})
      in.push_back(*Tensor::make({}, d, std::vector{size}));
    for (std::size_t x = 0; x < 2; ++x)
      for (std::int64_t k = 0; k < in[x].elements(); ++k)
        in[x].as<float>()[k] = std::uniform_real_distribution<float>(-2, 2)(rng);
    for (int k = 0; k < 7; ++k)
      in[2].as<std::int32_t>()[k] = static_cast<std::int32_t>(rng() % static_cast<unsigned>(n + 2 * m));
    std::vector<TypeId> types;
    for (const Tensor& x : in) types.push_back(vm_->type_of(x));
    const Result<Function> f = vm_->entry(callee, types);
    ASSERT_TRUE(f) << f.error().message;
    PlanOptions apart;
    apart.fuse.enabled = false;
    PlanCache plain(apart), joined;
    const PlanRef expected = *plain.get(vm_->tables(), f->plan->function),
                  plan = *joined.get(vm_->tables(), f->plan->function);
    EXPECT_EQ(concats(*plan), left);
    Context context;
    const std::vector<Tensor> e = *context.call(*expected, in);
    for (const std::vector<Tensor>& got : {*context.call(*plan, in), *vm_->call(context, *f, in)}) {
      ASSERT_EQ(got.size(), e.size());
      for (std::size_t k = 0; k < e.size(); ++k)
        EXPECT_EQ(std::memcmp(got[k].data(), e[k].data(), static_cast<std::size_t>(e[k].bytes())), 0) << k;
    }
  }

  std::unique_ptr<VM> vm_;
};

TEST_F(Join, PiecesAreMadeInTheirPlaces) {
  for (const std::int64_t n : {1, 16, 33}) check("two", n, 5, 0);
  check("nested", 9, 4, 0);
  check("nested", 17, 1, 0);
  check("result", 20, 20, 0);
  check("updated", 12, 12, 0);
  check("updated", 7, 30, 0);
  check("overtaken", 9, 9, 0);
}

TEST_F(Join, PiecesAreInterleaved) {
  for (const std::int64_t n : {2, 8, 13, 100}) {
    check("stacked", n, 5, 0);
    check("matrices", n, 5, 0);
    check("copied", n, 5, 0);
  }
  for (const std::int64_t n : {6, 48, 66}) {
    check("blocks", n, 5, 0);
    check("reduced", n, 5, 0);
    check("between", n, 5, 0);
  }
}

TEST_F(Join, OthersAreCopied) {
  for (const std::int64_t n : {2, 13}) check("stay_within", n, 5, 3);
  for (const std::int64_t n : {6, 48}) check("stay_in_a_line", n, 5, 1);
  check("stay", 6, 6, 4);
  for (const std::int64_t n : {4, 40}) check("loop", n, 4, 0);
}

}  // namespace
}  // namespace tfvm
