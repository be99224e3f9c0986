// Looking for nan: loops over whole tensors, so a file of its own, which is compiled to vectors.
#include <algorithm>

#include "vm/trap/bits.h"
#include "vm/trap/nan_trap.h"

namespace tfvm {

namespace {

// Whether there is one among `n`; without a branch in the loop, so that it is done by vectors.
template <class F>
bool is_among(const typename F::Bits* x, std::int64_t n) {
  constexpr std::int64_t kSome = 4096;
  for (std::int64_t k = 0; k < n; k += kSome) {
    unsigned found = 0;
    const std::int64_t end = std::min(n, k + kSome);
    for (std::int64_t i = k; i < end; ++i) found |= static_cast<unsigned>(F::is_nan(x[i]));
    if (found != 0) return true;
  }
  return false;
}

template <class F>
std::optional<std::int64_t> find(const Tensor& t, int parts) {
  using Bits = typename F::Bits;
  if (t.is_row_major() && !is_among<F>(t.as<Bits>(), t.elements() * parts)) return std::nullopt;
  std::optional<std::int64_t> found;
  for_elements(t, [&](std::int64_t k, const std::byte* p) {
    for (int part = 0; part < parts; ++part)
      if (F::is_nan(load_bits<Bits>(p + part * static_cast<int>(sizeof(Bits))))) found = k;
    return !found;
  });
  return found;
}

}  // namespace

bool has_nan(DType d, const std::byte* x, std::int64_t elements) {
  bool found = false;
  with_nan_format(d, [&](auto format, int parts) {
    using F = decltype(format);
    found = is_among<F>(reinterpret_cast<const typename F::Bits*>(x), elements * parts);
  });
  return found;
}

std::optional<std::int64_t> first_nan(const Tensor& t) {
  std::optional<std::int64_t> found;
  with_nan_format(t.dtype(), [&](auto format, int parts) { found = find<decltype(format)>(t, parts); });
  return found;
}

}  // namespace tfvm
