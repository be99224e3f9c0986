// The forms with blocks: each block becomes a function, what it captures its leading constants.
#include "bytecode/elaborate/elaborator.h"
#include "bytecode/elaborate/visit.h"

namespace tfvm {

void Elaborator::mentions(const Stmt& s, std::vector<Mention>& out, std::unordered_set<Local>& seen) const {
  const auto mention = [&](const Operand& o) {
    if (o.kind == OperandKind::Value && seen.insert(o.at).second) out.push_back({o.at, o.name});
  };
  for (const Operand& o : Module::at(m_.operands, s.operands)) mention(o);
  for (const Operand& o : Module::at(m_.operands, s.args)) mention(o);
  if (s.control == kNoIndex) return;
  const Control& c = m_.controls[s.control];
  for (Range binds : {c.carries, c.inputs})
    for (const Bind& bind : Module::at(m_.binds, binds)) mention(m_.operands[bind.operand]);
  for (std::uint32_t k : c.blocks)
    if (k != kNoIndex)
      for (const Stmt& inner : Module::at(m_.stmts, block(k).stmts)) mentions(inner, out, seen);
}

// What the blocks use of the values around them, in order of first use.
std::vector<Elaborator::Mention> Elaborator::captures(std::initializer_list<std::uint32_t> blocks) const {
  std::vector<Mention> all, out;
  std::unordered_set<Local> seen;
  for (std::uint32_t k : blocks)
    for (const Stmt& s : Module::at(m_.stmts, block(k).stmts)) mentions(s, all, seen);
  for (const Mention& m : all)
    if (f_->values.get(m.local) != kNoValue) out.push_back(m);
  return out;
}

// Constants are made again inside (a full function's literals are tensors of their own); the others are passed.
Elaborator::Values Elaborator::captured(std::span<const Mention> captures) {
  Values out;
  for (const Mention& m : captures)
    if (const ValueId v = f_->values.get(m.local); is_full() || !b().const_of(v)) out.push_back(v);
  return out;
}

bool Elaborator::lift(std::uint32_t k, std::span<const Mention> captures, std::span<const LiftedParam> params,
                      Hints first, Hints second, std::string_view suffix, Lifted& out) {
  Program::Visit visit(p_, nullptr, {});
  if (!visit.status()) return fail(visit.status().error());
  const Loc loc = loc_;
  const std::string outer = name_;
  name_ += "." + std::string(suffix);
  Frame frame{Builder(t_, core_options_, name_), f_, Slots(0)};
  frame.b.set_function_loc(loc_);
  frame.b.set_loc(loc_);
  if (is_full() && p_.is_full_block(source_, k)) frame.b.set_full();
  const auto remade = [&](const Mention& m) {
    return is_full() ? std::nullopt : b().const_of(f_->values.get(m.local));
  };
  for (const Mention& m : captures) {
    if (remade(m)) continue;
    const ValueId v = frame.b.param(b().type(f_->values.get(m.local)));
    frame.values.set(m.local, v);
    frame.b.name(v, m.name);
  }
  for (const LiftedParam& p : params) {
    const ValueId v = frame.b.param(p.type);
    frame.values.set(p.local, v);
    frame.b.name(v, p.name);
  }
  for (const Mention& m : captures)
    if (const auto c = remade(m)) frame.values.set(m.local, frame.b.constant(*c));
  f_ = &frame;
  Exit exit;
  bool good = statements(block(k).stmts, StmtKind::Yield, first, second, exit);
  if (good && frame.b.failed()) good = fail(frame.b.error());
  f_ = frame.parent;
  name_ = outer;
  loc_ = loc;
  b().set_loc(loc);
  if (!good) return false;
  out.first = exit.first.size();
  const Values results = exit.all();
  for (ValueId v : results) out.results.push_back(frame.b.type(v));
  Result<FunctionId> f = frame.b.seal(results);
  if (!f) return fail(std::move(f).error());
  out.f = *f;
  return true;
}

bool Elaborator::yields_literal(std::uint32_t k) const {
  const Range stmts = block(k).stmts;
  if (stmts.empty()) return false;
  for (const Operand& o : Module::at(m_.operands, m_.stmts[stmts.begin + stmts.count - 1].operands))
    if (is_literal(o)) return true;
  return false;
}

// if (iexpr): only the branch taken is made, in place.
bool Elaborator::constant_if(const Stmt& s) {
  Result<AttrId> p = eval_attr(t_, m_, m_.operands[s.operands.begin].at, *this);
  if (!p) return fail(std::move(p).error());
  if (t_.attrs[*p].kind != AttrKind::Bool) return fail(Code::Type, "[if] a computed condition must be true or false");
  std::vector<std::optional<DType>> hints;
  for (std::size_t k = 0; k < s.types.count; ++k) hints.push_back(written_dtype(s, k));
  Program::Visit visit(p_, nullptr, {});
  if (!visit.status()) return fail(visit.status().error());
  Exit exit;
  const Loc loc = loc_;
  const std::uint32_t taken = m_.controls[s.control].blocks[t_.attrs[*p].i ? 0 : 1];
  if (!statements(block(taken).stmts, StmtKind::Yield, hints, {}, exit)) return false;
  loc_ = loc;
  b().set_loc(loc);
  return define(s, exit.first);
}

bool Elaborator::if_blocks(const Stmt& s) {
  const Operand& condition = m_.operands[s.operands.begin];
  if (condition.kind == OperandKind::Computed) return constant_if(s);
  const Control& c = m_.controls[s.control];
  Values operands(1, kNoValue);
  if (!value(condition, DType::Bool, nullptr, operands[0])) return false;
  std::vector<std::optional<DType>> hints;
  for (std::size_t k = 0; k < s.types.count; ++k) hints.push_back(written_dtype(s, k));
  const std::vector<Mention> used = captures({c.blocks[0], c.blocks[1]});
  // A literal that one branch yields takes its dtype from the other branch.
  const std::size_t first = yields_literal(c.blocks[0]) && !yields_literal(c.blocks[1]) ? 1 : 0;
  Lifted branches[2];
  constexpr std::string_view kSuffix[] = {"then", "else"};
  for (std::size_t k : {first, 1 - first}) {
    if (!lift(c.blocks[k], used, {}, hints, {}, kSuffix[k], branches[k])) return false;
    if (k == first && hints.empty())
      for (TypeId type : branches[k].results)
        hints.push_back(t_.types[type].is_tensor() ? std::optional(t_.types.dtype(type)) : std::nullopt);
  }
  const Values consts = captured(used);
  operands.insert(operands.end(), consts.begin(), consts.end());
  const AttrId attrs = t_.attrs.dict({{Key::then, branches[0].f}, {Key::else_, branches[1].f}});
  return define(s, b().emit_all(Op::cond, operands, attrs));
}

bool Elaborator::binds(Range range, const Stmt& s, std::size_t first_result, Values& out) {
  for (std::uint32_t k = 0; k < range.count; ++k) {
    const Bind& bind = m_.binds[range.begin + k];
    if (!value(m_.operands[bind.operand], written_dtype(s, first_result + k), nullptr, out.emplace_back()))
      return false;
  }
  return true;
}

std::vector<Elaborator::LiftedParam> Elaborator::bound(Range range, const Values& values, bool slices) {
  std::vector<LiftedParam> out;
  for (std::uint32_t k = 0; k < range.count; ++k) {
    const Bind& bind = m_.binds[range.begin + k];
    const TypeId type = b().type(values[k]);
    out.push_back({bind.local, bind.name, slices ? slice_type(type) : type});
  }
  return out;
}

std::vector<std::optional<DType>> Elaborator::dtypes(const Values& values) const {
  std::vector<std::optional<DType>> out;
  for (TypeId type : types(values))
    out.push_back(t_.types[type].is_tensor() ? std::optional(t_.types.dtype(type)) : std::nullopt);
  return out;
}

bool Elaborator::while_blocks(const Stmt& s) {
  const Control& c = m_.controls[s.control];
  Values init;
  AttrId attrs = t_.attrs.empty();
  if (!binds(c.carries, s, 0, init) || !attributes(s, {}, attrs)) return false;
  const std::vector<Mention> cond_used = captures({c.blocks[0]}), body_used = captures({c.blocks[1]});
  const std::vector<LiftedParam> carries = bound(c.carries, init, false);
  Lifted cond, body;
  if (!lift(c.blocks[0], cond_used, carries, {}, {}, "cond", cond) ||
      !lift(c.blocks[1], body_used, carries, dtypes(init), {}, "body", body))
    return false;
  Values operands = captured(cond_used);
  const auto cond_consts = static_cast<std::int64_t>(operands.size());
  const Values body_consts = captured(body_used);
  operands.insert(operands.end(), body_consts.begin(), body_consts.end());
  operands.insert(operands.end(), init.begin(), init.end());
  const auto set = [&](Key key, AttrId v) { attrs = t_.attrs.with(attrs, key, v); };
  set(Key::cond, t_.attrs.of(cond.f));
  set(Key::body, t_.attrs.of(body.f));
  set(Key::cond_consts, t_.attrs.of(cond_consts));
  set(Key::body_consts, t_.attrs.of(static_cast<std::int64_t>(body_consts.size())));
  return define(s, b().emit_all(Op::while_, operands, attrs));
}

bool Elaborator::scan_block(const Stmt& s) {
  const Control& c = m_.controls[s.control];
  Values init, xs;
  AttrId attrs = t_.attrs.empty();
  std::int64_t steps = 0;
  if (!binds(c.carries, s, 0, init) || !binds(c.inputs, Stmt{}, 0, xs) || !attributes(s, {}, attrs) ||
      !length(s, attrs, xs, steps))
    return false;
  std::vector<LiftedParam> params = bound(c.carries, init, false);
  for (const LiftedParam& p : bound(c.inputs, xs, true)) params.push_back(p);
  // %scan.i is one more input: the places of the steps.
  std::vector<Mention> all;
  std::unordered_set<Local> seen;
  for (const Stmt& inner : Module::at(m_.stmts, block(c.blocks[0]).stmts)) mentions(inner, all, seen);
  const bool counts = c.step_local != kNoIndex && seen.contains(c.step_local);
  if (counts) params.push_back({c.step_local, t_.strings.intern("scan.i"), t_.types.scalar(DType::I64)});
  std::vector<std::optional<DType>> written;
  for (std::size_t k = init.size(); k < s.types.count; ++k) written.push_back(written_dtype(s, k));
  const std::vector<Mention> used = captures({c.blocks[0]});
  Lifted body;
  if (!lift(c.blocks[0], used, params, dtypes(init), written, "body", body)) return false;
  if (body.first != init.size())
    return fail(Code::Type, what(s) + " carries " + std::to_string(init.size()) + " values, its block yields " +
                                std::to_string(body.first) + " before ';'");
  Values operands = captured(used);
  const auto consts = static_cast<std::int64_t>(operands.size());
  operands.insert(operands.end(), init.begin(), init.end());
  operands.insert(operands.end(), xs.begin(), xs.end());
  if (counts) operands.push_back(b().emit(Op::iota, {}, {{Key::shape, Ints(&steps, 1)}}));
  const auto set = [&](Key key, AttrId v) { attrs = t_.attrs.with(attrs, key, v); };
  set(Key::body, t_.attrs.of(body.f));
  set(Key::consts, t_.attrs.of(consts));
  set(Key::carry, t_.attrs.of(static_cast<std::int64_t>(init.size())));
  return define(s, b().emit_all(Op::scan, operands, attrs));
}

}  // namespace tfvm
