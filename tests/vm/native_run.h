#pragma once
// Runs functions whose loops may be machine code, and compares them with the interpreter.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "vm/vm.h"

namespace tfvm {

// Called with a plan that is about to be run on these inputs: it may do so itself.
using Runner = std::function<Result<std::vector<Tensor>>(Context&, const Plan&, std::span<const Tensor>)>;

struct NativeRun {
  std::vector<Tensor> results;
  std::int64_t steps_left = 0;
  int native = 0, loops = 0;  // of the loops of the plan: those with machine code, and all
};

// On random inputs.
NativeRun run_native(std::string_view program, const std::string& function, const std::vector<std::string>& types,
                     const TierOptions& tier, const Runner& runner = {});

void expect_equal(const NativeRun& got, const NativeRun& expected, const std::string& what);

// In the interpreter and as machine code of every instruction set: each loop is native, and bits are equal.
void expect_native(std::string_view program, const std::string& function, const std::vector<std::string>& types,
                   const Runner& runner = {});

// With an integer as the first input.
Runner with_first(std::int64_t first, Runner inner = {});

// Pauses whenever it may, and counts.
Runner pausing(int& pauses);

}  // namespace tfvm
