// Sorting moves tangents as it moves elements: by the stable permutation, which has no derivative itself.
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

// The elements of `v` along the axis at `places`, which are all inside.
ValueId elements_at(JvpCtx& c, ValueId v, ValueId places) {
  const std::int64_t axis = c.attrs().get_int(c.in.attrs, Key::axis);
  return c.b.emit(Op::take_along, {v, places}, {{Key::axis, axis}, {Key::mode, "clip"}});
}

}  // namespace

// The permutation is one more operand that the sort carries along.
void jvp_sort(JvpCtx& c) {
  if (c.b.failed()) return;
  std::vector<ValueId> operands(c.x.begin(), c.x.end());
  operands.push_back(c.b.emit(Op::iota, {},
                              {{Key::shape, c.b.dims(c.x[0])},
                               {Key::axis, c.attrs().get_int(c.in.attrs, Key::axis)},
                               {Key::dtype, DType::I64}}));
  const std::vector<ValueId> sorted = c.b.emit_all(Op::sort, operands, c.in.attrs);
  if (c.b.failed()) return;
  c.y.assign(sorted.begin(), sorted.end() - 1);
  for (std::size_t k = 0; k < c.x.size(); ++k)
    if (c.active(k)) c.dy[k] = elements_at(c, c.t[k], sorted.back());
}

void jvp_topk(JvpCtx& c) { c.dy[0] = elements_at(c, c.t[0], c.y[1]); }

}  // namespace tfvm
