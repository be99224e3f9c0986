// Functions made ready, kept, and what they were made of let go.
#include <algorithm>

#include <fmt/format.h>

#include "bytecode/text/parse.h"
#include "transforms/simplify/licm.h"
#include "vm/cache/body_file.h"
#include "vm/cache/function_lines.h"
#include "vm/debug_dir.h"
#include "vm/eager/wrapper.h"
#include "vm/plan/fusion_report.h"
#include "vm/plan/update_report.h"
#include "vm/type_text.h"
#include "vm/vm.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMemoEntry = 400, kInstance = 300;  // about what a result of a pass, an instance take

ArgType arg_type(const TypeTable& types, TypeId id) {
  const Type& t = types[id];
  if (!t.is_tensor()) return {DType::Bool, {}, id};
  return {t.dtype, {t.dims.begin(), t.dims.end()}, kNone<TypeId>};
}

std::vector<ValueType> tensors_of(const Tables& tables, std::span<const TypeId> values) {
  std::vector<ValueType> out;
  for (TypeId type : values)
    for (TypeId leaf : leaf_types(tables, type)) {
      const Type& t = tables.types[leaf];
      out.push_back({t.dtype, {t.dims.begin(), t.dims.end()}, tables.types.bytes(leaf), t.kind == TypeKind::Tape});
    }
  return out;
}

}  // namespace

Result<Callee*> VM::find(std::string_view callee) {
  add_library();
  if (callee.find_first_of("@(") == callee.npos) return program_.function(callee);
  const Result<ParsedCallee> parsed = parse_callee(tables_.strings, callee);
  if (!parsed) return parsed.error();
  return program_.callee(parsed->pools, parsed->callee);
}

Result<std::vector<ArgType>> VM::arg_types(std::span<const TypeId> types) const {
  std::vector<ArgType> out;
  for (TypeId type : types) {
    if (!tables_.types.has(type)) return Error(Code::Type, "the type of an argument is one of before: it is forgotten");
    out.push_back(arg_type(tables_.types, type));
  }
  return out;
}

Result<Function> VM::entry(std::string_view callee, std::span<const TypeId> args) {
  const std::lock_guard guard(lock_);
  Result<std::vector<ArgType>> types = arg_types(args);
  if (!types) return std::move(types).error();
  return entry_locked({std::string(callee), *std::move(types)});
}

Result<Function> VM::entry_for(std::string_view callee, std::vector<ArgType> args) {
  const std::lock_guard guard(lock_);
  return entry_locked({std::string(callee), std::move(args)});
}

Result<Function> VM::entry_as_written(std::string_view callee) {
  const std::lock_guard guard(lock_);
  const Result<std::vector<TypeId>> fixed = fixed_locked(callee);
  if (!fixed) return fixed.error();
  return entry_locked({std::string(callee), *arg_types(*fixed)});
}

Result<std::vector<ArgType>> VM::parse_args(std::string_view types) {
  const std::lock_guard guard(lock_);
  const Result<std::vector<TypeId>> parsed = parse_types(tables_.types, types);
  return parsed ? arg_types(*parsed) : parsed.error();
}

Result<Function> VM::entry_locked(FunctionKey key) {
  if (const Function* f = functions_.find(key)) return *f;
  std::optional<Miss> miss;
  if (sealed_ || env_.log) miss = functions_.miss(key);
  if (sealed_) return Error(Code::Sealed, fmt::format("{} would have to be made: {}", key.callee, text(*miss, {})));
  const bool has_pack = std::ranges::any_of(key.args, [](const ArgType& a) { return a.pack != kNone<TypeId>; });
  const std::int64_t made = made_bytes();
  if (!has_pack && made > std::max(functions_.limit(), forget_at_))
    forget_at_ = forget_locked() ? 0 : made + made / 4;  // holders may be gone by then
  std::vector<StrId> names;
  Result<Function> f = make_entry(key, names);
  if (!f) return f;
  if (miss) report(key, names, *miss, *f);
  functions_.add(std::move(key), *f, bytes_of(*f));
  return f;
}

