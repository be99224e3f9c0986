// Slices and updates at computed places.
#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

namespace {
bool check_mode(InferCtx& c) { return infer::one_of(c, Key::mode, {"error", "clip", "fill"}); }

// Bools can only be set; complex numbers have no order.
bool check_combine(InferCtx& c) {
  if (!infer::one_of(c, Key::combine, {"set", "add", "mul", "min", "max"})) return false;
  const std::string_view combine = c.t.attrs.get_str(c.attrs, Key::combine);
  if (combine == "set") return true;
  const DTypeClass cls = combine == "add" || combine == "mul" ? DTypeClass::Num : DTypeClass::Real;
  return matches(cls, c.dtype(0)) ||
         infer::expect(c, std::string(name(cls)) + " for combine \"" + std::string(combine) + "\"");
}

// One scalar start for each dim of operand 0.
bool check_starts(InferCtx& c, std::size_t first) {
  bool scalars = c.in.size() - first == c.dims(0).size();
  for (std::size_t k = first; k < c.in.size(); ++k) scalars = scalars && c.dims(k).empty();
  return scalars || infer::expect(c, "one scalar start for each dim");
}

bool fits_inside(Dims part, Dims whole) {
  if (part.size() != whole.size()) return false;
  for (std::size_t k = 0; k < part.size(); ++k)
    if (part[k] < 0 || part[k] > whole[k]) return false;
  return true;
}
}  // namespace

bool infer_dynamic_slice(InferCtx& c) {
  const Ints sizes = c.get_ints(Key::sizes);
  if (!fits_inside(sizes, c.dims(0)))
    return c.fail("expected sizes of at most the shape, got " + infer::text(sizes) + " for " + infer::types(c));
  return check_starts(c, 1) && c.push(c.dtype(0), sizes);
}

bool infer_dynamic_update_slice(InferCtx& c) {
  if (!fits_inside(c.dims(1), c.dims(0))) return infer::expect(c, "an update that fits into the first operand");
  c.out.push_back(c.in[0]);
  return check_starts(c, 2);
}

bool infer_take(InferCtx& c) {
  const Dims x = c.dims(0), idx = c.dims(1);
  if (!normalise_axis(c, Key::axis, infer::ssize(x)) || !check_mode(c)) return false;
  const auto axis = c.get_int(Key::axis);
  Shape out(x.begin(), x.begin() + axis);
  out.insert(out.end(), idx.begin(), idx.end());
  out.insert(out.end(), x.begin() + axis + 1, x.end());
  return c.push(c.dtype(0), out);
}

namespace {
// idx has x's rank, and x's size in all dims but the axis.
bool check_along(InferCtx& c) {
  const Dims x = c.dims(0), idx = c.dims(1);
  if (!normalise_axis(c, Key::axis, infer::ssize(x)) || !check_mode(c)) return false;
  bool good = x.size() == idx.size();
  for (std::size_t k = 0; good && k < x.size(); ++k) good = at(c.get_int(Key::axis)) == k || idx[k] == x[k];
  return good || infer::expect(c, "indices of the first operand's shape in all dims but axis " +
                                      std::to_string(c.get_int(Key::axis)));
}
}  // namespace

bool infer_take_along(InferCtx& c) { return check_along(c) && c.push(c.dtype(0), c.dims(1)); }

bool infer_scatter_along(InferCtx& c) {
  c.out.push_back(c.in[0]);
  if (!check_along(c) || !check_combine(c)) return false;
  return infer::same_dims(c.dims(1), c.dims(2)) || infer::expect(c, "updates of the indices' shape");
}

namespace {
// Writes index_vector_dim out (none: the last dim of the indices); the dims of the indices without it.
bool infer_index_vectors(InferCtx& c, std::size_t coordinates, Shape& batch) {
  const Dims idx = c.dims(1);
  const std::int64_t rank = infer::ssize(idx);
  const std::int64_t dim = c.has(Key::index_vector_dim) ? c.get_int(Key::index_vector_dim) : rank - 1;
  if (dim < 0 || dim > rank)
    return c.fail("expected index_vector_dim within 0 and the rank of the indices, got " + std::to_string(dim) +
                  " for " + infer::types(c));
  c.set(Key::index_vector_dim, dim);
  const std::int64_t length = dim == rank ? 1 : idx[at(dim)];
  if (length != static_cast<std::int64_t>(coordinates))
    return infer::expect(c, "index vectors of " + std::to_string(coordinates) + " entries");
  batch = infer::without(idx, {&dim, 1});
  return true;
}

// The dims of operand 0 that indices address, in the order of the entries of an index vector.
bool check_index_map(InferCtx& c, Key key) {
  Shape map = infer::copy(c.get_ints(key));
  if (!infer::normalise_places(c, c.t.strings[key], map, infer::ssize(c.dims(0)))) return false;
  c.set(key, Ints(map));
  return true;
}
}  // namespace

// StableHLO, gather: the result has the indices' dims, with the window's dims at offset_dims.
bool infer_gather(InferCtx& c) {
  const Dims x = c.dims(0);
  Shape batch, offset, collapsed, sizes;
  if (!check_index_map(c, Key::start_index_map) ||
      !infer_index_vectors(c, c.get_ints(Key::start_index_map).size(), batch) ||
      !infer::sorted_places(c, Key::collapsed_slice_dims, infer::ssize(x), collapsed) ||
      !infer::list_of(c, Key::slice_sizes, x.size(), 1, 0, sizes) || !check_mode(c))
    return false;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (sizes[k] > x[k] || (infer::contains(collapsed, static_cast<std::int64_t>(k)) && sizes[k] != 1))
      return c.fail("expected slice_sizes of at most the shape, and 1 in collapsed dims, got " + infer::text(sizes) +
                    " for " + infer::types(c));
  const Shape window = infer::without(sizes, collapsed);
  const std::size_t rank = batch.size() + window.size();
  if (!infer::sorted_places(c, Key::offset_dims, static_cast<std::int64_t>(rank), offset)) return false;
  if (offset.size() != window.size())
    return c.fail("expected one offset dim for each window dim, got offset_dims=" + infer::text(offset) + " for " +
                  infer::types(c));
  Shape out;
  std::size_t from_batch = 0, from_window = 0;
  for (std::size_t k = 0; k < rank; ++k)
    out.push_back(infer::contains(offset, static_cast<std::int64_t>(k)) ? window[from_window++] : batch[from_batch++]);
  return c.push(c.dtype(0), out);
}

// StableHLO, scatter: the updates have the indices' dims, and window dims at update_window_dims.
bool infer_scatter(InferCtx& c) {
  const Dims x = c.dims(0), u = c.dims(2);
  Shape batch, window, inserted;
  if (!check_index_map(c, Key::scatter_dims_to_operand_dims) ||
      !infer_index_vectors(c, c.get_ints(Key::scatter_dims_to_operand_dims).size(), batch) ||
      !infer::sorted_places(c, Key::update_window_dims, infer::ssize(u), window) ||
      !infer::sorted_places(c, Key::inserted_window_dims, infer::ssize(x), inserted) || !check_mode(c) ||
      !check_combine(c))
    return false;
  const Shape room = infer::without(x, inserted);
  Shape part;
  for (std::int64_t k : window) part.push_back(u[at(k)]);
  if (!fits_inside(part, room) || !infer::same_dims(infer::without(u, window), batch))
    return infer::expect(c, "updates of shape " + infer::text(batch) + " with windows of at most " + infer::text(room));
  c.out.push_back(c.in[0]);
  return true;
}

}  // namespace tfvm
