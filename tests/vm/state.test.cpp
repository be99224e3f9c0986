// Params and buffers saved to files and loaded again.
#include "vm/state.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "vm/print.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(
param @w: f32[2] = [1, 2]
buffer @count: i64 = 7
func @get() {
  ret @w, @count
}
)";

std::unique_ptr<VM> machine(std::string_view program = kProgram) {
  auto vm = VM::create();
  EXPECT_TRUE(vm && (*vm)->load_text(program, "state.tfa"));
  return *std::move(vm);
}

std::string text(VM& vm) {
  std::string s;
  for (const auto& [name, t] : state(vm)) s += name + " " + print(t) + "; ";
  return s;
}

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/tfvm-state-XXXXXX";
    path = std::string(mkdtemp(name)) + "/";
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST(State, EveryFormatComesBack) {
  const Folder folder;
  for (const std::string& path : {folder.path + "a.safetensors", folder.path + "a.npz", folder.path}) {
    const auto one = machine(), other = machine();
    ASSERT_TRUE(set_state(*one, {{"count", *parse_tensor("-1")}, {"w", *parse_tensor("f32[2] [0.5, nan]")}}));
    const std::byte* place = other->globals()[0].data();
    const Status saved = save_state(*one, path), loaded = load_state(*other, path);
    ASSERT_TRUE(saved && loaded) << path;
    EXPECT_EQ(text(*other), "w f32[2] [0.5, nan]; count i64 -1; ");
    EXPECT_EQ(other->globals()[0].data(), place);
  }
}

TEST(State, WhatDoesNotFitWritesNothing) {
  const auto vm = machine();
  const Tensor w = *parse_tensor("f32[2] [5, 6]"), count = *parse_tensor("8");
  const auto error = [&](const NamedTensors& t) {
    const Status s = set_state(*vm, t);
    return s ? "none" : s.error().message;
  };
  EXPECT_EQ(error({{"w", w}}), "the state has no @count");
  EXPECT_EQ(error({{"w", w}, {"count", count}, {"b", w}}), "the program has no param or buffer @b");
  EXPECT_EQ(error({{"w", w}, {"w", w}, {"count", count}}), "the state has @w twice");
  EXPECT_EQ(error({{"w", count}, {"count", count}}), "@w is f32[2], the state has i64");
  EXPECT_EQ(text(*vm), "w f32[2] [1.0, 2.0]; count i64 7; ");
  EXPECT_FALSE(save_state(*vm, "/tmp/state.txt"));
  EXPECT_FALSE(load_state(*vm, "/nowhere/state.safetensors"));
}

}  // namespace
}  // namespace tfvm
