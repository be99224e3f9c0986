#include "vm/vm.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/parse.h"
#include "stdlib/embedded.h"
#include "transforms/rows.h"
#include "transforms/simplify/licm.h"
#include "vm/cache/function_lines.h"
#include "vm/debug_dir.h"
#include "vm/eager/wrapper.h"
#include "vm/npy/npy.h"

namespace tfvm {

namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Tensor> tensor_of(const Tables& t, ConstId id, const BudgetRef& budget) {
  const Constant& c = t.consts[id];
  return Tensor::make(budget, t.types.dtype(c.type), t.types.dims(c.type), c.bytes);
}

constexpr std::int64_t kWorthForgetting = 1 << 20;

// Is the value a tensor that the guard takes, whatever its TypeId, which may be stale?
bool is_such_tensor(const Value& v, const ArgType& guard) {
  return guard.pack == kNone<TypeId> && !v.hold && v.leaves.size() == 1 && v.tensor().dtype() == guard.dtype &&
         v.tensor().layout().dims == guard.dims;
}

Result<Tensor> zeros(const Tables& t, TypeId type, const BudgetRef& budget) {
  Result<Tensor> x = Tensor::make(budget, t.types.dtype(type), t.types.dims(type));
  if (x) std::fill_n(x->data(), x->bytes(), std::byte{0});
  return x;
}

}  // namespace

VM::VM(const VmOptions& options)
    : budget_(std::make_shared<Budget>(options.memory_limit, options.allocator)),
      env_{tables_, BuilderOptions{&evaluator_, options.simplify}, &program_, {}, {}},
      table_(transform_table(env_)),
      program_(tables_, ProgramOptions{BuilderOptions{&evaluator_, options.simplify}, &table_}),
      tiers_(options.tier, [this](const std::string& message) { give_notice(env_.log, message); }),
      plans_(plan_options(options, tiers_)),
      eager_(
          plans_, [this](FunctionId f) { return licm(env_, f); }, options.nan_trap != NanTrap::Off),
      functionalize_(options.functionalize && options.nan_trap == NanTrap::Off),
      nan_trap_(options.nan_trap),
      debug_dir_(options.debug_dir),
      functions_(options.cache) {
  env_.log = options.log;
  // What is looked at as it is made is never one that was made before.
  const bool is_watched =
      options.nan_trap != NanTrap::Off || !options.debug_dir.empty() || !options.simplify || options.plan.gate;
  if (options.cache.folder.empty() || is_watched) return;
  disk_ = std::make_unique<DiskCache>(options.cache.folder);
  if (!disk_->is_on()) env_.report("cache", "the cache on disk is off: " + disk_->why_off());
}

PlanOptions VM::plan_options(const VmOptions& options, Tiers& tiers) {
  PlanOptions o = options.plan;
  o.tiers = &tiers;
  o.keep_nests = o.keep_nests || !options.debug_dir.empty();
  if (tiers.options().tier == Tier::Interp) o.fuse.recompute = false;
  o.straight = tiers.options().tier == Tier::Jit && NestCompiler::is_available();
  o.note_fusion = o.note_fusion || options.log;
  return o;
}

Result<std::unique_ptr<VM>> VM::create(const VmOptions& options) {
  std::unique_ptr<VM> vm(new VM(options));
  return vm;
}

// Only says where the library's functions stand: each is read when it is named first.
void VM::add_library() {
  if (has_library_) return;
  for (const EmbeddedFile& file : stdlib::files())
    program_.library(stdlib::is_rules(file) ? Space::Derivatives : Space::Ops)
        .add("stdlib/" + std::string(file.name), file.bytes);
  has_library_ = true;
}

void VM::register_op(const std::string& name, CustomOp op) {
  const std::lock_guard guard(lock_);
  const StrId id = tables_.strings.intern(name);
  const auto made = std::make_shared<const CustomOp>(std::move(op));
  ExternInfer infer = made->shape ? by_shape_function(made) : ExternInfer();
  program_.set_host_rules(id, made->rules);
  eager_.ops.insert_or_assign(name, made);
  const auto declared = tables_.externs.find(id);
  if (declared != tables_.externs.end() && infer) declared->second.infer = std::move(infer);
  program_.forget_failures();
}

Status VM::load_text(std::string_view source, std::string_view file, const FileLoader& files) {
  const std::lock_guard guard(lock_);
  if (!debug_dir_.empty()) dump_source(debug_dir_, file, source);
  Result<Module> m = parse_module(tables_.strings, source, file);
  if (!m) return std::move(m).error();
  return load_locked(*std::move(m), files);
}

