#include "vm/bisect/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "bytecode/callees.h"
#include "bytecode/consts.h"
#include "bytecode/own_rules.h"

namespace tfvm::numbers {

namespace {

constexpr double kEpsilon32 = 1.2e-7, kEpsilon64 = 2.3e-16;

bool is_real(DType d) { return d == DType::F32 || d == DType::F64; }
double at(const Tensor& x, std::int64_t k) { return load_double(x.dtype(), x.data() + k * size_of(x.dtype())); }
void set(const Tensor& x, std::int64_t k, double v) { store_element(x.dtype(), v, x.data() + k * size_of(x.dtype())); }

MaybeTensor make(DType dtype, Dims dims) {
  Result<Tensor> t = Tensor::make(nullptr, dtype, dims);
  if (!t) return std::nullopt;
  return *std::move(t);
}

// Numbers in [0, 1) that look random (Steele, Lea, Flood: SplitMix64).
double random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// Instructions of f and of all that it runs, until `found` gives true.
template <class Fn>
bool any_instr(const Tables& t, FunctionId f, std::unordered_set<BodyId>& seen, const Fn& found) {
  if (!seen.insert(f.body).second) return false;
  const Body& body = t.body(f);
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    if (found(body, body.instr(i))) return true;
    for (FunctionId g : callees(t, body.ops[i], body.attrs[i]))
      if (any_instr(t, g, seen, found)) return true;
  }
  return false;
}

template <class Fn>
bool any_instr(const Tables& t, FunctionId f, const Fn& found) {
  std::unordered_set<BodyId> seen;
  return any_instr(t, f, seen, found);
}

double largest(const Tensor& x) {
  double most = 0;
  for (std::int64_t k = 0; k < x.elements(); ++k)
    if (std::isfinite(at(x, k))) most = std::max(most, std::abs(at(x, k)));
  return most;
}

std::optional<std::int64_t> first_difference(const Tensor& a, const Tensor& b) {
  if (!is_real(a.dtype())) {
    const bool is_exact = a.dtype() == DType::Bool || is_int(a.dtype());
    const std::int64_t size = size_of(a.dtype());
    for (std::int64_t k = 0; k < a.elements() && is_exact; ++k)
      if (std::memcmp(a.data() + k * size, b.data() + k * size, static_cast<std::size_t>(size)) != 0) return k;
    return std::nullopt;
  }
  const double relative = 1e3 * (a.dtype() == DType::F32 ? kEpsilon32 : kEpsilon64), most = largest(a);
  for (std::int64_t k = 0; k < a.elements(); ++k) {
    const double x = at(a, k), y = at(b, k);
    if (std::isfinite(x) != std::isfinite(y) || std::abs(x - y) > relative * std::max(most, std::abs(x))) return k;
  }
  return std::nullopt;
}

}  // namespace

MaybeTensor fill(DType dtype, Dims dims, std::uint64_t seed, int which) {
  const MaybeTensor out = make(dtype, dims);
  if (!out || is_complex(dtype)) return std::nullopt;
  for (std::int64_t k = 0; k < out->elements(); ++k) {
    const double r = random(seed);
    if (dtype == DType::Bool || is_int(dtype))
      store_element(dtype, static_cast<std::int64_t>(dtype == DType::Bool ? r < 0.5 : which == 0),
                    out->data() + k * size_of(dtype));
    else
      set(*out, k, which == 0 ? 0.3 + 0.6 * r : 1.1 + 1.2 * r);
  }
  return out;
}

MaybeTensor scaled(const Tensor& x, double factor) {
  const MaybeTensor out = make(x.dtype(), x.dims());
  if (!out) return std::nullopt;
  x.copy_to({out->data(), static_cast<std::size_t>(out->bytes())});
  for (std::int64_t k = 0; k < out->elements() && is_real(x.dtype()); ++k) set(*out, k, at(*out, k) * factor);
  return out;
}

MaybeTensor direction(const Tensor& x, std::uint64_t seed) {
  const MaybeTensor out = is_real(x.dtype()) ? scaled(x, 1) : std::nullopt;
  for (std::int64_t k = 0; out && k < out->elements(); ++k) {
    const double r = random(seed), size = std::abs(at(*out, k));
    set(*out, k, (r < 0.5 ? -1 : 1) * (0.5 + std::abs(r - 0.5)) * (size > 1 && std::isfinite(size) ? size : 1));
  }
  return out;
}

std::vector<Tensor> moved(const std::vector<Tensor>& x, const std::vector<Tensor>& tangents, double step) {
  std::vector<Tensor> out = x;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const MaybeTensor y = tangents[k] ? scaled(x[k], 1) : std::nullopt;
    for (std::int64_t i = 0; y && i < y->elements(); ++i) set(*y, i, at(*y, i) + step * at(tangents[k], i));
    if (y) out[k] = *y;
  }
  return out;
}

