#include "transforms/lower/reduce_fn.h"

#include <algorithm>

#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

struct Split {
  std::vector<std::int64_t> perm, kept;  // reduced dims first; dims that stay
  std::int64_t steps = 1, elements = 1;
};

Split split_dims(Dims dims, Ints axes) {
  Split s;
  s.perm.assign(axes.begin(), axes.end());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    if (std::ranges::find(axes, axis) != axes.end()) {
      s.steps *= dims[d];
      continue;
    }
    s.perm.push_back(axis);
    s.kept.push_back(dims[d]);
    s.elements *= dims[d];
  }
  return s;
}

ValueId reshape(Builder& b, ValueId v, Ints shape) { return b.emit(Op::reshape, {v}, {{Key::shape, shape}}); }

// The init of every kept element, as [elements].
ValueId spread(Builder& b, ValueId init, const Split& s) {
  if (b.failed()) return kNoValue;
  if (b.rank(init) == 1) {
    std::vector<std::int64_t> column(s.kept.size(), 1);
    column[0] = s.kept[0];
    init = reshape(b, init, column);
  }
  const ValueId wide = b.emit(Op::broadcast_to, {init}, {{Key::shape, Ints(s.kept)}});
  return reshape(b, wide, {&s.elements, 1});
}

}  // namespace

std::vector<ValueId> lower_reduce_fn(TransformEnv& env, Builder& b, FunctionId f, std::span<const ValueId> xs,
                                     std::span<const ValueId> inits, Ints axes) {
  if (b.failed() || xs.empty()) return {};
  const Split s = split_dims(b.dims(xs[0]), axes);
  const bool scalar = s.kept.empty();
  std::vector<ValueId> operands;
  for (ValueId init : inits) operands.push_back(scalar ? init : spread(b, init, s));
  for (ValueId x : xs) {
    const ValueId moved = b.emit(Op::transpose, {x}, {{Key::perm, Ints(s.perm)}});
    const std::int64_t flat[] = {s.steps, s.elements};
    operands.push_back(reshape(b, moved, scalar ? Ints(flat, 1) : Ints(flat, 2)));
  }
  FunctionId body = f;
  if (!scalar) {
    const Mask all(operands.size(), 1), out(inits.size(), 1);
    Result<Batched> r = batch(env, f, all, Axis{s.elements}, out);
    if (!r) {
      b.fail(r.error().code, r.error().message);
      return {};
    }
    body = r->f;
  }
  const AttrId attrs = b.tables().attrs.dict(
      {{Key::body, body}, {Key::carry, static_cast<std::int64_t>(inits.size())}, {Key::length, s.steps}});
  std::vector<ValueId> results = b.emit_all(Op::scan, operands, attrs);
  for (ValueId& v : results) v = scalar ? v : reshape(b, v, s.kept);
  return results;
}

}  // namespace tfvm
