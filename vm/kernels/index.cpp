// take, take_along, scatter_along. An index is resolved before it is used: mode "error" counts negative ones from the
// end and reports the first that stays outside; "clip" goes to the nearest; "fill" (a negative one is outside) reads
// NaN, 0 or false and drops writes. No element outside is ever touched.
#include "vm/kernels/index_modes.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

struct IndexParams {
  IndexMode mode;
  std::int32_t axis;
  Combine combine = Combine::Set;
};

constexpr std::int64_t kOutside = -1;

// The place that index `i` stands for, or kOutside.
std::int64_t resolve(IndexMode mode, DType dtype, std::int64_t i, std::int64_t bound, std::int64_t position,
                     IndexFailure* failure) {
  if (dtype == DType::U64 && i < 0) i = INT64_MAX;
  if (i >= 0 && i < bound) return i;
  if (mode == IndexMode::Clip) return bound == 0 ? kOutside : std::clamp<std::int64_t>(i, 0, bound - 1);
  if (mode == IndexMode::Fill) return kOutside;
  if (i < 0 && i >= -bound) return i + bound;
  if (!failure->failed) *failure = {true, position, i, bound};
  return kOutside;
}

// All indices, in row-major order, where they stand side by side and each is a place as it is. False: at least one
// isn't.
template <class I>
bool take_as_they_are(const View& idx, std::int64_t n, std::int64_t bound, std::int64_t* places) {
  const auto* from = reinterpret_cast<const I*>(idx.data);
  bool outside = false;
  for (std::int64_t k = 0; k < n; ++k) {
    places[k] = from[k];
    outside |= static_cast<std::uint64_t>(places[k]) >= static_cast<std::uint64_t>(bound);
  }
  return !outside;
}

// Their number.
std::int64_t resolve_all(const IndexParams& p, const View& idx, std::int64_t bound, std::int64_t* places,
                         IndexFailure* failure) {
  std::int64_t n = 1;
  bool is_dense = true;
  for (std::int32_t d = idx.rank; d-- > 0; n *= idx.dims[d])
    is_dense = is_dense && (idx.dims[d] == 1 || idx.strides[d] == n);
  if (is_dense && idx.dtype == DType::I64 && take_as_they_are<std::int64_t>(idx, n, bound, places)) return n;
  if (is_dense && idx.dtype == DType::I32 && take_as_they_are<std::int32_t>(idx, n, bound, places)) return n;
  n = 0;
  Walk<1> w(idx.rank, idx.dims);
  w.strides(0, idx.strides);
  for (; w.more(); w.next(), ++n) {
    const std::int64_t i = load_index(idx.dtype, idx.data + w.at(0) * size_of(idx.dtype));
    places[n] = resolve(p.mode, idx.dtype, i, bound, n, failure);
  }
  return n;
}

template <std::size_t Size>
void take_each(std::byte* out, const std::byte* x, const std::int64_t* places, std::int64_t n, std::int64_t stride,
               const std::byte* nothing) {
  for (std::int64_t k = 0; k < n; ++k) {
    const std::byte* from = places[k] == kOutside ? nothing : x + places[k] * stride * static_cast<std::int64_t>(Size);
    std::memcpy(out + k * static_cast<std::int64_t>(Size), from, Size);
  }
}

// Single elements of a lane.
void take_elements(std::byte* out, const std::byte* x, const std::int64_t* places, std::int64_t n, std::int64_t stride,
                   const std::byte* nothing, std::int64_t size) {
  switch (size) {
    case 1:
      return take_each<1>(out, x, places, n, stride, nothing);
    case 2:
      return take_each<2>(out, x, places, n, stride, nothing);
    case 4:
      return take_each<4>(out, x, places, n, stride, nothing);
    default:
      return take_each<8>(out, x, places, n, stride, nothing);
  }
}

void run_take(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const IndexParams*>(params);
  const View &x = call.in[0], &idx = call.in[1], &out = call.out[0];
  auto* places = reinterpret_cast<std::int64_t*>(call.scratch);
  const std::int64_t n = resolve_all(p, idx, x.dims[p.axis], places, call.failure);
  const std::int32_t post_rank = x.rank - p.axis - 1;
  const std::int64_t *post_dims = x.dims + p.axis + 1, *post_strides = x.strides + p.axis + 1;
  const std::int64_t* out_post = out.strides + out.rank - post_rank;
  std::int64_t post = 1;
  for (std::int32_t d = 0; d < post_rank; ++d) post *= post_dims[d];
  const std::int64_t size = size_of(out.dtype);
  alignas(16) std::byte nothing[16] = {};
  outside_element(x.dtype, nothing);
  std::byte* to = out.data;
  Walk<1> pre(p.axis, x.dims);
  pre.strides(0, x.strides);
  for (; pre.more(); pre.next()) {
    if (post == 1) {
      take_elements(to, x.data + pre.at(0) * size, places, n, x.strides[p.axis], nothing, size);
      to += n * size;
      continue;
    }
    for (std::int64_t k = 0; k < n; ++k, to += post * size) {
      if (places[k] == kOutside) {
        for (std::int64_t e = 0; e < post; ++e) std::memcpy(to + e * size, nothing, static_cast<std::size_t>(size));
        continue;
      }
      const std::int64_t from = pre.at(0) + places[k] * x.strides[p.axis];
      copy_strided(post_rank, post_dims, to, out_post, x.data + from * size, post_strides, size);
    }
  }
}

