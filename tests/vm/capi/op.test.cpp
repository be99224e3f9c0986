// Ops of the host, and functions that write.
#include <cstddef>
#include <cstring>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
extern op "game.height"(%p: f32[n,2]) -> f32[n]
extern op "game.slope"(%p: f32[n,2]) -> f32[n,2]
extern op "game.twice"(%p: f32[..])
extern op "game.push"(mut %log: f32[n], %x: f32)
func @height(%p: f32[n,2]) {derivative=@height_d} {
  %h = game.height %p
  ret %h
}
func @height_d(%p: f32[n,2], %h: f32[n], %t: f32[n,2]) {
  %s = game.slope %p
  %m = mul %s, %t
  %d = reduce_sum %m {axes=[1]}
  ret %d
}
func @total(%p: f32[n,2]) -> f32 {
  %h = call @height(%p)
  %s = mul %h, %h
  %r = reduce_sum %s
  ret %r
}
func @both(%p: f32[3]) {
  %a, %b = game.twice %p
  ret %a, %b
}
func @push(mut %log: f32[n], %x: f32) {
  game.push %log, %x
  ret %log
}
)";

// height = x² + 3y
int height(void* calls, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t, char* message,
           std::size_t capacity) {
  ++*static_cast<int*>(calls);
  const tfvm_view& p = in[0].tensors[0];
  const auto* x = static_cast<const float*>(p.data);
  auto* h = static_cast<float*>(out[0].data);
  for (std::int64_t k = 0; k < p.dims[0]; ++k) {
    h[k] = x[2 * k] * x[2 * k] + 3 * x[2 * k + 1];
    if (h[k] < -100) return std::strncpy(message, "too deep", capacity), 1;
  }
  return 0;
}

int slope(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t, char*, std::size_t) {
  const auto* x = static_cast<const float*>(in[0].tensors[0].data);
  auto* s = static_cast<float*>(out[0].data);
  for (std::int64_t k = 0; k < in[0].tensors[0].dims[0]; ++k) {
    s[2 * k] = 2 * x[2 * k];
    s[2 * k + 1] = 3;
  }
  return 0;
}

int twice(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t count, char*, std::size_t) {
  for (std::size_t k = 0; k < count; ++k) std::memcpy(out[k].data, in[0].tensors[0].data, 12);
  return 0;
}

int push(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view*, std::size_t, char*, std::size_t) {
  auto* log = static_cast<float*>(in[0].tensors[0].data);
  for (std::int64_t k = in[0].tensors[0].dims[0] - 1; k > 0; --k) log[k] = log[k - 1];
  log[0] = *static_cast<const float*>(in[1].tensors[0].data);
  return 0;
}

struct CApiOp : ::testing::Test {
  Host h{kProgram};
  int calls = 0;
  void add(const char* name, decltype(tfvm_op::kernel) kernel, decltype(tfvm_op::shape) shape = nullptr) {
    tfvm_op op{};
    op.size = sizeof op;
    op.user = &calls, op.kernel = kernel, op.shape = shape;
    ASSERT_EQ(tfvm_register_op(h.vm, name, &op, &h.e), TFVM_OK) << h.e.message;
  }
};

TEST_F(CApiOp, WithItsOwnDerivative) {
  add("game.height", height);
  add("game.slope", slope);
  tfvm_function* g = h.prepare("grad(@total)", "f32[2,2]");
  const float p[] = {1, 2, 3, 4};
  float out[4] = {};
  ASSERT_EQ(h.call(g, {p}, {out}), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{28, 42, 252, 126}));
  const void* inputs[] = {p};
  void* outputs[] = {out};
  float sliced[4] = {};
  outputs[0] = sliced;
  tfvm_status status = tfvm_run_for(h.context, g, inputs, 1, outputs, 1, 0, &h.e);
  EXPECT_EQ(status, TFVM_PAUSED);
  while (status == TFVM_PAUSED) status = tfvm_resume(h.context, 0, &h.e);
  EXPECT_EQ(status, TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(sliced, sliced + 4), std::vector<float>(out, out + 4));
  EXPECT_GE(calls, 1);
  const std::vector<std::int64_t> dims{2, 2}, columns{1, 2};
  const float t[] = {1, 3, 2, 4};
  const tfvm_view in = view(t, dims, TFVM_F32, &columns);
  float row[4] = {};
  const tfvm_view to = view(row, dims, TFVM_F32);
  ASSERT_EQ(tfvm_call_views(h.context, g, &in, 1, &to, 1, &h.e), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(row, row + 4), std::vector<float>(out, out + 4));
}

