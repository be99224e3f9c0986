// From a full body to steps. A core instruction becomes a function of its own, with what it alone reads (alone.h), and
// that a plan; equal ones share it.
#include <algorithm>

#include <fmt/format.h>

#include "bytecode/aliasing.h"
#include "bytecode/elaborate/globals.h"
#include "bytecode/expand/writes.h"
#include "functionalize/functionalize.h"
#include "functionalize/reinplace.h"
#include "vm/eager/alone.h"
#include "vm/eager/code.h"

namespace tfvm {

namespace {

ValueType value_type(const Tables& t, TypeId type) {
  const Dims dims = t.types.dims(type);
  return {t.types.dtype(type), {dims.begin(), dims.end()}, t.types.bytes(type), t.types[type].kind == TypeKind::Tape};
}

}  // namespace

class EagerCompiler {
 public:
  EagerCompiler(EagerCache& cache, Tables& t, FunctionId f, const BudgetRef& budget)
      : cache_(cache),
        t_(t),
        f_(f),
        body_(t.body(f)),
        budget_(budget),
        defs_(definitions(body_)),
        exposed_(exposed_values()),
        sinks_(group_sinks(body_, exposed_, [this](const Instr& in) { return is_plan(in); })) {}

  Result<EagerRef> run() {
    code_->function = f_;
    code_->full = body_.full;
    code_->fresh = !body_.full && by_steps(f_);
    for (std::uint32_t v = 0; v < body_.num_values(); ++v) {
      if (v == body_.num_params) code_->params = code_->slots;
      first_.push_back(code_->slots);
      code_->slots += static_cast<Slot>(leaf_types(t_, body_.types[v]).size());
    }
    if (body_.num_params == body_.num_values()) code_->params = code_->slots;
    first_.push_back(code_->slots);
    for (ValueId v : body_.results) {
      append(code_->results, v);
      for (TypeId leaf : leaf_types(t_, body_.type(v))) code_->tapes.push_back(t_.types[leaf].kind == TypeKind::Tape);
    }
    code_->gives_tapes = std::ranges::count(code_->tapes, 1) > 0;
    Status s = by_steps(f_) ? instructions() : whole();
    if (!s) return std::move(s).error();
    drop_unread();
    find_dead();
    return EagerRef(code_);
  }

 private:
  using Kind = EagerStep::Kind;

  void append(Slots& slots, ValueId v) const {
    for (Slot s = first_[index(v)]; s < first_[index(v) + 1]; ++s) slots.push_back(s);
  }
  std::uint32_t leaves(std::span<const ValueId> values) const {
    std::uint32_t n = 0;
    for (ValueId v : values) n += first_[index(v) + 1] - first_[index(v)];
    return n;
  }

  std::size_t leaves_of(ValueId v) const { return first_[index(v) + 1] - first_[index(v)]; }

  EagerStep& step(Kind kind, const Instr& in, std::uint32_t i) {
    EagerStep& s = code_->steps.emplace_back();
    s.kind = kind;
    s.origin = {f_.debug, static_cast<InstrId>(i)};
    s.name = info(in.op).effect == OpEffect::Write ? write_name(t_, in.op, in.attrs) : std::string(name(in.op));
    for (ValueId v : in.operands) append(s.in, v);
    for (std::uint32_t k = 0; k < in.num_results; ++k) append(s.out, in.result(k));
    if (info(in.op).effect == OpEffect::Write)
      s.site = cache_.sites.add(s.name, t_.debugs.find_loc(f_.debug, s.origin.instr));
    return s;
  }

  // A core function: one plan.
  Status whole() {
    Result<EagerCache::Core> core = cache_.core(t_, f_);
    if (!core) return std::move(core).error();
    EagerStep s;
    s.kind = Kind::Plan;
    s.origin = {f_.debug, kNone<InstrId>};
    for (Slot k = 0; k < code_->params; ++k) s.in.push_back(k);
    code_->results.clear();
    for (std::size_t k = 0; k < core->plan->results.size(); ++k)
      code_->results.push_back(code_->params + static_cast<Slot>(k));
    code_->slots = code_->params + static_cast<Slot>(code_->results.size());
    s.out = code_->results;
    s.kept = pack_leaves(t_, body_.result_types());
    s.globals = std::move(core->globals);
    s.plan = std::move(core->plan);
    code_->steps.push_back(std::move(s));
    return ok();
  }

  Status instructions() {
    for (std::uint32_t i = 0; i < body_.num_instrs(); ++i) {
      Status s = instruction(i, body_.instr(i));
      if (s) continue;
      Error e = std::move(s).error();
      if (e.loc.line == 0) e.loc = t_.debugs.find_loc(f_.debug, static_cast<InstrId>(i));
      return e;
    }
    return ok();
  }

