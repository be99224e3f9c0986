// Long calls: how soon a cancel ends one in machine code (the best of some), and the bits of what is sliced. How far
// slices run over their time is measured by bench/slices.cpp.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/source_dir.h"
#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

// Loops and nests, and @forever.
std::string long_program() {
  std::ifstream in(std::string(source_dir()) + "/bench/slices.tfa");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<double> start_values() {
  std::vector<double> x(4096);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.001 * static_cast<double>(k % 997);
  return x;
}

class LongCalls : public ::testing::TestWithParam<const char*> {};

TEST_P(LongCalls, InSlicesGiveTheSameBits) {
  constexpr std::int64_t kSlice = 500;
  Host h(long_program());
  tfvm_function* f = h.prepare(GetParam());
  const std::vector<double> x = start_values();
  std::vector<double> whole(x.size()), sliced(x.size());
  ASSERT_EQ(h.call(f, {x.data()}, {whole.data()}), TFVM_OK) << h.error();
  const void* in[] = {x.data()};
  void* out[] = {sliced.data()};
  tfvm_status s = tfvm_run_for(h.context, f, in, 1, out, 1, kSlice, &h.e);
  int slices = 1;
  for (; s == TFVM_PAUSED; ++slices) s = tfvm_resume(h.context, kSlice, &h.e);
  ASSERT_EQ(s, TFVM_OK) << h.error();
  EXPECT_EQ(std::memcmp(whole.data(), sliced.data(), x.size() * sizeof(double)), 0);
  EXPECT_GT(slices, 4);
}

INSTANTIATE_TEST_SUITE_P(All, LongCalls, ::testing::Values("@scalar", "@lanes", "@rows", "@nest", "@memory"),
                         [](const auto& given) { return std::string(given.param).substr(1); });

TEST(LongCall, AnEndlessLoopOfMachineCodeIsCancelledWithinAMillisecond) {
  Host h(long_program());
  tfvm_function* f = h.prepare("@forever");
  const std::vector<double> x = start_values();
  std::vector<double> y(x.size());
  EXPECT_LT(cancel_ms(h, f, {x.data()}, {y.data()}), 1.0);
}

}  // namespace
}  // namespace tfvm::testing
