#pragma once
// What a checkpoint may save: the attribute `policy`.

#include <vector>

#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

struct CheckpointPolicy {
  enum class Kind : std::uint8_t { Nothing, Everything, Dots, Names } kind = Kind::Nothing;
  std::vector<StrId> names;  // of Names; empty: every value that has a name
};

// "nothing_saveable", "everything_saveable", "dots_saveable", "save_names" or save_names("a", "b"); Code::Type else.
Result<CheckpointPolicy> checkpoint_policy(const Tables& t, AttrId policy);

}  // namespace tfvm
