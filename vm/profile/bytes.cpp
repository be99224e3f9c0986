#include "vm/profile/bytes.h"

#include <cstring>

namespace tfvm {

Bytes& Bytes::raw(std::span<const std::byte> b) {
  all.insert(all.end(), b.begin(), b.end());
  return *this;
}

Bytes& Bytes::unsigned_leb(std::uint64_t v) {
  for (; v > 127; v >>= 7) put(static_cast<std::uint8_t>(v | 128));
  return put(static_cast<std::uint8_t>(v));
}

Bytes& Bytes::signed_leb(std::int64_t v) {
  for (; v < -64 || v > 63; v >>= 7) put(static_cast<std::uint8_t>(v | 128));
  return put(static_cast<std::uint8_t>(v & 127));
}

void Bytes::close_length(std::size_t at) {
  const auto n = static_cast<std::uint32_t>(all.size() - at - 4);
  std::memcpy(all.data() + at, &n, 4);
}

}  // namespace tfvm