Status VM::load_binary(std::span<const std::byte> bytes, std::string_view file, const FileLoader& files) {
  const std::lock_guard guard(lock_);
  Result<Module> m = read_tfbc(tables_.strings, bytes, file);
  if (!m) return std::move(m).error();
  return load_locked(*std::move(m), files);
}

Status VM::load(Module module, const FileLoader& files) {
  const std::lock_guard guard(lock_);
  return load_locked(std::move(module), files);
}

// Where memory is refused, all that is made until the next try stays, too.
void VM::keep() noexcept {
  try {
    tables_.keep();
    must_keep_ = false;
  } catch (const std::bad_alloc&) {
  }
}

Status VM::load_locked(Module module, const FileLoader& files) {
  if (sealed_) return Error(Code::Sealed, "nothing can be loaded any more");
  if (tables_.fresh_bytes() > kWorthForgetting) forget_locked();  // what is there now stays for good
  program_bytes_.clear();
  must_keep_ = true;
  Status loaded = add_module(std::move(module), files);
  keep();
  return loaded;
}

Status VM::add_module(Module module, const FileLoader& files) {
  ModuleLoader imports;
  if (files)
    imports = [&](const std::string& path) -> Result<Module> {
      const auto bytes = files(path);
      if (!bytes) return bytes.error();
      return parse_module(tables_.strings, as_text(*bytes), path);
    };
  Result<Module> whole = merge_imports(tables_, std::move(module), imports);
  if (!whole) return std::move(whole).error();
  Context context(budget_);
  const auto first = static_cast<std::uint32_t>(globals_.size());
  globals_.reserve(first + whole->globals.size());
  std::vector<std::pair<StrId, ExternInfer>> shapes;  // of the host
  for (const Extern& e : whole->externs)
    if (const auto it = eager_.ops.find(std::string(tables_.strings[e.op]));
        it != eager_.ops.end() && it->second->shape)
      shapes.emplace_back(e.op, by_shape_function(it->second));
  // Only what is computed needs the ops.
  if (std::ranges::find(whole->globals, InitKind::Call, &Global::init) != whole->globals.end()) add_library();
  if (Status s = program_.load(*std::move(whole)); !s) return s;
  for (auto& [op, infer] : shapes) tables_.externs.at(op).infer = std::move(infer);
  globals_.resize(program_.module().globals.size());
  for (std::uint32_t k = first; k < globals_.size(); ++k) {
    Result<Initial> initial = program_.initial(k);
    if (!initial) return std::move(initial).error();
    Result<Tensor> value = initial_value(*initial, files, context);
    if (!value) {
      Error e = std::move(value).error();
      if (e.loc.line == 0) e.loc = program_.module().globals[k].loc;
      return std::move(e).note(fmt::format("the first value of @{}", tables_.strings[initial->global.name]));
    }
    globals_[k] = *std::move(value);
  }
  return ok();
}

Result<Tensor> VM::initial_value(const Initial& initial, const FileLoader& files, Context& context) {
  const TypeId type = initial.global.type;
  if (const auto* id = std::get_if<ConstId>(&initial.value)) return tensor_of(tables_, *id, budget_);
  if (const auto* path = std::get_if<std::string>(&initial.value)) {
    if (!files) return Error(Code::Io, fmt::format("can't read '{}': no files can be read here", *path));
    const auto bytes = files(*path);
    if (!bytes) return bytes.error();
    Result<Tensor> t = parse_npy(*bytes, budget_);
    if (!t) return std::move(t).error().note(fmt::format("in '{}'", *path));
    if (tables_.types.tensor(t->dtype(), t->dims()) != type)
      return Error(Code::Type, fmt::format("'{}' holds {}, not {}", *path, t->type_text(), tables_.types.text(type)));
    return t;
  }
  if (const auto* step = std::get_if<Step>(&initial.value)) {
    Result<Function> f = prepare_locked(*step);
    if (!f) return std::move(f).error();
    std::vector<Tensor> in;
    for (std::int64_t g : f->globals) {
      in.push_back(globals_[static_cast<std::size_t>(g)]);
    }
    if (f->eager) {
      EagerRun eager(context, globals_, &eager_.sites);
      auto results = eager.call(*f->eager, std::move(in));
      if (!results) return located_locked(std::move(results).error(), eager.failed_at());
      return results->front().clone(budget_);
    }
    auto out = context.call(*f->plan, in);
    return out ? Result<Tensor>(out->front()) : located_locked(std::move(out).error(), context.failed_at());
  }
  return zeros(tables_, type, budget_);
}