MaybeTensor stack(std::span<const Tensor> lanes) {
  std::vector<std::int64_t> dims{std::ssize(lanes)};
  dims.insert(dims.end(), lanes[0].dims().begin(), lanes[0].dims().end());
  const MaybeTensor out = make(lanes[0].dtype(), dims);
  const auto bytes = static_cast<std::size_t>(lanes[0].bytes());
  for (std::size_t l = 0; out && l < lanes.size(); ++l) lanes[l].copy_to({out->data() + l * bytes, bytes});
  return out;
}

Tensor lane(const Tensor& x, std::int64_t k) {
  const Dims dims = x.dims().subspan(1);
  const std::int64_t bytes = x.dims()[0] == 0 ? 0 : x.bytes() / x.dims()[0];
  return Tensor::over(x.data() + k * bytes, x.dtype(), row_major(dims), x.storage());
}

double epsilon(const Tables& t, FunctionId f) {
  double e = kEpsilon64;
  const auto look = [&](TypeId id) {
    const Type& type = t.types[id];
    if (!type.is_tensor()) return true;
    if (type.dtype == DType::F32) e = kEpsilon32;
    return is_complex(type.dtype) || (is_float(type.dtype) && !is_real(type.dtype));
  };
  const bool has_others = any_instr(t, f, [&](const Body& body, const Instr& in) {
    for (std::uint32_t k = 0; k < in.num_results; ++k)
      if (look(body.type(in.result(k)))) return true;
    return false;
  });
  for (TypeId param : t.body(f).param_types())
    if (look(param)) return 0;
  return has_others ? 0 : e;
}

bool runs_alone(const Tables& t, FunctionId f) {
  return !any_instr(t, f, [&](const Body& body, const Instr& in) {
    return body.full || in.op == Op::global || in.op == Op::extern_;
  });
}

bool has_op(const Tables& t, FunctionId f, std::initializer_list<OpKind> kinds) {
  return any_instr(
      t, f, [&](const Body&, const Instr& in) { return std::ranges::find(kinds, info(in.op).kind) != kinds.end(); });
}

bool has_own_derivative(const Tables& t, FunctionId f) {
  return any_instr(t, f, [&](const Body&, const Instr& in) {
    const bool is_scatter = in.op == Op::scatter || in.op == Op::scatter_along;
    if (is_scatter && t.strings[t.attrs[t.attrs.get(in.attrs, Key::combine)].str] != "add") return true;
    return in.op == Op::stop_gradient || in.op == Op::extern_ || in.op == Op::bitcast || in.op == Op::nextafter ||
           (in.op == Op::call && has_own_rule(t.attrs, in.attrs));
  });
}

std::optional<BrokenContract> difference(std::span<const Tensor> want, std::span<const Tensor> got) {
  for (std::size_t k = 0; k < want.size() && k < got.size(); ++k) {
    if (want[k].dtype() != got[k].dtype() || want[k].elements() != got[k].elements()) continue;
    if (const auto e = first_difference(want[k], got[k])) return BrokenContract{k, *e, at(want[k], *e), at(got[k], *e)};
  }
  return std::nullopt;
}

std::optional<BrokenContract> slope_differs(const Tensor& y, const Tensor* const points[4], const Tensor& dy, double h,
                                            double epsilon) {
  if (!is_real(y.dtype())) return std::nullopt;
  const double most = largest(y), tolerance = 40 * std::cbrt(epsilon * epsilon);
  for (std::int64_t k = 0; k < y.elements(); ++k) {
    const double wide = (at(*points[0], k) - at(*points[1], k)) / (2 * h);
    const double slope = (at(*points[2], k) - at(*points[3], k)) / (h / 2);
    const double d = dy ? at(dy, k) : 0;
    const double right = (at(*points[2], k) - at(y, k)) / (h / 4), left = (at(y, k) - at(*points[3], k)) / (h / 4);
    // At a kink any slope between those of the sides will do.
    const double unsure = 20 * std::abs(wide - slope) + 10 * std::abs(right - left) + 200 * epsilon * most / h;
    if (!std::isfinite(wide) || !std::isfinite(slope)) continue;
    if (!(std::abs(d - slope) <= unsure + tolerance * (1 + std::abs(slope)))) return BrokenContract{0, k, slope, d};
  }
  return std::nullopt;
}

bool Product::add(const Tensor& a, const Tensor& b, double factor) {
  if (!is_real(a.dtype()) || a.dtype() != b.dtype() || a.elements() != b.elements()) return false;
  for (std::int64_t k = 0; k < a.elements(); ++k) {
    sum += factor * at(a, k) * at(b, k);
    size += std::abs(at(a, k) * at(b, k));
  }
  return true;
}

std::optional<BrokenContract> difference(const Product& want, const Product& got, double epsilon) {
  constexpr double kFar = 1e15;  // what is larger may have met an overflow on its way
  if (epsilon == 0 || !(want.size < kFar)) return std::nullopt;
  const double apart = std::abs(want.sum - got.sum);
  if (apart <= 1e4 * epsilon * std::max(want.size, std::isfinite(got.size) ? got.size : 0)) return std::nullopt;
  return BrokenContract{0, 0, want.sum, got.sum};
}

}  // namespace tfvm::numbers
