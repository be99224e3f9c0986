// What a host hears where the system gives no executable memory: one notice for each VM, and results all the same. Each
// test is a process of its own, whose memory is denied.
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/no_exec.h"
#include "vm/vm.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
func @f(%x: f32[3]) {
  %y = mul %x, %x
  ret %y
}
func @g(%x: f32[3]) {
  %y = exp %x
  ret %y
}
)";

// Prepares and calls both functions.
bool run(const VmOptions& options) {
  const auto vm = *VM::create(options);
  if (!vm->load_text(kProgram, "f.tfa")) return false;
  Context context(vm->budget());
  Tensor x = *Tensor::make(vm->budget(), DType::F32, std::vector<std::int64_t>{3});
  std::fill_n(x.as<float>(), 3, 2.0f);
  for (const char* name : {"f", "g"}) {
    const auto f = vm->entry(name, std::vector<TypeId>{vm->type_of(x)});
    const auto out = f ? vm->call(context, *f, std::vector<Tensor>{x}) : f.error();
    if (!out || (*name == 'f' && out->front().as<float>()[2] != 4.0f)) return false;
  }
  return true;
}

// What runs wrote to stderr in a process without executable memory; "skip" where memory can't be denied.
template <class Run>
std::string stderr_of(Run run_all) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    if (!deny_executable_memory()) _exit(77);
    _exit(run_all() ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return "skip";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
  return text;
}

int count(const std::string& text, std::string_view what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

constexpr std::string_view kBegin = "native: the system gives no executable memory";

VmOptions with(Tier tier, LogFn log = {}) {
  VmOptions o;
  o.tier = {.tier = tier, .sync = true, .hot = 0};
  o.log = std::move(log);
  return o;
}

class Notice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!NestCompiler::is_available()) GTEST_SKIP() << "no native code here";
    if (stderr_of([] { return true; }) == "skip") GTEST_SKIP() << "memory can't be denied here";
  }
};

TEST_F(Notice, ComesOnceWhereThereIsNoLog) {
  for (const Tier tier : {Tier::Jit, Tier::Auto}) {
    const std::string text = stderr_of([&] { return run(with(tier)); });
    EXPECT_EQ(count(text, kBegin), 1) << text;
    EXPECT_EQ(count(text, "\n"), 1) << text;
    EXPECT_EQ(count(text, "set TFVM_TIER=interp"), 1) << text;
  }
}

TEST_F(Notice, ComesOnceForEachVm) {
  const std::string text = stderr_of([] { return run(with(Tier::Jit)) && run(with(Tier::Jit)); });
  EXPECT_EQ(count(text, kBegin), 2) << text;
}

TEST_F(Notice, GoesToTheLogOfTheHost) {
  const std::string text = stderr_of([] {
    std::vector<std::string> heard;
    const bool ran = run(with(Tier::Jit, [&](std::string_view category, const std::string& message) {
      if (category == kNotice) heard.push_back(message);
    }));
    return ran && heard.size() == 1 && heard[0].starts_with("the system gives no executable memory");
  });
  EXPECT_EQ(text, "");
}

TEST_F(Notice, ComesWhateverTheEnvironmentNames) {
  const std::string text = stderr_of([] {
    setenv("TFVM_LOG", "sparse", 1);
    return run(with(Tier::Jit, log_of_environment()));
  });
  EXPECT_EQ(count(text, kBegin), 1) << text;
}

TEST_F(Notice, IsSilentWhereNoCodeIsWanted) {
  EXPECT_EQ(stderr_of([] { return run(with(Tier::Interp)); }), "");
}

TEST(Notices, AreNoneWhereThereIsMemory) {
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(run(with(Tier::Jit)));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace tfvm::testing
