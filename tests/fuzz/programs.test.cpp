// Every program of this repository, mistyped: it loads or says why, checks, and runs its tests, within its limits of
// steps, bytes and time. What is wrong has a line of the program.
//
// TFVM_MUTATIONS sets how many, TFVM_SEED which.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/fuzz/mutate.h"
#include "tests/source_dir.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/test_run.h"

namespace tfvm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kBytes = 64 << 20;
constexpr auto kPatience = std::chrono::seconds(1);

std::vector<std::string> programs() {
  namespace fs = std::filesystem;
  std::vector<std::string> texts;
  for (const char* folder : {"examples", "tests/tfa", "tests/stdlib", "tests/transforms", "../shared/goldens"}) {
    const fs::path root = fs::path(source_dir()) / folder;
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".tfa") continue;
      std::ifstream in(entry.path());
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      constexpr std::size_t kMost = 20'000;  // the large ones would take all the time
      if (texts.back().size() > kMost) texts.pop_back();
    }
  }
  std::ranges::sort(texts);
  return texts;
}

void expect_placed(const Error& e) {
  EXPECT_FALSE(e.message.empty());
  EXPECT_NE(e.code, Code::Internal) << e.message;
  EXPECT_NE(e.loc.line, 0u) << e.message;
}

// Loads, checks, and runs the tests of one text. False: it did not load.
bool exercise(const std::string& source) {
  VmOptions options;
  options.memory_limit = kBytes;
  auto vm = VM::create(options);
  EXPECT_TRUE(vm);
  if (const Status loaded = (*vm)->load_text(source, "t.tfa"); !loaded) return expect_placed(loaded.error()), false;
  for (const Error& e : (*vm)->program().check()) expect_placed(e);
  Context context((*vm)->budget());
  context.limits.steps = 100'000;
  context.limits.deadline = Clock::now() + kPatience;
  for (const Test& test : (*vm)->program().module().tests)
    for (const tool::Failure& f : tool::TestRun(**vm, context, test, "t.tfa", nullptr).run(tool::Tier::Both).failures)
      EXPECT_NE(f.line, 0u) << f.message;
  return true;
}

TEST(Mistyped, ProgramsFailWithinTheirLimits) {
  const char* count = std::getenv("TFVM_MUTATIONS");
  const char* seed = std::getenv("TFVM_SEED");
  const char* only = std::getenv("TFVM_SAVE");  // where to write the text at hand, for one that kills the process
  long loaded = 0;
  test::Mutator mutator(programs(), seed ? std::strtoull(seed, nullptr, 10) : 1);
  for (long k = 0, n = count ? std::atol(count) : 300; k < n && !HasFailure(); ++k) {
    const std::string source = mutator.next();
    if (only) std::ofstream(only) << source;
    SCOPED_TRACE("mutation " + std::to_string(k) + ":\n" + source);
    const auto begin = Clock::now();
    loaded += exercise(source);
    EXPECT_LT(Clock::now() - begin, 10 * kPatience);
  }
  std::printf("%ld loaded\n", loaded);
}

}  // namespace
}  // namespace tfvm
