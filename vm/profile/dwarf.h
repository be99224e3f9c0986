#pragma once
// The DWARF of a piece of code: its lines, and how debuggers find the callers from any instruction of it.

#include "jit/x86/code_listener.h"
#include "vm/profile/bytes.h"

namespace tfvm {

// DWARF 2: a unit, and the table of its lines.
Bytes debug_abbrev();
Bytes debug_info(const CodeLabel& label, std::span<const std::byte> code);
Bytes debug_line(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes);

Bytes debug_frame(std::span<const std::byte> code, const CodeNotes& notes);

// The same as .eh_frame and, at its end, .eh_frame_hdr, of which `header_bytes` are; for code that stands before it,
// from a multiple of 8 bytes on.
struct EhFrame {
  Bytes bytes;
  std::size_t header_bytes = 0;
};
EhFrame eh_frame(std::span<const std::byte> code, const CodeNotes& notes);

}  // namespace tfvm
