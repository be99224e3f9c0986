#pragma once
// Types of values along a loop or a batch. A pack is taken item by item, so that it always counts as its items.

#include <optional>

#include "bytecode/types.h"

namespace tfvm {

// A scan: the leading size of a scanned input (nullopt: it has none), its part of one step, and what `length` results
// of a step become (nullopt where that overflows).
std::optional<std::int64_t> leading_size(const TypeTable& t, TypeId type);
TypeId step_type(TypeTable& t, TypeId stacked);
std::optional<TypeId> stacked_type(TypeTable& t, TypeId step, std::int64_t length);

// A loop whose trips are counted when it runs: the tape of such records, and back (nullopt: no tape).
TypeId recorded_type(TypeTable& t, TypeId record);
std::optional<TypeId> record_type(TypeTable& t, TypeId tape);

// vmap: the value of all lanes, whose batch dim is the first (within the records of a tape), and back.
std::optional<TypeId> batched_type(TypeTable& t, TypeId lane, std::int64_t size);
std::optional<TypeId> lane_type(TypeTable& t, TypeId batched);
std::optional<std::int64_t> batch_size(const TypeTable& t, TypeId batched);

}  // namespace tfvm
