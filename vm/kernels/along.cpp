// Running reductions, argmax and argmin: one pass along an axis, lane by lane.
#include <algorithm>

#include "jit/math/array.h"
#include "vm/kernels/elements.h"
#include "vm/kernels/make.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

struct AlongParams {
  Op op;
  std::int32_t axis;
  bool reverse = false;
};

// Calls lane(offset in x, offset in out) for every position of the other dims than `axis` and `within`. Strides of out
// where it lacks the axis are given without it.
template <class F>
void for_lanes(const View& x, std::int32_t axis, const std::int64_t* out_strides, F lane, std::int32_t within = -1) {
  std::int64_t dims[kMaxRank];
  for (std::int32_t d = 0; d < x.rank; ++d) dims[d] = d == axis || d == within ? 1 : x.dims[d];
  Walk<2> w(x.rank, dims);
  w.strides(0, x.strides);
  w.strides(1, out_strides);
  for (; w.more(); w.next()) lane(w.at(0), w.at(1));
}

// log(sum of exp) so far, as m + log(s) with the largest term m: no term overflows.
template <class T>
class RunningLogSumExp {
 public:
  T operator()(T x) {
    if (x == max_ || std::isnan(max_)) {
      sum_ += 1;
    } else if (std::isnan(x) || x > max_) {
      sum_ = sum_ == 0 ? T{1} : sum_ * exp(max_ - x) + 1;
      max_ = x;
    } else {
      sum_ += exp(x - max_);
    }
    if (max_ == -INFINITY) return max_;
    return max_ + log(sum_);
  }

 private:
  static T call(math::MathFn f, T x) {
    T y;
    math::array_fn<T>(f)(&x, nullptr, nullptr, &y, 1);
    return y;
  }
  static T exp(T x) { return call(math::MathFn::exp, x); }
  static T log(T x) { return call(math::MathFn::log, x); }
  T max_ = -INFINITY, sum_ = 0;
};

template <class T>
T step(Op op, T acc, T x) {
  switch (op) {
    case Op::cumsum:
      return region::Add{}(acc, x);
    case Op::cumprod:
      return region::Mul{}(acc, x);
    case Op::cummax:
      return acc > x ? acc : region::Max{}(acc, x);  // most often: a branch that is foreseen
    default:
      return acc < x ? acc : region::Min{}(acc, x);
  }
}

// Along another axis than the last: some lanes side by side, row by row. For the dtypes that are often asked for.
template <class E>
void cumulate_columns(const KernelCall& call, const AlongParams& p) {
  constexpr std::int64_t kColumns = 64;
  const View &x = call.in[0], &out = call.out[0];
  const std::int32_t last = x.rank - 1;
  const std::int64_t n = x.dims[p.axis], columns = x.dims[last], step_x = x.strides[last], step_out = out.strides[last];
  if (n == 0) return;
  const auto columns_of = [&](std::int64_t at_x, std::int64_t at_out) {
    for (std::int64_t c = 0; c < columns; c += kColumns) {
      typename E::Value acc[kColumns];
      const std::int64_t some = std::min(columns - c, kColumns);
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t row = p.reverse ? n - 1 - i : i;
        const auto* from =
            reinterpret_cast<const typename E::Stored*>(x.data) + at_x + row * x.strides[p.axis] + c * step_x;
        auto* to = reinterpret_cast<typename E::Stored*>(out.data) + at_out + row * out.strides[p.axis] + c * step_out;
        for (std::int64_t j = 0; j < some; ++j) {
          const auto v = E::load(from[j * step_x]);
          acc[j] = i == 0 ? v : step(p.op, acc[j], v);
          to[j * step_out] = E::store(acc[j]);
        }
      }
    }
  };
  for_lanes(x, p.axis, out.strides, columns_of, last);
}