// From the disk, or of the program.
Result<Function> VM::make_entry(const FunctionKey& key, std::vector<StrId>& names) {
  const std::vector<std::byte> on_disk = disk_key(key);
  if (!on_disk.empty())
    if (std::optional<Function> f = load_stored(on_disk, key)) return *std::move(f);
  std::vector<TypeId> types;
  for (const ArgType& a : key.args)
    types.push_back(a.pack != kNone<TypeId> ? a.pack : tables_.types.tensor(a.dtype, a.dims));
  const Result<Callee*> found = find(key.callee);
  if (!found) return found.error();
  Result<Step> step = program_.entry(**found, types);
  if (!step) return step.error();
  Result<Function> f = prepare_locked(*step);
  if (!f) return f;
  names = std::move(step->input_names);
  if (on_disk.empty() || !f->plan) return f;
  if (const auto bytes = write_function(tables_, {f->plan->function, f->globals}))
    disk_stores_ += disk_->store(on_disk, *bytes);
  return f;
}

void VM::report(const FunctionKey& key, std::span<const StrId> names, const Miss& miss, const Function& f) {
  const auto arg_name = [&](std::size_t k) {
    return k < names.size() && names[k] != kNone<StrId> ? tables_.strings[names[k]] : std::string_view();
  };
  std::string guards = key.callee + ":";
  for (std::size_t k = 0; k < key.args.size(); ++k) {
    guards += k ? ", " : " ";
    if (!arg_name(k).empty()) guards += fmt::format("%{} ", arg_name(k));
    guards += text(key.args[k]);
  }
  env_.report("guards", guards);
  if (miss.kind != Miss::Kind::First) env_.report("recompiles", key.callee + ": " + text(miss, arg_name(miss.arg)));
  if (!f.plan) return;
  for (const FusionEntry& e : fusion_of(tables_, *f.plan)) env_.report("fusion", key.callee + ": " + text(e));
  for (const UpdateEntry& e : updates_of(tables_, *f.plan)) env_.report("reinplace", key.callee + ": " + text(e));
}

Result<Function> VM::prepare(const Step& step) {
  const std::lock_guard guard(lock_);
  if (sealed_) return Error(Code::Sealed, "a function would have to be made");
  return prepare_locked(step);
}

Result<std::vector<TypeId>> VM::fixed_types(std::string_view callee) {
  const std::lock_guard guard(lock_);
  return fixed_locked(callee);
}

Result<std::vector<TypeId>> VM::fixed_locked(std::string_view callee) {
  const Result<Callee*> found = find(callee);
  if (!found) return found.error();
  if (auto types = (*found)->fixed_types()) return *std::move(types);
  return Error(Code::Type, fmt::format("the types of the parameters of {} are not all written in full: say for which "
                                       "types it is meant",
                                       (*found)->text()));
}

Result<std::vector<std::string>> VM::state_of(std::string_view callee) {
  const std::lock_guard guard(lock_);
  const Result<Callee*> found = find(callee);
  if (!found) return found.error();
  std::vector<std::string> names;
  for (const GlobalUse& g : (*found)->globals()) names.emplace_back(tables_.strings[g.name]);
  return names;
}

Error VM::no_value(StrId global) const {
  return Error(Code::Name,
               fmt::format("@{} has no value: initialisers run in order of declaration, and one that fails gives none",
                           tables_.strings[global]));
}

// Its plan, or its code.
Status VM::make_code(const Step& step, Function& f) {
  if (!eager_.runs_by_steps(tables_, step.function)) {
    const Result<FunctionId> lean = licm(env_, step.function);
    if (!lean) return lean.error();
    Result<PlanRef> plan = plans_.get(tables_, *lean);
    if (!plan) return std::move(plan).error();
    f.plan = *std::move(plan);
    if (nan_trap_ != NanTrap::Off)
      if (Status s = prepare_trap(f, *lean); !s) return s;
    if (debug_dir_.empty()) return ok();
    dump_levels(tables_, tiers_.compiler(), debug_dir_, step.function, *f.plan);
    if (f.flagged && f.flagged != f.plan)
      dump_levels(tables_, tiers_.compiler(), debug_dir_, step.function, *f.flagged);
    return ok();
  }
  Result<EagerRef> code = eager_.get(tables_, step.function, budget_);
  if (!code) return std::move(code).error();
  f.eager = *std::move(code);
  if (functionalize_ && tables_.body(step.function).full) {
    auto wrapper = wrapper_of(step.function, f.eager);
    if (!wrapper) return std::move(wrapper).error();
    f.wrapper = *std::move(wrapper);
  }
  return f.eager->uses_globals ? keep_first_globals() : ok();
}