// x's strides with 0 along the axis (its place comes from the index) and along dims of extent 1 that idx repeats.
void lane_strides(const View& x, const View& like, std::int32_t axis, std::int64_t* out) {
  for (std::int32_t d = 0; d < x.rank; ++d)
    out[d] = d == axis || (x.dims[d] == 1 && like.dims[d] != 1) ? 0 : x.strides[d];
}

void run_take_along(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const IndexParams*>(params);
  const View &x = call.in[0], &idx = call.in[1], &out = call.out[0];
  std::int64_t xs[kMaxRank], is[kMaxRank];
  lane_strides(x, out, p.axis, xs);
  lane_strides(idx, out, -1, is);
  alignas(16) std::byte nothing[16] = {};
  outside_element(x.dtype, nothing);
  const std::int64_t size = size_of(out.dtype);
  std::byte* to = out.data;
  Walk<2> w(out.rank, out.dims);
  w.strides(0, xs);
  w.strides(1, is);
  for (std::int64_t n = 0; w.more(); w.next(), ++n, to += size) {
    const std::int64_t i = load_index(idx.dtype, idx.data + w.at(1) * size_of(idx.dtype));
    const std::int64_t at = resolve(p.mode, idx.dtype, i, x.dims[p.axis], n, call.failure);
    const std::byte* from = at == kOutside ? nothing : x.data + (w.at(0) + at * x.strides[p.axis]) * size;
    std::memcpy(to, from, static_cast<std::size_t>(size));
  }
}

// Updates in row-major order of the indices, so of equal places the last wins (set), and sums have one order. An index
// that is repeated along the last dim is looked at once.
void run_scatter_along(const KernelCall& call, const void* params) {
  copy_view(call.out[0], call.in[0]);
  const auto& p = *static_cast<const IndexParams*>(params);
  const View &idx = call.in[1], &u = call.in[2], &out = call.out[0];
  std::int64_t os[kMaxRank], is[kMaxRank];
  lane_strides(out, u, p.axis, os);
  lane_strides(idx, u, -1, is);
  const std::int32_t last = u.rank - 1;
  const std::int64_t n = u.dims[last], size = size_of(out.dtype), index_size = size_of(idx.dtype);
  const std::int64_t run = last != p.axis && is[last] == 0 ? n : 1;
  const CombineRow combine = combine_row(out.dtype);
  Walk<3> w(last, u.dims);
  w.strides(0, os);
  w.strides(1, is);
  w.strides(2, u.strides);
  for (std::int64_t at = 0; w.more(); w.next(), at += n) {
    for (std::int64_t k = 0; k < n; k += run) {
      const std::int64_t i = load_index(idx.dtype, idx.data + (w.at(1) + k * is[last]) * index_size);
      const std::int64_t place = resolve(p.mode, idx.dtype, i, out.dims[p.axis], at + k, call.failure);
      if (place == kOutside) continue;
      combine(p.combine, out.data + (w.at(0) + place * out.strides[p.axis] + k * os[last]) * size, os[last],
              u.data + (w.at(2) + k * u.strides[last]) * size, u.strides[last], run);
    }
  }
}

std::int32_t axis_of(const KernelRequest& r) { return static_cast<std::int32_t>(r.attrs.get_int(r.at, Key::axis)); }

}  // namespace

Result<Kernel> make_take(const KernelRequest& r) {
  if (is_complex(r.dtype(0))) return no_complex(r);
  const auto places = static_cast<std::size_t>(r.types.elements(r.operands[1]));
  return kernel_of(run_take, IndexParams{index_mode(r), axis_of(r)}, places * sizeof(std::int64_t));
}

Result<Kernel> make_take_along(const KernelRequest& r) {
  if (is_complex(r.dtype(0))) return no_complex(r);
  return kernel_of(run_take_along, IndexParams{index_mode(r), axis_of(r)});
}

Result<Kernel> make_scatter_along(const KernelRequest& r) {
  if (is_complex(r.dtype(0))) return no_complex(r);
  return kernel_of(run_scatter_along, IndexParams{index_mode(r), axis_of(r), combine_of(r)});
}

}  // namespace tfvm
