// reduce_window, select_and_scatter_add. A window's elements are taken in row-major order, one after another; padding
// is left out.
#include "vm/kernels/window.h"

#include <concepts>

#include <immintrin.h>

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

// What one dtype and one operation do; the way through windows is the same for all. Accumulators have E::Value.
struct RowFns {
  void (*start)(void* acc, std::int64_t places, Op combine);
  void (*across)(const void* x, std::int64_t n, void* acc);  // acc[i] with x[i]
  // acc[i * acc_step] with x[i * step]; with an acc_step of 0 one window along its elements
  void (*spread)(const void* x, std::int64_t step, std::int64_t n, void* acc, std::int64_t acc_step);
  void (*store)(const void* acc, std::int64_t places, void* to);
};

template <class E>
void start_row(void* acc, std::int64_t places, Op combine) {
  using T = typename E::Value;
  std::fill_n(static_cast<T*>(acc), places, start_value<T>(combine));
}
template <class E>
void store_row(const void* acc, std::int64_t places, void* to) {
  for (std::int64_t o = 0; o < places; ++o)
    static_cast<typename E::Stored*>(to)[o] = E::store(static_cast<const typename E::Value*>(acc)[o]);
}
template <class E, class F>
void add_across(const void* x, std::int64_t n, void* acc) {
  const auto* from = static_cast<const typename E::Stored*>(x);
  auto* to = static_cast<typename E::Value*>(acc);
#pragma GCC ivdep
  for (std::int64_t o = 0; o < n; ++o) to[o] = F{}(to[o], E::load(from[o]));
}

template <class E, class F>
void add_spread(const void* x, std::int64_t step, std::int64_t n, void* acc, std::int64_t acc_step) {
  const auto* from = static_cast<const typename E::Stored*>(x);
  auto* to = static_cast<typename E::Value*>(acc);
  for (std::int64_t k = 0; k < n; ++k) to[k * acc_step] = F{}(to[k * acc_step], E::load(from[k * step]));
}

// Sums and products are the same for integers with and without a sign.
template <class E, class T = typename E::Value>
struct WrappingOf {
  using Type = E;
};
template <class E, std::integral T>
struct WrappingOf<E, T> {
  using Type = Plain<std::make_unsigned_t<T>>;
};
template <class E>
using Wrapping = typename WrappingOf<E>::Type;

template <class E, class F>
constexpr RowFns row_fns() {
  return {start_row<E>, add_across<E, F>, add_spread<E, F>, store_row<E>};
}

RowFns find_row_fns(DType d, Op combine) {
  return with_element(d, [&](auto e) {
    using E = decltype(e);
    switch (combine) {
      case Op::add:
        return row_fns<Wrapping<E>, region::Add>();
      case Op::mul:
        return row_fns<Wrapping<E>, region::Mul>();
      case Op::max:
        return row_fns<E, region::Max>();
      default:
        return row_fns<E, region::Min>();
    }
  });
}

// Eight of sixteen elements: the even ones (0x88), or the odd ones (0xdd).
template <int Which>
void gather_half(const float* from, float* to) {
  const __m256 both = _mm256_shuffle_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8), Which);
  _mm256_storeu_pd(reinterpret_cast<double*>(to), _mm256_permute4x64_pd(_mm256_castps_pd(both), 0xd8));
}

// Elements x[2 * i] side by side, n > 8 of them; what lies between them is read, too.
void gather_pairs(const float* x, std::int64_t n, float* to) {
  for (std::int64_t i = 0; i + 8 < n; i += 8) gather_half<0x88>(x + 2 * i, to + i);
  gather_half<0xdd>(x + 2 * (n - 8) - 1, to + n - 8);  // behind the last there may be nothing
}

