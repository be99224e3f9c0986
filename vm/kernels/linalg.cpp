// Decompositions and triangular solves: Eigen, matrix by matrix. The bits are Eigen's, so these ops are inexact in the
// sense of language.md: right to rounding, but not bit for bit the same on every machine. All dtypes are worked on in
// f64, and rounded once at the end: one copy of Eigen's code, which is large and slow to compile.
//
// What has no answer is NaN throughout: cholesky of a matrix that is not positive definite, eigh, qr and svd of one
// with a value that is not finite, and all of them where memory for the work runs out.
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <limits>

#include "vm/kernels/elements.h"
#include "vm/kernels/make.h"

namespace tfvm {

namespace {

using Matrix = Eigen::MatrixXd;
using Work = Eigen::Map<Matrix>;  // in the kernel's scratch memory: small matrices are many

struct LinalgParams {
  Work (*load)(const View&, std::int64_t k, double* to) = nullptr;
  void (*store)(const Eigen::Ref<const Matrix>&, const View&, std::int64_t k) = nullptr;
  void (*fill_nan)(const View&) = nullptr;  // allocates nothing
  bool lower = true, left = true, transpose = false, unit_diagonal = false, full = false;
};

std::int64_t rows(const View& v) { return v.dims[v.rank - 2]; }
std::int64_t columns(const View& v) { return v.dims[v.rank - 1]; }

// Number of matrices in a stack whose last `inner` dims are one item.
std::int64_t count(const View& v, std::int32_t inner) {
  std::int64_t n = 1;
  for (std::int32_t d = 0; d < v.rank - inner; ++d) n *= v.dims[d];
  return n;
}

// Of item `k`, in elements.
std::int64_t offset(const View& v, std::int64_t k, std::int32_t inner) {
  std::int64_t at = 0;
  for (std::int32_t d = v.rank - inner; d-- > 0;) {
    at += k % v.dims[d] * v.strides[d];
    k /= v.dims[d];
  }
  return at;
}

template <class E>
Work load(const View& v, std::int64_t k, double* to) {
  const auto* x = reinterpret_cast<const typename E::Stored*>(v.data) + offset(v, k, 2);
  const std::int64_t m = rows(v), n = columns(v), down = v.strides[v.rank - 2], across = v.strides[v.rank - 1];
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) to[j * m + i] = E::load(x[i * down + j * across]);
  return {to, m, n};
}

// Results are row-major; one with a dim less holds vectors.
template <class E>
void store(const Eigen::Ref<const Matrix>& m, const View& out, std::int64_t k) {
  auto* y = reinterpret_cast<typename E::Stored*>(out.data) + k * m.size();
  for (std::int64_t i = 0; i < m.rows(); ++i)
    for (std::int64_t j = 0; j < m.cols(); ++j) *y++ = E::store(static_cast<typename E::Value>(m(i, j)));
}

Matrix nans(std::int64_t r, std::int64_t c) { return Matrix::Constant(r, c, std::numeric_limits<double>::quiet_NaN()); }

Matrix symmetric_part(const Work& a) { return (a + a.transpose()) / 2; }

double* first(const KernelCall& c) { return reinterpret_cast<double*>(c.scratch); }

void cholesky(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  Work a = p.load(c.in[0], k, first(c));
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = j + 1; i < a.rows(); ++i) a(i, j) = (a(i, j) + a(j, i)) / 2, a(j, i) = 0;
  bool fails = !a.allFinite();
  if (!fails) {
    Eigen::Ref<Matrix> in_place(a);
    fails = Eigen::LLT<Eigen::Ref<Matrix>>(in_place).info() != Eigen::Success;
  }
  if (fails) a.setConstant(std::numeric_limits<double>::quiet_NaN());
  p.store(a, c.out[0], k);
}

