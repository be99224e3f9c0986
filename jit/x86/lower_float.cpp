// Ops of floats: the four operations of the machine, and the functions of jit/math.
#include "jit/x86/lane_math.h"
#include "jit/x86/lower.h"

namespace tfvm::x86 {

namespace {

template <LaneOp O>
bool arithmetic(Lowering& low, const NestNode& n, Lanes& out) {
  if (!is_float_lane(n.dtype)) return false;
  const auto &a = low.value(n.in[0]).parts, &b = low.value(n.in[1]).parts;
  for (std::size_t k = 0; k < a.size(); ++k)
    out.parts.push_back(low.code().op(O, static_cast<int>(size_of(n.dtype)), a[k], b[k]));
  return true;
}

bool function(Lowering& low, const NestNode& n, Lanes& out) {
  if (!is_float_lane(n.dtype)) return false;
  const TraceFn fn = find_trace(name(n.op), static_cast<int>(size_of(n.dtype)));
  if (!fn) return false;
  LaneCode& code = low.code();
  code.rare.clear();
  std::vector<LaneId> usual;
  for (std::size_t k = 0; k < low.value(n.in[0]).parts.size(); ++k) {
    LaneId x[3] = {kNoLane, kNoLane, kNoLane};
    for (int j = 0; j < 3; ++j)
      if (n.in[static_cast<std::size_t>(j)] != kNoNode) x[j] = low.value(n.in[static_cast<std::size_t>(j)]).parts[k];
    usual.push_back(fn(code, x));
  }
  if (code.rare.empty()) {
    out.parts = std::move(usual);
  } else {
    low.call(n, std::move(code.rare), std::move(usual), out);
    code.rare.clear();
  }
  return true;
}

bool fused(Lowering& low, const NestNode& n, Lanes& out) {
  if (!is_float_lane(n.dtype)) return false;
  const auto &a = low.value(n.in[0]).parts, &b = low.value(n.in[1]).parts, &c = low.value(n.in[2]).parts;
  for (std::size_t k = 0; k < a.size(); ++k)
    out.parts.push_back(low.code().op(LaneOp::Fma, static_cast<int>(size_of(n.dtype)), a[k], b[k], c[k]));
  return true;
}

// What `usual` makes, but where that is NaN, which is rare: a factor may be zero.
template <LowerFn usual>
bool strong_zero(Lowering& low, const NestNode& n, Lanes& out) {
  if (low.zeros() == Lowering::Zeros::Exact) return function(low, n, out);
  if (!usual(low, n, out)) return false;
  if (low.zeros() == Lowering::Zeros::Checked) return true;
  const int w = static_cast<int>(size_of(n.dtype));
  std::vector<LaneId> parts = std::move(out.parts), masks;
  for (LaneId p : parts) masks.push_back(low.code().op(LaneOp::Compare, w, p, p, kNoLane, 0x03));
  low.call(n, std::move(masks), std::move(parts), out);
  return true;
}

constexpr LowerRow kRows[] = {
    {Op::add, &arithmetic<LaneOp::Add>}, {Op::sub, &arithmetic<LaneOp::Sub>},
    {Op::mul, &arithmetic<LaneOp::Mul>}, {Op::zmul, &strong_zero<&arithmetic<LaneOp::Mul>>},
    {Op::zfma, &strong_zero<&fused>},    {Op::div, &arithmetic<LaneOp::Div>},
};

}  // namespace

LowerFn find_float_row(Op op) {
  const LowerFn fn = find_lower_row(kRows, op);
  return fn ? fn : &function;
}

}  // namespace tfvm::x86
