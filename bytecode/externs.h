#pragma once
// Custom ops as a program declares them (`extern op "kv.append"(mut %cache: …) -> …`). An instruction of one is
// `extern operands… {op="kv.append", args=[1, none, 3]}`: for each declared parameter one operand, none, or a list of
// so many; `args` is left out where each has one operand.

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/attrs.h"
#include "bytecode/ids.h"
#include "bytecode/ops/op.h"
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

// Rules that the host gives an op: functions of the program ("@rule", or any callee's text), or other custom ops by
// their names; empty: none. Signatures as those of the declaration's (language.md, section 5).
struct ExternRules {
  std::string derivative, custom_jvp, forward, backward, custom_vmap;
};

struct ExternInfo {
  std::vector<ExternParam> params;
  // Result types for these operand types and attributes of the instruction; of the declaration's patterns, or of the
  // host's shape function.
  std::function<Status(Tables&, AttrId attrs, std::span<const TypeId> operands, std::vector<TypeId>& results)> infer;
  // The rule of a kind (Key::jvp, fwd, bwd, derivative, custom_vmap) for these argument types, made when it is asked
  // for; no function where the op has none.
  std::function<Result<FunctionId>(Key kind, std::span<const TypeId> args)> rule;
  std::function<bool(Key kind)> has_rule;
  bool has_mut() const;
};

// extern, auto_functionalized, auto_functionalized_v2.
bool is_custom(Op op);

using ExternTable = std::unordered_map<StrId, ExternInfo>;  // by the op's name

// Of an instruction `extern`, or of one with the same `op` and `args`. Fails where `args` is malformed, or where the
// counts don't make `operands`.
Result<ExternArgs> extern_args(const Tables& t, AttrId attrs, std::size_t operands);
// The same, whatever the number of operands of the instruction is: auto_functionalized_v2 has bases.
Result<ExternArgs> extern_counts(const Tables& t, AttrId attrs);
const ExternInfo* find_extern(const Tables& t, AttrId attrs);

}  // namespace tfvm