// On the right, x op(a) = b is op(a)ᵀ xᵀ = bᵀ.
void triangular_solve(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  Work a = p.load(c.in[0], k, first(c));
  Work b = p.load(c.in[1], k, first(c) + a.size());
  const bool flip = p.transpose == p.left;
  if (flip) a.transposeInPlace();
  if (p.unit_diagonal) a.diagonal().setOnes();
  if (b.size() == 0) return;
  const auto solve = [&](Eigen::Ref<Matrix> x) {
    if (p.lower != flip)
      a.triangularView<Eigen::Lower>().solveInPlace(x);
    else
      a.triangularView<Eigen::Upper>().solveInPlace(x);
  };
  if (p.left) {
    solve(b);
  } else {
    Matrix x = b.transpose();
    solve(x);
    b = x.transpose();
  }
  p.store(b, c.out[0], k);
}

// Row pivoting, the pivot of each column being its first largest element; a column of zeros is left (as LAPACK's
// getrf).
void lu(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  Work a = p.load(c.in[0], k, first(c));
  const std::int64_t n = std::min(a.rows(), a.cols());
  auto* pivots = reinterpret_cast<std::int32_t*>(c.out[1].data) + k * n;
  for (std::int64_t j = 0; j < n; ++j) {
    std::int64_t pivot = j;
    for (std::int64_t i = j + 1; i < a.rows(); ++i)
      if (std::abs(a(i, j)) > std::abs(a(pivot, j))) pivot = i;
    pivots[j] = static_cast<std::int32_t>(pivot);
    if (pivot != j) a.row(pivot).swap(a.row(j));
    if (a(j, j) == 0) continue;
    const std::int64_t below = a.rows() - j - 1;
    a.col(j).tail(below) /= a(j, j);
    for (std::int64_t l = j + 1; l < a.cols(); ++l) a.col(l).tail(below) -= a.col(j).tail(below) * a(j, l);
  }
  p.store(a, c.out[0], k);
}

void qr(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  const Matrix a = p.load(c.in[0], k, first(c));
  const std::int64_t n = columns(c.out[0]);  // columns of q
  if (!a.allFinite()) {
    p.store(nans(a.rows(), n), c.out[0], k);
    p.store(nans(n, a.cols()), c.out[1], k);
    return;
  }
  if (a.size() == 0) {
    p.store(Matrix(Matrix::Identity(a.rows(), n)), c.out[0], k);
    p.store(Matrix(Matrix::Zero(n, a.cols())), c.out[1], k);
    return;
  }
  const Eigen::HouseholderQR<Matrix> d(a);
  p.store(Matrix(d.householderQ() * Matrix::Identity(a.rows(), n)), c.out[0], k);
  Matrix r = Matrix::Zero(n, a.cols());
  const std::int64_t top = std::min(n, std::min(a.rows(), a.cols()));
  r.topRows(top) = d.matrixQR().topRows(top).triangularView<Eigen::Upper>();
  p.store(r, c.out[1], k);
}

void eigh(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  const Matrix a = symmetric_part(p.load(c.in[0], k, first(c)));
  if (a.size() == 0) return;
  Eigen::SelfAdjointEigenSolver<Matrix> d;
  if (a.allFinite()) d.compute(a);
  const bool fails = !a.allFinite() || d.info() != Eigen::Success;
  p.store(fails ? nans(a.rows(), 1) : Matrix(d.eigenvalues()), c.out[0], k);
  p.store(fails ? nans(a.rows(), a.cols()) : Matrix(d.eigenvectors()), c.out[1], k);
}

template <class Svd>
bool store_svd(const Svd& d, const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  if (d.info() != Eigen::Success) return false;
  p.store(d.matrixU(), c.out[0], k);
  p.store(d.singularValues(), c.out[1], k);
  p.store(Matrix(d.matrixV().transpose()), c.out[2], k);
  return true;
}

