#pragma once
// An ELF file in memory for a piece of machine code that is elsewhere: one symbol, how its callers are found (dwarf.h),
// and where the line of the program is known, the lines of its instructions.

#include <cstddef>
#include <span>
#include <vector>

#include "jit/x86/code_listener.h"

namespace tfvm {

std::vector<std::byte> elf_file(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes);

}  // namespace tfvm
