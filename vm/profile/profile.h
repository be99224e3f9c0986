#pragma once
// Shows machine code to tools that watch the process:
//
//   map      perf: /tmp/perf-PID.map, a line "address size name" for each piece of code
//   jitdump  perf: jit-PID.dump, the code itself with its lines of the program, for `perf inject --jit`
//   gdb      GDB: an ELF file in memory for each piece, with its symbol, its lines, and how callers are found
//
// Names are "tfvm:@f nest 3 (file.tfa:12)".

#include <memory>
#include <string>
#include <string_view>

#include "jit/x86/code_listener.h"

namespace tfvm {

// Of a list as "map,gdb". Null where it names none, or what it names can't be had (no file can be written).
std::shared_ptr<CodeListener> code_listener(std::string_view names);

std::string symbol_of(const CodeLabel& label);

// The lines of code: each holds up to the next. Code that is of no line of its own has that of the label. Empty where
// the label has none.
struct LineRow {
  std::uint32_t offset = 0, line = 0;
  const std::string* file = nullptr;  // of the label
};
std::vector<LineRow> line_rows(const CodeLabel& label, const CodeNotes& notes);

std::unique_ptr<CodeListener> perf_map();
// The file is made in a new folder within `folder`, where perf finds it by a page of it that is mapped executable.
std::unique_ptr<CodeListener> jitdump(const std::string& folder);
std::unique_ptr<CodeListener> gdb_interface();

}  // namespace tfvm
