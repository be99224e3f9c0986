// The executor on oneTBB: all jobs run, and no bit depends on how many threads there are.
#include <algorithm>
#include <atomic>
#include <cstring>

#include <gtest/gtest.h>
#include <tfvm/tbb.h>

#include "vm/vm.h"

namespace tfvm {
namespace {

TEST(Tbb, RunsEachJobOnce) {
  for (const std::size_t width : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    const tfvm_executor e = tfvm_tbb_executor(width);
    ASSERT_TRUE(e.run);
    EXPECT_EQ(e.size, sizeof e);
    EXPECT_TRUE(width == 0 ? e.width >= 1 : e.width == width);
    std::atomic<int> ran[100] = {};
    e.run(
        e.user, [](void* arg, std::size_t k) { ++static_cast<std::atomic<int>*>(arg)[k]; }, ran, std::size(ran));
    for (const auto& n : ran) ASSERT_EQ(n, 1);
  }
}

constexpr std::string_view kProgram = R"(
func @f(%x: f32[1000,700]) {
  %a = sin %x
  %b = exp %a
  %r = reduce_sum %b {axes=[1]}
  %c = reduce_sum %b {axes=[0]}
  ret %b, %r, %c
}
)";

TEST(Tbb, ThreadsChangeNoBits) {
  for (const Tier tier : {Tier::Jit, Tier::Interp}) {
    VmOptions options;
    options.tier = {.tier = tier};
    const auto vm = *VM::create(options);
    ASSERT_TRUE(vm->load_text(kProgram, "f.tfa"));
    Tensor x = *Tensor::make(vm->budget(), DType::F32, std::vector<std::int64_t>{1000, 700});
    for (std::int64_t k = 0; k < x.elements(); ++k) x.as<float>()[k] = static_cast<float>(k % 9973) / 100;
    const auto f = *vm->entry("f", std::vector<TypeId>{vm->type_of(x)});
    std::vector<Tensor> first;
    for (const std::size_t threads : {1, 2, 4}) {
      Context context(vm->budget());
      struct Counted {
        tfvm_executor e;
        std::size_t most = 0;
      } counted{tfvm_tbb_executor(threads)};
      context.jobs = {[](void* user, void (*job)(void*, std::size_t), void* arg, std::size_t count) {
                        auto& c = *static_cast<Counted*>(user);
                        c.most = std::max(c.most, count);
                        c.e.run(c.e.user, job, arg, count);
                      },
                      &counted, counted.e.width};
      const auto out = vm->call(context, f, std::vector<Tensor>{x});
      ASSERT_TRUE(out);
      EXPECT_TRUE(threads == 1 || counted.most == threads) << counted.most;  // it was cut
      for (std::size_t k = 0; k < first.size(); ++k)
        EXPECT_EQ(std::memcmp(first[k].data(), (*out)[k].data(), static_cast<std::size_t>(first[k].bytes())), 0) << k;
      if (first.empty()) first = *out;
    }
  }
}

}  // namespace
}  // namespace tfvm
