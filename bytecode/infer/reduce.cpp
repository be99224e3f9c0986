// Reductions over dims, and running reductions along one.
#include <algorithm>

#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

bool infer_reduce(InferCtx& c) {
  const Dims dims = c.dims(0);
  if (!normalise_axes(c, Key::axes, infer::ssize(dims))) return false;
  const Ints axes = c.get_ints(Key::axes);
  if (!c.get_bool(Key::keepdims)) return c.push(c.dtype(0), infer::without(dims, axes));
  Shape out = infer::copy(dims);
  for (std::int64_t a : axes) out[at(a)] = 1;
  return c.push(c.dtype(0), out);
}

bool infer_arg_reduce(InferCtx& c) {
  const Dims dims = c.dims(0);
  if (!normalise_axis(c, Key::axis, infer::ssize(dims))) return false;
  const std::int64_t axis = c.get_int(Key::axis);
  if (dims[at(axis)] == 0) return infer::expect(c, "at least one element along axis " + std::to_string(axis));
  return c.push(DType::I64, infer::without(dims, {&axis, 1}));
}

bool infer_same_attrs_axis(InferCtx& c) {
  c.out.push_back(c.in[0]);
  return normalise_axis(c, Key::axis, infer::ssize(c.dims(0)));
}

namespace {
// The operands are n tensors of one shape, then n scalars of their dtypes.
bool check_reduce_operands(InferCtx& c, std::size_t n) {
  if (n == 0 || c.in.size() != 2 * n) return infer::expect(c, "as many initial values as tensors");
  for (std::size_t k = 0; k < c.in.size(); ++k)
    if (!c.type(k).is_tensor()) return infer::expect(c, "tensors");
  for (std::size_t k = 0; k < n; ++k) {
    if (!infer::same_dims(c.dims(k), c.dims(0))) return infer::expect(c, "tensors of one shape");
    if (!c.dims(n + k).empty() || c.dtype(n + k) != c.dtype(k))
      return infer::expect(c, "a scalar initial value of each tensor's dtype");
  }
  return true;
}
}  // namespace

bool infer_reduce_fn(InferCtx& c) {
  const std::size_t n = c.in.size() / 2;
  if (!check_reduce_operands(c, n)) return false;
  const Body& body = c.t.body(c.t.attrs.get_func(c.attrs, Key::body));
  std::vector<TypeId> scalars(c.in.begin() + static_cast<std::ptrdiff_t>(n), c.in.end());
  const std::vector<TypeId> results = body.result_types();
  if (!std::ranges::equal(results, scalars))
    return infer::expect(c, "a function that gives one scalar for each tensor");
  scalars.insert(scalars.end(), results.begin(), results.end());
  if (!std::ranges::equal(body.param_types(), scalars))
    return infer::expect(c, "a function of (accumulators…, elements…)");
  if (!normalise_axes(c, Key::axes, infer::ssize(c.dims(0)))) return false;
  for (std::size_t k = 0; k < n; ++k)
    if (!c.push(c.dtype(k), infer::without(c.dims(k), c.get_ints(Key::axes)))) return false;
  return true;
}

namespace {
// Window attributes of full rank, written out; the dims of the result.
bool infer_windows(InferCtx& c, bool dilated, Shape& out) {
  const Dims dims = c.dims(0);
  Shape window, strides, base, dilation;
  std::vector<infer::Pair> padding;
  if (!infer::list_of(c, Key::window, dims.size(), 1, 1, window) ||
      !infer::list_of(c, Key::strides, dims.size(), 1, 1, strides) ||
      !infer::pairs_of(c, Key::padding, dims.size(), padding))
    return false;
  if (!dilated) {
    base.assign(dims.size(), 1);
    dilation = base;
  } else if (!infer::list_of(c, Key::base_dilation, dims.size(), 1, 1, base) ||
             !infer::list_of(c, Key::window_dilation, dims.size(), 1, 1, dilation)) {
    return false;
  }
  out.resize(dims.size());
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (!infer::window_places(
            dims[k], {window[k], strides[k], padding[k].first, padding[k].second, base[k], dilation[k]}, out[k]))
      return infer::expect(c, "windows whose extent fits into 64 bits");
  return true;
}
}  // namespace

bool infer_reduce_window(InferCtx& c) {
  const AttrKind kind = c.t.attrs[c.t.attrs.get(c.attrs, Key::op)].kind;
  if (kind == AttrKind::Func) {
    const Body& body = c.t.body(c.t.attrs.get_func(c.attrs, Key::op));
    const TypeId scalar = c.t.types.scalar(c.dtype(0));
    const std::vector<TypeId> two(2, scalar), one(1, scalar);
    if (!std::ranges::equal(body.param_types(), two) || body.result_types() != one)
      return infer::expect(c, "a function of two scalars of the dtype");
  } else if (kind != AttrKind::Str || !infer::one_of(c, Key::op, {"add", "mul", "max", "min"})) {
    return c.error.empty() ? c.fail("expected op as a word or a function") : false;
  }
  Shape out;
  return infer_windows(c, true, out) && c.push(c.dtype(0), out);
}

bool infer_select_and_scatter_add(InferCtx& c) {
  Shape out;
  if (!infer_windows(c, false, out)) return false;
  if (!infer::same_dims(c.dims(1), out)) return infer::expect(c, "a source of the windows' shape " + infer::text(out));
  c.out.push_back(c.in[0]);
  return true;
}

}  // namespace tfvm
