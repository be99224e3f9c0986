#include "vm/plan/update_report.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "vm/plan/items.h"

namespace tfvm {

namespace {

bool is_update(Op op) { return op == Op::dynamic_update_slice || op == Op::scatter_along || op == Op::scatter; }

struct Notes {
  const PlanParts& p;
  std::span<const FuseItem> items;
  const BaseUses& uses;
  std::span<const std::uint32_t> memory;
  Plan& plan;

  std::string reader(std::uint32_t item) const {
    const ItemSource& s = p.low.sources[items[item].origins.back()];
    const Loc loc = p.t.debugs.find_loc(s.origin.debug, s.origin.instr);
    const std::string_view op = s.instr < p.flat.body.num_instrs() ? name(p.flat.body.ops[s.instr]) : "a result";
    return loc.line ? fmt::format("{} line {}", op, loc.line) : std::string(op);
  }

  static bool reads(const FuseItem& item, std::uint32_t base) {
    bool found = false;
    for_each_read(item, [&](std::uint32_t b) { found = found || b == base; });
    return found;
  }

  // Why item i can't write its result into the memory of operand `operand`.
  std::string why(std::uint32_t i, const ItemSource& s, std::size_t operand) const {
    const std::uint32_t from = s.in[operand].base, last = uses.last_read[from];
    const PlanBase& b = p.low.bases[from];
    const Dims dims = p.t.types.dims(p.flat.body.type(p.flat.body.instr(s.instr).operands[operand]));
    if (b.kind == PlanBase::Kind::Const || b.kind == PlanBase::Kind::Made) return "is a constant";
    if (std::ranges::count(s.in, from, &Access::base) > 1) return "is read by another operand, too";
    if (s.in[operand].offset != 0 || !is_dense(s.in[operand], dims)) return "is a view of another value";
    if (b.kind == PlanBase::Kind::Result || last == kNoIndex) return "is a result, too";
    // Operands of a product with an epilogue are kept for two items more than they are read by.
    auto behind = std::min<std::uint32_t>(last, static_cast<std::uint32_t>(items.size()));
    while (behind > i + 1 && !reads(items[behind - 1], from)) --behind;
    if (behind > i + 1) return "is read later by " + reader(behind - 1);
    return b.kind == PlanBase::Kind::Param ? "is an input" : "is in memory that another value takes over";
  }

  void note(std::uint32_t i, const ItemSource& s, std::size_t operand, std::uint32_t to, bool required) {
    const std::uint32_t from = s.in[operand].base;
    PlanUpdate u{s.origin, p.flat.body.ops[s.instr], required, false, kNoIndex, kNoIndex, {}, p.low.bases[to].bytes};
    const PlanBase &source = p.low.bases[from], &owner = p.low.bases[memory[to]];
    u.done = source.kind == PlanBase::Kind::Slot && memory[from] == memory[to];
    if (!u.done) u.why = why(i, s, operand);
    if (source.kind == PlanBase::Kind::Param && owner.kind == PlanBase::Kind::Result &&
        may_share(plan, source.index, owner.index))
      u.param = source.index, u.result = owner.index;
    plan.updates.push_back(std::move(u));
  }

  // The carries that a body updates.
  void loop(std::uint32_t i, const ItemSource& s, const Instr& in) {
    const auto count = [&](Key k) { return static_cast<std::uint32_t>(p.t.attrs.get_int(in.attrs, k)); };
    std::uint32_t first = 0, consts = count(Key::consts);  // operands before the constants of the body
    if (in.op == Op::tape_scan) first = 1;
    if (in.op == Op::while_) first = count(Key::cond_consts), consts = count(Key::body_consts);
    const PlanRef body = p.lookup(p.t.attrs.get_func(in.attrs, Key::body));
    for (const PlanUpdate& u : body->updates)
      if (u.param != kNoIndex && u.param == consts + u.result && first + u.param < s.in.size() &&
          u.result < s.out.size() && carry_kind(*body, u.param, u.result) != LoopCarry::Kind::Alternate)
        note(i, s, first + u.param, s.out[u.result], false);
  }
};

using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

// Walks what a plan calls, with the (parameter, result) pairs that are given one memory.
class Walk {
 public:
  explicit Walk(const Tables& t) : t_(t) {}
  std::vector<UpdateEntry> entries;

