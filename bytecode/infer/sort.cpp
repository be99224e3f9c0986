// Order.
#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

bool infer_sort(InferCtx& c) {
  if (c.in.empty()) return c.fail("expected at least one operand, got none");
  for (std::size_t k = 1; k < c.in.size(); ++k)
    if (!infer::same_dims(c.dims(k), c.dims(0))) return infer::expect(c, "operands of one shape");
  const std::int64_t keys = c.get_int(Key::num_keys);
  if (keys < 1 || at(keys) > c.in.size())
    return c.fail("expected num_keys between 1 and the number of operands, got " + std::to_string(keys) + " for " +
                  infer::types(c));
  c.out.assign(c.in.begin(), c.in.end());
  return normalise_axis(c, Key::axis, infer::ssize(c.dims(0)));
}

bool infer_argsort(InferCtx& c) {
  return normalise_axis(c, Key::axis, infer::ssize(c.dims(0))) && c.push(DType::I64, c.dims(0));
}

bool infer_topk(InferCtx& c) {
  if (!normalise_axis(c, Key::axis, infer::ssize(c.dims(0)))) return false;
  const std::int64_t k = c.get_int(Key::k);
  Shape out = infer::copy(c.dims(0));
  std::int64_t& size = out[at(c.get_int(Key::axis))];
  if (k < 0 || k > size)
    return c.fail("expected k between 0 and the size " + std::to_string(size) + ", got " + std::to_string(k) + " for " +
                  infer::types(c));
  size = k;
  return c.push(c.dtype(0), out) && c.push(DType::I64, out);
}

// One sorted row for all values, or one for each leading place of both.
bool infer_searchsorted(InferCtx& c) {
  const Dims rows = c.dims(0), v = c.dims(1);
  if (!infer::one_of(c, Key::side, {"left", "right"})) return false;
  const bool one = rows.size() == 1;
  const bool many = rows.size() > 1 && v.size() == rows.size() &&
                    infer::same_dims(rows.first(rows.size() - 1), v.first(v.size() - 1));
  if (!one && !many) return infer::expect(c, "one sorted row, or rows with the leading dims of the values");
  return c.push(DType::I64, v);
}

}  // namespace tfvm
