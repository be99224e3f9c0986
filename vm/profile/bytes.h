#pragma once
// Bytes of a file format, one behind the other: numbers as this machine has them, strings with their 0.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace tfvm {

struct Bytes {
  std::vector<std::byte> all;

  template <class T>
  Bytes& put(T value) {
    return raw(std::as_bytes(std::span(&value, 1)));
  }
  Bytes& list(std::initializer_list<std::uint8_t> values) { return raw(std::as_bytes(std::span(values))); }
  Bytes& text(const std::string& s) { return raw(std::as_bytes(std::span(s.c_str(), s.size() + 1))); }
  Bytes& raw(std::span<const std::byte> b);
  // DWARF's numbers of any length.
  Bytes& unsigned_leb(std::uint64_t v);
  Bytes& signed_leb(std::int64_t v);
  // The bytes from `at` + 4 on are what the number at `at` counts.
  void close_length(std::size_t at);
};

}  // namespace tfvm
