// Ops that only move elements, or make them from nothing.
#include <algorithm>
#include <limits>

#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

bool infer_constant(InferCtx& c) {
  c.out.push_back(c.t.consts[c.t.attrs[c.attrs].constant].type);
  return true;
}

bool infer_reshape(InferCtx& c) {
  Shape shape = infer::copy(c.get_ints(Key::shape));
  const std::int64_t n = c.t.types.elements(c.in[0]);
  const auto wrong = [&] {
    return c.fail("expected a shape of " + std::to_string(n) +
                  " elements, got shape=" + infer::text(c.get_ints(Key::shape)) + " for " + infer::types(c));
  };
  const auto open = std::ranges::find(shape, -1);
  if (open != shape.end()) {
    *open = 1;
    const auto rest = checked_elements(shape);
    if (!rest || *rest == 0 || n % *rest != 0) return wrong();
    *open = n / *rest;
  }
  const auto m = checked_elements(shape);
  if (!m || *m != n) return wrong();
  c.set(Key::shape, Ints(shape));
  return c.push(c.dtype(0), shape);
}

bool infer_broadcast_to(InferCtx& c) {
  const Shape shape = infer::copy(c.get_ints(Key::shape));
  Shape common;
  const bool sizes = std::ranges::all_of(shape, [](std::int64_t d) { return d >= 0; });
  if (!sizes || !broadcast_dims(c.dims(0), shape, common) || common != shape)
    return c.fail("expected a shape that " + infer::types(c) + " broadcasts to, got shape=" + infer::text(shape));
  return c.push(c.dtype(0), shape);
}

bool infer_transpose(InferCtx& c) {
  const Dims dims = c.dims(0);
  Shape perm;
  if (c.has(Key::perm)) {
    perm = infer::copy(c.get_ints(Key::perm));
    if (perm.size() != dims.size())
      return c.fail("expected perm with " + std::to_string(dims.size()) + " entries, got " + infer::text(perm) +
                    " for " + infer::types(c));
    if (!infer::normalise_places(c, "perm", perm, infer::ssize(dims))) return false;
  } else {
    for (std::int64_t k = infer::ssize(dims); k-- > 0;) perm.push_back(k);
  }
  c.set(Key::perm, Ints(perm));
  Shape out;
  for (std::int64_t p : perm) out.push_back(dims[at(p)]);
  return c.push(c.dtype(0), out);
}

bool infer_slice(InferCtx& c) {
  const Dims dims = c.dims(0);
  Shape start, limit, stride, out;
  if (!infer::list_of(c, Key::start, dims.size(), 0, 0, start) ||
      !infer::list_of(c, Key::limit, dims.size(), 0, 0, limit) ||
      !infer::list_of(c, Key::stride, dims.size(), 1, 1, stride))
    return false;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (start[k] > limit[k] || limit[k] > dims[k])
      return c.fail("expected 0 <= start <= limit <= size in each dim, got start=" + infer::text(start) +
                    ", limit=" + infer::text(limit) + " for " + infer::types(c));
    out.push_back((limit[k] - start[k]) / stride[k] + ((limit[k] - start[k]) % stride[k] != 0));
  }
  return c.push(c.dtype(0), out);
}

bool infer_pad(InferCtx& c) {
  const Dims dims = c.dims(0);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  Shape low, high, interior, out;
  if (!c.dims(1).empty()) return infer::expect(c, "a scalar value");
  if (!infer::list_of(c, Key::low, dims.size(), 0, kLeast, low) ||
      !infer::list_of(c, Key::high, dims.size(), 0, kLeast, high) ||
      !infer::list_of(c, Key::interior, dims.size(), 0, 0, interior))
    return false;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    std::int64_t n = 0;
    const bool fits = infer::mul(std::max<std::int64_t>(dims[k] - 1, 0), interior[k], n) && infer::add(n, dims[k], n) &&
                      infer::add(n, low[k], n) && infer::add(n, high[k], n);
    if (!fits || n < 0)
      return c.fail("expected a padded size of at least 0 in each dim, got low=" + infer::text(low) +
                    ", high=" + infer::text(high) + ", interior=" + infer::text(interior) + " for " + infer::types(c));
    out.push_back(n);
  }
  return c.push(c.dtype(0), out);
}

bool infer_concat(InferCtx& c) {
  if (c.in.empty()) return c.fail("expected at least one operand, got none");
  const std::int64_t rank = infer::ssize(c.dims(0));
  if (!normalise_axis(c, Key::axis, rank)) return false;
  const std::size_t axis = at(c.get_int(Key::axis));
  Shape out = infer::copy(c.dims(0));
  for (std::size_t k = 1; k < c.in.size(); ++k) {
    const Dims d = c.dims(k);
    bool good = infer::ssize(d) == rank;
    for (std::size_t j = 0; good && j < d.size(); ++j) good = j == axis || d[j] == out[j];
    if (!good) return infer::expect(c, "shapes equal in all dims but axis " + std::to_string(axis));
    if (!infer::add(out[axis], d[axis], out[axis])) return infer::expect(c, "a result that fits into memory");
  }
  return c.push(c.dtype(0), out);
}

bool infer_reverse(InferCtx& c) {
  c.out.push_back(c.in[0]);
  return normalise_axes(c, Key::axes, infer::ssize(c.dims(0)));
}

bool infer_iota(InferCtx& c) {
  const Ints shape = c.get_ints(Key::shape);
  const DType dtype = c.t.attrs.get_dtype(c.attrs, Key::dtype);
  if (dtype == DType::Bool) return c.fail("expected a number dtype, got bool");
  return normalise_axis(c, Key::axis, infer::ssize(shape)) && c.push(dtype, shape);
}

bool infer_full(InferCtx& c) {
  if (!c.dims(0).empty()) return infer::expect(c, "a scalar value");
  return c.push(c.dtype(0), c.get_ints(Key::shape));
}

}  // namespace tfvm
