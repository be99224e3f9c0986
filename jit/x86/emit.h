#pragma once
// The function of one nest, and that of a loop over one.

#include <asmjit/x86.h>

#include "jit/x86/loop_shape.h"

namespace tfvm::x86 {

// What code is made for.
struct Target {
  bool is_avx512 = false;
  bool few_registers = false;  // for tests (NestCompiler)
  bool is_validated = false;   // for tests: the assembler asks whether there is such an instruction
  CodeNotes* notes = nullptr;  // who asks for them; where there is a log, marks stand in it as "; source 3"
};

inline void validate(asmjit::x86::Assembler& a, Target target) {
  if (target.is_validated) a.addDiagnosticOptions(asmjit::DiagnosticOptions::kValidateAssembler);
}

// Emits void(std::byte* const* bases, const std::int64_t* args) into `holder`, which is initialised. Internal: the
// assembler refused an instruction.
Status emit_nest(const NestShape& shape, Target target, asmjit::CodeHolder& holder);
// The same of a loop.
Status emit_loop(const LoopShape& shape, Target target, asmjit::CodeHolder& holder);

// The same of a nest with reductions (emit_reduce.cpp).
Status emit_reduction(const NestShape& shape, Target target, asmjit::CodeHolder& holder);

}  // namespace tfvm::x86
