#include "jit/x86/code_memory.h"

namespace tfvm::x86 {

namespace {

asmjit::JitAllocator::CreateParams dual_mapping() {
  asmjit::JitAllocator::CreateParams p;
  p.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  return p;
}

}  // namespace

CodeMemory::CodeMemory(const asmjit::JitAllocator::CreateParams& params) : allocator_(&params) {}
CodeMemory::CodeMemory() : CodeMemory(dual_mapping()) {}

Result<void*> CodeMemory::add(asmjit::CodeHolder& code, std::size_t room_behind) {
  if (code.flatten() != asmjit::kErrorOk || code.resolveUnresolvedLinks() != asmjit::kErrorOk)
    return Error(Code::Internal, "generated code has an open label");
  void *run = nullptr, *write = nullptr;
  const std::size_t size = code.codeSize();
  if (allocator_.alloc(&run, &write, size + room_behind) != asmjit::kErrorOk || run == write) return refused();
  if (code.relocateToBase(reinterpret_cast<std::uint64_t>(run)) != asmjit::kErrorOk ||
      code.copyFlattenedData(write, size) != asmjit::kErrorOk) {
    allocator_.release(run);
    return Error(Code::Internal, "generated code can't be placed");
  }
  bytes_ += size;
  return run;
}

bool CodeMemory::is_given() {
  void *run = nullptr, *write = nullptr;
  if (allocator_.alloc(&run, &write, 1) != asmjit::kErrorOk) return false;
  allocator_.release(run);
  return run != write;
}

void CodeMemory::release(void* code, std::size_t size) {
  allocator_.release(code);
  bytes_ -= size;
}

}  // namespace tfvm::x86
