#include "bytecode/infer/steps.h"

#include <algorithm>

namespace tfvm {

bool InferCtx::fail(std::string message) {
  error = "[" + std::string(name(op)) + "] " + std::move(message);
  return false;
}

bool InferCtx::push(DType d, Dims dims) {
  if (std::ranges::any_of(dims, [](std::int64_t size) { return size < 0; }))
    return fail("expected sizes of at least 0, got " + type_text(d, dims));
  const auto n = checked_elements(dims);
  if (!n || *n > (std::int64_t{1} << 62) / size_of(d))
    return fail("expected a result that fits into memory, got " + type_text(d, dims));
  out.push_back(t.types.tensor(d, dims));
  return true;
}

bool normalise_axis(InferCtx& c, Key key, std::int64_t rank) {
  const std::int64_t given = c.get_int(key);
  if (given < -rank || given >= rank)
    return c.fail("expected " + std::string(c.t.strings[key]) + " within rank " + std::to_string(rank) + ", got " +
                  std::to_string(given) + (c.in.empty() ? "" : " for " + infer::types(c)));
  if (given < 0) c.set(key, given + rank);
  return true;
}

bool normalise_axes(InferCtx& c, Key key, std::int64_t rank) {
  infer::Shape axes;
  if (!c.has(key)) {
    for (std::int64_t k = 0; k < rank; ++k) axes.push_back(k);
  } else {
    axes = infer::copy(c.get_ints(key));
    if (!infer::normalise_places(c, c.t.strings[key], axes, rank)) return false;
    std::ranges::sort(axes);
  }
  c.set(key, Ints(axes));
  return true;
}

bool broadcast_dims(Dims a, Dims b, std::vector<std::int64_t>& out) {
  const std::size_t rank = std::max(a.size(), b.size());
  out.assign(rank, 1);
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t x = k < rank - a.size() ? 1 : a[k - (rank - a.size())];
    const std::int64_t y = k < rank - b.size() ? 1 : b[k - (rank - b.size())];
    if (x != y && x != 1 && y != 1) return false;
    out[k] = x == 1 ? y : x;
  }
  return true;
}