// Elements x[i * step] side by side.
template <class S>
void gather_row(const std::byte* x, std::int64_t step, std::int64_t n, std::byte* to) {
  if constexpr (sizeof(S) == 4)
    if (step == 2 && n > 8) return gather_pairs(reinterpret_cast<const float*>(x), n, reinterpret_cast<float*>(to));
  for (std::int64_t i = 0; i < n; ++i) reinterpret_cast<S*>(to)[i] = reinterpret_cast<const S*>(x)[i * step];
}
void gather_row(std::int64_t size, const std::byte* x, std::int64_t step, std::int64_t n, std::byte* to) {
  switch (size) {
    case 1:
      return gather_row<std::uint8_t>(x, step, n, to);
    case 2:
      return gather_row<std::uint16_t>(x, step, n, to);
    case 4:
      return gather_row<std::uint32_t>(x, step, n, to);
    default:
      return gather_row<std::uint64_t>(x, step, n, to);
  }
}

// One row of the result, along the last dim.
struct WindowRow {
  RowFns fns;
  const WindowDim& dim;
  std::int64_t size, acc_size;     // bytes of an element, of an accumulator
  std::int64_t n, stride, places;  // elements of the operand's row, the stride between them, places of the result's

  void across(const std::byte* x, std::int64_t step, std::int64_t count, std::byte* acc) const {
    if (step == 1) return fns.across(x, count, acc);
    constexpr std::int64_t kBlock = 256;
    alignas(32) std::byte block[kBlock * 8];
    for (std::int64_t i = 0; i < count; i += kBlock) {
      const std::int64_t part = std::min(kBlock, count - i);
      gather_row(size, x + i * step * size, step, part, block);
      fns.across(block, part, acc + i * acc_size);
    }
  }

  // x is the operand's row. Where windows are not long, the row goes through them together, element by element of the
  // window, so that the loop is over places.
  void add(const std::byte* x, std::byte* acc) const {
    constexpr std::int64_t kLong = 4096;
    if (dim.size > kLong || (dim.base_dilation != 1 && dim.stride != 1)) {
      for (std::int64_t o = 0; o < places; ++o) {
        const WindowRun run = window_run(dim, n, o);
        fns.spread(x + run.first * stride * size, run.step * stride, run.count, acc + o * acc_size, 0);
      }
      return;
    }
    for (std::int64_t w = 0; w < dim.size; ++w) dim.base_dilation == 1 ? element(w, x, acc) : spread(w, x, acc);
  }

 private:
  // Element w of all windows: place o reads element o * dim.stride + shift.
  void element(std::int64_t w, const std::byte* x, std::byte* acc) const {
    const std::int64_t shift = w * dim.dilation - dim.low;
    const std::int64_t first = shift >= 0 ? 0 : (-shift - 1) / dim.stride + 1;
    const std::int64_t end = shift >= n ? 0 : std::min(places, (n - 1 - shift) / dim.stride + 1);
    if (first < end)
      across(x + (first * dim.stride + shift) * stride * size, dim.stride * stride, end - first,
             acc + first * acc_size);
  }
  // The same where windows move by 1 over elements base_dilation apart: element k is read by place k * base_dilation -
  // shift.
  void spread(std::int64_t w, const std::byte* x, std::byte* acc) const {
    const std::int64_t shift = w * dim.dilation - dim.low, apart = dim.base_dilation;
    const std::int64_t first = shift <= 0 ? 0 : (shift - 1) / apart + 1;
    const std::int64_t end = places + shift <= 0 ? 0 : std::min(n, (places + shift - 1) / apart + 1);
    if (first < end)
      fns.spread(x + first * stride * size, stride, end - first, acc + (first * apart - shift) * acc_size, apart);
  }
};

// A sum of nothing is +0, not the -0 that accumulators start with; only floats whose last byte is as that of -0 are
// looked at.
void clear_empty(const WindowRow& row, bool none, std::byte* to) {
  const std::int64_t sign = row.size - 1;  // the byte with the sign
  for (std::int64_t o = 0; o < row.places; ++o, to += row.size) {
    if (to[sign] == std::byte{0x80} && (none || window_run(row.dim, row.n, o).count == 0)) to[sign] = std::byte{0};
  }
}

