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

// Indices that stand evenly in memory, where each is a place as it is. False: at least one isn't.
template <class I>
bool take_as_they_are(const std::byte* bytes, std::int64_t step, std::int64_t n, std::int64_t bound,
                      std::int64_t* places) {
  const auto* from = reinterpret_cast<const I*>(bytes);
  std::uint64_t outside = 0;  // its sign: of an index that is negative, or larger than the last place
  for (std::int64_t k = 0; k < n; ++k) {
    places[k] = from[k * step];
    const auto place = static_cast<std::uint64_t>(places[k]);
    outside |= place | (static_cast<std::uint64_t>(bound) - 1 - place);
  }
  return static_cast<std::int64_t>(outside) >= 0;
}

// n indices that stand evenly in memory; their positions are `position`, `position` + apart, ….
void resolve_row(IndexMode mode, DType dtype, const std::byte* from, std::int64_t step, std::int64_t n,
                 std::int64_t bound, std::int64_t position, std::int64_t apart, std::int64_t* places,
                 IndexFailure* failure) {
  if (dtype == DType::I64 && take_as_they_are<std::int64_t>(from, step, n, bound, places)) return;
  if (dtype == DType::I32 && take_as_they_are<std::int32_t>(from, step, n, bound, places)) return;
  for (std::int64_t k = 0; k < n; ++k)
    places[k] =
        resolve(mode, dtype, load_index(dtype, from + k * step * size_of(dtype)), bound, position + k * apart, failure);
}

// All of them, in row-major order; their number.
std::int64_t resolve_all(const IndexParams& p, const View& idx, std::int64_t bound, std::int64_t* places,
                         IndexFailure* failure) {
  std::int32_t outer = idx.rank;  // dims behind it go on evenly
  std::int64_t row = 1, step = 1, n = 0;
  for (; outer > 0; --outer) {
    const std::int64_t extent = idx.dims[outer - 1], stride = idx.strides[outer - 1];
    if (extent == 1) continue;
    if (row != 1 && stride != row * step) break;
    if (row == 1) step = stride;
    row *= extent;
  }
  Walk<1> w(outer, idx.dims);
  w.strides(0, idx.strides);
  for (; w.more(); w.next(), n += row)
    resolve_row(p.mode, idx.dtype, idx.data + w.at(0) * size_of(idx.dtype), step, row, bound, n, 1, places + n,
                failure);
  return n;
}

// `step`: bytes from one place to the next.
template <std::size_t Size>
void take_each(std::byte* out, const std::byte* x, const std::int64_t* places, std::int64_t n, std::int64_t step,
               const std::byte* nothing) {
  for (std::int64_t k = 0; k < n; ++k, out += Size)
    std::memcpy(out, places[k] == kOutside ? nothing : x + places[k] * step, Size);
}

// Elements of a lane, or short rows, of `size` bytes each: as many as `nothing` has; false: of any other size.
constexpr std::int64_t kMostTaken = 64;
bool take_elements(std::byte* out, const std::byte* x, const std::int64_t* places, std::int64_t n, std::int64_t step,
                   const std::byte* nothing, std::int64_t size) {
  switch (size) {
    case 1:
      return take_each<1>(out, x, places, n, step, nothing), true;
    case 2:
      return take_each<2>(out, x, places, n, step, nothing), true;
    case 4:
      return take_each<4>(out, x, places, n, step, nothing), true;
    case 8:
      return take_each<8>(out, x, places, n, step, nothing), true;
    case 16:
      return take_each<16>(out, x, places, n, step, nothing), true;
    case 32:
      return take_each<32>(out, x, places, n, step, nothing), true;
    case kMostTaken:
      return take_each<kMostTaken>(out, x, places, n, step, nothing), true;
    default:
      return false;
  }
}

// As memcpy, which costs more than what it does for a few bytes.
void copy_short(std::byte* to, const std::byte* from, std::int64_t n) {
  if (n > 256) {
    std::memcpy(to, from, static_cast<std::size_t>(n));
    return;
  }
  for (; n >= 32; n -= 32, to += 32, from += 32) std::memcpy(to, from, 32);
  for (; n >= 8; n -= 8, to += 8, from += 8) std::memcpy(to, from, 8);
  for (; n > 0; --n) *to++ = *from++;
}

bool is_dense(std::int32_t rank, const std::int64_t* dims, const std::int64_t* strides) {
  std::int64_t n = 1;
  for (std::int32_t d = rank; d-- > 0; n *= dims[d])
    if (dims[d] != 1 && strides[d] != n) return false;
  return true;
}

