#include "tests/vm/capi/host.h"
#include "vm/capi/dlpack.h"

namespace tfvm::testing {
namespace {

std::string text_of(const tfvm_value* v) {
  tfvm_view view = TFVM_VIEW;
  if (tfvm_value_view(v, &view, nullptr)) return "no view";
  std::string s(tfvm_format(&view, nullptr, 0), ' ');
  tfvm_format(&view, s.data(), s.size() + 1);
  return s;
}

TEST(CApiValue, CopiesAndViews) {
  Host h;
  const float x[] = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> dims{3, 2}, strides{1, 3};
  const tfvm_view transposed = view(x, dims, TFVM_F32, &strides);
  tfvm_value* v = nullptr;
  ASSERT_EQ(tfvm_value_copy(h.vm, &transposed, &v, &h.e), TFVM_OK) << h.e.message;
  EXPECT_EQ(text_of(v), "f32[3,2] [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]");
  float back[6] = {};
  const tfvm_view to = view(back, dims, TFVM_F32, &strides);
  EXPECT_EQ(tfvm_value_read(v, &to, &h.e), TFVM_OK);
  EXPECT_EQ(std::vector<float>(back, back + 6), std::vector<float>(x, x + 6));
  char cut[8];
  tfvm_view view = TFVM_VIEW;
  ASSERT_EQ(tfvm_value_view(v, &view, nullptr), TFVM_OK);
  EXPECT_EQ(tfvm_format(&view, cut, sizeof cut), 45u);
  EXPECT_EQ(std::string(cut), "f32[3,2");
  tfvm_value_release(v);
}

TEST(CApiValue, OverTheCallersMemory) {
  float x[] = {1, 2};
  int released = 0;
  const std::vector<std::int64_t> dims{2};
  const tfvm_view m = view(x, dims, TFVM_F32);
  tfvm_value* v = nullptr;
  {
    Host h;
    ASSERT_EQ(tfvm_value_over(
                  h.vm, &m, [](void* n) { ++*static_cast<int*>(n); }, &released, &v, &h.e),
              TFVM_OK);
  }
  x[1] = 7;
  EXPECT_EQ(text_of(v), "f32[2] [1.0, 7.0]");  // it keeps what it needs of its VM
  EXPECT_EQ(released, 0);
  tfvm_value_release(v);
  EXPECT_EQ(released, 1);
}

TEST(CApiValue, CallsWithPacks) {
  Host h("func @f(%x: f64) -> f64 {\n  %y = sin %x\n  ret %y\n}\n");
  tfvm_function* forward = h.prepare("linearize(@f)");
  const double x = 0.5, t = 2;
  const std::vector<std::int64_t> none;
  const tfvm_view vx = view(&x, none, TFVM_F64), vt = view(&t, none, TFVM_F64);
  tfvm_value *in[2] = {}, *out[2] = {}, *tangent = nullptr;
  ASSERT_EQ(tfvm_value_copy(h.vm, &vx, &in[0], &h.e), TFVM_OK);
  ASSERT_EQ(tfvm_call_values(h.context, forward, in, 1, out, 2, &h.e), TFVM_OK) << h.e.message;
  EXPECT_EQ(text_of(out[0]).substr(0, 4), "f64 ");
  EXPECT_EQ(text_of(out[1]), "no view");
  tfvm_view v = TFVM_VIEW;
  EXPECT_EQ(tfvm_value_view(out[1], &v, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_value_read(out[1], &v, &h.e), TFVM_MISUSE);
  DLManagedTensor* dl = nullptr;
  EXPECT_EQ(tfvm_value_to_dlpack(out[1], &dl, &h.e), TFVM_MISUSE);
  ASSERT_EQ(tfvm_value_copy(h.vm, &vt, &tangent, &h.e), TFVM_OK);
  EXPECT_EQ(tfvm_call_values(h.context, forward, &tangent, 1, out, 1, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call_values(h.context, forward, &out[1], 1, in, 2, &h.e), TFVM_TYPE);
  for (tfvm_value* p : {in[0], out[0], out[1], tangent}) tfvm_value_release(p);
}

TEST(CApiValue, DlpackGoesOutAndIn) {
  Host h;
  const std::int16_t x[] = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> dims{2, 3};
  const tfvm_view m = view(x, dims, TFVM_I16);
  tfvm_value *v = nullptr, *back = nullptr;
  ASSERT_EQ(tfvm_value_copy(h.vm, &m, &v, &h.e), TFVM_OK);
  DLManagedTensor* dl = nullptr;
  ASSERT_EQ(tfvm_value_to_dlpack(v, &dl, &h.e), TFVM_OK);
  EXPECT_EQ(dl->dl_tensor.ndim, 2);
  EXPECT_EQ(dl->dl_tensor.shape[1], 3);
  EXPECT_EQ(dl->dl_tensor.strides[0], 3);
  EXPECT_EQ(dl->dl_tensor.dtype.code, 0);
  EXPECT_EQ(dl->dl_tensor.dtype.bits, 16);
  EXPECT_EQ(dl->dl_tensor.device.device_type, 1);
  tfvm_value_release(v);  // the exported tensor keeps the memory
  dl->dl_tensor.byte_offset = 2;
  dl->dl_tensor.shape[1] = 2;
  ASSERT_EQ(tfvm_value_from_dlpack(h.vm, dl, &back, &h.e), TFVM_OK) << h.e.message;
  EXPECT_EQ(text_of(back), "i16[2,2] [[2, 3], [5, 6]]");
  tfvm_value_release(back);
}

TEST(CApiValue, DlpackThatHasNoCounterpart) {
  Host h;
  int deleted = 0;
  float x = 1;
  DLManagedTensor dl{{&x, {2, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0}, &deleted, [](DLManagedTensor* self) {
                       ++*static_cast<int*>(self->manager_ctx);
                     }};
  tfvm_value* v = nullptr;
  EXPECT_EQ(tfvm_value_from_dlpack(h.vm, &dl, &v, &h.e), TFVM_UNSUPPORTED);
  EXPECT_EQ(h.error(), "unsupported a tensor of DLPack's device type 2, not in the CPU's memory");
  dl.dl_tensor.device.device_type = 1;
  dl.dl_tensor.dtype.lanes = 4;
  EXPECT_EQ(tfvm_value_from_dlpack(h.vm, &dl, &v, &h.e), TFVM_UNSUPPORTED);
  EXPECT_EQ(deleted, 0);
  dl.dl_tensor.dtype.lanes = 1;
  ASSERT_EQ(tfvm_value_from_dlpack(h.vm, &dl, &v, &h.e), TFVM_OK);
  EXPECT_EQ(text_of(v), "f32 1.0");
  tfvm_value_release(v);
  EXPECT_EQ(deleted, 1);
}

}  // namespace
}  // namespace tfvm::testing
