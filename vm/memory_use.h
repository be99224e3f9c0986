#pragma once
// Exact bytes of what a VM's budget counts: of a call, before it is made, and of values.

#include <cstdint>
#include <span>

#include "vm/vm.h"

namespace tfvm {

// Of a storage of so many bytes: its data in whole lines, and one line for its counts.
std::int64_t storage_bytes(std::int64_t bytes);

struct CallBytes {
  std::int64_t working = 0;  // the slab of the context; kept, and as large as the largest of the functions called in it
  std::int64_t outputs = 0;  // fresh results; nothing where the caller gives memory for them
  std::int64_t kept = 0;     // of packs: inputs that are kept; copied where they are not the VM's own memory, else shared
  // What is not known before: tapes of loops grow as they run, and a function that runs by steps takes what it makes.
  bool grows = false;
  std::int64_t constants = 0;  // of the plan itself, which the budget does not count
};
CallBytes call_bytes(const Function& f);

// What values hold: each storage once, and tapes. Borrowed memory is the caller's and counts nothing.
std::int64_t value_bytes(VM& vm, std::span<const Value> values);

}  // namespace tfvm
