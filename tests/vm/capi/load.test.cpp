#include "bytecode/binary/tfbc.h"
#include "bytecode/text/parse.h"
#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

TEST(CApiLoad, ProgramsGrow) {
  Host h("func @twice(%x: f32) {\n  %y = add %x, %x\n  ret %y\n}\nparam @w: f32 = 3\n");
  tfvm_function* twice = h.prepare("@twice", "f32");
  h.load(
      "param @v: f32 = call @twice(@w)\nfunc @f(%x: f32) {\n  %y = call @twice(%x)\n  %z = mul %y, @v\n  ret %z\n}\n",
      "b.tfa");
  tfvm_function* f = h.prepare("grad(@f)", "f32");
  const float x = 1;
  float y = 0;
  ASSERT_EQ(h.call(twice, {&x}, {&y}), TFVM_OK);
  EXPECT_EQ(y, 2);
  ASSERT_EQ(h.call(f, {&x}, {&y}), TFVM_OK);
  EXPECT_EQ(y, 12);
}

TEST(CApiLoad, ATextThatFailsAddsNothing) {
  Host h("func @f(%x: f32) {\n  ret %x\n}\n");
  const auto load = [&](std::string_view text) {
    return tfvm_load_text(h.vm, text.data(), text.size(), "b.tfa", nullptr, &h.e);
  };
  EXPECT_EQ(load("func @g(%x) {\n  ret %x\n}\nfunc @f(%x) {\n  ret %x\n}\n"), TFVM_NAME);
  EXPECT_EQ(h.error(), "name b.tfa:4 @f is defined twice; the first one is on line 1 of a.tfa");
  EXPECT_EQ(load("func @g(%x) {\n  %y = call @hh(%x)\n  ret %y\n}\n"), TFVM_NAME);
  EXPECT_EQ(h.error(), "name b.tfa:2 @hh is not defined");
  EXPECT_EQ(load("func @g(%x) {\n  ret %x +\n}\n"), TFVM_SYNTAX);
  EXPECT_EQ(load("param @g: f32[n]\n"), TFVM_TYPE);
  EXPECT_EQ(load("func @g(%x) {\n  %y = call @f(%x)\n  ret %y\n}\n"), TFVM_OK) << h.e.message;
}

TEST(CApiLoad, AParamWithoutValueCantBeUsed) {
  Host h;
  constexpr std::string_view text = "param @w: f32[2] = file \"w.npy\"\nfunc @f() {\n  %y = neg @w\n  ret %y\n}\n";
  EXPECT_EQ(tfvm_load_text(h.vm, text.data(), text.size(), "a.tfa", nullptr, &h.e), TFVM_IO);
  EXPECT_EQ(h.error(), "io a.tfa:1 can't read 'w.npy': no files can be read here\nnote: the first value of @w");
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_prepare(h.vm, "@f", nullptr, &f, &h.e), TFVM_NAME);
  EXPECT_EQ(h.error(), "name @w has no value: initialisers run in order of declaration, and one that fails gives none");
}

TEST(CApiLoad, FilesComeFromTheLoader) {
  std::string asked;
  tfvm_loader loader{sizeof loader, &asked, nullptr};
  loader.read = [](void* user, const char* path, void* sink, void (*give)(void*, const void*, std::size_t)) {
    *static_cast<std::string*>(user) += std::string(path) + ";";
    if (std::string_view(path) != "lib/b.tfa") return 1;
    constexpr std::string_view b = "func @twice(%x: f32) {\n  %y = add %x, %x\n  ret %y\n}\n";
    give(sink, b.data(), b.size());
    return 0;
  };
  Host h;
  constexpr std::string_view good = "import \"b.tfa\"\nfunc @f(%x: f32) {\n  %y = call @twice(%x)\n  ret %y\n}\n";
  ASSERT_EQ(tfvm_load_text(h.vm, good.data(), good.size(), "lib/a.tfa", &loader, &h.e), TFVM_OK) << h.e.message;
  constexpr std::string_view bad = "import \"c.tfa\"\n";
  EXPECT_EQ(tfvm_load_text(h.vm, bad.data(), bad.size(), nullptr, &loader, &h.e), TFVM_IO);
  EXPECT_EQ(tfvm_load_text(h.vm, bad.data(), bad.size(), nullptr, nullptr, &h.e), TFVM_IO);
  EXPECT_EQ(asked, "lib/b.tfa;c.tfa;");
  const float x = 2;
  float y = 0;
  EXPECT_EQ(h.call(h.prepare("@f"), {&x}, {&y}), TFVM_OK);
  EXPECT_EQ(y, 4);
}

