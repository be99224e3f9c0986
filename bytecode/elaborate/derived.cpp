#include "bytecode/elaborate/derived.h"

#include <algorithm>

#include "bytecode/elaborate/program.h"
#include "bytecode/policy.h"

namespace tfvm {

TransformEnv& TransformCallee::env() const { return *p_.options().transforms->env; }

Result<std::size_t> TransformCallee::arity(std::span<const TypeId> available) {
  return row_.arity(env(), inner_, attrs_, available);
}

std::span<const StrId> TransformCallee::param_names() const {
  return row_.keeps_params ? inner_.param_names() : std::span<const StrId>{};
}

std::optional<DType> TransformCallee::hint(std::span<const TypeId> args, std::size_t k) {
  return row_.hint ? row_.hint(env(), inner_, attrs_, args, k) : inner_.hint(args, k);
}

std::optional<std::vector<TypeId>> TransformCallee::fixed_types() {
  return row_.keeps_params && !row_.hint ? inner_.fixed_types() : std::nullopt;  // with a hint: other types
}

Result<FunctionId> TransformCallee::make(std::span<const TypeId> args) {
  const TransformTable& table = *p_.options().transforms;
  const bool full = inner_.is_full() && !row_.takes_full;
  if (full && !table.make_of_full) return Error{Code::Unsupported, "[" + text_ + "] " + inner_.text() + " writes"};
  Result<FunctionId> f =
      full ? table.make_of_full(env(), row_, inner_, attrs_, args) : row_.make(env(), inner_, attrs_, args);
  if (f) return f;
  return std::move(f).error().note("in " + text_);
}

Result<AttrId> CheckpointCallee::call_attrs(std::span<const TypeId> args) {
  Result<AttrId> attrs = inner_.call_attrs(args);
  if (!attrs) return attrs;
  if (const auto known = checkpoint_policy(p_.tables(), policy_); !known) return known.error();
  return p_.tables().attrs.with(*attrs, Key::policy, policy_);
}

// func @f'(x…) { call @f(x…) {attrs} }
static Result<FunctionId> wrap_call(Program& p, std::string_view name, std::span<const TypeId> args, AttrId attrs) {
  Builder b(p.tables(), p.options().builder, name);
  if (p.tables().body(p.tables().attrs.get_func(attrs, Key::callee)).full) b.set_full();
  std::vector<ValueId> params;
  for (TypeId type : args) params.push_back(b.param(type));
  return b.seal(b.emit_all(Op::call, params, attrs));
}

Result<FunctionId> CheckpointCallee::make(std::span<const TypeId> args) {
  Result<AttrId> attrs = call_attrs(args);
  if (!attrs) return std::move(attrs).error().note("in " + text());
  return wrap_call(p_, text(), args, *attrs);
}

LiftedCallee::LiftedCallee(Program& p, Callee& inner, std::vector<GlobalUse> globals, bool functional)
    : Callee(p), inner_(inner), functional_(functional), lifted_(std::move(globals)) {
  for (const GlobalUse& g : inner.globals())
    if (std::ranges::find(lifted_, g) == lifted_.end()) rest_.push_back(g);
  for (const GlobalUse& g : lifted_) names_.push_back(g.name);
  names_.insert(names_.end(), inner.param_names().begin(), inner.param_names().end());
}

Result<std::size_t> LiftedCallee::arity(std::span<const TypeId> available) {
  Result<std::size_t> n = inner_.arity(available.subspan(std::min(available.size(), lifted_.size())));
  if (!n) return n;
  return *n + lifted_.size();
}

std::optional<DType> LiftedCallee::hint(std::span<const TypeId> args, std::size_t k) {
  if (k < lifted_.size()) return p_.tables().types.dtype(lifted_[k].type);
  return inner_.hint(args.subspan(lifted_.size()), k - lifted_.size());
}

std::optional<std::vector<TypeId>> LiftedCallee::fixed_types() {
  std::optional<std::vector<TypeId>> types = inner_.fixed_types();
  if (types)
    for (std::size_t k = lifted_.size(); k-- > 0;) types->insert(types->begin(), lifted_[k].type);
  return types;
}

Result<FunctionId> LiftedCallee::make(std::span<const TypeId> args) {
  const TypeTable& types = p_.tables().types;
  for (std::size_t k = 0; k < lifted_.size(); ++k)
    if (args[k] != lifted_[k].type)
      return Error{Code::Type, "[" + text() + "] @" + std::string(p_.tables().strings[lifted_[k].name]) +
                                   ": expected " + types.text(lifted_[k].type) + ", got " + types.text(args[k])};
  Result<FunctionId> f = inner_.instantiate(args.subspan(lifted_.size()));
  const TransformTable* table = p_.options().transforms;
  if (f && functional_ && p_.tables().body(*f).full && table && table->functionalize)
    f = table->functionalize(*table->env, *f);
  if (!f) return std::move(f).error().note("in " + text());
  return lift_globals(p_.tables(), *f, lifted_);
}

Result<std::size_t> StackedCallee::arity(std::span<const TypeId> available) {
  const std::size_t one = inner_.globals().size();
  if (one == 0) return Error{Code::Type, "[" + text() + "] " + inner_.text() + " uses no params or buffers"};
  if (sets_ && *sets_ < 1) return Error{Code::Type, "[" + text() + "] n must be at least 1"};
  if (sets_) return one * static_cast<std::size_t>(*sets_);
  if (available.empty() || available.size() % one != 0)
    return Error{Code::Type, "[" + text() + "] takes sets of " + std::to_string(one) + " params and buffers, got " +
                                 std::to_string(available.size()) + " arguments"};
  return available.size();
}

std::optional<DType> StackedCallee::hint(std::span<const TypeId>, std::size_t k) {
  const std::vector<GlobalUse>& all = inner_.globals();
  return all.empty() ? std::nullopt : std::optional(p_.tables().types.dtype(all[k % all.size()].type));
}

Result<FunctionId> StackedCallee::make(std::span<const TypeId> args) {
  const std::vector<GlobalUse>& all = inner_.globals();
  const TypeTable& types = p_.tables().types;
  Builder b(p_.tables(), p_.options().builder, text());
  std::vector<std::vector<ValueId>> parts(all.size());
  for (std::size_t k = 0; k < args.size(); ++k) {
    const GlobalUse& g = all[k % all.size()];
    if (args[k] != g.type)
      return Error{Code::Type, "[" + text() + "] @" + std::string(p_.tables().strings[g.name]) + " of set " +
                                   std::to_string(k / all.size()) + ": expected " + types.text(g.type) + ", got " +
                                   types.text(args[k])};
    parts[k % all.size()].push_back(b.param(args[k]));
  }
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::vector<std::int64_t> shape{1};
    const Dims dims = types.dims(all[k].type);
    shape.insert(shape.end(), dims.begin(), dims.end());
    for (ValueId& v : parts[k]) v = b.emit(Op::reshape, {v}, {{Key::shape, Ints(shape)}});
    results.push_back(b.emit(Op::concat, parts[k], p_.tables().attrs.dict({{Key::axis, 0}})));
  }
  return b.seal(results);
}

