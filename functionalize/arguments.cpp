#include "functionalize/arguments.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "functionalize/regions.h"

namespace tfvm {

using functional::Strided;
using Kind = ArgumentGroup::Kind;

namespace {

// The same places with strides that are not negative, from the first place in memory.
Strided forward(const Strided& s) {
  Strided out = s;
  for (std::size_t k = 0; k < s.shape.size(); ++k) {
    if (s.shape[k] <= 1) out.strides[k] = 0;
    if (out.strides[k] >= 0) continue;
    out.offset += (s.shape[k] - 1) * s.strides[k];
    out.strides[k] = -s.strides[k];
  }
  return out;
}

bool is_row_major(const Strided& s) {
  const Strided plain = functional::row_major(s.shape);
  if (elements(s) == 0) return true;
  for (std::size_t k = 0; k < s.shape.size(); ++k)
    if (s.shape[k] > 1 && s.strides[k] != plain.strides[k]) return false;
  return true;
}

struct Bytes {
  std::int64_t begin, end;
};
Bytes bytes_of(const Argument& a) {
  if (elements(a.place) == 0) return {a.first, a.first};
  const functional::Extent e = functional::extent(forward(a.place));
  return {a.first + e.first * a.size, a.first + (e.last + 1) * a.size};
}

bool fills_storage(const Argument& a) {
  const Bytes b = bytes_of(a);
  return is_row_major(a.place) && b.begin == a.storage_begin && b.end == a.storage_end;
}

bool same_tensor(const Argument& a, const Argument& b) {
  return a.first == b.first && a.type == b.type && a.place == b.place;
}

// Do the two have an element in common? Exact where they are aligned to each other.
bool meet(const Argument& a, const Argument& b) {
  const Bytes x = bytes_of(a), y = bytes_of(b);
  if (x.begin >= y.end || y.begin >= x.end) return false;
  if (a.size != b.size || (a.first - b.first) % a.size != 0) return true;
  const std::int64_t from = std::min(x.begin, y.begin);
  const auto at = [&](const Argument& arg) {
    Strided s = forward(arg.place);
    s.offset += (arg.first - from) / arg.size;
    return s;
  };
  return functional::may_intersect(at(a), at(b));
}

// The groups as lists, first members first.
class Sets {
 public:
  explicit Sets(std::size_t n) : to_(n) { std::iota(to_.begin(), to_.end(), 0u); }
  std::uint32_t find(std::uint32_t k) const { return to_[k] == k ? k : find(to_[k]); }
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t x = find(a), y = find(b);
    to_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::vector<std::uint32_t> to_;
};

bool shares(const Argument& a, const Argument& b, LayoutUse use) {
  if (use.storage && a.storage_begin < b.storage_end && b.storage_begin < a.storage_end) {
    if (a.written || b.written || !fills_storage(a) || !fills_storage(b)) return true;
  }
  return (a.written || b.written) && meet(a, b);
}

Kind kind_of(std::span<const Argument> args, const ArgumentGroup& g, LayoutUse use) {
  const Argument& first = args[g.args[0]];
  const bool one = std::ranges::all_of(g.args, [&](std::uint32_t k) { return same_tensor(first, args[k]); });
  const bool plain = use.storage ? fills_storage(first) : !use.strides || is_row_major(first.place);
  if (one && plain) return g.args.size() == 1 ? Kind::Own : Kind::Same;
  return use.storage ? Kind::Storage : Kind::Synthetic;
}

// The extent of a flat base; false where its arguments don't fit into one.
bool flatten(std::span<const Argument> args, ArgumentGroup& g, std::string& refused) {
  const Argument& first = args[g.args[0]];
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
  for (std::uint32_t k : g.args) {
    const Argument& a = args[k];
    const Bytes b = g.kind == Kind::Storage ? Bytes{a.storage_begin, a.storage_end} : bytes_of(a);
    begin = std::min(begin, b.begin), end = std::max(end, b.end);
  }
  g.begin = begin;
  g.elements = (end - begin) / first.size;
  for (std::uint32_t k : g.args) {
    const Argument& a = args[k];
    const bool forwards = forward(a.place).offset == 0;
    if (a.dtype != first.dtype || (a.first - begin) % a.size != 0)
      refused = "inputs of one memory differ in dtype or alignment";
    else if (!forwards)
      refused = "input " + std::to_string(k) + " has negative strides, and shares memory or is viewed";
  }
  return refused.empty();
}

}  // namespace

Grouping group_arguments(std::span<const Argument> args, LayoutUse use) {
  Grouping out;
  const auto n = static_cast<std::uint32_t>(args.size());
  Sets sets(n);
  for (std::uint32_t k = 0; k < n; ++k) {
    if (args[k].written && functional::overlaps_itself(forward(args[k].place)))
      out.refused = "elements of the written input " + std::to_string(k) + " overlap";
    for (std::uint32_t j = 0; j < k; ++j)
      if (shares(args[j], args[k], use)) sets.join(j, k);
  }
  std::vector<std::size_t> at(n);
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t root = sets.find(k);
    if (root == k) {
      at[k] = out.groups.size();
      out.groups.emplace_back();
    }
    ArgumentGroup& g = out.groups[at[root]];
    g.args.push_back(k);
    g.written = g.written || args[k].written;
  }
  for (ArgumentGroup& g : out.groups) {
    g.kind = kind_of(args, g, use);
    if (!g.flat()) continue;
    if (!flatten(args, g, out.refused)) break;
  }
  return out;
}

Strided place_in(const ArgumentGroup& g, const Argument& a) {
  Strided s = forward(a.place);
  s.offset += (a.first - g.begin) / a.size;
  return s;
}

functional::Pattern pattern_of(Tables& t, std::span<const Argument> args, const Grouping& grouping) {
  functional::Pattern p;
  p.args.resize(args.size());
  for (const ArgumentGroup& g : grouping.groups) {
    const auto base = static_cast<std::uint32_t>(p.bases.size());
    const TypeId type = args[g.args[0]].type;
    p.bases.push_back(g.flat() ? t.types.tensor(t.types.dtype(type), std::vector{g.elements}) : type);
    for (std::uint32_t k : g.args) {
      p.args[k].base = base;
      if (!g.flat()) continue;
      const Strided s = place_in(g, args[k]);
      const AttrId attrs =
          t.attrs.dict({{Key::shape, Ints(s.shape)}, {Key::strides, Ints(s.strides)}, {Key::offset, s.offset}});
      p.args[k].chain = {{Op::as_strided, attrs, p.bases.back(), args[k].type}};
    }
  }
  return p;
}

std::string text(const Grouping& grouping) {
  if (!grouping.refused.empty()) return grouping.refused;
  std::string s;
  for (const ArgumentGroup& g : grouping.groups) {
    if (g.kind == Kind::Own) continue;
    s += s.empty() ? "" : "; ";
    s += g.args.size() > 1 ? "inputs " : "input ";
    for (std::size_t k = 0; k < g.args.size(); ++k) s += (k ? ", " : "") + std::to_string(g.args[k]);
    if (g.kind == Kind::Same)
      s += " are one tensor";
    else
      s += (g.kind == Kind::Storage ? ": their storage, " : ": a synthetic base of ") + std::to_string(g.elements) +
           " elements";
  }
  return s;
}

}  // namespace tfvm
