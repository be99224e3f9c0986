#pragma once
// Copies of spans into a monotonic arena: addresses stay for the arena's life.

#include <algorithm>
#include <memory_resource>
#include <span>
#include <type_traits>

namespace tfvm {

template <class T>
std::span<const T> copy_to(std::pmr::memory_resource& arena, std::span<const T> s) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (s.empty()) return {};
  T* p = static_cast<T*>(arena.allocate(s.size_bytes(), std::max(alignof(T), std::size_t{8})));
  std::copy(s.begin(), s.end(), p);
  return {p, s.size()};
}

}  // namespace tfvm
