#include "vm/kernels/check.h"

#include <limits>
#include <type_traits>

#include "vm/kernels/make.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

using Entry = IndexVectors::Entry;

// A sign bit of i + low or of bound - 1 - i says that i is outside.
template <class I>
bool are_within(const I* x, std::int64_t n, std::int64_t stride, std::int64_t low, std::int64_t bound) {
  using U = std::make_unsigned_t<I>;
  const U down = static_cast<U>(low), most = static_cast<U>(bound - 1);
  U outside = 0;
  if (stride == 1)
    for (std::int64_t k = 0; k < n; ++k) outside |= (static_cast<U>(x[k]) + down) | (most - static_cast<U>(x[k]));
  else
    for (std::int64_t k = 0; k < n; ++k) {
      const U i = static_cast<U>(x[k * stride]);
      outside |= (i + down) | (most - i);
    }
  return static_cast<I>(outside) >= 0;
}

// What is repeated is looked at once, and dims that go on evenly are one. False: perhaps not.
template <class I>
bool are_within(const View& idx, std::int32_t vector_dim, std::int64_t first, std::int64_t low, std::int64_t bound) {
  if (bound > std::numeric_limits<std::int32_t>::max()) return false;
  std::int64_t dims[kMaxRank + 1] = {1}, strides[kMaxRank + 1] = {1};  // from the inside
  std::int32_t last = 0;
  for (std::int32_t d = idx.rank; d-- > 0;) {
    if (idx.dims[d] == 0) return true;
    if (d == vector_dim || idx.dims[d] == 1 || idx.strides[d] == 0) continue;
    if (dims[last] == 1) {
      strides[last] = idx.strides[d];
    } else if (idx.strides[d] != strides[last] * dims[last]) {
      dims[++last] = 1;
      strides[last] = idx.strides[d];
    }
    dims[last] *= idx.dims[d];
  }
  const auto* x = reinterpret_cast<const I*>(idx.data) + first;
  Walk<1> w(last, dims + 1);
  w.strides(0, strides + 1);
  for (; w.more(); w.next())
    if (!are_within(x + w.at(0), dims[0], strides[0], low, bound)) return false;
  return true;
}

void find_first(const View& idx, const IndexVectors& v, IndexFailure* failure) {
  Walk<1> w(idx.rank, idx.dims);
  w.strides(0, idx.strides);
  for (std::int64_t position = 0; w.more(); w.next(), ++position) {
    const std::int64_t i = load_index(idx.dtype, idx.data + w.at(0) * size_of(idx.dtype));
    const Entry& e = v.entries[v.vector_dim < idx.rank ? static_cast<std::size_t>(w.place(v.vector_dim)) : 0];
    if (i < e.bound && i >= (v.wraps ? -e.bound : 0)) continue;
    *failure = {true, position, i, e.bound};
    return;
  }
}

void run_check(const KernelCall& call, const void* params) {
  const auto& v = *static_cast<const IndexVectors*>(params);
  const View& idx = call.in[1];
  bool good = true;
  for (std::size_t k = 0; good && k < v.entries.size(); ++k) {
    const std::int64_t bound = v.entries[k].bound, low = v.wraps ? bound : 0;
    const std::int64_t first = k == 0 ? 0 : static_cast<std::int64_t>(k) * idx.strides[v.vector_dim];
    good = idx.dtype == DType::I32 ? are_within<std::int32_t>(idx, v.vector_dim, first, low, bound)
                                   : are_within<std::int64_t>(idx, v.vector_dim, first, low, bound);
  }
  if (!good) find_first(idx, v, call.failure);
}

}  // namespace

IndexVectors index_vectors(const AttrTable& attrs, Op op, AttrId at, Dims x, Dims idx) {
  IndexVectors v{static_cast<std::int32_t>(idx.size()), op != Op::gather, {}};
  if (v.wraps) {
    const std::int64_t axis = attrs.get_int(at, Key::axis);
    v.entries.push_back({static_cast<std::int32_t>(axis), x[static_cast<std::size_t>(axis)]});
    return v;
  }
  v.vector_dim = static_cast<std::int32_t>(attrs.get_int(at, Key::index_vector_dim));
  const Ints sizes = attrs.get_ints(at, Key::slice_sizes);
  for (std::int64_t d : attrs.get_ints(at, Key::start_index_map)) {
    const auto k = static_cast<std::size_t>(d);
    v.entries.push_back({static_cast<std::int32_t>(d), x[k] - sizes[k] + 1});
  }
  return v;
}

Kernel check_kernel(IndexVectors vectors) { return kernel_of(run_check, std::move(vectors)); }

}  // namespace tfvm