  Status instruction(std::uint32_t i, const Instr& in) {
    if (sinks_[i] != i) return ok();  // within the plan of its reader
    if (in.op == Op::constant) return constant(i, in);
    if (in.op == Op::global) {
      step(Kind::Global, in, i).globals = {t_.attrs.get_int(in.attrs, Key::index)};
      code_->uses_globals = true;
      return ok();
    }
    if (in.op == Op::pack || in.op == Op::unpack) return step(Kind::Move, in, i), ok();
    if (is_custom(in.op)) return custom(i, in);
    if (is_view_here(in)) {
      const bool whole = in.op == Op::real && !is_complex(t_.types.dtype(body_.type(in.operands[0])));
      step(Kind::View, in, i).view = view_op(t_, whole ? Op::alias : in.op, in.attrs, body_.type(in.result()));
      return ok();
    }
    if (info(in.op).effect == OpEffect::Write) return write(i, in);
    if (by_steps(in)) return control(i, in);
    return core(Kind::Plan, i, in);
  }

  bool by_steps(FunctionId f) const { return cache_.every_step_ || cache_.runs_by_steps(t_, f); }
  bool by_steps(const Instr& in) const {
    if (in.op == Op::reduce && cache_.every_step_) return false;
    return std::ranges::any_of(callees(t_, in.op, in.attrs), [&](FunctionId f) { return by_steps(f); });
  }

  bool is_view_here(const Instr& in) const {
    if (in.op == Op::imag) return is_complex(t_.types.dtype(body_.type(in.operands[0])));
    return gives_view(in.op);
  }

  // An instruction whose operands may be computed within its plan.
  bool is_plan(const Instr& in) const {
    if (cache_.every_step_) return false;
    if (info(in.op).effect == OpEffect::Write)
      return in.op != Op::extern_ && in.op != Op::dynamic_update_slice_ && in.op != Op::zero_;
    return in.op != Op::constant && in.op != Op::global && in.op != Op::pack && in.op != Op::unpack &&
           !is_custom(in.op) && !is_view_here(in) && !by_steps(in);
  }
  // What instruction i copies is computed by it.
  bool computes(const Instr& in, std::uint32_t i) const {
    const InstrId def = defs_[index(in.operands[1])];
    return def != kNone<InstrId> && sinks_[index(def)] == i;
  }

  Status constant(std::uint32_t i, const Instr& in) {
    const Constant& c = t_.consts[t_.attrs[in.attrs].constant];
    Result<Tensor> value = Tensor::make(budget_, t_.types.dtype(c.type), t_.types.dims(c.type), c.bytes);
    if (!value) return std::move(value).error();
    EagerStep& s = step(Kind::Constant, in, i);
    s.value = *std::move(value);
    s.shared = !exposed_[index(in.result())];
    return ok();
  }

  // Values that something may write into, or keep.
  std::vector<std::uint8_t> exposed_values() const {
    std::vector<std::uint8_t> out(body_.num_values(), 0);
    for (ValueId v : body_.results) out[index(v)] = 1;
    for (std::uint32_t i = 0; i < body_.num_instrs(); ++i) {
      const Instr in = body_.instr(i);
      const bool writes = info(in.op).effect == OpEffect::Write && in.op != Op::extern_;
      const bool keeps = is_custom(in.op) || in.op == Op::pack || is_view_here(in) || by_steps(in);
      for (ValueId v : writes ? in.operands.first(1) : keeps ? in.operands : in.operands.first(0)) out[index(v)] = 1;
    }
    return out;
  }

  Status write(std::uint32_t i, const Instr& in) {
    if (in.op == Op::dynamic_update_slice_) return step(Kind::Update, in, i), ok();
    if ((in.op == Op::copy_ || in.op == Op::fill_) && !computes(in, i)) return step(Kind::Copy, in, i), ok();
    if (in.op != Op::zero_) return core(Kind::Write, i, in);
    EagerStep& s = step(Kind::Copy, in, i);
    const DType dtype = t_.types.dtype(body_.type(in.result()));
    const std::vector<std::byte> zero(static_cast<std::size_t>(size_of(dtype)), std::byte{0});
    Result<Tensor> value = Tensor::make(budget_, dtype, {}, zero);
    if (!value) return std::move(value).error();
    s.value = *std::move(value);
    return ok();
  }

  Status custom(std::uint32_t i, const Instr& in) {
    auto made = custom_step(t_, body_, in, cache_.ops);
    if (!made) return std::move(made).error();
    EagerStep& s = step(Kind::Extern, in, i);
    s.name = t_.attrs.get_str(in.attrs, Key::op);
    s.custom = *std::move(made);
    return ok();
  }

