// Core ops that reorder dims or elements.
#include <algorithm>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

Values expand_flip(ExpandCtx& c) {
  if (!has(c, Key::axes)) {
    const Shape all = moved(rank(c, 0), {}, {});
    return {reverse(c.b, c.in[0], all)};
  }
  return {reverse(c.b, c.in[0], get_ints(c, Key::axes))};
}

Values expand_permute(ExpandCtx& c) { return {transpose(c.b, c.in[0], get_ints(c, Key::perm))}; }

// torch.t: of at most two dims.
Values expand_t(ExpandCtx& c) {
  if (rank(c, 0) > 2) return expected(c, "t", "at most two dims");
  return {rank(c, 0) < 2 ? c.in[0] : transpose(c.b, c.in[0], Shape{1, 0})};
}

// numpy.moveaxis: other dims keep their order.
Values expand_movedim(ExpandCtx& c) {
  Shape from, to;
  if (!axes_of(c, "movedim", get_ints(c, Key::source), rank(c, 0), from) ||
      !axes_of(c, "movedim", get_ints(c, Key::destination), rank(c, 0), to))
    return {};
  if (from.size() != to.size()) return expected(c, "movedim", "as many sources as destinations");
  return {transpose(c.b, c.in[0], moved(rank(c, 0), from, to))};
}

namespace {
ValueId swap_axes(Builder& b, ValueId x, std::int64_t a, std::int64_t z) {
  if (x == kNoValue) return x;
  Shape perm = moved(b.rank(x), {}, {});
  std::swap(perm[at(a)], perm[at(z)]);
  return transpose(b, x, perm);
}
}  // namespace

Values expand_swapaxes(ExpandCtx& c) {
  std::int64_t a = 0, z = 0;
  if (!axis_of(c, "swapaxes", get_int(c, Key::axis1), rank(c, 0), a) ||
      !axis_of(c, "swapaxes", get_int(c, Key::axis2), rank(c, 0), z))
    return {};
  return {swap_axes(c.b, c.in[0], a, z)};
}

// numpy.rot90: k quarter turns from the first axis towards the second.
Values expand_rot90(ExpandCtx& c) {
  Shape axes;
  if (!axes_of(c, "rot90", get_ints(c, Key::axes), rank(c, 0), axes)) return {};
  if (axes.size() != 2) return expected(c, "rot90", "two axes");
  const Ints both(axes), second = both.subspan(1);
  switch (((get_int(c, Key::k) % 4) + 4) % 4) {
    case 1:
      return {swap_axes(c.b, reverse(c.b, c.in[0], second), axes[0], axes[1])};
    case 2:
      return {reverse(c.b, c.in[0], both)};
    case 3:
      return {reverse(c.b, swap_axes(c.b, c.in[0], axes[0], axes[1]), second)};
    default:
      return {c.in[0]};
  }
}

namespace {
// Element j goes to place (j + shift) mod n.
ValueId roll_one(Builder& b, ValueId x, std::int64_t shift, std::int64_t axis) {
  if (x == kNoValue) return x;
  const std::int64_t n = b.dims(x)[at(axis)];
  const std::int64_t s = n == 0 ? 0 : ((shift % n) + n) % n;
  if (s == 0) return x;
  const ValueId parts[] = {slice(b, x, axis, n - s, n), slice(b, x, axis, 0, n - s)};
  return concat(b, parts, axis);
}
}  // namespace

// numpy.roll: one shift for all axes, or one for each; no axis = flattened.
Values expand_roll(ExpandCtx& c) {
  const Ints shifts = get_ints(c, Key::shift);
  ValueId x = c.in[0];
  if (!has(c, Key::axis)) {
    const Shape d = dims(c, 0), flat{c.b.tables().types.elements(c.b.type(x))};
    x = reshape(c.b, x, flat);
    for (std::int64_t s : shifts) x = roll_one(c.b, x, s, 0);
    return {reshape(c.b, x, d)};
  }
  const Ints given = get_ints(c, Key::axis);
  if (shifts.size() != 1 && shifts.size() != given.size())
    return expected(c, "roll", "one shift, or one for each axis");
  for (std::size_t k = 0; k < given.size(); ++k) {
    std::int64_t axis = 0;
    if (!axis_of(c, "roll", given[k], rank(c, 0), axis)) return {};
    x = roll_one(c.b, x, shifts[shifts.size() == 1 ? 0 : k], axis);
  }
  return {x};
}

// numpy.meshgrid: result k varies along dim k; with "xy" the first two dims change places.
Values expand_meshgrid(ExpandCtx& c) {
  const std::string_view indexing = attrs(c).get_str(c.attrs, Key::indexing);
  if (indexing != "ij" && indexing != "xy") return expected(c, "meshgrid", "indexing \"ij\" or \"xy\"");
  Shape shape;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    if (rank(c, k) > 1) return expected(c, "meshgrid", "vectors or scalars");
    shape.push_back(rank(c, k) == 0 ? 1 : dims(c, k)[0]);
  }
  const bool swapped = indexing == "xy" && shape.size() > 1;
  const auto place = [&](std::size_t k) { return swapped && k < 2 ? 1 - k : k; };
  Shape full(shape.size());
  for (std::size_t k = 0; k < shape.size(); ++k) full[place(k)] = shape[k];
  Values out;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    Shape thin(shape.size(), 1);
    thin[place(k)] = shape[k];
    out.push_back(broadcast(c.b, reshape(c.b, c.in[k], thin), full));
  }
  return out;
}

}  // namespace tfvm
