// sort, argsort, topk, searchsorted. An element is compared by its key, an unsigned integer: -0 and +0 are one, every
// NaN stands above all else. Lanes are sorted by (key, place) items, stably, digit by digit (LSD radix, Knuth, "The Art
// of Computer Programming" 3, 5.2.5); short lanes by insertion.
#include <bit>
#include <vector>

#include "vm/kernels/elements.h"
#include "vm/kernels/make.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

struct Item {
  std::uint64_t key;
  std::int64_t place;
};

constexpr std::int64_t kShortLane = 48;
constexpr std::int64_t kLongestLane = std::int64_t{1} << 40;

template <class E>
std::uint64_t order_key(typename E::Stored s, bool descending) {
  const auto v = E::load(s);
  using V = std::remove_const_t<decltype(v)>;
  if constexpr (std::is_floating_point_v<V>) {
    using Bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
    const Bits bits = std::bit_cast<Bits>(v == 0 ? V{0} : v);
    const Bits key = std::isnan(v) ? static_cast<Bits>(-1) : bits & kSign ? ~bits : bits | kSign;
    return descending ? static_cast<Bits>(~key) : key;
  } else {
    using Bits = std::make_unsigned_t<V>;
    constexpr Bits kSign = std::is_signed_v<V> ? static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1)) : Bits{0};
    const Bits key = static_cast<Bits>(static_cast<Bits>(v) ^ kSign);
    return descending ? static_cast<Bits>(~key) : key;
  }
}

// The keys of a lane's elements at the places of `items`.
template <class E>
void load_keys(const std::byte* lane, std::int64_t stride, bool descending, Item* items, std::int64_t n) {
  const auto* x = reinterpret_cast<const typename E::Stored*>(lane);
  for (std::int64_t i = 0; i < n; ++i) items[i].key = order_key<E>(x[items[i].place * stride], descending);
}

using LoadKeys = void (*)(const std::byte*, std::int64_t, bool, Item*, std::int64_t);
LoadKeys key_loader(DType d) {
  return with_element(d, [](auto e) -> LoadKeys { return load_keys<decltype(e)>; });
}

void insertion_sort(Item* a, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    const Item x = a[i];
    std::int64_t j = i;
    for (; j > 0 && a[j - 1].key > x.key; --j) a[j] = a[j - 1];
    a[j] = x;
  }
}

// Items in the order of their keys, stably; `other` has room for n. Gives the one of the two arrays that holds them.
Item* sort_items(Item* a, Item* other, std::int64_t n) {
  if (n <= kShortLane) {
    insertion_sort(a, n);
    return a;
  }
  constexpr int kDigits = 8;
  std::int64_t counts[kDigits][256] = {};
  for (std::int64_t i = 0; i < n; ++i)
    for (int d = 0; d < kDigits; ++d) ++counts[d][a[i].key >> (8 * d) & 255];
  for (int d = 0; d < kDigits; ++d) {
    if (counts[d][a[0].key >> (8 * d) & 255] == n) continue;  // all the same
    std::int64_t at = 0;
    for (std::int64_t& c : counts[d]) at += std::exchange(c, at);
    for (std::int64_t i = 0; i < n; ++i) other[counts[d][a[i].key >> (8 * d) & 255]++] = a[i];
    std::swap(a, other);
  }
  return a;
}

// The first `count` of them only, in `best`.
void find_first(const Item* a, std::int64_t n, Item* best, std::int64_t count) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (found == count && a[i].key >= best[count - 1].key) continue;
    std::int64_t j = found < count ? found++ : count - 1;
    for (; j > 0 && best[j - 1].key > a[i].key; --j) best[j] = best[j - 1];
    best[j] = a[i];
  }
}

struct SortParams {
  std::int32_t axis;
  bool descending;
  std::vector<LoadKeys> keys;  // of the operands that are keys, the first one foremost
};

// Calls done(position of the lane, items in order, at least the first `count`) for every lane; `x` are the operands.
template <class Done>
void sort_lanes(const KernelCall& call, const SortParams& p, std::int64_t count, Done done) {
  constexpr std::int64_t kFew = 32;  // for which a place among those found is soon looked for
  const View& x = call.in[0];
  const std::int64_t n = x.dims[p.axis];
  auto* items = reinterpret_cast<Item*>(call.scratch);
  std::int64_t dims[kMaxRank];
  for (std::int32_t d = 0; d < x.rank; ++d) dims[d] = d == p.axis ? 1 : x.dims[d];
  if (n == 0) return;
  Walk<1> w(x.rank, dims);
  w.strides(0, x.strides);
  for (; w.more(); w.next()) {
    Item *a = items, *other = items + n;
    for (std::int64_t i = 0; i < n; ++i) a[i].place = i;
    for (std::size_t k = p.keys.size(); k-- > 0;) {  // by the last key first: each pass is stable
      const View& key = call.in[k];
      std::int64_t at = 0;
      for (std::int32_t d = 0; d < key.rank; ++d) at += w.place(d) * key.strides[d];
      p.keys[k](key.data + at * size_of(key.dtype), key.strides[p.axis], p.descending, a, n);
      if (p.keys.size() == 1 && count > 0 && count <= kFew && count < n / 4) {
        find_first(a, n, other, count);
        std::swap(a, other);
      } else if (sort_items(a, other, n) != a) {
        std::swap(a, other);
      }
    }
    done(w, a);
  }
}

std::int64_t lane_at(const View& v, const Walk<1>& w) {
  std::int64_t at = 0;
  for (std::int32_t d = 0; d < v.rank; ++d) at += w.place(d) * v.strides[d];
  return at;
}

template <std::size_t Size>
void put_sized(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
               const Item* items, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * to_stride * static_cast<std::int64_t>(Size),
                from + items[i].place * from_stride * static_cast<std::int64_t>(Size), Size);
}

