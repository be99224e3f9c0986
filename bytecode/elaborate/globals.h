#pragma once
// Params and buffers of a module. In an instance a global is read by `global {name, index, dtype, shape}`: it has no
// operand, so transforms see a constant that is neither batched nor differentiated. `lift_globals` makes them explicit,
// for functional_call, for derivatives by a param, and for whoever runs a function and has the tensors.

#include <span>
#include <vector>

#include "bytecode/builder.h"
#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

struct GlobalUse {
  StrId name;          // without @
  std::int64_t index;  // its place in the order of declaration
  TypeId type;
  friend bool operator==(const GlobalUse&, const GlobalUse&) = default;
};

// Reads a param or buffer.
ValueId emit_global(Builder& b, const GlobalUse& g);

// The globals that `f` reads, itself or through the functions it calls, in order of declaration.
std::vector<GlobalUse> globals_used(const Tables& t, FunctionId f);

// func(x…) that reads globals  ->  func(globals…, x…) that reads none of `globals`, which are in order of declaration.
// A function with own rules (custom_jvp, custom_vjp, derivative) keeps them, with zero derivatives by the globals.
//
//   func @f(%x) { %w = global {name="w"}; %y = mul %x, %w; ret %y }
//   ->  func @f(%w, %x) { %y = mul %x, %w; ret %y }
Result<FunctionId> lift_globals(Tables& t, FunctionId f, std::span<const GlobalUse> globals);

}  // namespace tfvm
