#pragma once
// Colors for compressed derivatives: the columns (rows) of one color are found by one derivative in the sum of their
// directions. After A. H. Gebremedhin, F. Manne, A. Pothen, "What Color Is Your Jacobian? Graph Coloring for Computing
// Derivatives", SIAM Review 47(4), 2005.

#include <cstdint>
#include <vector>

namespace tfvm {

// Compressed rows; indices ascend within a row.
struct SparsePattern {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int64_t> indptr{0}, indices;
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(indices.size()); }
};

SparsePattern transposed(const SparsePattern& p);

struct Coloring {
  std::vector<std::int64_t> color;  // one per column or vertex
  std::int64_t colors = 0;
};

// The most elements that a row has: no coloring of columns has fewer colors.
std::int64_t longest_row(const SparsePattern& p);

// Columns that share a row differ in color (Curtis, Powell, Reid 1974); greedy, long columns first.
Coloring color_columns(const SparsePattern& p);

// A star coloring of the graph of a square pattern, united with its transpose: neighbours differ, and every path of
// four vertices has at least three colors. Greedy, high degrees first (algorithm 4.1 there, with the
// vertices that it looks for kept in lists, so that a hub is not walked around for each of its neighbours).
Coloring star_coloring(const SparsePattern& p);

// For each element (i, j) of the pattern, its place in the compressed symmetric matrix [colors, n].
std::vector<std::int64_t> star_places(const SparsePattern& p, const Coloring& c);

}  // namespace tfvm