  void plan(const Plan& p, const Pairs& given) {
    if (!seen_.emplace(&p, given).second) return;
    for (const PlanUpdate& u : p.updates) {
      const bool done = u.done || (u.param != kNoIndex && given.contains({u.param, u.result}));
      const bool is_loop = info(u.op).kind == OpKind::Control;
      entries.push_back({std::string(name(u.op)), t_.debugs.find_loc(u.origin.debug, u.origin.instr), done, u.required,
                         done ? std::string() : (is_loop ? "the first value of its carry " : "its operand ") + u.why,
                         done ? 0 : u.bytes});
    }
    for (const CallStep& c : p.calls) call(p, c);
    for (const WhileStep& s : p.whiles) plan(*s.cond, {}), body(*s.body, s.body_consts.count, s.carries);
    for (const ScanStep& s : p.scans) body(*s.body, s.consts.count, s.carries);
    for (const TapeScanStep& s : p.tape_scans) body(*s.body, s.consts.count, s.carries);
    for (const ReduceStep& s : p.reduces) plan(*s.body, {});
  }

 private:
  void body(const Plan& p, std::uint32_t consts, const std::vector<LoopCarry>& carries) {
    Pairs given;
    for (std::uint32_t k = 0; k < carries.size(); ++k)
      if (carries[k].kind != LoopCarry::Kind::Alternate) given.emplace(consts + k, k);
    plan(p, given);
  }
  void call(const Plan& p, const CallStep& c) {
    Pairs given;
    for (std::uint32_t a = 0; a < c.args.count; ++a)
      for (std::uint32_t r = 0; r < c.results.count; ++r) {
        const Address &x = p.places[c.args.begin + a], &y = p.places[c.results.begin + r];
        if (x.root == y.root && x.offset == y.offset) given.emplace(a, r);
      }
    for (const PlanRef& target : c.targets) plan(*target, given);
  }

  const Tables& t_;
  std::set<std::pair<const Plan*, Pairs>> seen_;
};

}  // namespace

void note_updates(const PlanParts& parts, std::span<const FuseItem> items, const BaseUses& uses,
                  std::span<const std::uint32_t> memory, Plan& plan) {
  Notes notes{parts, items, uses, memory, plan};
  const Body& body = parts.flat.body;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].nest) continue;
    const ItemSource& s = parts.low.sources[items[i].origins.front()];
    if (s.instr >= body.num_instrs()) continue;
    const Instr in = body.instr(s.instr);
    if (is_update(in.op)) notes.note(i, s, 0, s.out[0], parts.t.attrs.get_bool(in.attrs, Key::inplace));
    if (in.op == Op::scan || in.op == Op::tape_scan || in.op == Op::while_) notes.loop(i, s, in);
    for (FunctionId f : callees(parts.t, in.op, in.attrs))
      plan.wants_in_place = plan.wants_in_place || parts.lookup(f)->wants_in_place;
  }
  for (const PlanUpdate& u : plan.updates) plan.wants_in_place = plan.wants_in_place || u.required;
}

std::vector<UpdateEntry> updates_of(const Tables& t, const Plan& plan) {
  Walk walk(t);
  walk.plan(plan, {});
  return std::move(walk.entries);
}

Status check_in_place(const Tables& t, const Plan& plan) {
  if (!plan.wants_in_place) return ok();
  for (const UpdateEntry& e : updates_of(t, plan)) {
    if (!e.required || e.done) continue;
    return Error(Code::Type,
                 fmt::format("[{}] {{inplace=true}}: {}, so {} bytes would be copied", e.op, e.why, e.bytes), e.loc);
  }
  return ok();
}

std::string text(const UpdateEntry& e) {
  const std::string where = e.loc.line ? fmt::format("{} line {}", e.op, e.loc.line) : e.op;
  if (e.done) return where + ": in place; 0 bytes";
  return fmt::format("{}: missed: {}; {} bytes", where, e.why, e.bytes);
}

}  // namespace tfvm