std::vector<TypeId> BoundCallee::with_bound(std::span<const TypeId> args) const {
  std::vector<TypeId> all;
  for (const GlobalUse& g : bound_) all.push_back(g.type);
  all.insert(all.end(), args.begin(), args.end());
  return all;
}

Result<std::size_t> BoundCallee::arity(std::span<const TypeId> available) {
  Result<std::size_t> n = inner_.arity(with_bound(available));
  if (!n || *n < bound_.size()) return n;
  return *n - bound_.size();
}

std::span<const StrId> BoundCallee::param_names() const {
  const std::span<const StrId> names = inner_.param_names();
  return names.subspan(std::min(names.size(), bound_.size()));
}

std::optional<DType> BoundCallee::hint(std::span<const TypeId> args, std::size_t k) {
  return inner_.hint(with_bound(args), k + bound_.size());
}

std::optional<std::vector<TypeId>> BoundCallee::fixed_types() {
  std::optional<std::vector<TypeId>> types = inner_.fixed_types();
  if (types) types->erase(types->begin(), types->begin() + static_cast<std::ptrdiff_t>(bound_.size()));
  return types;
}

Result<FunctionId> BoundCallee::make(std::span<const TypeId> args) {
  Result<AttrId> attrs = inner_.call_attrs(with_bound(args));
  if (!attrs) return attrs.error();
  Builder b(p_.tables(), p_.options().builder, text_);
  if (p_.tables().body(p_.tables().attrs.get_func(*attrs, Key::callee)).full) b.set_full();
  std::vector<ValueId> params, operands;
  for (TypeId type : args) params.push_back(b.param(type));
  for (const GlobalUse& g : bound_) operands.push_back(emit_global(b, g));
  operands.insert(operands.end(), params.begin(), params.end());
  return b.seal(b.emit_all(Op::call, operands, *attrs));
}

}  // namespace tfvm
