#pragma once
// An ELF file in memory for a piece of machine code that is elsewhere: one symbol, and where the line of the program is
// known, DWARF that says it is the line of all of the code.

#include <cstddef>
#include <span>
#include <vector>

#include "jit/x86/code_listener.h"

namespace tfvm {

std::vector<std::byte> elf_file(const CodeLabel& label, std::span<const std::byte> code);

}  // namespace tfvm
