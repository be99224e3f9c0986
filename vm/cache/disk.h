#pragma once
// A folder of entries, bytes by key, for later processes. One file per entry, written beside its place and renamed, so
// a reader sees a whole one or none; it holds the whole key, which is compared, and a hash of all. Whatever is wrong
// (damage, another key, a folder that can't be written or is not the user's own) is a miss, and never an error.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bytecode/status.h"

namespace tfvm {

struct DiskStats {
  std::int64_t entries = 0, bytes = 0;
};

class DiskCache {
 public:
  // Makes the folder (mode 0700) where it isn't there, but not its parents. Off: another user's, or open to others.
  explicit DiskCache(const std::string& folder);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;

  bool is_on() const { return folder_ >= 0; }
  const std::string& why_off() const { return why_off_; }
  std::optional<std::vector<std::byte>> load(std::span<const std::byte> key) const;
  // False where it can't be written. Of more than kMost entries the oldest go.
  bool store(std::span<const std::byte> key, std::span<const std::byte> value);
  DiskStats stats() const;
  std::int64_t clear();  // how many entries went

  static constexpr std::size_t kMost = 4096;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of one entry

  // The bytes of an entry, and what they hold; nullopt for what is no whole entry of that key.
  static std::vector<std::byte> pack(std::span<const std::byte> key, std::span<const std::byte> value);
  static std::optional<std::vector<std::byte>> unpack(std::span<const std::byte> entry, std::span<const std::byte> key);
  static std::string file_of(std::span<const std::byte> key);

 private:
  bool write(const std::string& name, std::span<const std::byte> bytes) const;
  void drop_oldest();

  int folder_ = -1;
  std::string why_off_;
  std::atomic<std::size_t> stored_{0};
};

// What tells this build from others: in the keys of entries. Empty where the linker noted none.
std::string build_id();

}  // namespace tfvm
