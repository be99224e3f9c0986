#pragma once
// Who is told of machine code as it comes and goes: profilers and debuggers (vm/profile).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tfvm {

struct CodeLine {
  std::string file;        // of the program; empty: not known
  std::uint32_t line = 0;  // 0: not known
  friend bool operator==(const CodeLine&, const CodeLine&) = default;
};

// What a piece of code is of. Nests of one shape share code: it has the label of the first.
struct CodeLabel {
  std::string name;  // "@f nest 3"
  std::string file;
  std::uint32_t line = 0;
  std::vector<CodeLine> lines = {};  // by NestSource: of what the nodes are made for
};

// Code from here on is of a node that is made for `source`; 0: of none, as loops and addresses are.
struct CodeMark {
  std::uint32_t offset = 0, source = 0;
};

// From here on the frame of the caller begins `add` bytes above rsp, above rax, or above what is stored at rsp + `at`
// (DWARF's CFA). The return address is below that, and below it the first `saved` of rbp, rbx, r12, r13, r14, r15.
struct CodeFrame {
  enum class Above : std::uint8_t { Rsp, Rax, Stored } above = Above::Rsp;
  std::uint8_t saved = 0;
  std::uint32_t offset = 0;
  std::int32_t add = 8, at = 0;
};

// What is noted as code is emitted, where somebody asks for it: in the order of offsets.
struct CodeNotes {
  std::vector<CodeMark> marks;
  std::vector<CodeFrame> frames;
};

// Called by one thread at a time. Code is at the address where it runs, and is not changed while it is there.
class CodeListener {
 public:
  virtual ~CodeListener() = default;
  virtual void added(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes) = 0;
  virtual void removed(const std::byte* code) = 0;
};

}  // namespace tfvm
