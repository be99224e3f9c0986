// reduce_window, select_and_scatter_add. A window's elements are taken in row-major order, one after another; padding
// is left out.
#include "vm/kernels/window.h"

#include "vm/kernels/elements.h"

namespace tfvm {

namespace {

using WindowDims = std::vector<WindowDim>;

struct ReduceParams {
  WindowDims dims;
  Op combine;  // add, mul, max, min
};

// What a window without elements gives, and what accumulators start with: adding to -0 changes no bit.
template <class T>
T start_value(Op combine) {
  using Limits = std::numeric_limits<T>;
  switch (combine) {
    case Op::add:
      return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};
    case Op::mul:
      return T{1};
    case Op::max:
      return std::is_floating_point_v<T> ? -Limits::infinity() : Limits::lowest();
    default:
      return std::is_floating_point_v<T> ? Limits::infinity() : Limits::max();
  }
}

// One row of the result, along the last dim; x is the operand's row. Where windows are not long, the row goes through
// them together, element by element of the window, so that the loop is over places.
template <class E, class F>
void add_row(const typename E::Stored* x, std::int64_t xs, std::int64_t n, const WindowDim& d, std::int64_t places,
             typename E::Value* acc, F f) {
  constexpr std::int64_t kLong = 4096;
  if (d.base_dilation != 1 || d.size > kLong) {
    for (std::int64_t o = 0; o < places; ++o) {
      const WindowRun run = window_run(d, n, o);
      for (std::int64_t k = 0; k < run.count; ++k) acc[o] = f(acc[o], E::load(x[(run.first + k * run.step) * xs]));
    }
    return;
  }
  for (std::int64_t w = 0; w < d.size; ++w) {
    // Place o reads element o * stride + shift.
    const std::int64_t shift = w * d.dilation - d.low;
    const std::int64_t first = shift >= 0 ? 0 : (-shift - 1) / d.stride + 1;
    const std::int64_t end = shift >= n ? 0 : std::min(places, (n - 1 - shift) / d.stride + 1);
    for (std::int64_t o = first; o < end; ++o) acc[o] = f(acc[o], E::load(x[(o * d.stride + shift) * xs]));
  }
}

template <class E, class F>
void reduce_windows(const KernelCall& call, const ReduceParams& p, F f) {
  using T = typename E::Value;
  const View &x = call.in[0], &out = call.out[0];
  const auto* from = reinterpret_cast<const typename E::Stored*>(x.data);
  auto* to = reinterpret_cast<typename E::Stored*>(out.data);
  if (x.rank == 0) {
    *to = *from;
    return;
  }
  const std::int32_t last = x.rank - 1;
  const WindowDim& d = p.dims.back();
  const std::int64_t places = out.dims[last];
  auto* acc = reinterpret_cast<T*>(call.scratch);
  const T start = start_value<T>(p.combine);
  Walk<1> rows(last, out.dims);
  rows.strides(0, out.strides);
  for (; rows.more(); rows.next(), to += places) {
    std::fill(acc, acc + places, start);
    WindowWalk w(x, p.dims, last, [&](std::int32_t k) { return rows.place(k); });
    const bool none = !w.more();
    for (; w.more(); w.next()) add_row<E>(from + w.at(), x.strides[last], x.dims[last], d, places, acc, f);
    for (std::int64_t o = 0; o < places; ++o) {
      const bool empty = acc[o] == T{0} && (none || window_run(d, x.dims[last], o).count == 0);
      to[o] = E::store(empty ? T{0} : acc[o]);  // a sum of nothing is +0
    }
  }
}

void run_reduce_window(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const ReduceParams*>(params);
  with_element(call.in[0].dtype, [&](auto e) {
    using E = decltype(e);
    switch (p.combine) {
      case Op::add:
        return reduce_windows<E>(call, p, region::Add{});
      case Op::mul:
        return reduce_windows<E>(call, p, region::Mul{});
      case Op::max:
        return reduce_windows<E>(call, p, region::Max{});
      default:
        return reduce_windows<E>(call, p, region::Min{});
    }
  });
}

// Goes to the first NaN of each window, else to the first of the largest elements.
template <class E>
void select_and_scatter(const KernelCall& call, const WindowDims& dims) {
  const View &x = call.in[0], &source = call.in[1], &out = call.out[0];
  const auto* from = reinterpret_cast<const typename E::Stored*>(x.data);
  const auto* add = reinterpret_cast<const typename E::Stored*>(source.data);
  auto* to = reinterpret_cast<typename E::Stored*>(out.data);
  std::memset(out.data, 0, static_cast<std::size_t>(elements(out) * size_of(out.dtype)));
  // The result is row-major, x need not be: both are walked.
  View places = x;
  places.strides = out.strides;
  Walk<1> w(source.rank, source.dims);
  w.strides(0, source.strides);
  for (; w.more(); w.next()) {
    const auto place = [&](std::int32_t k) { return w.place(k); };
    WindowWalk in_x(x, dims, x.rank, place), in_out(places, dims, x.rank, place);
    if (!in_x.more()) continue;
    std::int64_t best = in_out.at();
    auto most = E::load(from[in_x.at()]);
    for (; in_x.more(); in_x.next(), in_out.next()) {
      if (most != most) break;
      const auto v = E::load(from[in_x.at()]);
      if (!(v > most) && v == v) continue;
      most = v;
      best = in_out.at();
    }
    to[best] = E::store(region::Add{}(E::load(to[best]), E::load(add[w.at(0)])));
  }
}

void run_select_and_scatter(const KernelCall& call, const void* params) {
  const auto& dims = *static_cast<const WindowDims*>(params);
  with_element(call.in[0].dtype, [&](auto e) { select_and_scatter<decltype(e)>(call, dims); });
}

WindowDims window_dims(const KernelRequest& r) {
  const auto at = [&](Key key, std::size_t k) { return r.attrs.has(r.at, key) ? r.attrs.get_ints(r.at, key)[k] : 1; };
  WindowDims dims(r.dims(0).size());
  for (std::size_t k = 0; k < dims.size(); ++k)
    dims[k] = {at(Key::window, k), at(Key::strides, k), r.attrs.get_ints_at(r.at, Key::padding, k)[0],
               at(Key::base_dilation, k), at(Key::window_dilation, k)};
  return dims;
}

}  // namespace

Result<Kernel> make_reduce_window(const KernelRequest& r) {
  if (is_complex(r.dtype(0))) return no_complex(r);
  if (r.attrs[r.attrs.get(r.at, Key::op)].kind != AttrKind::Str)
    return Error{Code::Unsupported, "[reduce_window] has no kernel (" + std::string(info(r.op).hole) + ")"};
  const std::string_view word = r.attrs.get_str(r.at, Key::op);
  const Op combine = word == "add" ? Op::add : word == "mul" ? Op::mul : word == "max" ? Op::max : Op::min;
  const Dims out = r.types.dims(r.results[0]);
  const std::int64_t row = out.empty() || r.types.elements(r.results[0]) == 0 ? 0 : out.back();
  return kernel_of(run_reduce_window, ReduceParams{window_dims(r), combine}, static_cast<std::size_t>(row) * 8);
}

Result<Kernel> make_select_and_scatter_add(const KernelRequest& r) {
  return kernel_of(run_select_and_scatter, window_dims(r));
}

}  // namespace tfvm
