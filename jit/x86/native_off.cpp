// A build without native code.
#include "jit/x86/native.h"

namespace tfvm {

struct NestCompiler::State {};

bool NestCompiler::is_available() { return false; }
Isa NestCompiler::best_isa() { return Isa::Avx2; }
NestCompiler::NestCompiler(Isa) {}
NestCompiler::~NestCompiler() = default;

Result<NativeNest> NestCompiler::compile(const Nest&) {
  return Error(Code::Unsupported, "this build makes no native code");
}
Result<std::string> NestCompiler::listing(const Nest&) {
  return Error(Code::Unsupported, "this build makes no native code");
}
NestCompiler::Counts NestCompiler::counts() const { return {}; }

}  // namespace tfvm
