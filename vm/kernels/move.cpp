// Kernels that only move elements.
#include <algorithm>
#include <vector>

#include "vm/kernels/make.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

struct ConcatParams {
  std::int32_t axis, operands;
};

void run_concat(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const ConcatParams*>(params);
  const View& out = call.out[0];
  const std::int64_t size = size_of(out.dtype);
  std::byte* to = out.data;
  for (std::int32_t k = 0; k < p.operands; ++k) {
    const View& in = call.in[k];
    copy_strided(in.rank, in.dims, to, out.strides, in.data, in.strides, size);
    to += in.dims[p.axis] * out.strides[p.axis] * size;
  }
}

struct PadParams {
  std::vector<std::int64_t> low, step;  // element i of x goes to low + i * step
};

void fill(const View& out, const std::byte* value) {
  const std::int64_t size = size_of(out.dtype), bytes = elements(out) * size;
  if (bytes == 0) return;
  if (std::all_of(value, value + size, [](std::byte b) { return b == std::byte{0}; })) {
    std::memset(out.data, 0, static_cast<std::size_t>(bytes));
    return;
  }
  std::memcpy(out.data, value, static_cast<std::size_t>(size));
  for (std::int64_t done = size; done < bytes; done *= 2)
    std::memcpy(out.data + done, out.data, static_cast<std::size_t>(std::min(done, bytes - done)));
}

void run_pad(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const PadParams*>(params);
  const View &x = call.in[0], &out = call.out[0];
  const std::int64_t size = size_of(out.dtype);
  fill(out, call.in[1].data);
  std::int64_t dims[kMaxRank], to_strides[kMaxRank], from = 0, to = 0;
  for (std::int32_t d = 0; d < x.rank; ++d) {
    const std::int64_t low = p.low[static_cast<std::size_t>(d)], step = p.step[static_cast<std::size_t>(d)];
    // Elements first ≤ i < last of x fall inside the result.
    const std::int64_t first = low < 0 ? (-low + step - 1) / step : 0;
    const std::int64_t end = out.dims[d] - low;  // low + i * step < out.dims[d]
    const std::int64_t last = std::min(x.dims[d], end <= 0 ? 0 : (end + step - 1) / step);
    dims[d] = last - first;
    if (dims[d] <= 0) return;
    to_strides[d] = out.strides[d] * step;
    from += first * x.strides[d];
    to += (low + first * step) * out.strides[d];
  }
  copy_strided(x.rank, dims, out.data + to * size, to_strides, x.data + from * size, x.strides, size);
}

void run_reverse(const KernelCall& call, const void* params) {
  const auto& axes = *static_cast<const std::vector<std::int64_t>*>(params);
  const View &x = call.in[0], &out = call.out[0];
  std::int64_t strides[kMaxRank], from = 0;
  std::copy(x.strides, x.strides + x.rank, strides);
  for (std::int64_t a : axes) {
    if (x.dims[a] > 0) from += (x.dims[a] - 1) * x.strides[a];
    strides[a] = -x.strides[a];
  }
  const std::int64_t size = size_of(out.dtype);
  copy_strided(x.rank, x.dims, out.data, out.strides, x.data + from * size, strides, size);
}

// Where a window of `window` dims starts, each start clamped so that it fits.
std::int64_t window_offset(const View& x, const std::int64_t* window, const View* starts) {
  std::int64_t at = 0;
  for (std::int32_t d = 0; d < x.rank; ++d) {
    std::int64_t i = load_index(starts[d].dtype, starts[d].data);
    if (starts[d].dtype == DType::U64 && i < 0) i = x.dims[d];  // above 2^63
    at += std::clamp<std::int64_t>(i, 0, x.dims[d] - window[d]) * x.strides[d];
  }
  return at;
}

void run_dynamic_slice(const KernelCall& call, const void*) {
  const View &x = call.in[0], &out = call.out[0];
  const std::int64_t size = size_of(out.dtype), at = window_offset(x, out.dims, call.in + 1);
  copy_strided(out.rank, out.dims, out.data, out.strides, x.data + at * size, x.strides, size);
}

void run_dynamic_update_slice(const KernelCall& call, const void*) {
  const View &u = call.in[1], &out = call.out[0];
  copy_view(out, call.in[0]);
  const std::int64_t size = size_of(out.dtype), at = window_offset(out, u.dims, call.in + 2);
  copy_strided(u.rank, u.dims, out.data + at * size, out.strides, u.data, u.strides, size);
}

}  // namespace

Result<Kernel> make_concat(const KernelRequest& r) {
  return kernel_of(run_concat, ConcatParams{static_cast<std::int32_t>(r.attrs.get_int(r.at, Key::axis)),
                                            static_cast<std::int32_t>(r.operands.size())});
}

Result<Kernel> make_pad(const KernelRequest& r) {
  PadParams p;
  const Ints low = r.attrs.get_ints(r.at, Key::low), interior = r.attrs.get_ints(r.at, Key::interior);
  p.low.assign(low.begin(), low.end());
  for (std::int64_t i : interior) p.step.push_back(i + 1);
  return kernel_of(run_pad, std::move(p));
}

Result<Kernel> make_reverse(const KernelRequest& r) {
  const Ints axes = r.attrs.get_ints(r.at, Key::axes);
  return kernel_of(run_reverse, std::vector<std::int64_t>(axes.begin(), axes.end()));
}

Result<Kernel> make_dynamic_slice(const KernelRequest&) { return kernel_of(run_dynamic_slice, 0); }
Result<Kernel> make_dynamic_update_slice(const KernelRequest&) { return kernel_of(run_dynamic_update_slice, 0); }

}  // namespace tfvm