// The first elements of a lane in the order of items, as many as the result has.
void put_elements(const View& out, const View& x, std::int32_t axis, const Walk<1>& w, const Item* items) {
  const std::int64_t size = size_of(x.dtype), n = out.dims[axis], os = out.strides[axis], xs = x.strides[axis];
  std::byte* to = out.data + lane_at(out, w) * size;
  const std::byte* from = x.data + lane_at(x, w) * size;
  switch (size) {
    case 1:
      return put_sized<1>(to, os, from, xs, items, n);
    case 2:
      return put_sized<2>(to, os, from, xs, items, n);
    case 4:
      return put_sized<4>(to, os, from, xs, items, n);
    default:
      return put_sized<8>(to, os, from, xs, items, n);
  }
}

void put_places(const View& out, std::int32_t axis, const Walk<1>& w, const Item* items) {
  auto* to = reinterpret_cast<std::int64_t*>(out.data) + lane_at(out, w);
  for (std::int64_t i = 0; i < out.dims[axis]; ++i) to[i * out.strides[axis]] = items[i].place;
}

struct OperandsParams {
  SortParams sort;
  std::size_t operands;
};

void run_sort(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const OperandsParams*>(params);
  sort_lanes(call, p.sort, call.in[0].dims[p.sort.axis], [&](const Walk<1>& w, const Item* items) {
    for (std::size_t k = 0; k < p.operands; ++k) put_elements(call.out[k], call.in[k], p.sort.axis, w, items);
  });
}

void run_argsort(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const SortParams*>(params);
  sort_lanes(call, p, call.in[0].dims[p.axis],
             [&](const Walk<1>& w, const Item* items) { put_places(call.out[0], p.axis, w, items); });
}

void run_topk(const KernelCall& call, const void* params) {
  const auto& p = *static_cast<const SortParams*>(params);
  sort_lanes(call, p, call.out[0].dims[p.axis], [&](const Walk<1>& w, const Item* items) {
    put_elements(call.out[0], call.in[0], p.axis, w, items);
    put_places(call.out[1], p.axis, w, items);
  });
}

// The number of elements of a sorted row that stand before `key`; with `right`, those equal to it do.
template <class E>
std::int64_t find_place(const typename E::Stored* row, std::int64_t stride, std::int64_t n, std::uint64_t key,
                        bool right) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t mid = low + (high - low) / 2;
    const std::uint64_t k = order_key<E>(row[mid * stride], false);
    if (k < key || (right && k == key))
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

void run_searchsorted(const KernelCall& call, const void* params) {
  const bool right = *static_cast<const bool*>(params);
  const View &rows = call.in[0], &v = call.in[1];
  std::int64_t lanes[kMaxRank] = {};
  for (std::int32_t d = 0; rows.rank > 1 && d + 1 < v.rank; ++d) lanes[d] = rows.strides[d];
  const std::int64_t n = rows.dims[rows.rank - 1], stride = rows.strides[rows.rank - 1];
  auto* to = reinterpret_cast<std::int64_t*>(call.out[0].data);
  with_element(v.dtype, [&](auto e) {
    using E = decltype(e);
    const auto* row = reinterpret_cast<const typename E::Stored*>(rows.data);
    const auto* value = reinterpret_cast<const typename E::Stored*>(v.data);
    Walk<2> w(v.rank, v.dims);
    w.strides(0, lanes);
    w.strides(1, v.strides);
    for (; w.more(); w.next())
      *to++ = find_place<E>(row + w.at(0), stride, n, order_key<E>(value[w.at(1)], false), right);
  });
}

Result<SortParams> sort_params(const KernelRequest& r, std::int64_t keys, bool descending) {
  SortParams p{static_cast<std::int32_t>(r.attrs.get_int(r.at, Key::axis)), descending, {}};
  if (r.dims(0)[static_cast<std::size_t>(p.axis)] > kLongestLane)
    return Error{Code::Limit, "[" + std::string(name(r.op)) + "] sorts up to 2^40 elements"};
  for (std::size_t k = 0; k < static_cast<std::size_t>(keys); ++k) p.keys.push_back(key_loader(r.dtype(k)));
  return p;
}

std::size_t lane_scratch(const KernelRequest& r, const SortParams& p) {
  return static_cast<std::size_t>(2 * r.dims(0)[static_cast<std::size_t>(p.axis)]) * sizeof(Item);
}

}  // namespace

Result<Kernel> make_sort(const KernelRequest& r) {
  Result<SortParams> p = sort_params(r, r.attrs.get_int(r.at, Key::num_keys), r.attrs.get_bool(r.at, Key::descending));
  if (!p) return p.error();
  const std::size_t scratch = lane_scratch(r, *p);
  return kernel_of(run_sort, OperandsParams{*std::move(p), r.operands.size()}, scratch);
}

Result<Kernel> make_argsort(const KernelRequest& r) {
  Result<SortParams> p = sort_params(r, 1, r.attrs.get_bool(r.at, Key::descending));
  if (!p) return p.error();
  const std::size_t scratch = lane_scratch(r, *p);
  return kernel_of(run_argsort, *std::move(p), scratch);
}

Result<Kernel> make_topk(const KernelRequest& r) {
  Result<SortParams> p = sort_params(r, 1, r.attrs.get_bool(r.at, Key::largest));
  if (!p) return p.error();
  const std::size_t scratch = lane_scratch(r, *p);
  return kernel_of(run_topk, *std::move(p), scratch);
}

Result<Kernel> make_searchsorted(const KernelRequest& r) {
  return kernel_of(run_searchsorted, r.attrs.get_str(r.at, Key::side) == "right");
}

}  // namespace tfvm
