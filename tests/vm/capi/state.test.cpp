#include <cstring>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
param @w: f32[3] = [1, 2, 3]
buffer @count: i64
func @scaled(%x: f32[3]) -> f32[3] {
  %y = mul %x, @w
  ret %y
}
func @loss(%x: f32[3]) -> f32 {
  %y = call @scaled(%x)
  %s = reduce_sum %y
  ret %s
}
)";

struct CApiState : ::testing::Test {
  Host h{kProgram};
  std::vector<std::int64_t> dims{3};
  float x[3] = {1, 1, 1}, y[3] = {};
  tfvm_view vx = view(x, dims, TFVM_F32), vy = view(y, dims, TFVM_F32);
};

TEST_F(CApiState, Names) {
  ASSERT_EQ(tfvm_state_count(h.vm), 2u);
  char name[4];
  EXPECT_EQ(tfvm_state_name(h.vm, 1, name, sizeof name), 5u);
  EXPECT_EQ(std::string(name), "cou");
  EXPECT_EQ(tfvm_state_name(h.vm, 2, name, sizeof name), 0u);
  EXPECT_EQ(tfvm_state_name(h.vm, 0, nullptr, 0), 1u);
}

TEST_F(CApiState, GetSetAndView) {
  tfvm_function* f = h.prepare("@scaled");
  ASSERT_EQ(tfvm_state_get(h.vm, "w", &vy, &h.e), TFVM_OK);
  EXPECT_EQ(y[2], 3);
  const float w[] = {30, 20, 10};
  const std::vector<std::int64_t> back{-1};
  const tfvm_view reversed = view(w + 2, dims, TFVM_F32, &back);
  ASSERT_EQ(tfvm_state_set(h.vm, "w", &reversed, &h.e), TFVM_OK);
  ASSERT_EQ(h.call(f, {x}, {y}), TFVM_OK);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{10, 20, 30}));
  tfvm_view own = TFVM_VIEW;
  ASSERT_EQ(tfvm_state_view(h.vm, "w", &own, &h.e), TFVM_OK);
  EXPECT_EQ(own.dims[0], 3);
  static_cast<float*>(own.data)[0] = 7;
  ASSERT_EQ(h.call(f, {x}, {y}), TFVM_OK);
  EXPECT_EQ(y[0], 7);
}

struct Bytes {
  std::vector<char> all;
  static void give(void* sink, const void* bytes, std::size_t size) {
    const auto* p = static_cast<const char*>(bytes);
    static_cast<Bytes*>(sink)->all.assign(p, p + size);
  }
};

TEST_F(CApiState, SaveAndLoad) {
  for (const char* format : {"npz", "safetensors"}) {
    Bytes file;
    ASSERT_EQ(tfvm_state_save(h.vm, format, &file, &Bytes::give, &h.e), TFVM_OK) << h.e.message;
    Host other("param @w: f32[3]\nbuffer @count: i64 = 5\n");
    ASSERT_EQ(tfvm_state_load(other.vm, file.all.data(), file.all.size(), &other.e), TFVM_OK) << other.e.message;
    ASSERT_EQ(tfvm_state_get(other.vm, "w", &vy, &h.e), TFVM_OK);
    EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{1, 2, 3})) << format;
    Host wrong("param @w: f32[4]\nbuffer @count: i64\n"), less("param @w: f32[3]\n");
    EXPECT_EQ(tfvm_state_load(wrong.vm, file.all.data(), file.all.size(), &h.e), TFVM_TYPE);
    EXPECT_EQ(tfvm_state_load(less.vm, file.all.data(), file.all.size(), &h.e), TFVM_NAME);
    EXPECT_EQ(tfvm_state_load(other.vm, file.all.data(), file.all.size() / 2, &h.e), TFVM_SYNTAX);
  }
}

TEST_F(CApiState, Failures) {
  EXPECT_EQ(tfvm_state_count(nullptr), 0u);
  EXPECT_EQ(tfvm_state_name(nullptr, 0, nullptr, 0), 0u);
  EXPECT_EQ(tfvm_state_view(nullptr, "w", &vx, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_state_view(h.vm, "v", &vx, &h.e), TFVM_NAME);
  EXPECT_EQ(h.error(), "name there is no param or buffer @v");
  EXPECT_EQ(tfvm_state_view(h.vm, "scaled", &vx, &h.e), TFVM_NAME);
  EXPECT_EQ(tfvm_state_get(h.vm, nullptr, &vx, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_state_get(h.vm, "v", &vx, &h.e), TFVM_NAME);
  EXPECT_EQ(tfvm_state_set(h.vm, "w", nullptr, &h.e), TFVM_MISUSE);
  vx.dtype = TFVM_I32;
  EXPECT_EQ(tfvm_state_set(h.vm, "w", &vx, &h.e), TFVM_TYPE);
  EXPECT_EQ(h.error(), "type @w is f32[3], not i32[3]");
  vx.rank = -1;
  EXPECT_EQ(tfvm_state_set(h.vm, "w", &vx, &h.e), TFVM_TYPE);
  Bytes file;
  EXPECT_EQ(tfvm_state_save(nullptr, "npz", &file, &Bytes::give, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_state_save(h.vm, "txt", &file, &Bytes::give, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_state_save(h.vm, "npz", &file, nullptr, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_state_load(nullptr, "", 0, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_state_load(h.vm, nullptr, 1, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_state_load(h.vm, "abc", 3, &h.e), TFVM_SYNTAX);
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_make_functional(nullptr, "@loss", nullptr, &f, &h.e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_make_functional(h.vm, "@lose", nullptr, &f, &h.e), TFVM_NAME);
  EXPECT_EQ(tfvm_make_functional(h.vm, "@loss", "f32[", &f, &h.e), TFVM_SYNTAX);
  EXPECT_EQ(tfvm_function_state(nullptr, 0), nullptr);
}

TEST_F(CApiState, ParamsWithoutValue) {
  constexpr std::string_view text = "param @lost: f32 = file \"l.npy\"\n";
  EXPECT_EQ(tfvm_load_text(h.vm, text.data(), text.size(), "b.tfa", nullptr, &h.e), TFVM_IO);
  Bytes file;
  EXPECT_EQ(tfvm_state_save(h.vm, "npz", &file, &Bytes::give, &h.e), TFVM_NAME);
  EXPECT_EQ(h.error(), "name @lost has no value: its first value failed");
  EXPECT_EQ(tfvm_state_view(h.vm, "lost", &vx, &h.e), TFVM_NAME);
}

TEST_F(CApiState, MadeFunctional) {
  tfvm_function* f = nullptr;
  ASSERT_EQ(tfvm_make_functional(h.vm, "loss", "f32[3]", &f, &h.e), TFVM_OK) << h.e.message;
  h.functions.push_back(f);
  ASSERT_EQ(tfvm_input_count(f), 2u);
  ASSERT_NE(tfvm_function_state(f, 0), nullptr);
  EXPECT_EQ(std::string(tfvm_function_state(f, 0)), "w");
  EXPECT_EQ(tfvm_function_state(f, 1), nullptr);
  const float w[] = {5, 5, 5};
  float s = 0;
  ASSERT_EQ(h.call(f, {w, x}, {&s}), TFVM_OK) << h.e.message;
  EXPECT_EQ(s, 15);
  ASSERT_EQ(tfvm_make_functional(h.vm, "@loss", nullptr, &f, &h.e), TFVM_OK) << h.e.message;
  h.functions.push_back(f);
}

}  // namespace
}  // namespace tfvm::testing