namespace infer {

std::string text(Ints v) {
  std::string s = "[";
  for (std::size_t k = 0; k < v.size(); ++k) s += (k ? "," : "") + std::to_string(v[k]);
  return s + "]";
}

std::string types(const InferCtx& c) {
  std::string s;
  for (std::size_t k = 0; k < c.in.size(); ++k) s += (k ? ", " : "") + c.t.types.text(c.in[k]);
  return s.empty() ? "no operand" : s;
}

bool expect(InferCtx& c, std::string what) { return c.fail("expected " + std::move(what) + ", got " + types(c)); }

bool add(std::int64_t a, std::int64_t b, std::int64_t& out) { return !__builtin_add_overflow(a, b, &out); }
bool mul(std::int64_t a, std::int64_t b, std::int64_t& out) { return !__builtin_mul_overflow(a, b, &out); }

bool list_of(InferCtx& c, Key key, std::size_t n, std::int64_t fill, std::int64_t least, Shape& out) {
  if (!c.has(key)) {
    out.assign(n, fill);
    c.set(key, Ints(out));
    return true;
  }
  out = copy(c.get_ints(key));
  const std::string name(c.t.strings[key]);
  if (out.size() != n)
    return c.fail("expected " + name + " with " + std::to_string(n) + " entries, got " + text(out) + " for " +
                  types(c));
  if (std::ranges::any_of(out, [&](std::int64_t v) { return v < least; }))
    return c.fail("expected " + name + " of at least " + std::to_string(least) + ", got " + text(out));
  return true;
}

bool pairs_of(InferCtx& c, Key key, std::size_t n, std::vector<Pair>& out) {
  out.assign(n, {0, 0});
  AttrTable& at = c.t.attrs;
  const Attr list = at[at.get(c.attrs, key)];
  if (list.kind != AttrKind::None) {
    const bool empty = list.kind == AttrKind::Ints && list.ints.empty();
    bool good = (list.kind == AttrKind::List || empty) && list.items.size() == n;
    for (std::size_t k = 0; good && k < n; ++k) {
      const Ints pair = at[list.items[k]].ints;
      good = pair.size() == 2;
      if (good) out[k] = {pair[0], pair[1]};
    }
    if (!good) return expect(c, std::string(c.t.strings[key]) + " with " + std::to_string(n) + " pairs [low, high]");
  }
  std::vector<AttrId> items;
  for (const auto& [low, high] : out) items.push_back(at.ints(Shape{low, high}));
  c.attrs = at.with(c.attrs, key, at.list(items));
  return true;
}

bool two_lists(InferCtx& c, Key key, Shape& first, Shape& second) {
  AttrTable& at = c.t.attrs;
  const Attr list = at[at.get(c.attrs, key)];
  if (list.kind != AttrKind::List || list.items.size() != 2 || at[list.items[0]].kind != AttrKind::Ints ||
      at[list.items[1]].kind != AttrKind::Ints)
    return c.fail("expected " + std::string(c.t.strings[key]) + " as two lists of dims, one for each operand");
  first = copy(at[list.items[0]].ints);
  second = copy(at[list.items[1]].ints);
  if (first.size() == second.size()) return true;
  return c.fail("expected " + std::string(c.t.strings[key]) + " with two lists of one length, got " + text(first) +
                " and " + text(second));
}

bool normalise_places(InferCtx& c, std::string_view what, Shape& places, std::int64_t rank) {
  const Shape given = places;
  std::vector<bool> seen(at(rank), false);
  for (std::int64_t& p : places) {
    const bool inside = p >= -rank && p < rank;
    if (inside && p < 0) p += rank;
    if (!inside || seen[at(p)])
      return c.fail("expected distinct " + std::string(what) + " within rank " + std::to_string(rank) + ", got " +
                    text(given) + " for " + types(c));
    seen[at(p)] = true;
  }
  return true;
}

bool sorted_places(InferCtx& c, Key key, std::int64_t rank, Shape& out) {
  out = copy(c.get_ints(key));
  if (!normalise_places(c, c.t.strings[key], out, rank)) return false;
  std::ranges::sort(out);
  c.set(key, Ints(out));
  return true;
}

bool one_of(InferCtx& c, Key key, std::initializer_list<std::string_view> words) {
  const std::string_view given = c.t.attrs.get_str(c.attrs, key);
  if (std::ranges::find(words, given) != words.end()) return true;
  std::string s = "expected " + std::string(c.t.strings[key]);
  for (std::string_view w : words) s += (w == *words.begin() ? " \"" : " or \"") + std::string(w) + "\"";
  return c.fail(s + ", got \"" + std::string(given) + "\"");
}

bool contains(Ints v, std::int64_t x) { return std::ranges::find(v, x) != v.end(); }

Shape without(Dims d, Ints places) {
  Shape out;
  for (std::size_t k = 0; k < d.size(); ++k)
    if (!contains(places, static_cast<std::int64_t>(k))) out.push_back(d[k]);
  return out;
}

bool same_dims(Dims a, Dims b) { return std::ranges::equal(a, b); }

// StableHLO, reduce_window: dilate, pad, then count the windows that fit.
bool window_places(std::int64_t n, const Window& w, std::int64_t& out) {
  // So that no place in or around the windows overflows.
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  for (std::int64_t v : {w.size, w.stride, w.low, w.high, w.base_dilation, w.dilation})
    if (v > kMost || v < -kMost) return false;
  std::int64_t extent = 0, window = 0;
  if (n > 0 && (!mul(n - 1, w.base_dilation, extent) || !add(extent, 1, extent))) return false;
  if (!add(extent, w.low, extent) || !add(extent, w.high, extent)) return false;
  if (w.size > 0 && (!mul(w.size - 1, w.dilation, window) || !add(window, 1, window))) return false;
  out = extent < window || window == 0 ? 0 : (extent - window) / w.stride + 1;
  return true;
}

}  // namespace infer
}  // namespace tfvm
