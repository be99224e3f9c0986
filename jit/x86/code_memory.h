#pragma once
// Memory for machine code. Every page is mapped twice, once to be written and once to be run: none is ever writable and
// executable.

#include <asmjit/x86.h>

#include "bytecode/status.h"

namespace tfvm::x86 {

class CodeMemory {
 public:
  CodeMemory();
  // Whether the system maps anything executable. What it maps for this serves the first code.
  bool is_given();
  static Error refused() { return {Code::Memory, "the system gives no executable memory"}; }
  // Copies finished code to where it can run; gives its address. It stays until this is destroyed. So many bytes behind
  // it are left unused. Memory: the system maps nothing executable.
  Result<void*> add(asmjit::CodeHolder& code, std::size_t room_behind = 0);
  // Nothing runs in it any more.
  void release(void* code, std::size_t size);
  std::size_t bytes() const { return bytes_; }

 private:
  explicit CodeMemory(const asmjit::JitAllocator::CreateParams& params);
  asmjit::JitAllocator allocator_;
  std::size_t bytes_ = 0;
};

}  // namespace tfvm::x86
