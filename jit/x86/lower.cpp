#include "jit/x86/lower.h"

#include <algorithm>
#include <utility>

namespace tfvm::x86 {

namespace {

bool commutes(Op op) { return op == Op::add || op == Op::mul || op == Op::zmul; }

bool keeps_nan(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::zmul || op == Op::neg || op == Op::square ||
         op == Op::div || op == Op::reciprocal || op == Op::sqrt || op == Op::fma || op == Op::zfma;
}

}  // namespace

// Equal nodes are lowered once: calls are not numbered by value.
void Lowering::run() {
  std::vector<NestNode> seen;
  std::vector<std::uint32_t> first;  // of each node: the one that it equals
  for (NestNode n : shape_.nodes) {
    for (std::uint32_t& in : n.in)
      if (in != kNoNode) in = first[in];
    if (n.kind == NestNodeKind::Op && commutes(n.op) && n.in[0] > n.in[1]) std::swap(n.in[0], n.in[1]);
    const auto at = static_cast<std::uint32_t>(std::ranges::find(seen, n) - seen.begin());
    first.push_back(at);
    Lanes out;
    out.dtype = n.dtype;
    code_.source = n.source.index;
    if (at < seen.size())
      out = values_[at];
    else
      node(n, out);
    seen.push_back(n);
    values_.push_back(std::move(out));
  }
  if (zeros_ == Zeros::Checked) check();
  for (const ShapeStore& s : shape_.stores)
    store(s, dtype(s.node) == DType::Bool ? masks(s.node, 4) : value(s.node).parts);
}

// A product that is NaN makes all that is computed of it NaN, up to where it is asked for.
void Lowering::check() {
  const std::size_t n = shape_.nodes.size();
  std::vector<std::uint8_t> doubtful(n, 0), asked(n, 0);
  for (std::size_t k = 0; k < n; ++k) {
    const NestNode& node = shape_.nodes[k];
    if (node.kind != NestNodeKind::Op || !is_float_lane(shape_.nodes[node.in[0]].dtype)) continue;
    bool any = false;
    for (std::uint32_t in : node.in) any = any || (in != kNoNode && doubtful[in]);
    doubtful[k] = node.op == Op::zmul || node.op == Op::zfma || (any && keeps_nan(node.op));
    for (std::uint32_t in : node.in)
      if (any && !keeps_nan(node.op) && in != kNoNode) asked[in] = doubtful[in];
  }
  for (std::size_t k = 0; k < n; ++k) {  // select: its first operand is no float
    const NestNode& node = shape_.nodes[k];
    for (std::uint32_t in : node.in)
      if (node.op == Op::select && node.kind == NestNodeKind::Op && doubtful[in]) asked[in] = 1;
  }
  for (const ShapeStore& s : shape_.stores) asked[s.node] = doubtful[s.node];
  for (std::uint32_t k = 0; k < shape_.reductions.size(); ++k) {
    const ShapeReduction& r = shape_.reductions[k];
    if (!doubtful[r.node]) continue;
    const bool at_end = asks_sums_at_end_ && (r.op == Op::reduce_sum || r.op == Op::reduce_prod);
    at_end ? sums_to_ask_.push_back(k) : void(asked[r.node] = 1);
  }
  for (std::size_t k = n; k-- > 0;) {
    const NestNode& node = shape_.nodes[k];
    if (asked[k] && node.kind == NestNodeKind::Op && node.op == Op::neg) asked[k] = 0, asked[node.in[0]] = 1;
  }
  for (int width : {4, 8}) {
    std::vector<LaneId> parts, masks;
    for (std::size_t k = 0; k < n; ++k)
      if (asked[k] && size_of(shape_.nodes[k].dtype) == width)
        parts.insert(parts.end(), values_[k].parts.begin(), values_[k].parts.end());
    if (parts.empty()) continue;
    find_nan(width, parts, masks);
    check(width, masks);
    has_checks_ = true;
  }
}

void Lowering::find_nan(int width, const std::vector<LaneId>& parts, std::vector<LaneId>& masks) {
  for (std::size_t k = 0; k < parts.size(); k += 2)
    masks.push_back(
        code_.op(LaneOp::Compare, width, parts[k], parts[std::min(k + 1, parts.size() - 1)], kNoLane, 0x03));
}

void Lowering::check(int width, const std::vector<LaneId>& masks) {
  LaneInst check;
  check.op = LaneOp::Check;
  check.width = static_cast<std::uint8_t>(width);
  check.imm = code_.parts(width) == 1;
  check.in[0] = masks[0];
  for (std::size_t k = 1; k < masks.size(); ++k) check.in[0] = code_.op(LaneOp::MaskOr, width, check.in[0], masks[k]);
  code_.add(check);
}

std::vector<LaneId> Lowering::iota(std::uint32_t access, int width) {
  std::vector<LaneId> parts;
  const bool is_same = shape_.accesses[access].inner == Inner::Same;
  for (int k = 0; k < code_.parts(width); ++k)
    parts.push_back(code_.op(LaneOp::Iota, width, access, kNoLane, kNoLane, is_same ? 0 : k));
  return parts;
}

std::vector<LaneId> Lowering::narrow(std::uint32_t node) {
  if (node >= shape_.nodes.size() || shape_.nodes[node].dtype != DType::I64) return {};
  const NestNode& n = shape_.nodes[node];
  if (n.kind == NestNodeKind::Iota && shape_.accesses[n.access].is_narrow) return iota(n.access, 4);
  const auto value = static_cast<std::int64_t>(n.bits);
  if (n.kind != NestNodeKind::Constant || value != static_cast<std::int32_t>(value)) return {};
  return std::vector<LaneId>(static_cast<std::size_t>(code_.parts(4)), code_.constant(4, n.bits & 0xffffffffu));
}

void Lowering::pick(const NestNode& n, Lanes& out) {
  const int width = static_cast<int>(size_of(n.dtype)), count = parts(n.dtype);
  const bool has_halves = count > code_.parts(4);
  for (int k = 0; k < count; ++k) {
    LaneInst inst;
    inst.op = LaneOp::Load;
    inst.width = static_cast<std::uint8_t>(width);
    inst.imm = static_cast<std::uint8_t>(k);
    inst.in[0] = n.access;
    inst.bits = n.bits;
    if (n.in[0] != kNoNode) inst.in[1] = masks(n.in[0], width)[static_cast<std::size_t>(k)];
    if (n.in[1] != kNoNode) inst.in[2] = value(n.in[1]).parts[static_cast<std::size_t>(has_halves ? k / 2 : k)];
    out.parts.push_back(code_.add(inst));
  }
}

void Lowering::node(const NestNode& n, Lanes& out) {
  const int width = static_cast<int>(size_of(n.dtype));
  switch (n.kind) {
    case NestNodeKind::Constant:
      if (n.dtype == DType::Bool) {
        const LaneId zero = code_.constant(4, 0);
        out.parts.assign(static_cast<std::size_t>(code_.parts(4)),
                         code_.op(LaneOp::IEq, 4, zero, code_.constant(4, n.bits & 1 ? 0 : 1)));
      } else {
        out.parts.assign(static_cast<std::size_t>(parts(n.dtype)), code_.constant(width, n.bits));
      }
      return;
    case NestNodeKind::Load: {
      if (is_picking(n)) return pick(n, out);
      const bool is_bool = n.dtype == DType::Bool, is_same = shape_.accesses[n.access].inner == Inner::Same;
      if (const auto it = packed_ ? packed_->find({n.access, n.bits}) : Packed::const_iterator();
          packed_ && it != packed_->end()) {
        for (int k = 0; k < parts(n.dtype); ++k)
          out.parts.push_back(code_.load(width, it->second + k * code_.reg_bytes()));
        return;
      }
      LaneInst inst;
      inst.op = is_bool ? LaneOp::LoadBool : is_half(shape_.accesses[n.access].dtype) ? LaneOp::LoadHalf : LaneOp::Load;
      inst.width = static_cast<std::uint8_t>(is_bool ? 4 : width);
      inst.in[0] = n.access;
      inst.bits = n.bits;
      for (int k = 0; k < (is_bool ? code_.parts(4) : parts(n.dtype)); ++k) {
        inst.imm = static_cast<std::uint8_t>(is_same ? 0 : k);
        out.parts.push_back(code_.add(inst));
      }
      return;
    }
    case NestNodeKind::Iota: {
      const bool is_narrow = shape_.accesses[n.access].is_narrow;
      std::vector<LaneId> places = iota(n.access, is_narrow ? 4 : 8);
      if (cast(is_narrow ? DType::I32 : DType::I64, n.dtype, places, out)) return;
      if (is_narrow) {
        Lanes wide;
        cast(DType::I32, DType::I64, places, wide);
        places = std::move(wide.parts);
      }
      LaneCall c;
      c.fn = find_cast(DType::I64, n.dtype);
      c.out = n.dtype;
      c.dtypes = {DType::I64};
      c.in = {places};
      out.parts = code_.call(std::move(c));
      return;
    }
    case NestNodeKind::Op:
      break;
  }
  for (auto* find : {&find_float_row, &find_int_row, &find_compare_row, &find_cast_row}) {
    const LowerFn fn = find(n.op);
    if (fn && fn(*this, n, out)) return;
  }
  call(n, {}, {}, out);
}

void Lowering::call(const NestNode& n, std::vector<LaneId> masks, std::vector<LaneId> usual, Lanes& out) {
  LaneCall c;
  const DType first = dtype(n.in[0]);
  c.fn = n.op == Op::cast ? find_cast(first, n.dtype) : find_block_op(n.op, n.op == Op::select ? n.dtype : first);
  c.out = n.dtype;
  for (std::uint32_t in : n.in) {
    if (in == kNoNode) continue;
    c.dtypes.push_back(dtype(in));
    c.in.push_back(dtype(in) == DType::Bool ? this->masks(in, 4) : value(in).parts);
  }
  c.masks = std::move(masks);
  c.usual = std::move(usual);
  out.parts = code_.call(std::move(c));
}

const std::vector<LaneId>& Lowering::masks(std::uint32_t node, int width) {
  Lanes& v = values_[node];
  if (width == 4 && v.parts.empty()) {
    for (std::size_t k = 0; k < v.parts8.size(); k += 2)
      v.parts.push_back(
          code_.op(LaneOp::MaskNarrow, 4, v.parts8[k], k + 1 < v.parts8.size() ? v.parts8[k + 1] : kNoLane));
  } else if (width == 8 && v.parts8.empty()) {
    for (int k = 0; k < code_.parts(8); ++k)
      v.parts8.push_back(
          code_.op(LaneOp::MaskWiden, 8, v.parts[static_cast<std::size_t>(k / 2)], kNoLane, kNoLane, k % 2));
  }
  return width == 4 ? v.parts : v.parts8;
}

void Lowering::store(const ShapeStore& s, const std::vector<LaneId>& parts) {
  const DType d = shape_.nodes[s.node].dtype, to = shape_.accesses[s.access].dtype;
  code_.source = shape_.nodes[s.node].source.index;
  const bool is_bool = d == DType::Bool;
  const std::vector<LaneId> values = to == DType::BF16 ? rounded(parts, to) : parts;
  // One place for all lanes has the value of the first, for there may be no others.
  const std::size_t count = shape_.accesses[s.access].inner == Inner::Same ? 1 : values.size();
  for (std::size_t k = 0; k < count; ++k) {
    LaneInst inst;
    inst.op = is_bool ? LaneOp::StoreBool : is_half(to) ? LaneOp::StoreHalf : LaneOp::Store;
    inst.width = is_bool ? 4 : static_cast<std::uint8_t>(size_of(d));
    inst.imm = static_cast<std::uint8_t>(k);
    inst.in[0] = values[k];
    inst.in[1] = s.access;
    inst.bits = static_cast<std::uint32_t>(s.displacement);
    code_.add(inst);
  }
}

Lanes Lowering::combine(Op op, const Lanes& a, const Lanes& b) {
  NestNode n;
  n.op = op;
  n.dtype = a.dtype;
  const auto at = static_cast<std::uint32_t>(values_.size());
  n.in = {at, at + 1, kNoNode};
  values_.push_back(a);
  values_.push_back(b);
  Lanes out;
  out.dtype = a.dtype;
  node(n, out);
  values_.resize(at);
  return out;
}

Lanes Lowering::combined(std::uint32_t node) {
  if (dtype(node) != DType::Bool) return value(node);
  Lanes out;
  out.dtype = DType::U32;
  for (LaneId m : std::vector<LaneId>(masks(node, 4)))
    out.parts.push_back(code_.op(LaneOp::Select, 4, m, code_.constant(4, 1), code_.constant(4, 0)));
  return out;
}

}  // namespace tfvm::x86