Result<Function> VM::prepare_locked(const Step& step) {
  for (const GlobalUse& g : step.globals)
    if (!globals_[static_cast<std::size_t>(g.index)]) return no_value(g.name);
  Function f;
  f.id = step.function;
  if (Status made = make_code(step, f); !made) return std::move(made).error();
  std::vector<std::int64_t> globals;
  for (const GlobalUse& g : step.globals) globals.push_back(g.index);
  return finish(std::move(f), tables_.body(step.function), std::move(globals));
}

Result<Function> VM::finish(Function f, const Body& body, std::vector<std::int64_t> globals) {
  f.globals = std::move(globals);
  const auto params = body.param_types().subspan(f.globals.size());
  f.inputs.assign(params.begin(), params.end());
  f.results = body.result_types();
  f.is_trapped = nan_trap_ != NanTrap::Off;
  f.on_tensors = !f.plan || f.is_trapped;
  bool holds = f.wrapper != nullptr || f.is_trapped;
  for (TypeId type : f.inputs) {
    f.guards.push_back(arg_type(tables_.types, type));
    holds = holds || f.guards.back().pack != kNone<TypeId>;
  }
  f.in = tensors_of(tables_, f.inputs);
  f.out = tensors_of(tables_, f.results);
  if (f.plan) f.kept = pack_leaves(tables_, f.results);
  for (TypeId type : f.results) {
    f.result_leaves.push_back(std::ssize(leaf_types(tables_, type)));
    f.packs.push_back(!tables_.types[type].is_tensor());
    holds = holds || f.packs.back();
  }
  if (holds) f.hold = holders_;
  f.lines = std::make_shared<FunctionLines>();
  f.lines->plan = f.plan;
  f.lines->eager = f.eager;
  if (lines_.size() == lines_.capacity()) std::erase_if(lines_, [](const auto& weak) { return weak.expired(); });
  lines_.push_back(f.lines);
  plan_bytes_ += bytes_of(f);
  return f;
}

Result<std::shared_ptr<FunctionWrapper>> VM::wrapper_of(FunctionId f, const EagerRef& as_written) {
  if (const auto it = wrappers_.find(f); it != wrappers_.end()) return it->second;
  FunctionWrapper::Env env{tables_, eager_, lock_, sealed_, env_.options, budget_, {}};
  if (env_.log) env.log = [this](const std::string& line) { env_.log("input_output", line); };
  auto made = FunctionWrapper::make(std::move(env), f, as_written);
  if (made) wrappers_.emplace(f, *made);
  return made;
}

void VM::seal() {
  const std::lock_guard guard(lock_);
  sealed_ = true;
  tiers_.seal();
}

std::int64_t VM::made_bytes() {
  return tables_.fresh_bytes() + plan_bytes_ + static_cast<std::int64_t>(tiers_.compiler().counts().bytes) +
         static_cast<std::int64_t>(env_.memo.size()) * (kMemoEntry + kInstance);
}

bool VM::forget() {
  const std::lock_guard guard(lock_);
  return forget_locked();
}

bool VM::forget_locked() {
  if (nan_trap_ != NanTrap::Off) return false;  // what functions were made of names their nan
  if (must_keep_) keep();
  if (must_keep_) return false;
  functions_.drop_holders();
  if (holders_.use_count() > 1) return false;
  for (const auto& weak : lines_)
    if (const auto f = weak.lock()) write_lines(*f, tables_.debugs, tables_.strings);
  wrappers_.clear();
  eager_.forget();
  plans_.forget();
  evaluator_.forget();
  env_.forget();
  program_.forget();
  tables_.forget();
  tiers_.compiler().trim();
  plan_bytes_ = 0;
  ++forgets_;
  return true;
}

CacheStats VM::cache_stats() {
  const std::lock_guard guard(lock_);
  CacheStats s = functions_.stats();
  s.forgets = forgets_;
  s.disk_hits = disk_hits_, s.disk_misses = disk_misses_, s.disk_stores = disk_stores_;
  s.made_bytes = made_bytes();
  s.code_bytes = static_cast<std::int64_t>(tiers_.compiler().counts().bytes);
  return s;
}

}  // namespace tfvm
