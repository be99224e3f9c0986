#pragma once
// Custom ops as a program declares them (`extern op "kv.append"(mut %cache: …) -> …`). An instruction of one is
// `extern operands… {op="kv.append", args=[1, none, 3]}`: for each declared parameter one operand, none, or a list of
// so many; `args` is left out where each has one operand.

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "bytecode/attrs.h"
#include "bytecode/ids.h"
#include "bytecode/status.h"

namespace tfvm {

struct Tables;

struct ExternParam {
  StrId name;
  bool mut = false;
  bool list = false;
};

// How many operands parameter k has in an instruction: 1, 0 for none, or the length of a list.
struct ExternArgs {
  std::vector<std::size_t> counts;
  std::vector<std::uint8_t> mut;  // per operand: the op writes into it
};

struct ExternInfo {
  std::vector<ExternParam> params;
  // Result types for these operand types and attributes of the instruction; of the declaration's patterns, or of the
  // host's shape function.
  std::function<Status(Tables&, AttrId attrs, std::span<const TypeId> operands, std::vector<TypeId>& results)> infer;
  bool has_mut() const;
};

using ExternTable = std::unordered_map<StrId, ExternInfo>;  // by the op's name

// Of an instruction `extern`, or of one with the same `op` and `args`. Fails where `args` is malformed, or where the
// counts don't make `operands`.
Result<ExternArgs> extern_args(const Tables& t, AttrId attrs, std::size_t operands);
// The same, whatever the number of operands of the instruction is: auto_functionalized_v2 has bases.
Result<ExternArgs> extern_counts(const Tables& t, AttrId attrs);
const ExternInfo* find_extern(const Tables& t, AttrId attrs);

}  // namespace tfvm
