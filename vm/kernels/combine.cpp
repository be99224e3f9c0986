#include "vm/kernels/combine.h"

#include <cstring>
#include <type_traits>

#include "vm/kernels/elements.h"

namespace tfvm {

namespace {

template <class V>
V combined(Combine c, V old, V now) {
  switch (c) {
    case Combine::Set:
      return now;
    case Combine::Add:
      return region::Add{}(old, now);
    case Combine::Mul:
      return region::Mul{}(old, now);
    case Combine::Min:
      return region::Min{}(old, now);
    case Combine::Max:
      return region::Max{}(old, now);
  }
  return now;
}

// Sums of rows, as many elements as a vector has at a time; gives how many were done.
template <class T>
std::int64_t add_vectors(T* to, const T* from, std::int64_t n) {
  typedef T Vector [[gnu::vector_size(32)]];
  constexpr std::int64_t kLanes = 32 / sizeof(T);
  std::int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    Vector a, b;
    std::memcpy(&a, to + k, sizeof a);
    std::memcpy(&b, from + k, sizeof b);
    a += b;
    std::memcpy(to + k, &a, sizeof a);
  }
  return k;
}

template <class E, bool HasPlaces>
void run_elements(Combine c, typename E::Stored* to, std::int64_t to_step, const typename E::Stored* from,
                  std::int64_t from_step, std::int64_t first, std::int64_t n, const std::int64_t* places) {
  using T = typename E::Stored;
  if constexpr (HasPlaces && (std::is_same_v<T, float> || std::is_same_v<T, double>)) {
    if (c == Combine::Add) {
      for (std::int64_t k = first; k < n; ++k)
        if (places[k] != kOutside) to[places[k] * to_step] += from[k * from_step];
      return;
    }
  }
  for (std::int64_t k = first; k < n; ++k) {
    if (HasPlaces && places[k] == kOutside) continue;
    auto& element = to[(HasPlaces ? places[k] : k) * to_step];
    const auto now = from[k * from_step];
    element = c == Combine::Set ? now : E::store(combined(c, E::load(element), E::load(now)));
  }
}

template <class E>
void run_row(Combine c, std::byte* to_bytes, std::int64_t to_step, const std::byte* from_bytes, std::int64_t from_step,
             std::int64_t n, const std::int64_t* places) {
  using T = typename E::Stored;
  auto* to = reinterpret_cast<T*>(to_bytes);
  const auto* from = reinterpret_cast<const T*>(from_bytes);
  if (places) return run_elements<E, true>(c, to, to_step, from, from_step, 0, n, places);
  std::int64_t k = 0;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    if (c == Combine::Add && to_step == 1 && from_step == 1) k = add_vectors(to, from, n);
  run_elements<E, false>(c, to, to_step, from, from_step, k, n, nullptr);
}

}  // namespace

CombineRow combine_row(DType d) {
  CombineRow found = nullptr;
  with_element(d, [&](auto e) { found = &run_row<decltype(e)>; });
  return found;
}

}  // namespace tfvm