void run_reduce_window(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const ReduceParams*>(params);
  const View &x = call.in[0], &out = call.out[0];
  const std::int64_t size = size_of(x.dtype);
  if (x.rank == 0) {
    std::memcpy(out.data, x.data, static_cast<std::size_t>(size));
    return;
  }
  const std::int32_t last = x.rank - 1;
  const bool half = x.dtype == DType::F16 || x.dtype == DType::BF16;
  const WindowRow row{find_row_fns(x.dtype, p.combine),
                      p.dims.back(),
                      size,
                      half ? 4 : size,
                      x.dims[last],
                      x.strides[last],
                      out.dims[last]};
  std::byte* to = out.data;
  Walk<1> rows(last, out.dims);
  rows.strides(0, out.strides);
  for (; rows.more(); rows.next(), to += row.places * size) {
    row.fns.start(call.scratch, row.places, p.combine);
    WindowWalk w(x, p.dims, last, [&](std::int32_t k) { return rows.place(k); });
    const bool none = !w.more();
    for (; w.more(); w.next()) row.add(x.data + w.at() * size, call.scratch);
    row.fns.store(call.scratch, row.places, to);
    if (p.combine == Op::add && is_float(x.dtype)) clear_empty(row, none, to);
  }
}

// What select_and_scatter_add does with elements of one dtype.
struct PickFns {
  // The place of the first NaN in x[0], x[step], …, else of the first that is larger than `most`, the largest so far,
  // and than the others; -1: none. `first`: there is none so far.
  std::int64_t (*pick)(const void* x, std::int64_t step, std::int64_t n, void* most, bool first);
  void (*add)(const void* x, void* to);
};

template <class E>
std::int64_t pick(const void* x, std::int64_t step, std::int64_t n, void* most_, bool first) {
  const auto* from = static_cast<const typename E::Stored*>(x);
  auto& most = *static_cast<typename E::Value*>(most_);
  if (first) most = E::load(from[0]);
  std::int64_t best = first ? 0 : -1;
  for (std::int64_t k = first ? 1 : 0; k < n && most == most; ++k) {
    const auto v = E::load(from[k * step]);
    if (!(v > most) && v == v) continue;
    most = v;
    best = k;
  }
  return best;
}
template <class E>
void add_to(const void* x, void* to_) {
  auto& to = *static_cast<typename E::Stored*>(to_);
  to = E::store(region::Add{}(E::load(to), E::load(*static_cast<const typename E::Stored*>(x))));
}

// Goes to the first NaN of each window, else to the first of the largest elements.
void run_select_and_scatter(const KernelCall& call, const void* params) {
  const auto& dims = *static_cast<const WindowDims*>(params);
  const View &x = call.in[0], &source = call.in[1], &out = call.out[0];
  const PickFns fns = with_element(x.dtype, [](auto e) { return PickFns{pick<decltype(e)>, add_to<decltype(e)>}; });
  const std::int64_t size = size_of(x.dtype);
  std::memset(out.data, 0, static_cast<std::size_t>(elements(out) * size));
  // The result is row-major, x need not be: both are walked.
  View places = x;
  places.strides = out.strides;
  Walk<1> w(source.rank, source.dims);
  w.strides(0, source.strides);
  const std::int32_t last = std::max(x.rank - 1, 0);
  for (; w.more(); w.next()) {
    const auto place = [&](std::int32_t k) { return w.place(k); };
    WindowWalk in_x(x, dims, last, place), in_out(places, dims, last, place);
    const WindowRun run = x.rank == 0 ? WindowRun{0, 1, 1} : window_run(dims.back(), x.dims[last], place(last));
    const std::int64_t x_stride = x.rank == 0 ? 0 : x.strides[last], out_stride = x.rank == 0 ? 0 : out.strides[last];
    std::int64_t best = -1;
    alignas(8) std::byte most[8];
    for (; run.count > 0 && in_x.more(); in_x.next(), in_out.next()) {
      const std::byte* from = x.data + (in_x.at() + run.first * x_stride) * size;
      const std::int64_t k = fns.pick(from, run.step * x_stride, run.count, most, best < 0);
      if (k >= 0) best = in_out.at() + (run.first + k * run.step) * out_stride;
    }
    if (best >= 0) fns.add(source.data + w.at(0) * size, out.data + best * size);
  }
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