// Small ones by Jacobi rotations, which are the more accurate, others by divide and conquer.
void svd(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  constexpr std::int64_t kJacobi = 32;
  const Matrix a = p.load(c.in[0], k, first(c));
  const std::int64_t n = std::min(a.rows(), a.cols());
  const unsigned parts = p.full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  if (n == 0) {
    p.store(Matrix(Matrix::Identity(a.rows(), columns(c.out[0]))), c.out[0], k);
    p.store(Matrix(Matrix::Identity(rows(c.out[2]), a.cols())), c.out[2], k);
    return;
  }
  if (a.allFinite() && (n <= kJacobi ? store_svd(Eigen::JacobiSVD<Matrix>(a, parts), c, p, k)
                                     : store_svd(Eigen::BDCSVD<Matrix>(a, parts), c, p, k)))
    return;
  p.store(nans(a.rows(), columns(c.out[0])), c.out[0], k);
  p.store(nans(n, 1), c.out[1], k);
  p.store(nans(rows(c.out[2]), a.cols()), c.out[2], k);
}

using One = void (*)(const KernelCall&, const LinalgParams&, std::int64_t);

template <class E>
void fill_nan(const View& v) {
  auto* y = reinterpret_cast<typename E::Stored*>(v.data);
  const std::int64_t n = count(v, 0);
  for (std::int64_t i = 0; i < n; ++i) y[i] = E::store(std::numeric_limits<typename E::Value>::quiet_NaN());
}

// Pivots are the one result that is an integer, and always written.
template <One one>
void run_stack(const KernelCall& c, const void* params) {
  const auto& p = *static_cast<const LinalgParams*>(params);
  const std::int64_t n = count(c.in[0], 2);
  try {
    for (std::int64_t k = 0; k < n; ++k) one(c, p, k);
  } catch (...) {  // memory for the work
    p.fill_nan(c.out[0]);
  }
}

void (*runner(Op op))(const KernelCall&, const void*) {
  switch (op) {
    case Op::cholesky:
      return run_stack<cholesky>;
    case Op::triangular_solve:
      return run_stack<triangular_solve>;
    case Op::lu:
      return run_stack<lu>;
    case Op::qr:
      return run_stack<qr>;
    case Op::eigh:
      return run_stack<eigh>;
    default:
      return run_stack<svd>;
  }
}

template <class E>
Kernel kernel_in(Op op, LinalgParams p, std::size_t scratch) {
  p.load = load<E>;
  p.store = store<E>;
  p.fill_nan = fill_nan<E>;
  return kernel_of(runner(op), p, scratch);
}

// Of one matrix of each operand.
std::size_t scratch_bytes(const KernelRequest& r) {
  std::size_t elements = 0;
  for (std::size_t k = 0; k < r.operands.size(); ++k) {
    const Dims d = r.dims(k);
    elements += static_cast<std::size_t>(d[d.size() - 2] * d[d.size() - 1]);
  }
  return elements * sizeof(double);
}

}  // namespace

Result<Kernel> make_linalg(const KernelRequest& r) {
  if (is_complex(r.dtype(0))) return no_complex(r);
  LinalgParams p;
  if (r.op == Op::triangular_solve) {
    p.lower = r.attrs.get_bool(r.at, Key::lower);
    p.left = r.attrs.get_bool(r.at, Key::left);
    p.transpose = r.attrs.get_bool(r.at, Key::transpose_a);
    p.unit_diagonal = r.attrs.get_bool(r.at, Key::unit_diagonal);
  }
  if (r.op == Op::svd) p.full = r.attrs.get_bool(r.at, Key::full);
  switch (r.dtype(0)) {
    case DType::F16:
      return kernel_in<Half>(r.op, p, scratch_bytes(r));
    case DType::BF16:
      return kernel_in<Brain>(r.op, p, scratch_bytes(r));
    case DType::F32:
      return kernel_in<Plain<float>>(r.op, p, scratch_bytes(r));
    default:
      return kernel_in<Plain<double>>(r.op, p, scratch_bytes(r));
  }
}

}  // namespace tfvm