  Status core(Kind kind, std::uint32_t i, const Instr& in) {
    Builder b(t_, BuilderOptions{}, std::string(name(in.op)));
    Alone alone(body_, defs_, sinks_, i, b);
    std::vector<ValueId> operands, results;
    for (std::size_t k = 0; k < in.operands.size(); ++k) alone.add_params(in.operands[k], kind == Kind::Plan || k > 0);
    for (ValueId v : in.operands) operands.push_back(alone(v));
    if (kind == Kind::Write)
      // As written it is in place by itself: the plan only computes what is written.
      results = {written_value(b, in.op, operands, t_.attrs.with(in.attrs, Key::inplace, t_.attrs.of(false)))};
    else
      results = b.emit_all(in.op, operands, in.attrs);
    const Result<FunctionId> f = b.failed() ? Result<FunctionId>(b.error()) : b.seal(results);
    if (!f) return f.error();
    const auto made = instruction_plan(*f);
    if (!made) return made.error();
    EagerStep& s = step(kind, in, i);
    s.in.clear();
    for (ValueId v : alone.params) append(s.in, v);
    s.plan = (*made)->plan;
    s.plan_debug = (*made)->debug;
    s.globals = (*made)->globals;
    if (kind == Kind::Plan) keep(s, i, in, alone.params);
    return ok();
  }

  // Packs may keep inputs. But what of a pack that is a result, of which the body itself writes into an input later
  // (as transforms of functions that write do), would be of no use: that input is copied.
  void keep(EagerStep& s, std::uint32_t i, const Instr& in, std::span<const ValueId> params) {
    std::vector<TypeId> types;
    bool leaves = false;
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      types.push_back(body_.type(in.result(k)));
      leaves = leaves || std::ranges::find(body_.results, in.result(k)) != body_.results.end();
    }
    s.kept = pack_leaves(t_, types);
    if (s.kept.empty() || !leaves) return;
    const std::vector<std::uint32_t> written = written_behind(t_, body_, i);
    const Sharing shares = sharing(t_, body_);
    std::vector<Roots> roots;  // per parameter of the plan
    for (std::int64_t g : s.globals) roots.push_back({static_cast<std::uint32_t>(g) | kGlobalRoot});
    for (ValueId v : params) roots.insert(roots.end(), leaves_of(v), shares.values[index(v)]);
    for (const ResultCopy& c : s.plan->result_copies)
      if (std::ranges::find_first_of(roots[c.param], written) != roots[c.param].end()) s.kept[c.result] = 0;
  }

  Result<const EagerCache::Core*> instruction_plan(FunctionId f) {
    if (const auto it = cache_.instructions_.find(f.body); it != cache_.instructions_.end()) return &it->second;
    Result<EagerCache::Core> made = cache_.core(t_, f);
    if (!made) return std::move(made).error();
    return &cache_.instructions_.emplace(f.body, *std::move(made)).first->second;
  }

  Status control(std::uint32_t i, const Instr& in) {
    const auto count = [&](Key key) { return static_cast<std::size_t>(t_.attrs.get_int(in.attrs, key)); };
    std::vector<EagerRef> targets;
    for (FunctionId f : callees(t_, in.op, in.attrs)) {
      Result<EagerRef> code = cache_.get(t_, f, budget_);
      if (!code) return std::move(code).error();
      code_->depth = std::max(code_->depth, (*code)->depth + 1);
      code_->uses_globals = code_->uses_globals || (*code)->uses_globals;
      targets.push_back(*std::move(code));
    }
    const auto make = [&](Kind kind) -> EagerStep& {
      EagerStep& s = step(kind, in, i);
      s.targets = std::move(targets);
      return s;
    };
    switch (in.op) {
      case Op::call:
        return make(Kind::Call), ok();
      case Op::cond:
      case Op::switch_:
        return make(Kind::Branch), ok();
      case Op::while_: {
        EagerStep& s = make(Kind::While);
        s.consts[0] = leaves(in.operands.first(count(Key::cond_consts)));
        s.consts[1] = leaves(in.operands.subspan(count(Key::cond_consts), count(Key::body_consts)));
        records(s, in, count(Key::tapes));
        return ok();
      }
      case Op::tape_scan: {
        EagerStep& s = make(Kind::TapeScan);
        const std::size_t consts = count(Key::consts), carry = count(Key::carry);
        const Body& body = t_.body(t_.attrs.get_func(in.attrs, Key::body));
        s.consts[0] = leaves(in.operands.subspan(1, consts));
        s.consts[1] = leaves(in.operands.subspan(1 + consts, carry));
        s.reverse = t_.attrs.get_bool(in.attrs, Key::reverse);
        for (TypeId type : body.param_types().subspan(consts + carry)) s.stacked.push_back(value_type(t_, type));
        records(s, in, in.num_results - carry);
        return ok();
      }
      case Op::scan:
        return scan(make(Kind::Scan), in);
      default:
        return Error(Code::Unsupported, fmt::format("[{}] of a function that writes", name(in.op)));
    }
  }

