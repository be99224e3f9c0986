#include "bytecode/id_map.h"

#include <gtest/gtest.h>

namespace tfvm {
namespace {

// Hashes of which many begin at one slot, and runs that pass the end of the table.
std::uint64_t hash_of(std::uint32_t id) { return id % 7 == 0 ? 63 : id % 5; }

TypeId find(const IdMap<TypeId>& map, std::uint32_t id) {
  return map.find(hash_of(id), [&](TypeId other) { return index(other) == id; });
}

TEST(IdMap, FindsWhatWasAddedBehindOthersOfItsHash) {
  IdMap<TypeId> map;
  EXPECT_EQ(find(map, 3), kNone<TypeId>);
  for (std::uint32_t id = 0; id < 500; ++id) map.add(hash_of(id), static_cast<TypeId>(id));
  for (std::uint32_t id = 0; id < 500; ++id) EXPECT_EQ(index(find(map, id)), id);
  EXPECT_EQ(find(map, 500), kNone<TypeId>);
}

TEST(IdMap, WhatStaysIsFoundAfterOthersAreForgotten) {
  IdMap<TypeId> map;
  map.forget(0);
  // Those that go stand before, between and behind those that stay.
  for (std::uint32_t id = 0; id < 400; ++id) map.add(hash_of(id), static_cast<TypeId>(id % 3 == 0 ? 1000 + id : id));
  map.forget(1000);
  for (std::uint32_t id = 0; id < 400; ++id) {
    const std::uint32_t now = id % 3 == 0 ? 1000 + id : id;
    const TypeId found = map.find(hash_of(id), [&](TypeId other) { return index(other) == now; });
    EXPECT_EQ(found, now < 1000 ? static_cast<TypeId>(now) : kNone<TypeId>);
  }
  // There is room for as many again.
  for (std::uint32_t id = 0; id < 400; id += 3) map.add(hash_of(id), static_cast<TypeId>(id));
  for (std::uint32_t id = 0; id < 400; ++id) EXPECT_EQ(index(find(map, id)), id);
}

}  // namespace
}  // namespace tfvm
