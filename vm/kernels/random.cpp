// rng_bits, rng_split, rng_fold_in. Keys are u32[…, 2]; leading dims are one key for each lane.
//
//              philox4x32                                     threefry2x32 (JAX's partitionable threefry)
// bits         word n is word n mod 4 of counter (n/4, 0, 0)  element n from x = (n's high word, n's low word)
//   64 bits    words 2n (low) and 2n + 1                      x0 the high, x1 the low word
//   8, 16      the low bits of a word                         the low bits of x0 ^ x1, which is the draw of 32 bits
// split, i     words 0 and 1 of counter (i, 0, 0, 1)          both words of x = (i's high word, i's low word)
// fold in d    words 0 and 1 of counter (d, 0, 0, 2)          both words of x = (0, d)            d modulo 2^32
#include <algorithm>

#include "vm/kernels/counter.h"
#include "vm/kernels/elements.h"
#include "vm/kernels/make.h"
#include "vm/kernels/strided.h"

namespace tfvm {

namespace {

struct RngParams {
  bool threefry;
};

std::uint32_t low_word(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
std::uint32_t high_word(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }

// Counters first … first + kRngBlocks − 1 in words 0 and 1.
std::array<RngWords, 4> philox_blocks(std::uint64_t first, std::uint32_t stream, RngKey key) {
  std::array<RngWords, 4> c{};
  for (std::size_t i = 0; i < kRngBlocks; ++i) {
    c[0][i] = low_word(first + i);
    c[1][i] = high_word(first + i);
    c[3][i] = stream;
  }
  philox4x32(c, key);
  return c;
}

std::array<RngWords, 2> threefry_blocks(std::uint64_t first, RngKey key) {
  std::array<RngWords, 2> x{};
  for (std::size_t i = 0; i < kRngBlocks; ++i) {
    x[0][i] = high_word(first + i);
    x[1][i] = low_word(first + i);
  }
  threefry2x32(x, key);
  return x;
}

template <class T>
void draw_philox(RngKey key, T* out, std::int64_t n) {
  constexpr std::int64_t kElements = sizeof(T) == 8 ? 2 : 4;  // of a block
  for (std::int64_t i = 0; i < n; i += kElements * static_cast<std::int64_t>(kRngBlocks)) {
    const auto words = philox_blocks(static_cast<std::uint64_t>(i / kElements), 0, key);
    const std::int64_t end = std::min(n - i, kElements * static_cast<std::int64_t>(kRngBlocks));
    for (std::int64_t e = 0; e < end; ++e) {
      const auto block = static_cast<std::size_t>(e / kElements), at = static_cast<std::size_t>(e % kElements);
      if constexpr (sizeof(T) == 8)
        out[i + e] = words[2 * at][block] | static_cast<std::uint64_t>(words[2 * at + 1][block]) << 32;
      else
        out[i + e] = static_cast<T>(words[at][block]);
    }
  }
}

template <class T>
void draw_threefry(RngKey key, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kRngBlocks)) {
    const auto x = threefry_blocks(static_cast<std::uint64_t>(i), key);
    const auto end = static_cast<std::size_t>(std::min(n - i, static_cast<std::int64_t>(kRngBlocks)));
    for (std::size_t e = 0; e < end; ++e) {
      if constexpr (sizeof(T) == 8)
        out[i + static_cast<std::int64_t>(e)] = static_cast<std::uint64_t>(x[0][e]) << 32 | x[1][e];
      else
        out[i + static_cast<std::int64_t>(e)] = static_cast<T>(x[0][e] ^ x[1][e]);
    }
  }
}

RngKey load_key(const View& keys, std::int64_t offset) {
  const auto* p = reinterpret_cast<const std::uint32_t*>(keys.data) + offset;
  return {p[0], p[keys.strides[keys.rank - 1]]};
}

// Rows i, i + 1, … of a split, or the key with these folded in: words 0 and 1 of each.
using Derived = std::array<RngWords, 2>;
Derived derive(bool threefry, RngKey key, std::uint64_t i, std::uint32_t stream) {
  if (threefry) return threefry_blocks(i, key);
  const auto c = philox_blocks(i, stream, key);
  return {c[0], c[1]};
}

std::uint32_t* store_key(std::uint32_t* to, const Derived& d, std::size_t k) {
  to[0] = d[0][k];
  to[1] = d[1][k];
  return to + 2;
}

void run_bits(const KernelCall& call, const void* params) {
  const View &keys = call.in[0], &out = call.out[0];
  const bool threefry = static_cast<const RngParams*>(params)->threefry;
  std::int64_t n = 1;
  for (std::int32_t d = keys.rank - 1; d < out.rank; ++d) n *= out.dims[d];
  with_element(out.dtype, [&](auto e) {
    using T = typename decltype(e)::Stored;
    if constexpr (std::is_unsigned_v<T>) {
      T* to = reinterpret_cast<T*>(out.data);
      Walk<1> w(keys.rank - 1, keys.dims);
      w.strides(0, keys.strides);
      for (; w.more(); w.next(), to += n)
        threefry ? draw_threefry(load_key(keys, w.at(0)), to, n) : draw_philox(load_key(keys, w.at(0)), to, n);
    }
  });
}

void run_split(const KernelCall& call, const void* params) {
  const View &keys = call.in[0], &out = call.out[0];
  const bool threefry = static_cast<const RngParams*>(params)->threefry;
  const std::int64_t n = out.dims[out.rank - 2];
  auto* to = reinterpret_cast<std::uint32_t*>(out.data);
  Walk<1> w(keys.rank - 1, keys.dims);
  w.strides(0, keys.strides);
  for (; w.more(); w.next())
    for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(kRngBlocks)) {
      const Derived d = derive(threefry, load_key(keys, w.at(0)), static_cast<std::uint64_t>(i), 1);
      const auto end = static_cast<std::size_t>(std::min(n - i, static_cast<std::int64_t>(kRngBlocks)));
      for (std::size_t k = 0; k < end; ++k) to = store_key(to, d, k);
    }
}

