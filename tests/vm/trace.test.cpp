#include "vm/trace.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

constexpr std::string_view kProgram = R"(func @f(%x: f64[8]) {
  %y = while (%c = %x) {
    %m = reduce_max %c
    %p = gt %m, 1
    yield %p
  } do {
    %s = sort %c
    %h = mul %s, 0.5
    yield %h
  }
  ret %y
}
)";

std::unique_ptr<VM> make_vm(const VmOptions& options = {}) {
  auto vm = VM::create(options);
  const Status s = (*vm)->load_text(kProgram, "dir/a \"b\".tfa");
  EXPECT_TRUE(s) << s.error().message;
  return *std::move(vm);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

TEST(Trace, HasEveryStepWithItsLine) {
  const auto vm = make_vm();
  const auto f = vm->entry("@f", *vm->fixed_types("@f"));
  ASSERT_TRUE(f);
  RunTrace trace;
  Context context(vm->budget());
  context.limits.trace = &trace;
  const std::vector<Tensor> in{*parse_tensor("f64[8] [1, 2, 3, 4, 5, 6, 7, 8]")};
  ASSERT_TRUE(vm->call(context, *f, std::span<const Tensor>(in)));
  std::size_t sorts = 0;
  const RunTrace::Event* loop = nullptr;
  for (const RunTrace::Event& e : trace.events()) {
    if (step_name(*e.plan, e.step) == "while") loop = &e;
    if (step_name(*e.plan, e.step) != "sort") continue;
    ++sorts;
    ASSERT_TRUE(loop);  // begun before, and ended behind
    EXPECT_GE(e.begin_ns, loop->begin_ns);
    EXPECT_LE(e.begin_ns + e.ns, loop->begin_ns + loop->ns);
  }
  EXPECT_EQ(sorts, 3u);  // 8, 4, 2, 1
  const std::string json = chrome_json(vm->tables(), trace);
  EXPECT_EQ(count(json, "\"name\": \"sort dir/a \\\"b\\\".tfa:7\""), 3u) << json;
  EXPECT_EQ(count(json, "\"ph\": \"X\""), trace.events().size());
  const std::string totals = totals_json(vm->tables(), trace);
  EXPECT_NE(totals.find("\"step\": \"sort\", \"line\": \"dir/a \\\"b\\\".tfa:7\", \"tier\": \"kernel\", \"count\": 3"),
            totals.npos)
      << totals;
}

TEST(Trace, IsBounded) {
  const auto vm = make_vm();
  const auto f = vm->entry("@f", *vm->fixed_types("@f"));
  RunTrace trace(4);
  Context context(vm->budget());
  context.limits.trace = &trace;
  const std::vector<Tensor> in{*parse_tensor("f64[8] [1, 2, 3, 4, 5, 6, 7, 8]")};
  ASSERT_TRUE(vm->call(context, *f, std::span<const Tensor>(in)));
  EXPECT_EQ(trace.events().size(), 4u);
  EXPECT_GT(trace.dropped(), 0u);
  std::int64_t all = 0;
  for (const auto& [step, total] : trace.totals()) all += total.count;
  EXPECT_EQ(all, static_cast<std::int64_t>(trace.events().size() + trace.dropped()));
}

TEST(DebugDir, HasAllLevels) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::path(::testing::TempDir()) / "tfvm_debug_dir";
  fs::remove_all(dir);
  VmOptions options;
  options.debug_dir = dir.string();
  const auto vm = make_vm(options);
  ASSERT_TRUE(vm->entry("@f", *vm->fixed_types("@f")));
  ASSERT_TRUE(vm->entry("vmap(@f)", std::vector<TypeId>{vm->type_of(*parse_tensor("f64[1,8] [[1, 2, 3, 4, 5, 6, 7, 8]]"))}));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) {
    names.insert(entry.path().filename().string());
    EXPECT_GT(fs::file_size(entry.path()), 0u) << entry.path();
  }
  const std::set<std::string> want{
      "a__b_.tfa.0.source.tfa", "f.1.transformed.tfa", "f.2.simplified.tfa",       "f.3.plan.txt",
      "f.4.nests.txt",          "f.5.asm.txt",         "f.vmap.1.transformed.tfa", "f.vmap.2.simplified.tfa",
      "f.vmap.3.plan.txt",      "f.vmap.4.nests.txt",  "f.vmap.5.asm.txt"};
  EXPECT_EQ(names, want);
  std::ifstream source(dir / "a__b_.tfa.0.source.tfa");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(source), {}), kProgram);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace tfvm
