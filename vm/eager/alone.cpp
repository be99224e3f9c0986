#include "vm/eager/alone.h"

#include "bytecode/aliasing.h"

namespace tfvm {

namespace {

constexpr std::uint32_t kMostMembers = 64;  // of a group: equal small plans are shared, large ones hardly ever
constexpr std::uint32_t kUnread = 0xffffffff, kSeveral = 0xfffffffe;

// Whether it may be computed later than it stands, where nothing is written in between: it can't fail.
bool may_wait(const Instr& in) {
  return is_elementwise(in.op) && info(in.op).effect == OpEffect::Pure && in.num_results == 1;
}

}  // namespace

std::vector<std::uint32_t> group_sinks(const Body& body, const std::vector<std::uint8_t>& exposed,
                                       const std::function<bool(const Instr&)>& is_plan) {
  const std::uint32_t n = body.num_instrs();
  std::vector<std::uint32_t> sinks(n), members(n, 0), epoch(n, 0);
  const auto writes_nothing = [&](const Instr& in) {
    if (is_plan(in)) return info(in.op).effect != OpEffect::Write;
    return is_view(in.op) || in.op == Op::constant || in.op == Op::global;
  };
  for (std::uint32_t i = 1; i < n; ++i)  // how often something before it may have written
    epoch[i] = epoch[i - 1] + (writes_nothing(body.instr(i - 1)) ? 0 : 1);
  std::vector<std::uint32_t> reader(body.num_values(), kUnread);  // the sink of all that read it
  for (std::uint32_t i = n; i-- > 0;) {
    const Instr in = body.instr(i);
    sinks[i] = i;
    const std::uint32_t by = may_wait(in) && !exposed[index(in.result())] ? reader[index(in.result())] : kUnread;
    if (by < kSeveral && epoch[by] == epoch[i] && members[by] < kMostMembers) {
      sinks[i] = by;
      ++members[by];
    }
    const std::uint32_t as = is_plan(in) ? sinks[i] : kSeveral;
    for (ValueId v : in.operands) {
      std::uint32_t& r = reader[index(v)];
      r = r == kUnread || r == as ? as : kSeveral;
    }
  }
  return sinks;
}

Op Alone::maker(ValueId v) const {
  return defs_[index(v)] == kNone<InstrId> ? Op::kCount : body_.ops[index(defs_[index(v)])];
}

bool Alone::is_member(ValueId v) const {
  const InstrId def = defs_[index(v)];
  return def != kNone<InstrId> && index(def) != sink_ && sinks_[index(def)] == sink_;
}

void Alone::add_params(ValueId v, bool inside) {
  const Op op = inside ? maker(v) : Op::kCount;
  if (op == Op::constant || !seen_.insert(v).second) return;
  if (inside && (op == Op::broadcast_to || is_member(v))) {
    for (ValueId x : body_.instr(defs_[index(v)]).operands) add_params(x, true);
    return;
  }
  known_.emplace(v, b_.param(body_.type(v)));
  params.push_back(v);
}

ValueId Alone::operator()(ValueId v) {
  if (const auto it = known_.find(v); it != known_.end()) return it->second;
  const Instr in = body_.instr(defs_[index(v)]);
  ValueId now = kNoValue;
  if (in.op == Op::constant) {
    now = b_.constant(b_.tables().attrs[in.attrs].constant);
  } else {
    std::vector<ValueId> operands;
    for (ValueId x : in.operands) operands.push_back((*this)(x));
    now = b_.emit(in.op, operands, in.attrs);
  }
  return known_.emplace(v, now).first->second;
}

}  // namespace tfvm
