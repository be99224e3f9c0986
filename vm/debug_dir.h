#pragma once
// All levels of what a VM prepares, as files (TFVM_DEBUG_DIR):
//
//   first.tfa.0.source.tfa            the texts that were loaded
//   loss.grad.1.transformed.tfa       the function, after its transforms
//   loss.grad.2.simplified.tfa        as it is planned (licm)
//   loss.grad.3.plan.txt  .4.nests.txt  .5.asm.txt     of it and of all plans that it calls
//
// Another function of that name has -1, -2, … behind it. What can't be written is left out in silence.

#include <string>
#include <string_view>

#include "bytecode/tables.h"
#include "jit/x86/native.h"
#include "vm/plan/plan.h"

namespace tfvm {

void dump_source(const std::string& dir, std::string_view file, std::string_view text);
void dump_levels(Tables& t, NestCompiler& compiler, const std::string& dir, FunctionId transformed, const Plan& plan);

}  // namespace tfvm
