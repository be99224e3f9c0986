// conv as matrix products: for each image and group, w's rows [outputs, inputs and window] times the windows of x,
// whose places are a sum of a place in the result and a place in the window, so nothing is laid out anew (only padding
// and dilation of x are written out). The sum goes over w's dims behind the first, in the order of gemm.h.
#include <vector>

#include "vm/kernels/gemm_ends.h"
#include "vm/kernels/gemm_wide.h"
#include "vm/kernels/window.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

struct ConvParams {
  DType dtype;
  bool last;                     // channels last
  std::vector<WindowDim> dims;   // of space
  List span;                     // of space: the extent that windows reach
  bool copies = false;           // x is written out, padded and dilated
  bool batch_groups = false;     // groups of images rather than of channels
  std::int64_t images, groups;   // of the result
  std::int64_t inputs, outputs;  // of one group
  std::int64_t m = 1, k = 1;     // places in space of the result; summands
  bool own_sums = false, wide = false;
  std::size_t work_at = 0, sums_at = 0, copy_at = 0;
};

// The dims of x, w and the result by their meaning.
struct Layout {
  std::size_t channels, space;  // the place of channels, and of the first dim of space
  Layout(bool last, std::int32_t rank) : channels(last ? static_cast<std::size_t>(rank) - 1 : 1), space(last ? 1 : 2) {}
};

// One image's channels of one group, with strides of channels and space.
struct Image {
  const std::byte* data;
  std::int64_t channel;
  std::int64_t space[kMaxRank];
};

// Elements of x that windows reach go where they stand when x is padded and dilated; the rest has been zeroed.
void write_out(const ConvParams& p, const Image& from, const View& x, const Layout& at, std::byte* data,
               const std::int64_t* to_strides) {
  const std::int64_t size = size_of(p.dtype);
  std::int64_t dims[kMaxRank], from_strides[kMaxRank], strides[kMaxRank], first_from = 0, first_to = 0;
  dims[0] = p.inputs;
  from_strides[0] = from.channel;
  strides[0] = to_strides[0];
  for (std::size_t d = 0; d < p.dims.size(); ++d) {
    const WindowDim& w = p.dims[d];
    const std::int64_t base = w.base_dilation, n = x.dims[at.space + d];
    const std::int64_t first = w.low < 0 ? (-w.low - 1) / base + 1 : 0;
    const std::int64_t end = p.span[d] - w.low <= 0 ? 0 : std::min(n, (p.span[d] - w.low - 1) / base + 1);
    if (end <= first) return;
    dims[d + 1] = end - first;
    from_strides[d + 1] = from.space[d];
    strides[d + 1] = to_strides[d + 1] * base;
    first_from += first * from.space[d];
    first_to += (w.low + first * base) * to_strides[d + 1];
  }
  copy_strided(static_cast<std::int32_t>(p.dims.size()) + 1, dims, data + first_to * size, strides,
               from.data + first_from * size, from_strides, size);
}

// Where things stand in one call: strides of an image (x's own, or those of the copy, which has channels first), and
// places along the sides of the products.
struct Run {
  const ConvParams& p;
  const View &x, &w, &out;
  Layout at;
  std::byte *work, *sums, *copy;
  std::int64_t copied[kMaxRank];  // strides of the copy
  Image image{};                  // strides that windows go by
  std::int64_t shift = 0;         // from an image's first element to the first window's place
  GemmSource windows, kernel;

  Run(const KernelCall& call, const ConvParams& params);
  void set_places(std::int64_t* tables);
  const std::byte* image_at(std::int64_t n, std::int64_t g);
};

Run::Run(const KernelCall& call, const ConvParams& params)
    : p(params), x(call.in[0]), w(call.in[1]), out(call.out[0]), at(p.last, x.rank) {
  work = call.scratch + p.work_at;
  sums = call.scratch + p.sums_at;
  copy = call.scratch + p.copy_at;
  std::int64_t run = 1;
  for (std::size_t d = p.dims.size(); d-- > 0; run *= p.span[d]) copied[d + 1] = run;
  copied[0] = run;
  if (p.copies) std::memset(copy, 0, static_cast<std::size_t>(run * p.inputs * size_of(p.dtype)));
  image.channel = p.copies ? copied[0] : x.strides[at.channels];
  for (std::size_t d = 0; d < p.dims.size(); ++d) {
    image.space[d] = p.copies ? copied[d + 1] : x.strides[at.space + d];
    if (!p.copies) shift -= p.dims[d].low * image.space[d];
  }
  set_places(reinterpret_cast<std::int64_t*>(call.scratch));
}

void Run::set_places(std::int64_t* tables) {
  const std::size_t space = p.dims.size();
  std::int64_t extents[kMaxRank], strides[kMaxRank];
  for (std::size_t d = 0; d < space; ++d) {
    extents[d] = out.dims[at.space + d];
    strides[d] = p.dims[d].stride * image.space[d];
  }
  windows = {nullptr, p.dtype, gemm_places(space, extents, strides, tables), {}};
  kernel = {nullptr, p.dtype, {w.strides[0], nullptr}, {}};
  if (p.k == 0) return;
  for (std::size_t d = 0; d < space; ++d) strides[at.space - 1 + d] = p.dims[d].dilation * image.space[d];
  strides[at.channels - 1] = image.channel;
  windows.ks = gemm_places(space + 1, w.dims + 1, strides, tables + p.m);
  kernel.ks = gemm_places(space + 1, w.dims + 1, w.strides + 1, tables + p.m + p.k);
}

