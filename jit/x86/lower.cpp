#include "jit/x86/lower.h"

namespace tfvm::x86 {

void Lowering::run() {
  for (const NestNode& n : shape_.nodes) {
    Lanes out;
    out.dtype = n.dtype;
    node(n, out);
    values_.push_back(std::move(out));
  }
  for (const ShapeStore& s : shape_.stores)
    store(s, dtype(s.node) == DType::Bool ? masks(s.node, 4) : value(s.node).parts);
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
      const bool is_bool = n.dtype == DType::Bool, is_same = shape_.accesses[n.access].inner == Inner::Same;
      LaneInst inst;
      inst.op = is_bool ? LaneOp::LoadBool : LaneOp::Load;
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
      std::vector<LaneId> places;
      for (int k = 0; k < code_.parts(8); ++k)
        places.push_back(code_.op(LaneOp::Iota, 8, n.access, kNoLane, kNoLane, k));
      if (cast(DType::I64, n.dtype, places, out)) return;
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
  const DType d = shape_.nodes[s.node].dtype;
  const bool is_bool = d == DType::Bool;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    LaneInst inst;
    inst.op = is_bool ? LaneOp::StoreBool : LaneOp::Store;
    inst.width = is_bool ? 4 : static_cast<std::uint8_t>(size_of(d));
    inst.imm = static_cast<std::uint8_t>(k);
    inst.in[0] = parts[k];
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
