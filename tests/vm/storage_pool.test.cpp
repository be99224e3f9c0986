#include "vm/storage_pool.h"

#include <gtest/gtest.h>

namespace tfvm {
namespace {

using Vec = std::vector<std::int64_t>;

TEST(StoragePool, StoragesAreUsedAgainWhenNothingElseRefersToThem) {
  const auto budget = std::make_shared<Budget>();
  StoragePool pool(budget);
  Tensor a = *pool.make(DType::F32, Vec{3}), b = *pool.make(DType::F32, Vec{3});
  const std::byte* first = a.data();
  EXPECT_NE(first, b.data());
  EXPECT_TRUE(a.storage().unique());  // beside the pool
  const Tensor view = a.with_layout(Layout{{1}, {1}, 2});
  EXPECT_FALSE(a.storage().unique());
  a = {};
  EXPECT_NE(pool.make(DType::F32, Vec{3})->data(), first);
  const std::int64_t used = budget->used();
  {
    const Tensor kept = view;
    EXPECT_EQ(kept.storage()->bytes(), 12);
  }
  Tensor c = *pool.make(DType::F64, Vec{2, 2});  // of the same 64 bytes, as the third one is free
  EXPECT_EQ(c.storage()->bytes(), 32);
  EXPECT_EQ(budget->used(), used);
  EXPECT_EQ(pool.make(DType::F32, Vec{17})->storage()->bytes(), 68);
  EXPECT_GT(budget->used(), used);
}

TEST(StoragePool, TensorsOutliveIt) {
  const auto budget = std::make_shared<Budget>();
  Tensor t;
  {
    StoragePool pool(budget);
    t = *pool.make(DType::I64, Vec{2});
    (void)pool.make(DType::I64, Vec{100});
    EXPECT_GE(pool.bytes(), 800);
  }
  EXPECT_EQ(budget->used(), 128);
  EXPECT_TRUE(t.storage().unique());
  t = {};
  EXPECT_EQ(budget->used(), 0);
}

TEST(StoragePool, WhatIsFreeMakesRoom) {
  const auto budget = std::make_shared<Budget>(1000);
  StoragePool pool(budget);
  (void)pool.make(DType::U8, Vec{600});
  const auto t = pool.make(DType::U8, Vec{700});
  ASSERT_TRUE(t);
  const auto more = pool.make(DType::U8, Vec{700});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::Memory);
  EXPECT_FALSE(pool.make(DType::U8, Vec{std::int64_t{1} << 62, 4}));
}

TEST(StoragePool, LargeOnesAreNotKept) {
  const auto budget = std::make_shared<Budget>();
  StoragePool pool(budget);
  (void)pool.make(DType::U8, Vec{std::int64_t{17} << 20});
  EXPECT_EQ(budget->used(), 0);
  EXPECT_EQ(pool.bytes(), 0);
}

TEST(StoragePool, ManyInUse) {
  StoragePool pool({});
  std::vector<Tensor> live;
  for (int k = 0; k < 1000; ++k) live.push_back(*pool.make(DType::F32, {}));
  std::vector<const std::byte*> places;
  for (int k = 0; k < 1000; ++k) places.push_back(pool.make(DType::F32, {})->data());
  for (const Tensor& t : live) EXPECT_EQ(std::ranges::count(places, t.data()), 0);
  EXPECT_LT(pool.bytes(), 64 * 1100);
}

}  // namespace
}  // namespace tfvm
