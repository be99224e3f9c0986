// Core ops that only change the shape, or repeat elements.
#include <algorithm>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

// numpy.squeeze: axes left out = every dim of size 1.
Values expand_squeeze(ExpandCtx& c) {
  const Shape d = dims(c, 0);
  Shape axes, out;
  if (has(c, Key::axes) && !axes_of(c, "squeeze", get_ints(c, Key::axes), rank(c, 0), axes)) return {};
  for (std::int64_t k = 0; k < rank(c, 0); ++k) {
    const bool named = std::ranges::find(axes, k) != axes.end();
    if (named && d[at(k)] != 1) return expected(c, "squeeze", "size 1 at axis " + std::to_string(k));
    if (!named && (has(c, Key::axes) || d[at(k)] != 1)) out.push_back(d[at(k)]);
  }
  return {reshape(c.b, c.in[0], out)};
}

Values expand_unsqueeze(ExpandCtx& c) {
  std::int64_t axis = 0;
  if (!axis_of(c, "unsqueeze", get_int(c, Key::axis), rank(c, 0) + 1, axis)) return {};
  return {reshape(c.b, c.in[0], inserted(dims(c, 0), axis, 1))};
}

// torch.flatten: dims start … end, both within, become one.
Values expand_flatten(ExpandCtx& c) {
  const Shape d = dims(c, 0);
  if (d.empty()) return {reshape(c.b, c.in[0], Shape{1})};
  std::int64_t start = 0, end = 0, size = 1;
  if (!axis_of(c, "flatten", get_int(c, Key::start), rank(c, 0), start) ||
      !axis_of(c, "flatten", get_int(c, Key::end_), rank(c, 0), end))
    return {};
  if (start > end) return expected(c, "flatten", "start before end");
  Shape out(d.begin(), d.begin() + start);
  for (std::int64_t k = start; k <= end; ++k) size *= d[at(k)];
  out.push_back(size);
  out.insert(out.end(), d.begin() + end + 1, d.end());
  return {reshape(c.b, c.in[0], out)};
}

// torch.expand: broadcasts; -1 keeps a size.
Values expand_expand(ExpandCtx& c) {
  const Shape d = dims(c, 0);
  const Ints given = get_ints(c, Key::shape);
  Shape shape(given.begin(), given.end());
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] != -1) continue;
    if (shape.size() - k > d.size()) return expected(c, "expand", "-1 only where a dim stands");
    shape[k] = d[d.size() - (shape.size() - k)];
  }
  return {broadcast(c.b, c.in[0], shape)};
}

namespace {
// Each dim k of x, repeated as a whole reps[k] times.
ValueId tile_dims(ExpandCtx& c, ValueId x, const Shape& d, Ints reps) {
  Shape spread, wide, out;
  for (std::size_t k = 0; k < d.size(); ++k) {
    spread.insert(spread.end(), {1, d[k]});
    wide.insert(wide.end(), {reps[k], d[k]});
    out.push_back(times(c, "tile", reps[k], d[k]));
  }
  return c.b.failed() ? kNoValue : reshape(c.b, broadcast(c.b, reshape(c.b, x, spread), wide), out);
}

// Counts that add up to at most 2^31.
bool are_counts(Ints v) {
  std::int64_t rest = std::int64_t{1} << 31;
  return std::ranges::all_of(v, [&](std::int64_t n) { return n >= 0 && n <= rest && (rest -= n, true); });
}
}  // namespace

// numpy.tile: the shorter of shape and reps is filled with ones in front.
Values expand_tile(ExpandCtx& c) {
  Shape d = dims(c, 0);
  const Ints given = get_ints(c, Key::reps);
  Shape reps(given.begin(), given.end());
  if (!are_counts(reps)) return expected(c, "tile", "reps of at least 0 that fit into memory");
  while (reps.size() < d.size()) reps.insert(reps.begin(), 1);
  while (d.size() < reps.size()) d.insert(d.begin(), 1);
  return {tile_dims(c, c.in[0], d, reps)};
}

namespace {
// Element j of the dim, repeats[j] times; where from is a constant of the program.
ValueId repeat_each(ExpandCtx& c, ValueId x, std::int64_t axis, Ints repeats) {
  std::int64_t total = 0;
  for (std::int64_t n : repeats) total += n;
  if (total > (std::int64_t{1} << 24)) {
    expected(c, "repeat", "counts of its elements that add up to at most 2^24");
    return kNoValue;
  }
  Shape places;
  for (std::size_t j = 0; j < repeats.size(); ++j)
    places.insert(places.end(), at(repeats[j]), static_cast<std::int64_t>(j));
  Tables& t = c.b.tables();
  const TypeId type = t.types.tensor(DType::I64, {static_cast<std::int64_t>(places.size())});
  const ValueId idx = c.b.constant(t.consts.intern(type, std::as_bytes(std::span(places))));
  return c.b.emit(Op::take, {x, idx}, {{Key::axis, axis}, {Key::mode, "clip"}});
}
}  // namespace

// numpy.repeat: one count for all elements, or one for each; no axis = flattened.
Values expand_repeat(ExpandCtx& c) {
  Shape d = dims(c, 0);
  ValueId x = c.in[0];
  std::int64_t axis = 0;
  const Ints repeats = get_ints(c, Key::repeats);
  if (!has(c, Key::axis)) {
    d = {c.b.tables().types.elements(c.b.type(x))};
    x = reshape(c.b, x, d);
  } else if (!axis_of(c, "repeat", get_int(c, Key::axis), rank(c, 0), axis)) {
    return {};
  }
  const bool one = repeats.size() == 1;
  if (!are_counts(repeats) || (!one && static_cast<std::int64_t>(repeats.size()) != d[at(axis)]))
    return expected(c, "repeat", "one count of at least 0, or one for each element");
  if (!one) return {repeat_each(c, x, axis, repeats)};
  const std::int64_t size = times(c, "repeat", d[at(axis)], repeats[0]);
  const ValueId spread = reshape(c.b, x, inserted(d, axis + 1, 1));
  const ValueId wide = broadcast(c.b, spread, inserted(d, axis + 1, repeats[0]));
  return {reshape(c.b, wide, with(d, axis, size))};
}

}  // namespace tfvm
