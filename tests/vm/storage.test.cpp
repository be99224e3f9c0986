#include "vm/storage.h"

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

}  // namespace
}  // namespace tfvm