Error VM::located(Error e, StepOrigin at) {
  const std::lock_guard guard(lock_);
  return located_locked(std::move(e), at);
}

Error VM::located_locked(Error e, StepOrigin at) {
  const bool of_the_program = e.code == Code::Index || e.code == Code::Assert || e.code == Code::Limit ||
                              e.code == Code::Cancelled || e.code == Code::Type;
  if (!of_the_program || e.loc.line != 0 || at.debug == kNone<DebugId>) return e;
  if (tables_.debugs.has(at.debug)) {
    e.loc = tables_.debugs.find_loc(at.debug, at.instr);
    return std::move(e).note("in " + tables_.debugs.function_name(at.debug, tables_.strings));
  }
  for (const auto& weak : lines_) {
    const auto f = weak.lock();
    if (!f) continue;
    const auto it = f->lines.find({at.debug, at.instr});
    if (it == f->lines.end()) continue;
    e.loc = it->second.loc;
    return std::move(e).note("in " + it->second.function);
  }
  return e;
}

std::vector<Tensor> VM::arguments(const Function& f, std::span<const Tensor> inputs) const {
  std::vector<Tensor> in;
  for (std::int64_t g : f.globals) in.push_back(globals_[static_cast<std::size_t>(g)]);
  in.insert(in.end(), inputs.begin(), inputs.end());
  return in;
}

Result<std::vector<Tensor>> VM::run(Context& context, const Function& f, std::span<const Tensor> leaves) {
  std::vector<Tensor> in = arguments(f, leaves);
  if (nan_trap_ != NanTrap::Off) return run_trapped(context, f, std::move(in));
  if (f.eager) {
    EagerRun eager(context, globals_, &eager_.sites);
    auto results = f.wrapper ? f.wrapper->call(eager, globals_, std::move(in)) : eager.call(*f.eager, std::move(in));
    if (results) return results;
    return located(std::move(results).error(), eager.failed_at());
  }
  if (Status fresh = check_saved(leaves, &eager_.sites); !fresh) return std::move(fresh).error();
  auto out = context.call(*f.plan, in, f.kept);
  if (out || out.error().code == Code::Type) return out;
  return located(std::move(out).error(), context.failed_at());
}

Status VM::keep_first_globals() {
  for (std::size_t k = first_globals_.size(); k < globals_.size(); ++k) {
    if (!globals_[k]) return no_value(program_.module().globals[k].name);
    Result<Tensor> copy = globals_[k].clone(budget_);
    if (!copy) return std::move(copy).error();
    first_globals_.push_back(*std::move(copy));
  }
  return ok();
}

void VM::reset_globals() {
  const std::lock_guard guard(lock_);
  for (std::size_t k = 0; k < first_globals_.size(); ++k) {
    std::copy_n(first_globals_[k].data(), first_globals_[k].bytes(), globals_[k].data());
    globals_[k].storage()->written(0);
  }
}

Result<std::vector<Value>> VM::call(Context& context, const Function& f, std::span<const Value> inputs) {
  if (inputs.size() != f.inputs.size())
    return Error(Code::Type, fmt::format("{} inputs expected, {} given", f.inputs.size(), inputs.size()));
  std::vector<Tensor> leaves;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].type != f.inputs[k] && !is_such_tensor(inputs[k], f.guards[k])) {
      const std::lock_guard guard(lock_);
      const auto text_of = [&](TypeId type, const std::string& other) {
        return tables_.types.has(type) ? tables_.types.text(type) : other;
      };
      return Error(
          Code::Type,
          fmt::format("input {} must be {}, not {}", k, text_of(f.inputs[k], text(f.guards[k])),
                      text_of(inputs[k].type, inputs[k].leaves.empty() ? "nothing" : inputs[k].tensor().type_text())));
    }
    leaves.insert(leaves.end(), inputs[k].leaves.begin(), inputs[k].leaves.end());
  }
  auto out = run(context, f, leaves);
  if (!out) return std::move(out).error();
  std::vector<Value> values;
  std::ptrdiff_t at = 0;
  for (std::size_t k = 0; k < f.results.size(); ++k) {
    const auto begin = out->begin() + at;
    at += f.result_leaves[k];
    values.push_back({f.results[k], {begin, out->begin() + at}, f.packs[k] ? f.hold : nullptr});
  }
  return values;
}

Result<std::vector<Tensor>> VM::call(Context& context, const Function& f, std::span<const Tensor> inputs) {
  return run(context, f, inputs);
}

TypeId VM::type_of(const Tensor& t) {
  const std::lock_guard guard(lock_);
  return tables_.types.tensor(t.dtype(), t.dims());
}

}  // namespace tfvm
