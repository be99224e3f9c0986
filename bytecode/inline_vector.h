#pragma once
// A vector of a few trivial elements that stand within it; more than N stand on the heap. Copying a short one allocates
// nothing, so layouts and tensors are passed about for free.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tfvm {

template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  InlineVector(std::size_t n, T value) { resize(n, value); }
  InlineVector(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
  template <std::input_iterator It>
  InlineVector(It first, It last) {
    assign(first, last);
  }
  InlineVector(const std::vector<T>& v) { assign(v.begin(), v.end()); }
  InlineVector(std::span<const T> v) { assign(v.begin(), v.end()); }
  InlineVector(const InlineVector& o) { assign(o.begin(), o.end()); }
  InlineVector(InlineVector&& o) noexcept { take(o); }
  InlineVector& operator=(const InlineVector& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& o) noexcept {
    if (this != &o) take(o);
    return *this;
  }
  operator std::vector<T>() const { return {begin(), end()}; }

  T* data() { return heap_ ? heap_.get() : own_; }
  const T* data() const { return heap_ ? heap_.get() : own_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t k) { return data()[k]; }
  const T& operator[](std::size_t k) const { return data()[k]; }
  T& front() { return *data(); }
  const T& front() const { return *data(); }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void resize(std::size_t n, T value = {}) {
    reserve(n);
    for (std::size_t k = size_; k < n; ++k) data()[k] = value;
    size_ = n;
  }
  void push_back(T value) { resize(size_ + 1, value); }
  void pop_back() { --size_; }
  template <std::input_iterator It>
  void assign(It first, It last) {
    clear();
    reserve(static_cast<std::size_t>(std::distance(first, last)));
    T* to = data();
    for (; first != last; ++first) to[size_++] = *first;
  }
  T* insert(const T* at, T value) {
    const auto k = at - begin();
    push_back(value);
    std::rotate(begin() + k, end() - 1, end());
    return begin() + k;
  }
  T* erase(const T* at) {
    T* from = begin() + (at - begin());
    std::copy(from + 1, end(), from);
    --size_;
    return from;
  }

  template <std::ranges::contiguous_range R>
  requires std::is_same_v<std::ranges::range_value_t<R>, T>
  friend bool operator==(const InlineVector& a, const R& b) { return std::ranges::equal(a, b); }

 private:
  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    const std::size_t grown = std::max(n, 2 * capacity_);
    auto more = std::make_unique_for_overwrite<T[]>(grown);
    std::copy(begin(), end(), more.get());
    heap_ = std::move(more);
    capacity_ = grown;
  }
  void take(InlineVector& o) noexcept {
    heap_ = std::move(o.heap_);
    capacity_ = std::exchange(o.capacity_, N);
    size_ = std::exchange(o.size_, 0);
    if (!heap_) std::copy(o.own_, o.own_ + size_, own_);
  }

  std::unique_ptr<T[]> heap_;
  std::size_t size_ = 0, capacity_ = N;
  T own_[N];
};

}  // namespace tfvm
