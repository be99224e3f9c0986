#pragma once
// Reads hostile bytes. The first thing wrong is kept; from then on every read gives zeros and no loop goes on.

#include <string>
#include <string_view>

#include "bytecode/binary/format.h"
#include "bytecode/ids.h"

namespace tfvm::tfbc {

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> in, std::string_view what) : in_(in), what_(what) {}
  std::uint8_t byte() {
    if (pos_ >= in_.size()) return fail("it ends too early"), std::uint8_t{0};
    return static_cast<std::uint8_t>(in_[pos_++]);
  }
  // A byte below `end`.
  std::uint8_t choice(std::size_t end, std::string_view of) {
    const std::uint8_t b = byte();
    if (b < end) return b;
    return fail_back(1, "unknown " + std::string(of)), std::uint8_t{0};
  }
  bool flag() { return choice(2, "flag") != 0; }
  std::uint64_t number() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t b = byte();
      v |= (b & 0x7f) << shift;
      if (b < 0x80) {
        if ((b == 0 && shift > 0) || (shift == 63 && b > 1)) fail_back(1, "a number not in its shortest form");
        return failed() ? 0 : v;
      }
    }
    return fail_back(1, "a number of more than 64 bits"), 0;
  }
  std::int64_t signed_number() {
    const std::uint64_t v = number();
    return static_cast<std::int64_t>(v >> 1 ^ (~(v & 1) + 1));
  }
  // A number of things to come of at least one byte each, unless `limit` says how many there can be.
  std::uint32_t count(std::uint64_t limit = kNoIndex - 1) {
    const std::size_t begin = pos_;
    const std::uint64_t n = number();
    if (n <= limit && n <= in_.size() - pos_) return static_cast<std::uint32_t>(n);
    return fail_back(pos_ - begin, "a count larger than what follows"), 0;
  }
  std::uint32_t below(std::uint64_t end, std::string_view of) {
    const std::size_t begin = pos_;
    const std::uint64_t n = number();
    if (n < end && n < kNoIndex) return static_cast<std::uint32_t>(n);
    return fail_back(pos_ - begin, "unknown " + std::string(of)), 0;
  }
  std::string_view bytes() {
    const std::uint32_t n = count();
    const auto* p = reinterpret_cast<const char*>(in_.data()) + pos_;
    pos_ += n;
    return {p, n};
  }

  void unread(std::size_t bytes) { pos_ -= failed_ ? 0 : bytes; }
  void fail(std::string message) { fail_back(0, std::move(message)); }
  void fail_back(std::size_t bytes, std::string message) {
    if (failed_) return;
    failed_ = true;
    error_ = std::move(message) + ", at byte " + std::to_string(pos_ - bytes) + " of its " + std::string(what_);
    pos_ = in_.size();
  }
  bool failed() const { return failed_; }
  bool at_end() const { return pos_ == in_.size(); }
  const std::string& error() const { return error_; }

 private:
  std::span<const std::byte> in_;
  std::string_view what_;
  std::size_t pos_ = 0;
  bool failed_ = false;
  std::string error_;
};

}  // namespace tfvm::tfbc