  // The last results of a loop are tapes of what its body gives last.
  void records(EagerStep& s, const Instr& in, std::size_t tapes) {
    const std::vector<TypeId> given = t_.body(t_.attrs.get_func(in.attrs, Key::body)).result_types();
    for (std::size_t k = given.size() - tapes; k < given.size(); ++k) s.records.push_back(t_.types.bytes(given[k]));
  }

  Status scan(EagerStep& s, const Instr& in) {
    const auto consts = static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::consts));
    const auto carry = static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::carry));
    s.consts[0] = leaves(in.operands.first(consts));
    s.consts[1] = leaves(in.operands.subspan(consts, carry));
    const FunctionId f = t_.attrs.get_func(in.attrs, Key::body);
    const auto& muts = t_.body(f).mut_params;
    s.snapshot = std::ranges::count(std::span(muts).first(std::min(consts, muts.size())), 1) > 0 ||
                 !written_globals(t_, f).empty();
    s.length = t_.attrs.get_int(in.attrs, Key::length);
    s.reverse = t_.attrs.get_bool(in.attrs, Key::reverse);
    for (std::uint32_t k = static_cast<std::uint32_t>(carry); k < in.num_results; ++k)
      for (TypeId leaf : leaf_types(t_, body_.type(in.result(k)))) s.stacked.push_back(value_type(t_, leaf));
    return ok();
  }

  // Constants and broadcasts that went into the instructions that read them.
  void drop_unread() {
    std::vector<std::uint8_t> read(code_->slots, 0);
    for (Slot s : code_->results) read[s] = 1;
    std::vector<EagerStep> kept;
    for (std::size_t k = code_->steps.size(); k-- > 0;) {
      EagerStep& s = code_->steps[k];
      const bool droppable = s.kind == Kind::Constant || (s.kind == Kind::View && s.view.op == Op::broadcast_to);
      if (droppable && std::ranges::none_of(s.out, [&](Slot o) { return read[o] != 0; })) continue;
      for (Slot in : s.in) read[in] = 1;
      kept.push_back(std::move(s));
    }
    std::ranges::reverse(kept);
    code_->steps = std::move(kept);
  }

  void find_dead() {
    std::vector<std::uint8_t> later(code_->slots, 0);
    for (Slot s : code_->results) later[s] = 1;
    for (std::size_t k = code_->steps.size(); k-- > 0;) {
      EagerStep& s = code_->steps[k];
      for (const Slots* list : {&s.in, &s.out})
        for (Slot slot : *list)
          if (!later[slot]) later[slot] = 1, s.dead.push_back(slot);
    }
  }

  EagerCache& cache_;
  Tables& t_;
  const FunctionId f_;
  const Body& body_;
  const BudgetRef& budget_;
  const std::vector<InstrId> defs_;
  const std::vector<std::uint8_t> exposed_;
  const std::vector<std::uint32_t> sinks_;  // the instructions in whose plans instructions are computed
  std::vector<Slot> first_;                 // of each value, and one more
  std::shared_ptr<EagerCode> code_ = std::make_shared<EagerCode>();
};

Result<EagerCache::Core> EagerCache::core(Tables& t, FunctionId f) {
  Core out;
  const std::vector<GlobalUse> globals = globals_used(t, f);
  Result<FunctionId> made = lift_globals(t, f, globals);
  if (made && prepare_) made = prepare_(*made);
  if (!made) return std::move(made).error();
  Result<PlanRef> plan = plans_.get(t, *made);
  if (!plan) return std::move(plan).error();
  out.plan = *std::move(plan);
  out.debug = made->debug;
  for (const GlobalUse& g : globals) out.globals.push_back(g.index);
  return out;
}

bool EagerCache::runs_by_steps(const Tables& t, FunctionId f) {
  if (const auto it = by_steps_.find(f.body); it != by_steps_.end()) return it->second;
  const Body& body = t.body(f);
  bool found = body.full;
  for (std::uint32_t i = 0; i < body.num_instrs() && !found; ++i) {
    const Op op = body.ops[i];
    found = is_custom(op) ||
            std::ranges::any_of(callees(t, op, body.attrs[i]), [&](FunctionId g) { return runs_by_steps(t, g); });
  }
  by_steps_.emplace(f.body, found);
  return found;
}

Result<EagerRef> EagerCache::get(Tables& t, FunctionId f, const BudgetRef& budget) {
  if (const auto it = codes_.find(f); it != codes_.end()) return it->second;
  FunctionId full = f;
  if (has_functional_custom(t, f)) {
    const Result<FunctionId> written = reinplace(t, f, {});
    if (!written) return written.error();
    full = *written;
  }
  Result<EagerRef> made = EagerCompiler(*this, t, full, budget).run();
  if (made) codes_.emplace(f, *made);
  return made;
}

}  // namespace tfvm
