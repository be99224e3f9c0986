#pragma once
// What an item of a plan reads and writes, by base.

#include "jit/region/fuse.h"

namespace tfvm {

// Calls fn(base) on every base that the item reads; on some more than once.
template <class Fn>
void for_each_read(const FuseItem& item, Fn fn) {
  if (!item.nest) {
    for (std::uint32_t b : item.reads) fn(b);
    return;
  }
  for (const NestNode& n : item.nest->nodes)
    if (n.kind == NestNodeKind::Load) fn(item.nest->accesses[n.access].base);
}

// Calls fn(base) on every base that the item writes.
template <class Fn>
void for_each_write(const FuseItem& item, Fn fn) {
  if (!item.nest) {
    for (std::uint32_t b : item.writes) fn(b);
    return;
  }
  for (const Store& s : item.nest->stores) fn(s.to.base);
  for (const Reduction& r : item.nest->reductions) fn(r.to.base);
}

}  // namespace tfvm
