#include "transforms/simplify/region.h"

#include <algorithm>

namespace tfvm {

namespace {

// Makes no work of its own: a literal, or the same elements seen in another way.
bool is_free(Op op) {
  switch (op) {
    case Op::constant:
    case Op::iota:
    case Op::global:
    case Op::broadcast_to:
    case Op::full:
    case Op::reshape:
    case Op::transpose:
    case Op::slice:
    case Op::reverse:
    case Op::stop_gradient:
    case Op::pack:
    case Op::unpack:
      return true;
    default:
      return false;
  }
}

// Barriers, copies and names mean their place; a collective means the lanes that stand there.
bool stays(const Tables& t, const Instr& in) {
  if (in.op == Op::optimization_barrier || in.op == Op::clone || in.op == Op::name) return true;
  return in.num_results == 0 || info(in.op).kind == OpKind::Collective || !is_pure(t, in.op, in.attrs);
}

class Mover {
 public:
  Mover(TransformEnv& env, Failures& failures, const Region& r)
      : env_(env), failures_(failures), r_(r), body_(env.tables.bodies[r.f.body]) {}

  Result<LeanRegion> run(Builder& b) {
    find_invariant();
    if (!find_uses()) return LeanRegion{r_.f, {r_.before.begin(), r_.before.begin() + consts()}};
    LeanRegion out{{}, {}};
    for (std::uint32_t k = 0; k < r_.consts; ++k)
      if (inside_[k]) out.consts.push_back(r_.before[k]);
    const std::vector<ValueId> made = append_before(b);
    for (ValueId v : moved_) out.consts.push_back(made[index(v)]);
    const Result<FunctionId> rest = rest_of_region();
    if (!rest) return rest.error();
    out.f = *rest;
    return out;
  }

 private:
  std::ptrdiff_t consts() const { return static_cast<std::ptrdiff_t>(r_.consts); }

  void find_invariant() {
    invariant_.assign(body_.num_instrs(), 0);
    std::vector<std::uint8_t> varies(body_.num_values(), 0);
    for (std::uint32_t k = 0; k < body_.num_params; ++k) varies[k] = r_.before[k] == kNoValue;
    bool safe = r_.certain;  // nothing before this place that stays can fail or act
    for (std::uint32_t i = 0; i < body_.num_instrs(); ++i) {
      const Instr in = body_.instr(i);
      const bool fails = failures_.may_fail(in.op, in.attrs);
      invariant_[i] = in.op == Op::constant ||
                      (!stays(env_.tables, in) && (!fails || safe) &&
                       std::ranges::none_of(in.operands, [&](ValueId v) { return varies[index(v)] != 0; }));
      if (fails && !invariant_[i]) safe = false;
      for (std::uint32_t k = 0; k < in.num_results; ++k) varies[index(in.result(k))] = !invariant_[i];
    }
  }

  // From the end: what the rest of the region needs, and what it needs from before the loop. Is there any?
  bool find_uses() {
    inside_.assign(body_.num_values(), 0);
    before_.assign(body_.num_values(), 0);
    for (ValueId v : body_.results) inside_[index(v)] = 1;
    for (std::uint32_t i = body_.num_instrs(); i-- > 0;) {
      const Instr in = body_.instr(i);
      bool here = !invariant_[i], there = false;
      for (std::uint32_t k = 0; k < in.num_results && invariant_[i]; ++k) {
        const ValueId v = in.result(k);
        if (inside_[index(v)] && !is_free(in.op)) {
          moved_.push_back(v);
          before_[index(v)] = 1;
        }
        here = here || (inside_[index(v)] && is_free(in.op));
        there = there || before_[index(v)];
      }
      for (ValueId v : in.operands) {
        if (here) inside_[index(v)] = 1;
        if (there) before_[index(v)] = 1;
      }
    }
    std::ranges::reverse(moved_);
    return !moved_.empty();
  }

  std::vector<ValueId> append_before(Builder& b) const {
    std::vector<ValueId> map = r_.before, operands;
    map.resize(body_.num_values(), kNoValue);
    for (std::uint32_t i = 0; i < body_.num_instrs() && !b.failed(); ++i) {
      const Instr in = body_.instr(i);
      if (!invariant_[i]) continue;
      if (in.op == Op::constant) {
        if (before_[index(in.first_result)]) map[index(in.first_result)] = b.constant(constant(in));
        continue;
      }
      bool needed = false;
      for (std::uint32_t k = 0; k < in.num_results; ++k) needed = needed || before_[index(in.result(k))];
      if (!needed) continue;
      operands.clear();
      for (ValueId v : in.operands) operands.push_back(map[index(v)]);
      b.set_loc(env_.tables.debugs.find_loc(r_.f.debug, static_cast<InstrId>(i)));
      const std::vector<ValueId> results = b.emit_all(in.op, operands, in.attrs);
      for (std::uint32_t k = 0; k < results.size(); ++k) {
        map[index(in.result(k))] = results[k];
        name(b, results[k], in.result(k));
      }
    }
    b.set_loc({});
    return map;
  }

  void name(Builder& b, ValueId v, ValueId inside) const {
    const std::string text = env_.tables.debugs.value_name(r_.f.debug, inside, env_.tables.strings);
    if (!text.empty()) b.name(v, env_.tables.strings.intern(text));
  }

  // (constants still read…, values made before the loop…, the other parameters…)
  Result<FunctionId> rest_of_region() const {
    Builder b(env_.tables, env_.options, r_.f, "");
    std::vector<ValueId> map(body_.num_values(), kNoValue), operands, results;
    const auto param = [&](ValueId v) {
      map[index(v)] = b.param(body_.type(v));
      b.name_from(map[index(v)], v);
    };
    for (std::uint32_t k = 0; k < r_.consts; ++k)
      if (inside_[k]) param(body_.param(k));
    for (ValueId v : moved_) param(v);
    for (auto k = static_cast<std::uint32_t>(r_.consts); k < body_.num_params; ++k) param(body_.param(k));
    for (std::uint32_t i = 0; i < body_.num_instrs() && !b.failed(); ++i) {
      const Instr in = body_.instr(i);
      if (invariant_[i] && !(is_free(in.op) && uses_inside(in))) continue;
      b.set_origin(static_cast<InstrId>(i));
      if (in.op == Op::constant) {
        map[index(in.first_result)] = b.constant(constant(in));
        continue;
      }
      operands.clear();
      for (ValueId v : in.operands) operands.push_back(map[index(v)]);
      const std::vector<ValueId> made = b.emit_all(in.op, operands, in.attrs);
      for (std::uint32_t k = 0; k < made.size(); ++k) {
        map[index(in.result(k))] = made[k];
        b.name_from(made[k], in.result(k));
      }
    }
    for (ValueId v : body_.results) results.push_back(map[index(v)]);
    return b.seal(results);
  }

  ConstId constant(const Instr& in) const { return env_.tables.attrs[in.attrs].constant; }

  bool uses_inside(const Instr& in) const {
    for (std::uint32_t k = 0; k < in.num_results; ++k)
      if (inside_[index(in.result(k))]) return true;
    return false;
  }

  TransformEnv& env_;
  Failures& failures_;
  const Region& r_;
  const Body& body_;
  std::vector<std::uint8_t> invariant_;        // per instruction
  std::vector<std::uint8_t> inside_, before_;  // per value: read by what stays, by what is moved
  std::vector<ValueId> moved_;                 // made before the loop and read inside, in order
};

}  // namespace

Result<LeanRegion> lean(TransformEnv& env, Failures& failures, Builder& b, const Region& region) {
  return Mover(env, failures, region).run(b);
}

}  // namespace tfvm
