#pragma once
// What GDB knows of: a list of ELF files in memory, and a function at which it has a breakpoint. Names, layout and
// meaning are GDB's ("JIT Compilation Interface" in its manual), so both are global in a process; they are weak, so
// that another compiler in it may have them too.

#include <cstdint>

extern "C" {

struct jit_code_entry {
  jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};

struct jit_descriptor {
  std::uint32_t version, action_flag;  // 0 nothing, 1 registered, 2 unregistered
  jit_code_entry *relevant_entry, *first_entry;
};

extern jit_descriptor __jit_debug_descriptor;  // NOLINT: GDB's name
void __jit_debug_register_code();              // NOLINT
}
