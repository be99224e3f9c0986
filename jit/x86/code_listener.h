#pragma once
// Who is told of machine code as it comes and goes: profilers and debuggers (vm/profile).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tfvm {

// What a piece of code is of. Nests of one shape share code: it has the label of the first.
struct CodeLabel {
  std::string name;        // "@f nest 3"
  std::string file;        // of the program; empty: not known
  std::uint32_t line = 0;  // 0: not known
};

// Called by one thread at a time. Code is at the address where it runs, and is not changed while it is there.
class CodeListener {
 public:
  virtual ~CodeListener() = default;
  virtual void added(const CodeLabel& label, std::span<const std::byte> code) = 0;
  virtual void removed(const std::byte* code) = 0;
};

}  // namespace tfvm
