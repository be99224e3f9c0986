#pragma once
// Makes a program smaller as long as it shows something.
//
// Of the function itself, instructions go one run of them after another; what others still need of them becomes an
// input, with the value that it had. Within loops and branches there are no such values: an operand of the same type
// stands in, or ones. Calls are inlined first.

#include <functional>

#include "transforms/env.h"
#include "vm/tensor.h"

namespace tfvm {

struct ReducedProgram {
  FunctionId f;
  std::vector<Tensor> inputs;
  Mask flags;  // of inputs, where there are any: what is computed of one with a flag and becomes an input has it, too
};

struct ReduceTest {
  // Does it show what is looked for? False where it can't be run.
  std::function<bool(const ReducedProgram&)> shows;
  // Results of a function, for the values that become inputs.
  std::function<Result<std::vector<Tensor>>(FunctionId f, std::span<const Tensor> inputs)> values;
};

// `p` shows it, and is a core function. What is given shows it, too.
ReducedProgram reduce_program(TransformEnv& env, ReducedProgram p, const ReduceTest& test);

// Each instruction alone, with the values that its operands have; those whose operands have no flag are left out.
std::vector<ReducedProgram> instructions_of(TransformEnv& env, const ReducedProgram& p, const ReduceTest& test);

}  // namespace tfvm
