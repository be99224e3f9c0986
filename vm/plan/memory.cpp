#include "vm/plan/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "vm/storage.h"

namespace tfvm {

namespace {

constexpr std::int64_t kSmall = 16;

// Free bytes below `end`, by place and by size; everything behind `end` is free too.
class FreeList {
 public:
  explicit FreeList(std::int64_t base) : end_(base) {}

  std::int64_t take(std::int64_t bytes, std::int64_t align) {
    for (auto it = by_size_.lower_bound({bytes, 0}); it != by_size_.end(); ++it) {
      const auto [size, at] = *it;
      const std::int64_t begin = align_up(at, align);
      if (begin + bytes > at + size) continue;
      remove(at, size);
      add(at, begin - at);
      add(begin + bytes, at + size - begin - bytes);
      return begin;
    }
    // A free block that reaches the end is grown.
    std::int64_t at = end_;
    if (!blocks_.empty() && blocks_.rbegin()->first + blocks_.rbegin()->second == end_) {
      at = blocks_.rbegin()->first;
      remove(at, end_ - at);
    }
    const std::int64_t begin = align_up(at, align);
    add(at, begin - at);
    end_ = begin + bytes;
    peak_ = std::max(peak_, end_);
    return begin;
  }

  void give(std::int64_t at, std::int64_t bytes) {
    auto next = blocks_.lower_bound(at);
    if (next != blocks_.end() && next->first == at + bytes) {
      const std::int64_t more = next->second;
      remove(next->first, more);
      bytes += more;
    }
    auto before = blocks_.lower_bound(at);
    if (before != blocks_.begin() && (--before)->first + before->second == at) {
      const std::int64_t begin = before->first;
      bytes += before->second;
      remove(begin, before->second);
      at = begin;
    }
    add(at, bytes);
  }

  std::int64_t peak() const { return std::max(peak_, end_); }

 private:
  void add(std::int64_t at, std::int64_t size) {
    if (size <= 0) return;
    blocks_.emplace(at, size);
    by_size_.emplace(size, at);
  }
  void remove(std::int64_t at, std::int64_t size) {
    blocks_.erase(at);
    by_size_.erase({size, at});
  }
  std::map<std::int64_t, std::int64_t> blocks_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0, peak_ = 0;
};

}  // namespace

Placement place(std::span<const Lifetime> values, std::int64_t base) {
  Placement out;
  out.offsets.assign(values.size(), base);
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (values[a].first != values[b].first) return values[a].first < values[b].first;
    if (values[a].bytes != values[b].bytes) return values[a].bytes > values[b].bytes;
    return a < b;
  });
  using Death = std::pair<std::uint32_t, std::uint32_t>;  // (last, value)
  std::priority_queue<Death, std::vector<Death>, std::greater<>> alive;
  FreeList free(align_up(base));
  const auto size = [&](std::uint32_t v) {
    return align_up(values[v].bytes, values[v].bytes < kAlignment ? kSmall : kAlignment);
  };
  for (std::uint32_t v : order) {
    while (!alive.empty() && alive.top().first < values[v].first) {
      const std::uint32_t dead = alive.top().second;
      free.give(out.offsets[dead], size(dead));
      alive.pop();
    }
    if (values[v].bytes == 0) continue;
    out.offsets[v] = free.take(size(v), values[v].bytes < kAlignment ? kSmall : kAlignment);
    alive.emplace(values[v].last, v);
  }
  out.total = free.peak();
  return out;
}

}  // namespace tfvm
