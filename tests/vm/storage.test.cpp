#include "vm/storage.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "vm/tensor.h"

namespace tfvm {
namespace {

TEST(Storage, CountsBytesAndRefusesBeyondTheLimit) {
  const auto budget = std::make_shared<Budget>(10'000);
  {
    const auto a = Tensor::make(budget, DType::F32, std::vector<std::int64_t>{1000});
    ASSERT_TRUE(a);
    EXPECT_GE(budget->used(), 4000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a->data()) % 64, 0u);
    const auto b = Tensor::make(budget, DType::F32, std::vector<std::int64_t>{2000});
    ASSERT_FALSE(b);
    EXPECT_EQ(b.error().code, Code::Memory);
  }
  EXPECT_EQ(budget->used(), 0);
}

TEST(Storage, HugeSizesAreErrors) {
  const auto budget = std::make_shared<Budget>(std::int64_t{1} << 50);
  const auto a =
      Tensor::make(budget, DType::F64, std::vector<std::int64_t>{std::int64_t{1} << 40, std::int64_t{1} << 40});
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().code, Code::Type);
  const auto b = Tensor::make(budget, DType::U8, std::vector<std::int64_t>{std::int64_t{1} << 60});
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().code, Code::Memory);
  EXPECT_EQ(budget->used(), 0);
}

TEST(Storage, BorrowedMemoryIsReleasedByTheLastReference) {
  int released = 0;
  float memory[4] = {};
  {
    const auto s = StorageRef::borrow(
        memory, sizeof memory, [](void* user) { ++*static_cast<int*>(user); }, &released);
    const Tensor t = Tensor::over(memory, DType::F32, row_major(std::vector<std::int64_t>{4}), s);
    const Tensor view = t.with_layout(reversed(t.layout(), std::vector<std::int64_t>{0}));
    EXPECT_EQ(view.as<float>(), memory + 3);
    EXPECT_FALSE(s.unique());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Spares, LargeMemoryIsKeptForTheNextOfItsSize) {
  constexpr std::int64_t kBytes = Spares::kLeast;
  const auto budget = std::make_shared<Budget>();
  void* first = budget->allocate(kBytes);
  budget->release(first, kBytes);
  EXPECT_EQ(budget->used(), 0);
  void* other = budget->allocate(kBytes + 64);
  EXPECT_NE(other, first);
  void* second = budget->allocate(kBytes);
  EXPECT_EQ(second, first);
  budget->release(second, kBytes);
  budget->release(other, kBytes + 64);
}

TEST(Spares, KeepSomeAndNoMore) {
  Spares spares;
  const auto keep = [&](std::int64_t bytes) {
    void* memory = std::malloc(static_cast<std::size_t>(bytes));
    if (!spares.keep(memory, bytes)) std::free(memory);
  };
  keep(Spares::kLeast - 1);
  keep(Spares::kMost + 1);
  EXPECT_EQ(spares.bytes(), 0);
  for (int k = 0; k < 20; ++k) keep(Spares::kLeast);
  EXPECT_EQ(spares.bytes(), 16 * Spares::kLeast);
  keep(Spares::kMost - Spares::kLeast);  // too much beside the others
  EXPECT_EQ(spares.bytes(), Spares::kMost - Spares::kLeast);
  EXPECT_EQ(spares.take(Spares::kLeast), nullptr);
  spares.clear();
  EXPECT_EQ(spares.bytes(), 0);
}

// What is kept counts where the limit is near.
TEST(Spares, GiveWayToTheLimit) {
  constexpr std::int64_t kBytes = Spares::kLeast;
  Budget budget(3 * kBytes);
  void* a = budget.allocate(2 * kBytes);
  budget.release(a, 2 * kBytes);
  EXPECT_EQ(budget.spare(), 2 * kBytes);
  void* b = budget.allocate(kBytes + 64);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(budget.spare(), 0);
  budget.release(b, kBytes + 64);
}

}  // namespace
}  // namespace tfvm