// What the windows of image n of the result read, in group g.
const std::byte* Run::image_at(std::int64_t n, std::int64_t g) {
  const std::int64_t size = size_of(p.dtype);
  const std::int64_t from =
      p.batch_groups ? (g * p.images + n) * x.strides[0] : n * x.strides[0] + g * p.inputs * x.strides[at.channels];
  if (!p.copies) return x.data + (from + shift) * size;
  Image source{x.data + from * size, x.strides[at.channels], {}};
  for (std::size_t d = 0; d < p.dims.size(); ++d) source.space[d] = x.strides[at.space + d];
  write_out(p, source, x, at, copy, copied);
  return copy;
}

template <class T>
void run_conv(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const ConvParams*>(params);
  if (elements(call.out[0]) == 0) return;
  Run r(call, p);
  const std::int64_t size = size_of(p.dtype), channels = p.groups * p.outputs;
  const std::int64_t rows = p.last ? p.m : p.outputs, cols = p.last ? p.outputs : p.m;
  const std::int64_t row = p.last ? channels : p.m;
  for (std::int64_t n = 0; n < p.images; ++n)
    for (std::int64_t g = 0; g < p.groups; ++g) {
      r.windows.data = r.image_at(n, g);
      r.kernel.data = r.w.data + g * p.outputs * r.w.strides[0] * size;
      std::byte* to = r.out.data + (n * channels * p.m + g * p.outputs * (p.last ? 1 : p.m)) * size;
      const GemmSource &a = p.last ? r.windows : r.kernel, &b = p.last ? r.kernel : r.windows;
      T* sums = reinterpret_cast<T*>(p.own_sums ? r.sums : to);
      gemm<T>(a, b, rows, cols, p.k, {sums, p.own_sums ? cols : row, 1}, r.work, p.wide);
      for (std::int64_t k = 0; p.own_sums && k < rows; ++k)
        round_to(p.dtype, sums + k * cols, cols, to + k * row * size);
    }
}

constexpr std::size_t align64(std::size_t n) { return (n + 63) / 64 * 64; }

template <class T>
Result<Kernel> finish(ConvParams p, bool own_sums) {
  // More than 2^44 bytes of scratch is no plan.
  constexpr __int128 kMost = __int128{1} << 44;
  __int128 copied = p.copies ? static_cast<__int128>(p.inputs) * size_of(p.dtype) : 0;
  for (std::int64_t s : p.span) copied = std::min(copied * s, kMost);
  const __int128 sums = own_sums ? static_cast<__int128>(p.m) * p.outputs * static_cast<std::int64_t>(sizeof(T)) : 0;
  if (copied >= kMost || sums >= kMost || p.m >= (std::int64_t{1} << 40) || p.k >= (std::int64_t{1} << 40))
    return Error{Code::Limit, "[conv] needs more than 2^44 bytes for padding and dilation"};
  p.own_sums = own_sums;
  p.work_at = align64(static_cast<std::size_t>(p.m + 2 * p.k + 4) * sizeof(std::int64_t));
  const std::int64_t rows = p.last ? p.m : p.outputs, cols = p.last ? p.outputs : p.m;
  p.sums_at = p.work_at + align64(gemm_scratch<T>(rows, cols, p.k, p.wide));
  p.copy_at = p.sums_at + align64(static_cast<std::size_t>(sums));
  const std::size_t scratch = p.copy_at + align64(static_cast<std::size_t>(copied));
  return kernel_of(run_conv<T>, std::move(p), scratch);
}

}  // namespace

Result<Kernel> make_conv(const KernelRequest& r) {
  if (is_complex(r.dtype(0))) return no_complex(r);
  const Dims x = r.dims(0), w = r.dims(1), out = r.types.dims(r.results[0]);
  ConvParams p;
  p.dtype = r.dtype(0);
  p.wide = r.avx512 && gemm_has_wide();
  p.last = r.attrs.get_str(r.at, Key::layout) == "channels_last";
  const Layout at(p.last, static_cast<std::int32_t>(x.size()));
  p.batch_groups = r.attrs.get_int(r.at, Key::batch_groups) > 1;
  p.groups = std::max(r.attrs.get_int(r.at, Key::batch_groups), r.attrs.get_int(r.at, Key::feature_groups));
  p.images = out[0];
  p.outputs = w[0] / p.groups;
  p.inputs = w[at.channels];
  for (std::size_t d = 0; d + 2 < x.size(); ++d) {
    const std::size_t axis = d + at.space;
    p.dims.push_back({w[axis], r.attrs.get_ints(r.at, Key::strides)[d], r.attrs.get_ints_at(r.at, Key::padding, d)[0],
                      r.attrs.get_ints(r.at, Key::lhs_dilation)[d], r.attrs.get_ints(r.at, Key::rhs_dilation)[d]});
    const WindowDim& s = p.dims.back();
    const bool none = r.types.elements(r.results[0]) == 0;
    p.span.push_back(none ? 0 : (out[axis] - 1) * s.stride + (s.size - 1) * s.dilation + 1);
    p.copies = p.copies || s.base_dilation != 1 || s.low > 0 || p.span[d] - s.low > x[axis];
    p.m *= none ? 0 : out[axis];
    p.k *= s.size;
  }
  p.k *= p.inputs;
  if (is_float(p.dtype)) {
    if (p.dtype == DType::F64) return finish<double>(std::move(p), false);
    return finish<float>(std::move(p), p.dtype != DType::F32);
  }
  if (size_of(p.dtype) == 8) return finish<std::uint64_t>(std::move(p), false);
  return finish<std::uint32_t>(std::move(p), size_of(p.dtype) != 4);
}

}  // namespace tfvm
