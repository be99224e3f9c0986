#pragma once
// Finds the stage that changes a result: of transforms the pass and the op whose rule is wrong, of the last two the
// single merge of nests or the machine code of a single nest or loop, and makes the program small. What each
// instruction gives in the block interpreter, as it is written, is the truth that all else is held against; two nan are
// equal.

#include <optional>

#include "vm/bisect/reduce.h"
#include "vm/bisect/stages.h"

namespace tfvm {

struct Bisection {
  bool differs = false;
  Stage stage = Stage::Steps;
  std::int64_t number = -1, count = 0;  // Fuse: of the merge, Native: of the nest or loop, from 0
  Loc loc;                              // Fuse, Native: of that nest's last instruction; Transforms: of the op
  std::string pass, op, function;       // Transforms: the pass, the op, and the function that the pass ran on
  std::string nest;                     // Fuse: as it is after the merge
  std::size_t result = 0;               // the first that differs
  std::int64_t element = 0;
  std::string want, got;          // that element
  std::optional<Error> failure;   // of the stage, in place of a difference
  ReducedProgram reduced;         // an empty function where it could not be made smaller
  std::int64_t instructions = 0;  // of the reduced program, literals not counted
};

// `env` builds without simplification (VmOptions::simplify). Error: what the function itself fails with.
Result<Bisection> bisect(TransformEnv& env, FunctionId f, std::span<const Tensor> inputs, StagePlants plants = {});

// The first element of other bits.
std::optional<std::int64_t> first_difference(const Tensor& a, const Tensor& b);

}  // namespace tfvm