void run_take(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const IndexParams*>(params);
  const View &x = call.in[0], &idx = call.in[1], &out = call.out[0];
  auto* places = reinterpret_cast<std::int64_t*>(call.scratch);
  const std::int64_t n = resolve_all(p, idx, x.dims[p.axis], places, call.failure);
  const std::int32_t post_rank = x.rank - p.axis - 1;
  const std::int64_t *post_dims = x.dims + p.axis + 1, *post_strides = x.strides + p.axis + 1;
  const std::int64_t* out_post = out.strides + out.rank - post_rank;
  const bool has_dense_rows = is_dense(post_rank, post_dims, post_strides);
  std::int64_t post = 1;
  for (std::int32_t d = 0; d < post_rank; ++d) post *= post_dims[d];
  const std::int64_t size = size_of(out.dtype), step = x.strides[p.axis] * size;
  alignas(16) std::byte nothing[kMostTaken] = {};
  for (std::int64_t at = 0; at < kMostTaken; at += size) outside_element(x.dtype, nothing + at);
  std::byte* to = out.data;
  Walk<1> pre(p.axis, x.dims);
  pre.strides(0, x.strides);
  for (; pre.more(); pre.next()) {
    if (has_dense_rows && take_elements(to, x.data + pre.at(0) * size, places, n, step, nothing, post * size)) {
      to += n * post * size;
      continue;
    }
    for (std::int64_t k = 0; k < n; ++k, to += post * size) {
      const std::byte* from = x.data + (pre.at(0) + std::max<std::int64_t>(places[k], 0) * x.strides[p.axis]) * size;
      if (places[k] == kOutside)
        for (std::int64_t e = 0; e < post; ++e) std::memcpy(to + e * size, nothing, static_cast<std::size_t>(size));
      else if (has_dense_rows)
        copy_short(to, from, post * size);
      else
        copy_strided(post_rank, post_dims, to, out_post, from, post_strides, size);
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
// that is repeated along the last dim is looked at once, for a row.
void run_scatter_along(const KernelCall& call, const void* params) {
  constexpr std::int64_t kAtOnce = 256;
  copy_view(call.out[0], call.in[0]);
  const auto& p = *static_cast<const IndexParams*>(params);
  const View &idx = call.in[1], &u = call.in[2], &out = call.out[0];
  std::int64_t os[kMaxRank], is[kMaxRank], places[kAtOnce];
  lane_strides(out, u, p.axis, os);
  lane_strides(idx, u, -1, is);
  const std::int32_t last = u.rank - 1;
  const bool has_rows = last != p.axis && is[last] == 0;
  const std::int32_t inner = has_rows ? last - 1 : last;
  const std::int64_t width = has_rows ? u.dims[last] : 1, size = size_of(out.dtype), index_size = size_of(idx.dtype);
  if (width == 0) return;
  const CombineRow combine = combine_row(out.dtype);
  Walk<3> w(inner, u.dims);
  w.strides(0, os);
  w.strides(1, is);
  w.strides(2, u.strides);
  for (std::int64_t position = 0; w.more(); w.next()) {
    for (std::int64_t k = 0, n = 0; k < u.dims[inner]; k += n, position += n * width) {
      n = std::min(u.dims[inner] - k, kAtOnce);
      resolve_row(p.mode, idx.dtype, idx.data + (w.at(1) + k * is[inner]) * index_size, is[inner], n, out.dims[p.axis],
                  position, width, places, call.failure);
      std::byte* to = out.data + (w.at(0) + k * os[inner]) * size;
      const std::byte* from = u.data + (w.at(2) + k * u.strides[inner]) * size;
      const std::int64_t step = out.strides[p.axis];
      if (!has_rows && inner == p.axis) {
        combine(p.combine, to, step, from, u.strides[inner], n, places);
        continue;
      }
      for (std::int64_t j = 0; j < n; ++j)
        if (places[j] != kOutside) places[j] = places[j] * step + j * os[inner];
      if (!has_rows) {
        combine(p.combine, to, 1, from, u.strides[inner], n, places);
        continue;
      }
      for (std::int64_t j = 0; j < n; ++j, from += u.strides[inner] * size)
        if (places[j] != kOutside)
          combine(p.combine, to + places[j] * size, os[last], from, u.strides[last], width, nullptr);
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