// As the test before, by rules of the op itself: given at registration, and by a host of an older header none.
TEST_F(CApiOp, WithRulesOfItsOwn) {
  h.load(R"(
extern op "game.depth"(%p: f32[n,2]) -> f32[n]
func @depth_d(%p: f32[n,2], %h: f32[n], %t: f32[n,2]) {
  %s = game.slope %p
  %m = mul %s, %t
  %d = reduce_sum %m {axes=[1]}
  ret %d
}
func @depth_b(%p: f32[b,n,2]) {
  %f = reshape %p {shape=[(b * n), 2]}
  %h = game.depth %f
  %r = reshape %h {shape=[b, n]}
  ret %r
}
func @deep(%p: f32[n,2]) -> f32 {
  %h = game.depth %p
  %s = mul %h, %h
  %r = reduce_sum %s
  ret %r
}
)",
         "b.tfa");
  add("game.slope", slope);
  tfvm_op op{};
  op.size = offsetof(tfvm_op, derivative);
  op.user = &calls, op.kernel = height;
  ASSERT_EQ(tfvm_register_op(h.vm, "game.depth", &op, &h.e), TFVM_OK) << h.e.message;
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_prepare(h.vm, "grad(@deep)", "f32[2,2]", &f, &h.e), TFVM_UNSUPPORTED);
  EXPECT_NE(h.error().find("[game.depth] has no derivative rule"), std::string::npos) << h.e.message;
  op.size = sizeof op;
  op.derivative = "@depth_d", op.custom_vmap = "@depth_b";
  ASSERT_EQ(tfvm_register_op(h.vm, "game.depth", &op, &h.e), TFVM_OK) << h.e.message;
  const float p[] = {1, 2, 3, 4};
  float out[4] = {};
  ASSERT_EQ(h.call(h.prepare("grad(@deep)", "f32[2,2]"), {p}, {out}), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{28, 42, 252, 126}));
  calls = 0;
  float each[2] = {};
  ASSERT_EQ(h.call(h.prepare("vmap(@deep)", "f32[2,1,2]"), {p}, {each}), TFVM_OK) << h.e.message;
  EXPECT_EQ(each[1], 441);
  EXPECT_EQ(calls, 1);
  op.custom_vjp_fwd = "@depth_d";
  EXPECT_EQ(tfvm_register_op(h.vm, "game.depth", &op, &h.e), TFVM_MISUSE);
}

TEST_F(CApiOp, FailuresBecomeThoseOfTheCall) {
  add("game.height", height);
  tfvm_function* f = h.prepare("@total", "f32[1,2]");
  const float p[] = {0, -50};
  float out = 0;
  EXPECT_EQ(h.call(f, {p}, {&out}), TFVM_ASSERT);
  EXPECT_EQ(h.error().substr(0, 42), "assert a.tfa:7 [game.height] too deep\nnote");
}

TEST_F(CApiOp, ShapesOfTheHost) {
  add("game.twice", twice, [](void*, const tfvm_op_argument* in, std::size_t, tfvm_op_type* out, std::size_t) {
    if (in[0].tensors[0].rank != 1) return -1;
    for (int k = 0; k < 2; ++k) out[k] = {in[0].tensors[0].dtype, 1, {in[0].tensors[0].dims[0]}};
    return 2;
  });
  const float p[] = {1, 2, 3};
  float a[3] = {}, b[3] = {};
  ASSERT_EQ(h.call(h.prepare("@both"), {p}, {a, b}), TFVM_OK) << h.e.message;
  EXPECT_EQ(b[2], 3);
}

TEST_F(CApiOp, InputsThatAreWritten) {
  add("game.push", push);
  tfvm_function* f = h.prepare("@push", "f32[3], f32");
  float log[] = {1, 2, 3}, out[3] = {};
  const float x = 9;
  ASSERT_EQ(h.call(f, {log, &x}, {out}), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(log, log + 3), (std::vector<float>{9, 1, 2}));
  EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{9, 1, 2}));
}

TEST_F(CApiOp, Misuse) {
  tfvm_op op{};
  op.size = sizeof op;
  EXPECT_EQ(tfvm_register_op(h.vm, "a", &op, &h.e), TFVM_MISUSE);
  op.kernel = height;
  op.size = 8;
  EXPECT_EQ(tfvm_register_op(h.vm, "a", &op, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_register_op(nullptr, "a", &op, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_register_op(h.vm, nullptr, &op, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_register_op(h.vm, "a", nullptr, &h.e), TFVM_MISUSE);
}

}  // namespace
}  // namespace tfvm::testing
