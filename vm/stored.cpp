// Functions that an earlier process has left on disk: as they are when plans are made of them, past all transforms.
#include <algorithm>

#include "bytecode/binary/format.h"
#include "bytecode/binary/tfbc.h"
#include "vm/cache/body_file.h"
#include "vm/vm.h"

namespace tfvm {

namespace {

constexpr std::uint32_t kFormat = 1;

void add_args(tfbc::Sink& out, std::span<const ArgType> args) {
  out.number(args.size());
  for (const ArgType& a : args) {
    out.byte(static_cast<std::uint8_t>(a.dtype));
    out.number(a.dims.size());
    for (std::int64_t d : a.dims) out.signed_number(d);
  }
}

}  // namespace

// The whole of what a function depends on: the build, the instruction set, the program with its lines, the callee, the
// arguments. Custom ops are the host's, and packs belong to one process.
std::vector<std::byte> VM::disk_key(const FunctionKey& key) {
  if (!disk_ || !disk_->is_on() || functionalize_ || !program_.module().externs.empty()) return {};
  if (std::ranges::any_of(key.args, [](const ArgType& a) { return a.pack != kNone<TypeId>; })) return {};
  const std::string build = build_id();
  if (build.empty()) return {};
  if (program_bytes_.empty()) {
    tfbc::Sink program;
    const Module& m = program_.module();
    const auto bytes = write_tfbc(m, tables_.strings);
    program.bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    for (const Template& f : m.funcs)
      program.bytes(f.loc.file == kNone<StrId> ? std::string_view() : tables_.strings[f.loc.file]);
    program_bytes_ = std::move(program.data());
  }
  tfbc::Sink out;
  out.number(kFormat);
  out.bytes(build);
  out.byte(static_cast<std::uint8_t>(tiers_.options().isa.value_or(NestCompiler::best_isa())));
  out.bytes(key.callee);
  add_args(out, key.args);
  out.data().insert(out.data().end(), program_bytes_.begin(), program_bytes_.end());
  return std::move(out.data());
}

std::optional<Function> VM::load_stored(std::span<const std::byte> disk_key, const FunctionKey& key) {
  ++disk_misses_;
  const auto bytes = disk_->load(disk_key);
  if (!bytes) return std::nullopt;
  const Result<StoredFunction> stored = read_function(tables_, *bytes);
  if (!stored) return std::nullopt;
  const Body& body = tables_.body(stored->f);
  if (body.num_params != stored->globals.size() + key.args.size()) return std::nullopt;
  for (std::size_t k = 0; k < body.num_params; ++k) {
    const Type& type = tables_.types[body.types[k]];
    DType dtype;
    Dims dims;
    if (k < stored->globals.size()) {
      const std::int64_t g = stored->globals[k];
      if (g < 0 || g >= std::ssize(globals_) || !globals_[static_cast<std::size_t>(g)]) return std::nullopt;
      dtype = globals_[static_cast<std::size_t>(g)].dtype(), dims = globals_[static_cast<std::size_t>(g)].dims();
    } else {
      const ArgType& a = key.args[k - stored->globals.size()];
      dtype = a.dtype, dims = a.dims;
    }
    if (!type.is_tensor() || type.dtype != dtype || !std::ranges::equal(type.dims, dims)) return std::nullopt;
  }
  Function f;
  Result<PlanRef> plan = plans_.get(tables_, stored->f);
  if (!plan) return std::nullopt;
  f.plan = *std::move(plan);
  Result<Function> made = finish(std::move(f), body, stored->globals);
  if (!made) return std::nullopt;
  --disk_misses_, ++disk_hits_;
  return *std::move(made);
}

}  // namespace tfvm
