#include "functionalize/pass.h"

#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/elaborate/globals.h"

namespace tfvm {

namespace functional {

Pattern plain_pattern(std::span<const TypeId> params) {
  Pattern p;
  for (std::uint32_t k = 0; k < params.size(); ++k) {
    p.bases.push_back(params[k]);
    p.args.push_back({k, {}});
  }
  return p;
}

namespace {

std::vector<std::uint64_t> key_of(FunctionId f, const Pattern& p) {
  std::vector<std::uint64_t> key{index(f.body), p.values, p.returned_at, p.bases.size(), p.returned.size()};
  for (TypeId type : p.bases) key.push_back(index(type));
  for (std::uint32_t base : p.returned) key.push_back(base);
  for (const Ref& r : p.args) {
    key.push_back(r.base);
    key.push_back(r.chain.size());
    for (const View& v : r.chain) {
      key.push_back(static_cast<std::uint64_t>(v.op));
      key.push_back(index(v.attrs));
    }
  }
  return key;
}

}  // namespace

Result<Outcome> Pass::function(FunctionId f, const Pattern& pattern) {
  const std::vector<std::uint64_t> key = key_of(f, pattern);
  if (const auto it = done_.find(key); it != done_.end()) return it->second;
  Result<Outcome> out = Walk(*this, f, pattern).run();
  if (out) done_.emplace(key, *out);
  return out;
}

}  // namespace functional

std::vector<std::uint32_t> written_globals(const Tables& t, FunctionId f) { return sharing(t, t.body(f)).globals; }

namespace {

std::vector<GlobalUse> uses_of(const Tables& t, FunctionId f, std::span<const std::uint32_t> numbers) {
  std::vector<GlobalUse> out;
  for (const GlobalUse& g : globals_used(t, f))
    if (std::ranges::find(numbers, static_cast<std::uint32_t>(g.index)) != numbers.end()) out.push_back(g);
  return out;
}

// g: (globals…, inputs…) -> (outputs…, new globals…, new inputs…) as (inputs…) -> (outputs…, new inputs…, new
// globals…).
Result<FunctionId> close(Tables& t, const FunctionalizeOptions& options, FunctionId g,
                         std::span<const GlobalUse> globals, std::size_t outputs) {
  Builder b(t, options.builder, g, {});
  const std::vector<TypeId> types(t.body(g).param_types().begin(), t.body(g).param_types().end());
  std::vector<ValueId> params, operands;
  for (std::size_t k = globals.size(); k < types.size(); ++k) {
    params.push_back(b.param(types[k]));
    b.name_from(params.back(), static_cast<ValueId>(k));
  }
  for (const GlobalUse& use : globals) operands.push_back(emit_global(b, use));
  operands.insert(operands.end(), params.begin(), params.end());
  std::vector<ValueId> results = b.emit_all(Op::call, operands, t.attrs.dict({{Key::callee, g}}));
  if (b.failed()) return b.error();
  const auto first = results.begin() + static_cast<std::ptrdiff_t>(outputs);
  std::rotate(first, first + static_cast<std::ptrdiff_t>(globals.size()), results.end());
  return b.seal(results);
}

}  // namespace

Result<LiftedFunction> functionalize_lifted(Tables& t, FunctionId f, const FunctionalizeOptions& options) {
  if (!t.body(f).full) return LiftedFunction{f, {}, {}};
  LiftedFunction out{f, uses_of(t, f, written_globals(t, f)), {}};
  const Result<FunctionId> lifted = lift_globals(t, f, out.globals);
  if (!lifted) return lifted.error();
  const auto first = static_cast<std::uint32_t>(out.globals.size());
  for (std::uint32_t k = 0; k < first; ++k) out.written.push_back(k);
  const Body& body = t.body(f);
  for (std::uint32_t k = 0; k < body.mut_params.size(); ++k)
    if (body.mut_params[k]) out.written.push_back(first + k);
  functional::Pattern pattern = functional::plain_pattern(t.body(*lifted).param_types());
  pattern.returned = out.written;
  functional::Pass pass(t, options);
  const Result<functional::Outcome> made = pass.function(*lifted, pattern);
  if (!made) return Error(made.error()).note("in functionalize of " + t.debugs.function_name(f.debug, t.strings));
  out.f = made->f;
  return out;
}

Result<FunctionId> functionalize(Tables& t, FunctionId f, const FunctionalizeOptions& options) {
  if (!t.body(f).full) return f;
  const Result<LiftedFunction> made = functionalize_lifted(t, f, options);
  if (!made) return made.error();
  if (made->globals.empty()) return made->f;
  return close(t, options, made->f, made->globals, t.body(f).results.size());
}

}  // namespace tfvm