template <class E>
void cumulate(const KernelCall& call, const AlongParams& p) {
  using T = typename E::Value;
  const View &x = call.in[0], &out = call.out[0];
  const auto* from = reinterpret_cast<const typename E::Stored*>(x.data);
  auto* to = reinterpret_cast<typename E::Stored*>(out.data);
  const std::int64_t n = x.dims[p.axis];
  const std::int64_t sign = p.reverse ? -1 : 1, first = p.reverse ? n - 1 : 0;
  const std::int64_t xs = sign * x.strides[p.axis], os = sign * out.strides[p.axis];
  if (n == 0) return;
  for_lanes(x, p.axis, out.strides, [&](std::int64_t at_x, std::int64_t at_out) {
    at_x += first * x.strides[p.axis];
    at_out += first * out.strides[p.axis];
    if constexpr (std::is_floating_point_v<T>) {
      if (p.op == Op::cumlogsumexp) {
        RunningLogSumExp<T> run;
        for (std::int64_t i = 0; i < n; ++i) to[at_out + i * os] = E::store(run(E::load(from[at_x + i * xs])));
        return;
      }
    }
    T acc = E::load(from[at_x]);
    to[at_out] = E::store(acc);
    for (std::int64_t i = 1; i < n; ++i) {
      acc = step(p.op, acc, E::load(from[at_x + i * xs]));
      to[at_out + i * os] = E::store(acc);
    }
  });
}

void run_cumulative(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const AlongParams*>(params);
  const bool has_columns = p.axis + 1 < call.in[0].rank && p.op != Op::cumlogsumexp;
  with_element(call.in[0].dtype, [&](auto e) {
    using E = decltype(e);
    using T = typename E::Value;
    if constexpr (std::is_same_v<T, typename E::Stored> && std::is_signed_v<T> && sizeof(T) >= 4)
      if (has_columns) return cumulate_columns<E>(call, p);
    cumulate<E>(call, p);
  });
}

// The first NaN, else the first of the extreme values.
template <class E>
std::int64_t find_extreme(const typename E::Stored* x, std::int64_t stride, std::int64_t n, bool largest) {
  std::int64_t best = 0;
  auto extreme = E::load(x[0]);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = E::load(x[i * stride]);
    if constexpr (std::is_floating_point_v<typename E::Value>)
      if (std::isnan(v)) return i;
    if (largest ? v > extreme : v < extreme) {
      extreme = v;
      best = i;
    }
  }
  return best;
}

void run_arg_reduce(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const AlongParams*>(params);
  const View &x = call.in[0], &out = call.out[0];
  std::int64_t os[kMaxRank];
  for (std::int32_t d = 0, o = 0; d < x.rank; ++d) os[d] = d == p.axis ? 0 : out.strides[o++];
  auto* to = reinterpret_cast<std::int64_t*>(out.data);
  with_element(x.dtype, [&](auto e) {
    using E = decltype(e);
    const auto* from = reinterpret_cast<const typename E::Stored*>(x.data);
    for_lanes(x, p.axis, os, [&](std::int64_t at_x, std::int64_t at_out) {
      to[at_out] = find_extreme<E>(from + at_x, x.strides[p.axis], x.dims[p.axis], p.op == Op::argmax);
    });
  });
}

Result<Kernel> make_along(const KernelRequest& r, void (*run)(const KernelCall&, const void*), bool reverse) {
  if (is_complex(r.dtype(0)))
    return Error{Code::Unsupported, "[" + std::string(name(r.op)) + "] has no kernel for complex values"};
  return kernel_of(run, AlongParams{r.op, static_cast<std::int32_t>(r.attrs.get_int(r.at, Key::axis)), reverse});
}

}  // namespace

Result<Kernel> make_cumulative(const KernelRequest& r) {
  return make_along(r, run_cumulative, r.attrs.get_bool(r.at, Key::reverse));
}
Result<Kernel> make_arg_reduce(const KernelRequest& r) { return make_along(r, run_arg_reduce, false); }

}  // namespace tfvm
