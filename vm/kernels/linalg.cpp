// Decompositions and triangular solves: Eigen, matrix by matrix. The bits are Eigen's, so these ops are inexact in the
// sense of language.md: right to rounding, but not bit for bit the same on every machine.
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

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

struct LinalgParams {
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
using ValueOf = typename E::Value;

template <class E>
Matrix<ValueOf<E>> load(const View& v, std::int64_t k) {
  const auto* x = reinterpret_cast<const typename E::Stored*>(v.data) + offset(v, k, 2);
  Matrix<ValueOf<E>> m(rows(v), columns(v));
  for (std::int64_t i = 0; i < m.rows(); ++i)
    for (std::int64_t j = 0; j < m.cols(); ++j)
      m(i, j) = E::load(x[i * v.strides[v.rank - 2] + j * v.strides[v.rank - 1]]);
  return m;
}

// Results are row-major; one with a dim less holds vectors.
template <class E, class M>
void store(const M& m, const View& out, std::int64_t k) {
  auto* y = reinterpret_cast<typename E::Stored*>(out.data) + k * m.size();
  for (std::int64_t i = 0; i < m.rows(); ++i)
    for (std::int64_t j = 0; j < m.cols(); ++j) *y++ = E::store(m(i, j));
}

template <class T>
Matrix<T> nans(std::int64_t r, std::int64_t c) {
  return Matrix<T>::Constant(r, c, std::numeric_limits<T>::quiet_NaN());
}

template <class T>
Matrix<T> symmetric_part(const Matrix<T>& a) {
  return (a + a.transpose()) / T(2);
}

template <class E>
void cholesky(const KernelCall& c, const LinalgParams&, std::int64_t k) {
  using T = ValueOf<E>;
  const Matrix<T> a = symmetric_part<T>(load<E>(c.in[0], k));
  const Eigen::LLT<Matrix<T>> llt(a);
  const bool fails = llt.info() != Eigen::Success || !a.allFinite();
  store<E>(fails ? nans<T>(a.rows(), a.cols()) : Matrix<T>(llt.matrixL()), c.out[0], k);
}

// x of a x = b, a as it stands in one triangle.
template <class T>
Matrix<T> solve_left(const Matrix<T>& a, Matrix<T> b, bool lower, bool unit) {
  if (b.size() == 0) return b;
  if (lower && unit) a.template triangularView<Eigen::UnitLower>().solveInPlace(b);
  if (lower && !unit) a.template triangularView<Eigen::Lower>().solveInPlace(b);
  if (!lower && unit) a.template triangularView<Eigen::UnitUpper>().solveInPlace(b);
  if (!lower && !unit) a.template triangularView<Eigen::Upper>().solveInPlace(b);
  return b;
}

// On the right, x op(a) = b is op(a)ᵀ xᵀ = bᵀ.
template <class E>
void triangular_solve(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  using T = ValueOf<E>;
  Matrix<T> a = load<E>(c.in[0], k), b = load<E>(c.in[1], k);
  const bool flip = p.transpose == p.left;
  if (flip) a.transposeInPlace();
  if (!p.left) b.transposeInPlace();
  Matrix<T> x = solve_left<T>(a, std::move(b), p.lower != flip, p.unit_diagonal);
  if (!p.left) x.transposeInPlace();
  store<E>(x, c.out[0], k);
}

// Row pivoting, the pivot of each column being its first largest element; a column of zeros is left (as LAPACK's
// getrf).
template <class E>
void lu(const KernelCall& c, const LinalgParams&, std::int64_t k) {
  using T = ValueOf<E>;
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> a = load<E>(c.in[0], k);
  const std::int64_t n = std::min(a.rows(), a.cols());
  auto* pivots = reinterpret_cast<std::int32_t*>(c.out[1].data) + k * n;
  for (std::int64_t j = 0; j < n; ++j) {
    std::int64_t p = j;
    for (std::int64_t i = j + 1; i < a.rows(); ++i)
      if (std::abs(a(i, j)) > std::abs(a(p, j))) p = i;
    pivots[j] = static_cast<std::int32_t>(p);
    if (p != j) a.row(p).swap(a.row(j));
    if (a(j, j) == T(0)) continue;
    const std::int64_t rest = a.cols() - j - 1;
    for (std::int64_t i = j + 1; i < a.rows(); ++i) {
      const T f = a(i, j) / a(j, j);
      a(i, j) = f;
      if (rest > 0) a.row(i).tail(rest) -= f * a.row(j).tail(rest);
    }
  }
  store<E>(a, c.out[0], k);
}

template <class E>
void qr(const KernelCall& c, const LinalgParams&, std::int64_t k) {
  using T = ValueOf<E>;
  const Matrix<T> a = load<E>(c.in[0], k);
  const std::int64_t n = columns(c.out[0]);  // columns of q
  if (!a.allFinite()) {
    store<E>(nans<T>(a.rows(), n), c.out[0], k);
    store<E>(nans<T>(n, a.cols()), c.out[1], k);
    return;
  }
  if (a.size() == 0) {
    store<E>(Matrix<T>(Matrix<T>::Identity(a.rows(), n)), c.out[0], k);
    store<E>(Matrix<T>(Matrix<T>::Zero(n, a.cols())), c.out[1], k);
    return;
  }
  const Eigen::HouseholderQR<Matrix<T>> d(a);
  store<E>(Matrix<T>(d.householderQ() * Matrix<T>::Identity(a.rows(), n)), c.out[0], k);
  Matrix<T> r = Matrix<T>::Zero(n, a.cols());
  const std::int64_t top = std::min(n, std::min(a.rows(), a.cols()));
  r.topRows(top) = d.matrixQR().topRows(top).template triangularView<Eigen::Upper>();
  store<E>(r, c.out[1], k);
}

template <class E>
void eigh(const KernelCall& c, const LinalgParams&, std::int64_t k) {
  using T = ValueOf<E>;
  const Matrix<T> a = symmetric_part<T>(load<E>(c.in[0], k));
  if (a.size() == 0) return;
  Eigen::SelfAdjointEigenSolver<Matrix<T>> d;
  if (a.allFinite()) d.compute(a);
  const bool fails = !a.allFinite() || d.info() != Eigen::Success;
  store<E>(fails ? nans<T>(a.rows(), 1) : Matrix<T>(d.eigenvalues()), c.out[0], k);
  store<E>(fails ? nans<T>(a.rows(), a.cols()) : Matrix<T>(d.eigenvectors()), c.out[1], k);
}

template <class E, class Svd>
bool store_svd(const Svd& d, const KernelCall& c, std::int64_t k) {
  using T = ValueOf<E>;
  if (d.info() != Eigen::Success) return false;
  store<E>(d.matrixU(), c.out[0], k);
  store<E>(d.singularValues(), c.out[1], k);
  store<E>(Matrix<T>(d.matrixV().transpose()), c.out[2], k);
  return true;
}

// Small ones by Jacobi rotations, which are the more accurate, others by divide and conquer.
template <class E>
void svd(const KernelCall& c, const LinalgParams& p, std::int64_t k) {
  using T = ValueOf<E>;
  constexpr std::int64_t kJacobi = 32;
  const Matrix<T> a = load<E>(c.in[0], k);
  const std::int64_t n = std::min(a.rows(), a.cols());
  const unsigned parts = p.full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  if (n == 0) {
    store<E>(Matrix<T>(Matrix<T>::Identity(a.rows(), columns(c.out[0]))), c.out[0], k);
    store<E>(Matrix<T>(Matrix<T>::Identity(rows(c.out[2]), a.cols())), c.out[2], k);
    return;
  }
  if (a.allFinite() && (n <= kJacobi ? store_svd<E>(Eigen::JacobiSVD<Matrix<T>>(a, parts), c, k)
                                     : store_svd<E>(Eigen::BDCSVD<Matrix<T>>(a, parts), c, k)))
    return;
  store<E>(nans<T>(a.rows(), columns(c.out[0])), c.out[0], k);
  store<E>(nans<T>(n, 1), c.out[1], k);
  store<E>(nans<T>(rows(c.out[2]), a.cols()), c.out[2], k);
}

using One = void (*)(const KernelCall&, const LinalgParams&, std::int64_t);

template <class E>
void fill_nan(const View& v) {
  auto* y = reinterpret_cast<typename E::Stored*>(v.data);
  const std::int64_t n = count(v, 0);
  for (std::int64_t i = 0; i < n; ++i) y[i] = E::store(std::numeric_limits<ValueOf<E>>::quiet_NaN());
}

// Pivots are the one result that is an integer, and always written.
template <class E, One one>
void run_stack(const KernelCall& c, const void* params) {
  const auto& p = *static_cast<const LinalgParams*>(params);
  const std::int64_t n = count(c.in[0], 2);
  try {
    for (std::int64_t k = 0; k < n; ++k) one(c, p, k);
  } catch (...) {  // memory for the work
    fill_nan<E>(c.out[0]);
  }
}

template <class E>
void (*runner(Op op))(const KernelCall&, const void*) {
  switch (op) {
    case Op::cholesky:
      return run_stack<E, cholesky<E>>;
    case Op::triangular_solve:
      return run_stack<E, triangular_solve<E>>;
    case Op::lu:
      return run_stack<E, lu<E>>;
    case Op::qr:
      return run_stack<E, qr<E>>;
    case Op::eigh:
      return run_stack<E, eigh<E>>;
    default:
      return run_stack<E, svd<E>>;
  }
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
      return kernel_of(runner<Half>(r.op), p);
    case DType::BF16:
      return kernel_of(runner<Brain>(r.op), p);
    case DType::F32:
      return kernel_of(runner<Plain<float>>(r.op), p);
    default:
      return kernel_of(runner<Plain<double>>(r.op), p);
  }
}

}  // namespace tfvm
