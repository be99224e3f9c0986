#pragma once
// The function of one nest: prologue, loops, trips.

#include <asmjit/x86.h>

#include "jit/x86/shape.h"

namespace tfvm::x86 {

// Emits void(std::byte* const* bases, const std::int64_t* args) into `holder`, which is initialised. Internal: the
// assembler refused an instruction.
Status emit_nest(const NestShape& shape, bool is_avx512, asmjit::CodeHolder& holder);

}  // namespace tfvm::x86
