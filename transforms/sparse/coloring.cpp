#include "transforms/sparse/coloring.h"

#include <algorithm>
#include <numeric>
#include <span>

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

Coloring star_coloring(const SparsePattern& p) {
  const SparsePattern g = symmetrised(p);
  Palette palette(static_cast<std::size_t>(g.rows));
  // x, a neighbour of w, makes a path of two colors with v.
  const auto closes = [&](std::int64_t w, std::int64_t x) {
    if (palette.of(w) < 0) return true;
    return std::ranges::any_of(row(g, static_cast<Vertex>(x)),
                               [&](std::int64_t y) { return y != w && y != x && palette.of(y) == palette.of(w); });
  };
  for (Vertex v : longest_first(g)) {
    const auto self = static_cast<std::int64_t>(v);
    for (std::int64_t w : row(g, v)) {
      if (w == self) continue;
      palette.forbid(palette.of(w), v);
      for (std::int64_t x : row(g, static_cast<Vertex>(w)))
        if (x != self && x != w && palette.of(x) >= 0 && closes(w, x)) palette.forbid(palette.of(x), v);
    }
    palette.paint(v);
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
