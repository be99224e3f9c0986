#include "transforms/sparse/coloring.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>

namespace tfvm {

namespace {

using Vertex = std::size_t;

std::span<const std::int64_t> row(const SparsePattern& p, Vertex i) {
  return {p.indices.data() + p.indptr[i], p.indices.data() + p.indptr[i + 1]};
}

// Vertices by descending length of their rows, equal ones in order.
std::vector<Vertex> longest_first(const SparsePattern& p) {
  std::vector<Vertex> order(static_cast<std::size_t>(p.rows));
  std::iota(order.begin(), order.end(), Vertex{0});
  std::ranges::stable_sort(order, std::greater(), [&](Vertex v) { return row(p, v).size(); });
  return order;
}

// Colors taken around one vertex: forbidden_[c] == v.
class Palette {
 public:
  explicit Palette(std::size_t vertices) : color_(vertices, -1) {}
  std::int64_t of(std::int64_t v) const { return color_[static_cast<Vertex>(v)]; }
  void forbid(std::int64_t color, Vertex v) {
    if (color >= 0) forbidden_[static_cast<std::size_t>(color)] = v;
  }
  void paint(Vertex v) {
    std::size_t c = 0;
    while (c < forbidden_.size() && forbidden_[c] == v) ++c;
    if (c == forbidden_.size()) forbidden_.push_back(kNobody);
    color_[v] = static_cast<std::int64_t>(c);
  }
  Coloring take() { return {std::move(color_), static_cast<std::int64_t>(forbidden_.size())}; }

 private:
  static constexpr Vertex kNobody = static_cast<Vertex>(-1);
  std::vector<std::int64_t> color_;
  std::vector<Vertex> forbidden_;
};

SparsePattern symmetrised(const SparsePattern& p) {
  const SparsePattern t = transposed(p);
  SparsePattern out{p.rows, p.columns, {0}, {}};
  for (Vertex i = 0; i < static_cast<Vertex>(p.rows); ++i) {
    std::ranges::set_union(row(p, i), row(t, i), std::back_inserter(out.indices));
    out.indptr.push_back(out.nonzeros());
  }
  return out;
}

}  // namespace

SparsePattern transposed(const SparsePattern& p) {
  SparsePattern t{p.columns, p.rows, std::vector<std::int64_t>(static_cast<std::size_t>(p.columns) + 1, 0), {}};
  for (std::int64_t j : p.indices) ++t.indptr[static_cast<Vertex>(j) + 1];
  for (Vertex j = 1; j < t.indptr.size(); ++j) t.indptr[j] += t.indptr[j - 1];
  std::vector<std::int64_t> at(t.indptr.begin(), t.indptr.end() - 1);
  t.indices.resize(p.indices.size());
  for (Vertex i = 0; i < static_cast<Vertex>(p.rows); ++i)
    for (std::int64_t j : row(p, i))
      t.indices[static_cast<Vertex>(at[static_cast<Vertex>(j)]++)] = static_cast<std::int64_t>(i);
  return t;
}

std::int64_t longest_row(const SparsePattern& p) {
  std::int64_t most = 0;
  for (std::size_t i = 1; i < p.indptr.size(); ++i) most = std::max(most, p.indptr[i] - p.indptr[i - 1]);
  return most;
}

Coloring color_columns(const SparsePattern& p) {
  const SparsePattern columns = transposed(p);
  Palette palette(static_cast<std::size_t>(p.columns));
  for (Vertex v : longest_first(columns)) {
    for (std::int64_t i : row(columns, v))
      for (std::int64_t j : row(p, static_cast<Vertex>(i))) palette.forbid(palette.of(j), v);
    palette.paint(v);
  }
  return palette.take();
}

namespace {

// Vertices that have two neighbours or more of one color, kept at each of those neighbours: from there on, a path of
// two colors is one vertex short of four. Each vertex stands in at most as many lists as it has neighbours.
class Centres {
 public:
  explicit Centres(std::size_t vertices) : at_(vertices) {}
  const std::vector<Vertex>& at(Vertex w) const { return at_[w]; }
  // `w`, a neighbour of x, has got this color.
  void note(Vertex x, Vertex w, std::int64_t color) {
    const std::uint64_t key = static_cast<std::uint64_t>(x) << 32 | static_cast<std::uint64_t>(color);
    const auto [it, first] = first_.emplace(key, w);
    if (first) return;
    if (it->second != kNone) at_[it->second].push_back(x);
    it->second = kNone;
    at_[w].push_back(x);
  }

 private:
  static constexpr Vertex kNone = static_cast<Vertex>(-1);
  std::vector<std::vector<Vertex>> at_;
  std::unordered_map<std::uint64_t, Vertex> first_;  // (vertex, color): its only neighbour of that color
};

}  // namespace

Coloring star_coloring(const SparsePattern& p) {
  const SparsePattern g = symmetrised(p);
  Palette palette(static_cast<std::size_t>(g.rows));
  Centres centres(static_cast<std::size_t>(g.rows));
  for (Vertex v : longest_first(g)) {
    const auto self = static_cast<std::int64_t>(v);
    for (std::int64_t n : row(g, v)) {
      if (n == self) continue;
      const auto w = static_cast<Vertex>(n);
      palette.forbid(palette.of(n), v);
      // A path v, w, x, y: w may yet get the color of y, or it has it.
      if (palette.of(n) < 0) {
        for (std::int64_t x : row(g, w))
          if (x != self && x != n) palette.forbid(palette.of(x), v);
      } else {
        for (Vertex x : centres.at(w)) palette.forbid(palette.of(static_cast<std::int64_t>(x)), v);
      }
    }
    palette.paint(v);
    for (std::int64_t x : row(g, v))
      if (x != self) centres.note(static_cast<Vertex>(x), v, palette.of(self));
  }
  return palette.take();
}

std::vector<std::int64_t> star_places(const SparsePattern& p, const Coloring& c) {
  const SparsePattern g = symmetrised(p);
  const auto colors = static_cast<std::size_t>(c.colors);
  std::vector<std::int64_t> seen(colors, 0), out;
  // Row i: how many of its elements have each color; an element alone in its color is read there, another one in the
  // row of its column, where it is alone by the choice of colors.
  for (Vertex i = 0; i < static_cast<Vertex>(p.rows); ++i) {
    const auto color = [&](std::int64_t v) { return c.color[static_cast<Vertex>(v)]; };
    for (std::int64_t j : row(g, i)) ++seen[static_cast<Vertex>(color(j))];
    const auto self = static_cast<std::int64_t>(i);
    for (std::int64_t j : row(p, i)) {
      const bool alone = seen[static_cast<Vertex>(color(j))] == 1;
      out.push_back(alone ? color(j) * p.rows + self : color(self) * p.rows + j);
    }
    for (std::int64_t j : row(g, i)) seen[static_cast<Vertex>(color(j))] = 0;
  }
  return out;
}

}  // namespace tfvm
