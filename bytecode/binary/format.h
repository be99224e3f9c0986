#pragma once
// The layout of .tfbc, version 1. Numbers of fixed width are little-endian.
//
//   file     = "TFBC" version:u32 section…
//   section  = kind:u32 size:u64 hash:u64 (XXH3 of the bytes) bytes
//   code     = strings items                          kind 1, first
//   debug    = strings names places                   kind 2, may be missing
//   strings  = n { size bytes }                       in order of first use, each once
//   items    = n { ItemKind item }
//
// n, sizes, indices and locals are LEB128 of the fewest bytes; signed numbers are zigzag. A module has one code
// section: every choice that the reader would accept in two ways is an error. Functions and globals are item numbers,
// values are Locals (syntax.h); a parameter keeps its name in the code where an attribute may mean it, as in
// argnums=[w].

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tfvm::tfbc {

inline constexpr std::string_view kMagic = "TFBC";
inline constexpr std::uint32_t kVersion = 1;
enum class Section : std::uint32_t { Code = 1, Debug = 2 };
inline constexpr std::size_t kHeaderBytes = 8, kSectionBytes = 20;

enum class CalleeTag : std::uint8_t { Item, Name, Transform };  // Name: of an import that is not merged
enum ParamFlag : std::uint8_t { kMut = 1, kTyped = 2, kNamed = 4 };
inline constexpr std::uint8_t kMixedKinds = 0xff;  // elements of a literal: else the one ElemKind of all
inline constexpr std::uint8_t kHexInt = 0x80;      // beside NodeKind::Int: the text follows, as 0xff

class Sink {
 public:
  void byte(std::uint8_t b) { out_.push_back(static_cast<std::byte>(b)); }
  void number(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) byte(static_cast<std::uint8_t>(v | 0x80));
    byte(static_cast<std::uint8_t>(v));
  }
  void signed_number(std::int64_t v) {
    number(static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63));
  }
  void bytes(std::string_view s) {
    number(s.size());
    const auto* p = reinterpret_cast<const std::byte*>(s.data());
    out_.insert(out_.end(), p, p + s.size());
  }
  std::vector<std::byte>& data() { return out_; }

 private:
  std::vector<std::byte> out_;
};

template <class T>
T load(std::span<const std::byte> in, std::size_t at) {
  static_assert(std::endian::native == std::endian::little);
  T v;
  std::memcpy(&v, in.data() + at, sizeof v);
  return v;
}
template <class T>
void append(std::vector<std::byte>& out, T v) {
  const auto* p = reinterpret_cast<const std::byte*>(&v);
  out.insert(out.end(), p, p + sizeof v);
}

}  // namespace tfvm::tfbc
