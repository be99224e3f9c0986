#pragma once
// Items of a table by their ids. What is there at `keep` stays for good; `forget` lets go of all that came later. The
// ids of what is gone are not given again, so who holds one too long finds out (`has`), and never meets another item.

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

#include "bytecode/arena.h"
#include "bytecode/ids.h"

namespace tfvm {

// In chunks of 2^kBits, so addresses stay.
template <class T, std::uint32_t kBits = 10>
class IdArray {
 public:
  const T& operator[](std::uint32_t i) const { return chunks_[i >> kBits][i & kMask]; }
  bool has(std::uint32_t i) const { return (i >> kBits) < chunks_.size() && (i & kMask) < chunks_[i >> kBits].size(); }
  std::uint32_t size() const { return size_; }            // above the last id
  std::uint32_t fresh() const { return size_ - first_; }  // items that are not kept
  std::uint32_t kept() const { return kept_; }

  std::uint32_t add(T item) {
    if ((size_ & kMask) == 0) {
      if (chunks_.size() <= (size_ >> kBits)) chunks_.emplace_back();
      chunks_.back().reserve(kMask + 1);
    }
    chunks_.back().push_back(std::move(item));
    return size_++;
  }
  void keep() { kept_ = first_ = size_; }
  void forget() {
    if (size_ == first_) return;
    // Kept ids are below kept_, but for those of earlier times that are gone already.
    std::uint32_t chunk = kept_ >> kBits;
    if ((kept_ & kMask) != 0) {
      auto& last = chunks_[chunk++];
      last.erase(last.begin() + std::min<std::ptrdiff_t>(kept_ & kMask, std::ssize(last)), last.end());
    }
    for (; chunk < chunks_.size(); ++chunk) std::vector<T>().swap(chunks_[chunk]);  // with its memory
    size_ = first_ = static_cast<std::uint32_t>(chunks_.size()) << kBits;
  }

 private:
  static constexpr std::uint32_t kMask = (1u << kBits) - 1;
  std::vector<std::vector<T>> chunks_;
  std::uint32_t size_ = 0, kept_ = 0, first_ = 0;
};

// The memory that spans of such items stand in.
class KeptArena {
 public:
  KeptArena() { keep(); }
  template <class T>
  std::span<const T> copy(std::span<const T> s) {
    fresh_ += static_cast<std::int64_t>(s.size_bytes());
    return copy_to(*segments_.back(), s);
  }
  std::int64_t fresh() const { return fresh_; }  // bytes that are not kept
  void keep() {
    if (segments_.empty() || fresh_ > 0) segments_.push_back(std::make_unique<std::pmr::monotonic_buffer_resource>());
    fresh_ = 0;
  }
  void forget() {
    segments_.back()->release();
    fresh_ = 0;
  }

 private:
  std::vector<std::unique_ptr<std::pmr::monotonic_buffer_resource>> segments_;
  std::int64_t fresh_ = 0;
};

}  // namespace tfvm
