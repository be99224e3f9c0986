// Decompositions and solves over the last two dims; leading dims are batch dims.
#include <algorithm>

#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::Shape;

namespace {
struct Matrix {
  std::int64_t rows, columns;
  Dims batch;
};

bool matrix(InferCtx& c, std::size_t k, Matrix& m) {
  const Dims d = c.dims(k);
  if (d.size() < 2) return infer::expect(c, "matrices: at least two dims");
  m = {d[d.size() - 2], d[d.size() - 1], d.first(d.size() - 2)};
  return true;
}

bool square(InferCtx& c, Matrix& m) {
  if (!matrix(c, 0, m)) return false;
  return m.rows == m.columns || infer::expect(c, "square matrices");
}

bool push(InferCtx& c, DType d, Dims batch, std::initializer_list<std::int64_t> last) {
  Shape s = infer::copy(batch);
  s.insert(s.end(), last);
  return c.push(d, s);
}

DType real_of(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }
}  // namespace

bool infer_square_matrix(InferCtx& c) {
  Matrix m{};
  c.out.push_back(c.in[0]);
  return square(c, m);
}

bool infer_triangular_solve(InferCtx& c) {
  Matrix a{}, b{};
  if (!square(c, a) || !matrix(c, 1, b)) return false;
  if ((c.get_bool(Key::left) ? b.rows : b.columns) != a.rows || !infer::same_dims(a.batch, b.batch))
    return infer::expect(c, c.get_bool(Key::left) ? "a[..,n,n] and b[..,n,m]" : "a[..,n,n] and b[..,m,n]");
  c.out.push_back(c.in[1]);
  return true;
}

bool infer_lu(InferCtx& c) {
  Matrix m{};
  if (!matrix(c, 0, m)) return false;
  c.out.push_back(c.in[0]);
  return push(c, DType::I32, m.batch, {std::min(m.rows, m.columns)});
}

bool infer_qr(InferCtx& c) {
  Matrix m{};
  if (!matrix(c, 0, m)) return false;
  const std::int64_t k = c.get_bool(Key::full) ? m.rows : std::min(m.rows, m.columns);
  return push(c, c.dtype(0), m.batch, {m.rows, k}) && push(c, c.dtype(0), m.batch, {k, m.columns});
}

bool infer_eigh(InferCtx& c) {
  Matrix m{};
  if (!square(c, m) || !push(c, real_of(c.dtype(0)), m.batch, {m.rows})) return false;
  c.out.push_back(c.in[0]);
  return true;
}

bool infer_svd(InferCtx& c) {
  Matrix m{};
  if (!matrix(c, 0, m)) return false;
  const std::int64_t k = std::min(m.rows, m.columns);
  const bool full = c.get_bool(Key::full);
  return push(c, c.dtype(0), m.batch, {m.rows, full ? m.rows : k}) && push(c, real_of(c.dtype(0)), m.batch, {k}) &&
         push(c, c.dtype(0), m.batch, {full ? m.columns : k, m.columns});
}

}  // namespace tfvm