// `from`'s strides as a tensor of the leading dims of `out`, with which it broadcasts.
void broadcast_strides(const View& from, std::int32_t rank, const View& out, std::int64_t* strides) {
  const std::int32_t lead = out.rank - 1 - rank;
  for (std::int32_t d = 0; d < out.rank - 1; ++d)
    strides[d] = d < lead || from.dims[d - lead] == 1 ? 0 : from.strides[d - lead];
}

void run_fold_in(const KernelCall& call, const void* params) {
  const View &keys = call.in[0], &data = call.in[1], &out = call.out[0];
  const bool threefry = static_cast<const RngParams*>(params)->threefry;
  std::int64_t ks[kMaxRank], ds[kMaxRank];
  broadcast_strides(keys, keys.rank - 1, out, ks);
  broadcast_strides(data, data.rank, out, ds);
  auto* to = reinterpret_cast<std::uint32_t*>(out.data);
  Walk<2> w(out.rank - 1, out.dims);
  w.strides(0, ks);
  w.strides(1, ds);
  for (; w.more(); w.next()) {
    const std::int64_t d = load_index(data.dtype, data.data + w.at(1) * size_of(data.dtype));
    to = store_key(to, derive(threefry, load_key(keys, w.at(0)), low_word(static_cast<std::uint64_t>(d)), 2), 0);
  }
}

}  // namespace

Result<Kernel> make_random(const KernelRequest& r) {
  const RngParams params{r.attrs.get_str(r.at, Key::algorithm) == "threefry2x32"};
  return kernel_of(r.op == Op::rng_bits ? run_bits : r.op == Op::rng_split ? run_split : run_fold_in, params);
}

}  // namespace tfvm
