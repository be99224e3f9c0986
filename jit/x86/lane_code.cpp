#include "jit/x86/lane_code.h"

#include <algorithm>

namespace tfvm::x86 {

namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u + (h >> 29); }

std::uint64_t hash(const LaneInst& i) {
  std::uint64_t h = mix(i.bits, static_cast<std::uint64_t>(i.op) << 16 | std::uint64_t{i.width} << 8 | i.imm);
  for (LaneId in : i.in) h = mix(h, in);
  return h ^ h >> 32;
}

bool is_pure(LaneOp op) {
  return !has_effect(op) && op != LaneOp::LoadPlace && op != LaneOp::Call && op != LaneOp::CallPart;
}

bool commutes(LaneOp op) {
  switch (op) {
    case LaneOp::Add:
    case LaneOp::Mul:
    case LaneOp::IAdd:
    case LaneOp::IMul:
    case LaneOp::And:
    case LaneOp::Or:
    case LaneOp::Xor:
    case LaneOp::IEq:
    case LaneOp::MaskAnd:
    case LaneOp::MaskOr:
    case LaneOp::MaskXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_mask(LaneOp op) {
  switch (op) {
    case LaneOp::LoadBool:
    case LaneOp::Compare:
    case LaneOp::IEq:
    case LaneOp::IGt:
    case LaneOp::MaskAnd:
    case LaneOp::MaskOr:
    case LaneOp::MaskXor:
    case LaneOp::MaskNot:
    case LaneOp::MaskWiden:
    case LaneOp::MaskNarrow:
    case LaneOp::RestMask:
      return true;
    default:
      return false;
  }
}

bool has_effect(LaneOp op) {
  return op == LaneOp::Store || op == LaneOp::StoreBool || op == LaneOp::StoreHalf || op == LaneOp::StorePlace ||
         op == LaneOp::SetSum || op == LaneOp::Next || op == LaneOp::While || op == LaneOp::Check;
}
bool has_result(LaneOp op) { return !has_effect(op) && op != LaneOp::Call; }

LaneId LaneCode::append(const LaneInst& inst) {
  insts_.push_back(inst);
  if (has_sources) sources_.push_back(source);
  return static_cast<LaneId>(insts_.size() - 1);
}

LaneId LaneCode::add(const LaneInst& inst) {
  if (is_pure(inst.op)) {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash(inst) & mask;
    for (; table_[at] != kNoLane; at = (at + 1) & mask)
      if (insts_[table_[at]] == inst) return table_[at];
    table_[at] = static_cast<LaneId>(insts_.size());
  }
  const LaneId id = append(inst);
  if (2 * insts_.size() > table_.size()) grow();
  return id;
}

void LaneCode::grow() {
  table_.assign(2 * table_.size(), kNoLane);
  const std::size_t mask = table_.size() - 1;
  for (LaneId v = section_; v < insts_.size(); ++v) {
    if (!is_pure(insts_[v].op)) continue;
    std::size_t at = hash(insts_[v]) & mask;
    while (table_[at] != kNoLane) at = (at + 1) & mask;
    table_[at] = v;
  }
}

LaneId LaneCode::negated(LaneId v) const {
  const LaneInst& i = insts_[v];
  if (i.op != LaneOp::Xor) return kNoLane;
  const std::uint64_t sign = i.width == 4 ? 0x80000000u : std::uint64_t{1} << 63;
  for (int k = 0; k < 2; ++k) {
    const LaneInst& c = insts_[i.in[k]];
    if (c.op == LaneOp::Const && c.width == i.width && c.bits == sign) return i.in[1 - k];
  }
  return kNoLane;
}

// A choice between the two that its condition compares: x < c ? c : x keeps x where one is NaN, as vmaxps(c, x) does.
bool LaneCode::is_extreme(LaneInst& select) const {
  const LaneInst& m = insts_[select.in[0]];
  const LaneId yes = select.in[1], no = select.in[2];
  const bool is_less = m.imm == 0x11;
  if (m.op != LaneOp::Compare || m.width != select.width || (!is_less && m.imm != 0x1e)) return false;
  const bool as_written = yes == m.in[0] && no == m.in[1];
  if (!as_written && (yes != m.in[1] || no != m.in[0])) return false;
  select.op = as_written == is_less ? LaneOp::Min : LaneOp::Max;
  select.in[0] = yes;
  select.in[1] = no;
  select.in[2] = kNoLane;
  return true;
}

// What is asked for NaN by comparing it with itself.
LaneId LaneCode::asked_for_nan(LaneId mask) const {
  const LaneInst& m = insts_[mask];
  return m.op == LaneOp::Compare && m.in[0] == m.in[1] && (m.imm == 0x03 || m.imm == 0x04) ? m.in[0] : kNoLane;
}

// Negations are exact, so they go into the sums and products that take them.
LaneId LaneCode::op(LaneOp o, int width, LaneId a, LaneId b, LaneId c, int imm) {
  LaneInst inst{o, static_cast<std::uint8_t>(width), static_cast<std::uint8_t>(imm), {a, b, c}, 0};
  const auto strip = [&](int k, int flag) {
    if (const LaneId x = negated(inst.in[k]); x != kNoLane) {
      inst.in[k] = x;
      inst.imm = static_cast<std::uint8_t>(inst.imm ^ flag);
    }
  };
  if (o == LaneOp::Select && is_extreme(inst)) return add(inst);
  if (o == LaneOp::MaskOr && a != b && asked_for_nan(a) != kNoLane && asked_for_nan(b) != kNoLane &&
      insts_[a].width == insts_[b].width)
    return op(LaneOp::Compare, insts_[a].width, asked_for_nan(a), asked_for_nan(b), kNoLane, 0x03);
  if (o == LaneOp::Fma) strip(0, 1), strip(1, 1), strip(2, 2);
  if (o == LaneOp::Add && a == b && negated(a) != kNoLane)  // -x - x, which has the sign that -(x + x) has
    return op(LaneOp::Xor, width, op(LaneOp::Add, width, negated(a), negated(a)),
              constant(width, width == 4 ? 0x80000000u : std::uint64_t{1} << 63));
  if ((o == LaneOp::Add || o == LaneOp::Sub) && negated(b) != kNoLane) {
    inst.in[1] = negated(b);
    inst.op = o == LaneOp::Add ? LaneOp::Sub : LaneOp::Add;
  } else if (o == LaneOp::Add && negated(a) != kNoLane) {
    inst.in[0] = b;
    inst.in[1] = negated(a);
    inst.op = LaneOp::Sub;
  } else if (o == LaneOp::Mul && (negated(a) != kNoLane || negated(b) != kNoLane)) {
    strip(0, 1), strip(1, 1);
    if (inst.imm == 1) inst = {LaneOp::Fma, inst.width, 3, {inst.in[0], inst.in[1], constant(width, 0)}, 0};  // -xy - 0
  }
  if (commutes(inst.op) && inst.in[0] > inst.in[1]) std::swap(inst.in[0], inst.in[1]);
  return add(inst);
}

LaneId LaneCode::load(int width, Place from) {
  return add({LaneOp::LoadPlace, std::uint8_t(width), 0, {kNoLane, kNoLane, kNoLane}, from.bits()});
}

void LaneCode::store(int width, LaneId v, Place to) {
  add({LaneOp::StorePlace, std::uint8_t(width), 0, {v, kNoLane, kNoLane}, to.bits()});
}

LaneId LaneCode::sum(int width, std::uint64_t which) {
  return add({LaneOp::Sum, std::uint8_t(width), 0, {kNoLane, kNoLane, kNoLane}, which});
}

void LaneCode::set_sum(int width, std::uint64_t which, LaneId v, int trips) {
  add({LaneOp::SetSum, std::uint8_t(width), std::uint8_t(trips), {v, kNoLane, kNoLane}, which});
}

void LaneCode::start_section() {
  std::ranges::fill(table_, kNoLane);
  section_ = static_cast<LaneId>(insts_.size());
  source = 0;
}

std::vector<LaneId> LaneCode::call(LaneCall call) {
  while (call.masks.size() > 1) {  // one is enough, and less to keep in registers
    const LaneId m = call.masks.back();
    call.masks.pop_back();
    call.masks.front() = op(LaneOp::MaskOr, insts_[m].width, call.masks.front(), m);
  }
  LaneInst inst;
  inst.op = LaneOp::Call;
  inst.bits = calls_.size();
  const int bytes = call.out == DType::Bool ? 4 : static_cast<int>(size_of(call.out));
  const bool is_bool = call.out == DType::Bool;
  calls_.push_back(std::move(call));
  const LaneId id = append(inst);
  std::vector<LaneId> parts;
  for (int k = 0; k < this->parts(bytes); ++k) {
    LaneInst part;
    part.op = LaneOp::CallPart;
    part.width = static_cast<std::uint8_t>(bytes);
    part.imm = static_cast<std::uint8_t>(k);
    part.in[0] = id;
    parts.push_back(add(part));
  }
  if (is_bool)
    for (LaneId& p : parts) p = op(LaneOp::IGt, 4, p, constant(4, 0));
  return parts;
}

std::vector<std::uint8_t> LaneCode::mark_needed() const {
  std::vector<std::uint8_t> needed(insts_.size(), 0);
  for (LaneId v = static_cast<LaneId>(insts_.size()); v-- > 0;) {
    if (has_effect(insts_[v].op)) needed[v] = 1;
    if (needed[v]) for_operands(v, [&](LaneId in) { needed[in] = 1; });
  }
  return needed;
}

}  // namespace tfvm::x86
