#pragma once
// Custom ops in transforms. An op with rules is transformed as a call of itself that its rules ride on, as those of a
// function do; one that writes as its functional form: (arguments…) -> (results…, new values of what it writes…).
//
//   %h = extern %p {op="game.height"}     stands for     %h = call @op(%p) {derivative=@rule}
//   func @op(%p) { %h = extern %p {op="game.height", bare=true}   ret %h }

#include <optional>

#include "transforms/env.h"

namespace tfvm {

// The attributes of the call that stands for the instruction, on the same operands; nullopt where the op has no rule
// that a call carries. Of auto_functionalized_v2 it is a call of a function that cuts the arguments out of the bases,
// calls the op, and puts the new values back; it is made for custom_vmap alone, too. Fails where a rule can't be made
// for these types, and where arguments of which one is written overlap, since rules are about values.
Result<std::optional<AttrId>> custom_call(TransformEnv& env, const Instr& in, std::span<const TypeId> operands);

// "[game.height]"
std::string custom_name(const Tables& t, AttrId attrs);

}  // namespace tfvm
