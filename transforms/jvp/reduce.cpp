// Reductions that are not linear.
#include <algorithm>

#include "transforms/jvp/products.h"
#include "transforms/jvp/rules.h"
#include "transforms/lower/reduce_fn.h"

namespace tfvm {

namespace {

// The result of a reduction with its reduced dims as ones, so that it broadcasts against the operand.
ValueId keep_dims(Builder& b, ValueId reduced, Dims full, Ints axes) {
  if (b.failed()) return kNoValue;
  std::vector<std::int64_t> shape(full.begin(), full.end());
  for (std::int64_t a : axes) shape[static_cast<std::size_t>(a)] = 1;
  return b.emit(Op::reshape, {reduced}, {{Key::shape, Ints(shape)}});
}

// The dims in `axes` moved behind the others and flattened: [kept…, n].
ValueId flatten_last(Builder& b, ValueId v, Ints axes) {
  if (b.failed()) return kNoValue;
  std::vector<std::int64_t> perm, shape;
  std::int64_t n = 1;
  const Dims dims = b.dims(v);
  for (std::int64_t d = 0; d < b.rank(v); ++d) {
    if (std::ranges::find(axes, d) != axes.end()) {
      n *= dims[static_cast<std::size_t>(d)];
      continue;
    }
    perm.push_back(d);
    shape.push_back(dims[static_cast<std::size_t>(d)]);
  }
  perm.insert(perm.end(), axes.begin(), axes.end());
  shape.push_back(n);
  const ValueId moved = b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}});
  return b.emit(Op::reshape, {moved}, {{Key::shape, Ints(shape)}});
}

// Elements [from, to) of the last dim.
ValueId part(Builder& b, ValueId v, std::int64_t from, std::int64_t to) {
  if (b.failed()) return kNoValue;
  const Dims dims = b.dims(v);
  std::vector<std::int64_t> start(dims.size(), 0), limit(dims.begin(), dims.end());
  start.back() = from;
  limit.back() = to;
  return b.emit(Op::slice, {v}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}});
}

ValueId concat_last(Builder& b, ValueId x, ValueId y) {
  if (b.failed()) return kNoValue;
  return b.emit(Op::concat, {x, y}, {{Key::axis, b.rank(x) - 1}});
}

}  // namespace

// The operands that equal the result share its tangent equally: sum((x == y) / n * dx).
void jvp_reduce_extremum(JvpCtx& c) {
  Builder& b = c.b;
  const Ints axes = c.attrs().get_ints(c.in.attrs, Key::axes);
  const DType dtype = b.dtype(c.x[0]);
  const auto sum = [&](ValueId v) { return b.emit(Op::reduce_sum, std::span(&v, 1), c.in.attrs); };
  const ValueId y = keep_dims(b, c.y[0], b.dims(c.x[0]), axes);
  const ValueId hit = b.emit(Op::cast, {b.emit(Op::eq, {c.x[0], y})}, {{Key::dtype, dtype}});
  const ValueId share = b.emit(Op::reciprocal, {sum(hit)});
  c.dy[0] = b.emit(Op::zmul, {share, sum(b.emit(Op::zmul, {hit, c.t[0]}))});
}

// A tree of products (p, dp): (p q, dp q + p dq). No division, so zeros are no special case, at any order.
ValueId product_tangent(Builder& b, ValueId p, ValueId t) {
  if (b.failed()) return kNoValue;
  const Dims dims = b.dims(p);
  std::int64_t n = dims.back();
  const Ints kept = dims.first(dims.size() - 1);
  if (n == 0) return b.zeros(b.tables().types.tensor(b.dtype(p), kept));
  while (n > 1 && !b.failed()) {
    const std::int64_t half = n / 2, rest = n - 2 * half;
    const ValueId p0 = part(b, p, 0, half), p1 = part(b, p, half, 2 * half);
    const ValueId t0 = part(b, t, 0, half), t1 = part(b, t, half, 2 * half);
    ValueId np = b.emit(Op::mul, {p0, p1});
    ValueId nt = b.emit(Op::add, {b.emit(Op::zmul, {t0, p1}), b.emit(Op::zmul, {p0, t1})});
    if (rest) {
      np = concat_last(b, np, part(b, p, n - 1, n));
      nt = concat_last(b, nt, part(b, t, n - 1, n));
    }
    p = np, t = nt, n = half + rest;
  }
  return b.emit(Op::reshape, {t}, {{Key::shape, kept}});
}

void jvp_reduce_prod(JvpCtx& c) {
  Builder& b = c.b;
  const Ints axes = c.attrs().get_ints(c.in.attrs, Key::axes);
  const ValueId p = flatten_last(b, c.x[0], axes), t = flatten_last(b, c.t[0], axes);
  if (b.failed() || b.dims(p).back() == 0) return;
  c.dy[0] = product_tangent(b, p, t);
  if (!b.failed()) c.dy[0] = b.emit(Op::reshape, {c.dy[0]}, {{Key::shape, b.dims(c.y[0])}});
}

// As the scan that the reduction stands for, on pairs of value and tangent.
void jvp_reduce_fn(JvpCtx& c) {
  const FunctionId f = c.func(Key::body);
  const std::size_t n = c.x.size() / 2;
  Mask acc = slice(c.active(), n, n);
  const Mask xs = slice(c.active(), 0, n);
  Result<Jvp> r{Error{Code::Internal, {}}};
  for (;;) {
    r = jvp(c.env, f, concat({&acc, &xs}), acc, c.mode);
    if (!r) return forward(c.b, r.error());
    if (r->out == acc) break;
    acc = r->out;
  }
  // The body as (accumulators, their tangents, elements, their tangents).
  const std::size_t groups[] = {n, n}, all[] = {n};
  const std::vector<std::uint32_t> params = regroup(groups, concat({&acc, &xs})), results = regroup(all, acc);
  const Result<FunctionId> body = rearrange(c.env, r->f, params, results);
  if (!body) return forward(c.b, body.error());
  // lower_reduce_fn takes one element list per accumulator: an element without a tangent has zeros beside an active
  // accumulator, and an active element makes its accumulator active or is not looked at.
  std::vector<ValueId> elements(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<ValueId> inits(c.x.begin() + static_cast<std::ptrdiff_t>(n), c.x.end());
  for (std::size_t k = 0; k < n; ++k)
    if (xs[k]) elements.push_back(c.t[k]);
  for (std::size_t k = 0; k < n; ++k)
    if (acc[k]) inits.push_back(c.tangent(n + k));
  const std::vector<ValueId> out =
      lower_reduce_fn(c.env, c.b, *body, elements, inits, c.attrs().get_ints(c.in.attrs, Key::axes));
  for (std::size_t k = 0, m = n; k < n && m < out.size(); ++k)
    if (acc[k]) c.dy[k] = out[m++];
}

}  // namespace tfvm
