#include "vm/plan/updates.h"

#include <algorithm>

#include "vm/plan/items.h"

namespace tfvm {

namespace {

std::uint32_t count(const Tables& t, const Instr& in, Key key) {
  return static_cast<std::uint32_t>(t.attrs.get_int(in.attrs, key));
}

bool call_in_place(const PlanParts& p, const Instr& in, std::uint32_t operand, std::uint32_t result) {
  const std::uint32_t first = in.op == Op::call ? 0 : 1;
  const std::vector<FunctionId> targets = callees(p.t, in.op, in.attrs);
  return operand >= first &&
         std::ranges::all_of(targets, [&](FunctionId f) { return may_share(*p.lookup(f), operand - first, result); });
}

// A base that a control step takes once, as the operand whose memory it may also write the result to.
bool control_in_place(const PlanParts& p, const ItemSource& s, std::uint32_t from, std::uint32_t to) {
  const Instr in = p.flat.body.instr(s.instr);
  std::uint32_t operand = kNoIndex, result = kNoIndex;
  for (std::uint32_t k = 0; k < s.in.size(); ++k) {
    if (s.in[k].base != from) continue;
    if (operand != kNoIndex || s.in[k].offset != 0) return false;
    operand = k;
  }
  for (std::uint32_t k = 0; k < s.out.size(); ++k)
    if (s.out[k] == to) result = k;
  if (operand == kNoIndex || result == kNoIndex) return false;
  if (in.op == Op::call || in.op == Op::cond || in.op == Op::switch_) return call_in_place(p, in, operand, result);
  const auto carry_shares = [&](std::uint32_t first, std::uint32_t consts) {
    return operand == first + consts + result && carry_kind(*p.lookup(p.t.attrs.get_func(in.attrs, Key::body)),
                                                            consts + result, result) != LoopCarry::Kind::Alternate;
  };
  if (in.op == Op::scan || in.op == Op::tape_scan)
    return result < count(p.t, in, Key::carry) &&
           carry_shares(in.op == Op::tape_scan ? 1 : 0, count(p.t, in, Key::consts));
  if (in.op != Op::while_) return false;
  return result + count(p.t, in, Key::tapes) < s.out.size() &&
         carry_shares(count(p.t, in, Key::cond_consts), count(p.t, in, Key::body_consts));
}

// A block is stored when its ops are done, but what is only passed on, or reduced, is read from memory after that.
bool nest_in_place(const Nest& nest, std::uint32_t from, std::uint32_t to) {
  if (nest.has_reduction()) return false;
  const Access* out = nullptr;
  for (const Store& s : nest.stores) {
    const NestNode& n = nest.nodes[s.node];
    if (n.kind == NestNodeKind::Load && nest.accesses[n.access].base == from) return false;
    if (s.to.base != to) continue;
    if (out) return false;  // in many places
    out = &s.to;
  }
  if (!out) return false;
  return std::ranges::all_of(nest.nodes, [&](const NestNode& n) {
    if (n.kind != NestNodeKind::Load || nest.accesses[n.access].base != from) return true;
    const Access& a = nest.accesses[n.access];
    return !is_picking(n) && a.dtype == out->dtype && a.offset == out->offset && a.strides == out->strides;
  });
}

}  // namespace

bool may_share(const Plan& plan, std::uint32_t param, std::uint32_t result) {
  if (plan.params[param].bytes != plan.results[result].bytes) return false;
  for (const ResultCopy& c : plan.result_copies)
    if (c.result == result) return c.param == param;
  if (plan.param_last_read[param] < plan.result_write[result]) return true;
  return std::ranges::find(plan.in_place, std::pair(param, result)) != plan.in_place.end();
}

LoopCarry::Kind carry_kind(const Plan& body, std::uint32_t param, std::uint32_t result) {
  for (const ResultCopy& c : body.result_copies)
    if (c.param == param && c.result == result) return LoopCarry::Kind::Kept;
  return may_share(body, param, result) ? LoopCarry::Kind::InPlace : LoopCarry::Kind::Alternate;
}

bool updates_in_place(const PlanParts& p, const FuseItem& item, std::uint32_t from, std::uint32_t to) {
  if (item.nest) return nest_in_place(*item.nest, from, to);
  const ItemSource& s = p.low.sources[item.origins.front()];
  if (s.instr >= p.flat.body.num_instrs()) return false;
  const Op op = p.flat.body.ops[s.instr];
  if (info(op).kind == OpKind::Control) return control_in_place(p, s, from, to);
  if (op != Op::dynamic_update_slice && op != Op::scatter_along && op != Op::scatter) return false;
  const Dims dims = p.t.types.dims(p.flat.body.type(p.flat.body.instr(s.instr).operands[0]));
  return s.in[0].base == from && s.in[0].offset == 0 && is_dense(s.in[0], dims) && s.out[0] == to &&
         std::none_of(s.in.begin() + 1, s.in.end(), [&](const Access& a) { return a.base == from; });
}

BaseUses find_uses(const Lowered& low, std::span<const FuseItem> items) {
  BaseUses uses{std::vector<std::uint32_t>(low.bases.size(), 0), std::vector<std::uint32_t>(low.bases.size(), 0)};
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    for_each_write(items[i], [&](std::uint32_t b) {
      if (uses.writer[b] == 0) uses.writer[b] = i + 1;
    });
    for_each_read(items[i], [&](std::uint32_t b) { uses.last_read[b] = i + 1; });
  }
  for (const PassedParam& p : low.passed) uses.last_read[p.param] = kNoIndex;  // the first bases are the parameters
  return uses;
}

std::vector<std::uint32_t> shared_memory(const PlanParts& p, std::span<const FuseItem> items, const BaseUses& uses) {
  std::vector<std::uint32_t> next(p.low.bases.size());  // the value that takes a value's memory over, or itself
  for (std::uint32_t b = 0; b < next.size(); ++b) next[b] = b;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    for_each_write(items[i], [&](std::uint32_t to) {
      bool taken = uses.writer[to] != i + 1;  // others may still read what the first one wrote over
      for_each_read(items[i], [&](std::uint32_t from) {
        const PlanBase& b = p.low.bases[from];
        if (taken || b.kind != PlanBase::Kind::Slot || b.bytes == 0 || b.bytes != p.low.bases[to].bytes) return;
        if (next[from] != from || uses.last_read[from] != i + 1 || !updates_in_place(p, items[i], from, to)) return;
        next[from] = to;
        taken = true;
      });
    });
  }
  for (std::uint32_t i = static_cast<std::uint32_t>(items.size()); i-- > 0;)  // later values first
    for_each_write(items[i], [&](std::uint32_t b) { next[b] = next[next[b]]; });
  return next;
}

}  // namespace tfvm
