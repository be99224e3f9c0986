#pragma once
// Operations on values of any kind: a tensor, a pack (item by item), a tape (record by record, as far as the longest of
// several tapes goes) or an array of tapes.

#include <functional>
#include <span>
#include <vector>

#include "bytecode/builder.h"

namespace tfvm {

// What happens to tensors. Constants are the same for all of them.
using OnTensors = std::function<ValueId(Builder& b, std::span<const ValueId> consts, std::span<const ValueId> xs)>;

// `fn` on the corresponding tensors of `xs`, which are built alike.
ValueId map_values(Builder& b, std::span<const ValueId> xs, std::span<const ValueId> consts, const OnTensors& fn);

// x + y; what has no tangents is x's.
ValueId add_values(Builder& b, ValueId x, ValueId y);

// The items of a pack, and a pack like another type from its items.
std::vector<ValueId> unpack(Builder& b, ValueId pack);
ValueId pack_as(Builder& b, TypeId type, std::span<const ValueId> items);

}  // namespace tfvm
