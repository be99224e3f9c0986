// A build without native code.
#include "jit/x86/native.h"

namespace tfvm {

namespace {
Error none() { return {Code::Unsupported, "this build makes no native code"}; }
}  // namespace

std::int64_t NativeNest::max_parts(std::int64_t) const { return 1; }
void NativeNest::run_trips(std::byte* const* bases, std::int64_t) const { run(bases); }
void NativeNest::run_part(std::byte* const* bases, std::int64_t, std::int64_t) const { run(bases); }
bool NativeNest::has_tiles(std::int64_t, std::int64_t) const { return false; }
void NativeNest::run_tile(std::byte* const*, const Tile&) const {}
void NativeNest::run_blocks(std::byte* const*, const std::int64_t*) const {}

struct NestCompiler::State {};

bool NestCompiler::is_available() { return false; }
Isa NestCompiler::best_isa() { return Isa::Avx2; }
NestCompiler::NestCompiler(Isa, bool, std::shared_ptr<CodeListener>) {}
NestCompiler::~NestCompiler() = default;

bool NestCompiler::is_refused() { return false; }
Result<NativeNest> NestCompiler::compile(const Nest&, const CodeLabel&, bool) { return none(); }
Result<NativeNest> NestCompiler::compile(const LoopNest&, const CodeLabel&) { return none(); }
Result<std::string> NestCompiler::listing(const Nest&) { return none(); }
Result<std::string> NestCompiler::listing(const LoopNest&) { return none(); }
void NestCompiler::trim() {}
NestCompiler::Counts NestCompiler::counts() const { return {}; }

}  // namespace tfvm
