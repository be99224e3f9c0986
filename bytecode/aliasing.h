#pragma once
// What the instructions of full bodies do to storage (language.md, section 5). In a full body a view shares the storage
// of its first operand and a write is its first operand; every other result is fresh. Control flow passes values: what
// cond, switch, while and scan give is fresh, and so are the carries and slices that a block gets; the leading
// constants of loops and the operands of branches are the caller's own tensors.

#include <vector>

#include "bytecode/tables.h"

namespace tfvm {

bool is_view(Op op);      // in a full body; transpose, slice, broadcast_to, real, imag are plain ops in core bodies
bool is_write(Op op);     // of elements
bool is_metadata(Op op);  // transpose_ …: gives a view that takes the place of the tensor
bool needs_full(Op op);   // stands only in full bodies: writes, and what addresses storage

// The elementwise op, or core op, that NAME_ writes the result of: "add" for "add_"; empty where the name has no _.
std::string_view written_op(std::string_view name);

// Storages that a value may share: parameters (by number) and globals (by number, behind kGlobalRoot).
inline constexpr std::uint32_t kGlobalRoot = 1u << 31;
using Roots = std::vector<std::uint32_t>;  // sorted

struct Sharing {
  std::vector<Roots> values;            // per value of the body
  std::vector<std::uint32_t> first;     // per parameter: the first instruction that writes into it, or kNoInstr
  std::vector<std::uint8_t> addressed;  // per parameter: as_strided addresses the storage that it lies in
  Roots globals;                        // that the body, or what it calls, writes
  static constexpr std::uint32_t kNoInstr = 0xffffffffu;
};

// Of a body as appended so far, or sealed. Callees are sealed: their mut parameters are those that they write.
Sharing sharing(const Tables& t, const Body& body);

// The operand of a control instruction that is parameter `param` of function number `callee` of it, where that is the
// caller's own tensor; nullopt for carries and slices. Functions are numbered as `callees` gives them.
std::optional<std::size_t> shared_operand(const Tables& t, const Instr& in, std::size_t callee, std::size_t param);

}  // namespace tfvm
