#include "vm/tape.h"

#include <algorithm>
#include <cstring>

namespace tfvm {

namespace {
constexpr std::int64_t kFirstChunk = 1024, kLargestChunk = std::int64_t{1} << 20;  // bytes
}

bool Tape::grow(std::int64_t count) {
  if (count > std::numeric_limits<std::int64_t>::max() / std::max<std::int64_t>(stride_, 1)) return false;
  StorageRef memory = StorageRef::allocate(budget_, count * stride_);
  if (!memory) return false;
  chunks_.push_back({std::move(memory), capacity_, count});
  capacity_ += count;
  return true;
}

bool Tape::has_room() {
  if (size_ < capacity_) return true;
  const std::int64_t bytes = std::clamp(capacity_ * stride_, kFirstChunk, kLargestChunk);
  return grow(std::max<std::int64_t>(1, stride_ ? bytes / stride_ : 1024));
}

std::byte* Tape::append() { return has_room() ? at(size_++) : nullptr; }

std::byte* Tape::room(std::int64_t& records) {
  if (!has_room()) return nullptr;
  const Chunk& c = chunk(size_);
  records = c.first + c.count - size_;
  return at(size_);
}

bool Tape::resize(std::int64_t n) {
  if (n > 0 && !grow(n)) return false;
  size_ = n;
  return true;
}

const Tape::Chunk& Tape::chunk(std::int64_t i) const {
  const Chunk& c = chunks_[last_];
  if (i >= c.first && i < c.first + c.count) return c;
  const auto behind = std::ranges::upper_bound(chunks_, i, {}, &Chunk::first);
  last_ = static_cast<std::size_t>(behind - chunks_.begin()) - 1;
  return chunks_[last_];
}

std::byte* Tape::at(std::int64_t i) const {
  const Chunk& c = chunk(i);
  return c.memory->data() + (i - c.first) * stride_;
}

std::int64_t Tape::run(std::int64_t i, bool backwards) const {
  const Chunk& c = chunk(i);
  return backwards ? i - c.first + 1 : std::min(size_, c.first + c.count) - i;
}

std::int64_t Tape::bytes() const {
  std::int64_t bytes = 0;
  for (const Chunk& c : chunks_) bytes += kAlignment + align_up(std::max<std::int64_t>(c.memory->bytes(), 1));
  return bytes;
}

Tape* Tapes::make(std::int64_t record_bytes) {
  return tapes_.emplace_back(std::make_unique<Tape>(budget_, record_bytes)).get();
}

const std::byte* Tapes::zeros(std::int64_t bytes) {
  if (zeros_.empty() || zeros_.back()->bytes() < bytes) {
    StorageRef memory = StorageRef::allocate(budget_, std::max<std::int64_t>(bytes, 64));
    if (!memory) return nullptr;
    std::memset(memory->data(), 0, static_cast<std::size_t>(memory->bytes()));
    zeros_.push_back(std::move(memory));
  }
  return zeros_.back()->data();
}

}  // namespace tfvm
