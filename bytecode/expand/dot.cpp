// Products of vectors, matrices and stacks of matrices.
#include <algorithm>

#include "bytecode/expand/steps.h"
#include "bytecode/infer/infer.h"

namespace tfvm {

using namespace expand;

namespace {
struct DotDims {
  Shape xb, yb, xc, yc;
};

ValueId dot_general(ExpandCtx& c, ValueId x, ValueId y, const DotDims& d) {
  if (c.b.failed()) return kNoValue;
  AttrTable& at = attrs(c);
  const AttrId batch[] = {at.ints(d.xb), at.ints(d.yb)}, contract[] = {at.ints(d.xc), at.ints(d.yc)};
  return c.b.emit(Op::dot_general, {x, y}, {{Key::batch, at.list(batch)}, {Key::contract, at.list(contract)}});
}

// […, r, k] with its leading dims broadcast to `batch`.
ValueId broadcast_stack(ExpandCtx& c, std::size_t operand, Shape batch) {
  const Shape d = dims(c, operand);
  batch.insert(batch.end(), d.end() - 2, d.end());
  return broadcast(c.b, c.in[operand], batch);
}

// Both are stacks: their leading dims broadcast and become batch dims.
Values stacks(ExpandCtx& c, std::string_view op) {
  const Shape x = dims(c, 0), y = dims(c, 1);
  Shape batch;
  if (!broadcast_dims(Dims(x).first(x.size() - 2), Dims(y).first(y.size() - 2), batch))
    return expected(c, op, "leading dims that broadcast");
  const auto k = static_cast<std::int64_t>(batch.size());
  const Shape lead = moved(k, {}, {});
  return {dot_general(c, broadcast_stack(c, 0, batch), broadcast_stack(c, 1, batch), {lead, lead, {k + 1}, {k}})};
}

// numpy.matmul: vectors are rows on the left and columns on the right; leading dims of stacks broadcast.
Values product(ExpandCtx& c, std::string_view op) {
  const Shape x = dims(c, 0), y = dims(c, 1);
  if (x.empty() || y.empty()) return expected(c, op, "operands with at least one dim");
  const auto xr = static_cast<std::int64_t>(x.size()), yr = static_cast<std::int64_t>(y.size());
  const std::int64_t yc = yr == 1 ? 0 : yr - 2;
  if (x.back() != y[at(yc)]) return expected(c, op, "equal sizes of the last dim of x and the last but one of y");
  if (xr > 2 && yr > 2) return stacks(c, op);
  if (xr == 2 && yr > 2) {  // one matrix for a stack: as yᵀ·xᵀ, whose batch dims lead
    Shape perm = moved(yr, {}, {});
    std::swap(perm[at(yr - 1)], perm[at(yr - 2)]);
    return {transpose(c.b, dot_general(c, c.in[1], c.in[0], {{}, {}, {yc}, {1}}), perm)};
  }
  return {dot_general(c, c.in[0], c.in[1], {{}, {}, {xr - 1}, {yc}})};
}
}  // namespace

Values expand_matmul(ExpandCtx& c) { return product(c, "matmul"); }
Values expand_dot(ExpandCtx& c) { return product(c, "dot"); }

Values expand_bmm(ExpandCtx& c) {
  if (rank(c, 0) != 3 || rank(c, 1) != 3 || dims(c, 0)[0] != dims(c, 1)[0])
    return expected(c, "bmm", "x[b,n,k] and y[b,k,m]");
  return product(c, "bmm");
}

// numpy.outer: of the flattened operands.
Values expand_outer(ExpandCtx& c) {
  const TypeTable& types = c.b.tables().types;
  const Shape column{types.elements(c.b.type(c.in[0])), 1}, row{1, types.elements(c.b.type(c.in[1]))};
  const ValueId x = reshape(c.b, c.in[0], column), y = reshape(c.b, c.in[1], row);
  return {c.b.emit(Op::mul, {x, y})};
}

// x[.., k] · w[out, k]ᵀ + b[out]
Values expand_linear(ExpandCtx& c) {
  if (rank(c, 0) < 1 || rank(c, 1) != 2 || dims(c, 0).back() != dims(c, 1)[1])
    return expected(c, "linear", "x[..,k] and w[out,k]");
  const ValueId y = dot_general(c, c.in[0], c.in[1], {{}, {}, {rank(c, 0) - 1}, {1}});
  if (c.in.size() < 3) return {y};
  if (rank(c, 2) != 1 || dims(c, 2)[0] != dims(c, 1)[0]) return expected(c, "linear", "b[out]");
  return {c.b.emit(Op::add, {y, c.in[2]})};
}

}  // namespace tfvm