TEST(CApiLoad, Binary) {
  StringTable strings;
  const auto m = parse_module(strings, kMany, "a.tfa");
  ASSERT_TRUE(m);
  const std::vector<std::byte> bytes = write_tfbc(*m, strings);
  Host h;
  ASSERT_EQ(tfvm_load_binary(h.vm, bytes.data(), bytes.size(), "a.tfbc", nullptr, &h.e), TFVM_OK) << h.e.message;
  float out[2] = {};
  EXPECT_EQ(h.call(h.prepare("@none"), {}, {out}), TFVM_OK);
  EXPECT_EQ(out[1], 2);
  Host broken;
  EXPECT_EQ(tfvm_load_binary(broken.vm, bytes.data(), bytes.size() / 2, nullptr, nullptr, &broken.e), TFVM_SYNTAX);
}

TEST(CApiLoad, PreparingFailsWithAPlace) {
  Host h("func @f(%x: f32[n]) {\n  %y = add %x, 1\n  %z = dot %y, %y\n  %w = reshape %y {shape=[7]}\n  ret %z\n}\n");
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_prepare(h.vm, "@f", "f32[3]", &f, &h.e), TFVM_TYPE);
  EXPECT_EQ(h.e.line, 4);
  EXPECT_EQ(tfvm_prepare(h.vm, "@f", nullptr, &f, &h.e), TFVM_TYPE);
  EXPECT_NE(std::string(h.e.message).find("not all written in full"), std::string::npos);
  EXPECT_EQ(tfvm_prepare(h.vm, "@g", "f32[3]", &f, &h.e), TFVM_NAME);
  EXPECT_EQ(tfvm_prepare(h.vm, "grad(@f", "f32[3]", &f, &h.e), TFVM_SYNTAX);
  EXPECT_EQ(tfvm_prepare(h.vm, "@f", "f32[3", &f, &h.e), TFVM_SYNTAX);
  EXPECT_EQ(tfvm_prepare(h.vm, "@f", "f32[9999999999,9999999999]", &f, &h.e), TFVM_TYPE);
  EXPECT_EQ(f, nullptr);
}

TEST(CApiLoad, TypesFromViews) {
  Host h(kMany);
  const std::vector<std::int64_t> dims{4};
  const tfvm_view v = view<float>(nullptr, dims, TFVM_F32);
  tfvm_function* f = nullptr;
  ASSERT_EQ(tfvm_prepare_for(h.vm, "@square", &v, 1, &f, &h.e), TFVM_OK) << h.e.message;
  h.functions.push_back(f);
  tfvm_view type = TFVM_VIEW;
  ASSERT_EQ(tfvm_output_type(f, 0, &type), TFVM_OK);
  EXPECT_EQ(type.dims[0], 4);
}

TEST(CApiLoad, TheLogTellsOfSlowRules) {
  std::string seen;
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.log_user = &seen;
  o.log = [](void* user, const char* category, const char* message) {
    *static_cast<std::string*>(user) += std::string(category) + ": " + message + "\n";
  };
  Host h("func @f(%x: f32[6]) {\n  %y = mul %x, %x\n  ret %y\n}\n", &o);
  h.prepare("jac_sparse(@f)");
  EXPECT_EQ(seen.substr(0, 6), "sparse");
}

}  // namespace
}  // namespace tfvm::testing
