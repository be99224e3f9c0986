#include "vm/kernels/dot.h"

#include <algorithm>
#include <vector>

#include "vm/kernels/gemm_ends.h"
#include "vm/kernels/gemm_wide.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

using Axes = std::vector<std::int32_t>;

struct DotParams {
  DType dtype;  // of operands and result
  Axes batch[2], free[2], contract[2];
  std::int64_t lots = 1, m = 1, n = 1, k = 1;
  bool wide = false;      // see gemm_wide.h
  bool own_sums = false;  // the sums have another dtype than the result: they stand in scratch first
  std::size_t offsets_bytes = 0, gemm_bytes = 0;
};

constexpr std::size_t align64(std::size_t n) { return (n + 63) / 64 * 64; }

std::int64_t product(Dims dims, const Axes& axes) {
  std::int64_t n = 1;
  for (std::int32_t a : axes) n *= dims[static_cast<std::size_t>(a)];
  return n;
}

GemmAxis places(const View& v, const Axes& axes, std::int64_t* space) {
  std::int64_t extents[kMaxRank], strides[kMaxRank];
  for (std::size_t k = 0; k < axes.size(); ++k) extents[k] = v.dims[axes[k]], strides[k] = v.strides[axes[k]];
  return gemm_places(axes.size(), extents, strides, space);
}

std::int64_t offset_at(const View& v, const Axes& axes, std::int64_t at) {
  std::int64_t sum = 0;
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::int64_t extent = v.dims[axes[k]];
    sum += at % extent * v.strides[axes[k]];
    at /= extent;
  }
  return sum;
}

template <class T>
void run_dot(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const DotParams*>(params);
  const View &x = call.in[0], &y = call.in[1];
  if (p.lots * p.m * p.n == 0) return;
  auto* space = reinterpret_cast<std::int64_t*>(call.scratch);
  GemmSource a{nullptr, p.dtype, places(x, p.free[0], space), {}};
  GemmSource b{nullptr, p.dtype, places(y, p.free[1], space + p.m + p.k), {}};
  if (p.k) {
    a.ks = places(x, p.contract[0], space + p.m);
    b.ks = places(y, p.contract[1], space + p.m + p.k + p.n);
  }
  std::byte* work = call.scratch + p.offsets_bytes;
  T* sums = reinterpret_cast<T*>(work + p.gemm_bytes);
  const std::int64_t size = size_of(p.dtype);
  for (std::int64_t lot = 0; lot < p.lots; ++lot) {
    std::byte* out = call.out[0].data + lot * p.m * p.n * size;
    a.data = x.data + offset_at(x, p.batch[0], lot) * size;
    b.data = y.data + offset_at(y, p.batch[1], lot) * size;
    T* to = p.own_sums ? sums : reinterpret_cast<T*>(out);
    gemm<T>(a, b, p.m, p.n, p.k, {to, p.n, 1}, work, p.wide, {.sink = call.blocks, .first = lot * p.m});
    if (p.own_sums) round_to(p.dtype, sums, p.m * p.n, out);
  }
}

template <class T>
Kernel finish(DotParams p, bool own_sums) {
  p.own_sums = own_sums;
  p.offsets_bytes = align64(static_cast<std::size_t>(p.m + p.n + 2 * p.k + 4) * sizeof(std::int64_t));
  p.gemm_bytes = align64(gemm_scratch<T>(p.m, p.n, p.k, p.wide));
  const std::size_t sums = own_sums ? static_cast<std::size_t>(p.m * p.n) * sizeof(T) : 0;
  Kernel kernel;
  kernel.run = run_dot<T>;
  kernel.scratch_bytes = p.offsets_bytes + p.gemm_bytes + sums;
  if (!own_sums) kernel.rows = p.lots * p.m, kernel.cols = p.n;
  kernel.params = std::make_shared<DotParams>(std::move(p));
  return kernel;
}

Axes rest(std::size_t rank, const Axes& a, const Axes& b) {
  Axes out;
  for (std::int32_t d = 0; d < static_cast<std::int32_t>(rank); ++d)
    if (std::ranges::find(a, d) == a.end() && std::ranges::find(b, d) == b.end()) out.push_back(d);
  return out;
}

}  // namespace

Result<Kernel> make_dot_kernel(const TypeTable& types, const AttrTable& attrs, AttrId at,
                               std::span<const TypeId> operands, std::span<const TypeId>, bool avx512) {
  DotParams p;
  p.wide = avx512 && gemm_has_wide();
  p.dtype = types.dtype(operands[0]);
  if (is_complex(p.dtype)) return Error{Code::Unsupported, "[dot_general] has no kernel for complex values"};
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::int64_t d : attrs.get_ints_at(at, Key::batch, s)) p.batch[s].push_back(static_cast<std::int32_t>(d));
    for (std::int64_t d : attrs.get_ints_at(at, Key::contract, s))
      p.contract[s].push_back(static_cast<std::int32_t>(d));
    p.free[s] = rest(types.dims(operands[s]).size(), p.batch[s], p.contract[s]);
  }
  p.lots = product(types.dims(operands[0]), p.batch[0]);
  p.k = product(types.dims(operands[0]), p.contract[0]);
  p.m = product(types.dims(operands[0]), p.free[0]);
  p.n = product(types.dims(operands[1]), p.free[1]);
  const DType sum = attrs.has(at, Key::accum) ? attrs.get_dtype(at, Key::accum) : p.dtype;
  if (is_float(p.dtype)) {
    if (sum == DType::F64) return finish<double>(std::move(p), p.dtype != DType::F64);
    return finish<float>(std::move(p), p.dtype != DType::F32);
  }
  // Modulo 2^32 or 2^64, of which the dtype keeps the low bits.
  if (size_of(p.dtype) == 8) return finish<std::uint64_t>(std::move(p), false);
  return finish<std::uint32_t>(std::move(p), size_of(p.dtype) != 4);
}

}  // namespace tfvm
