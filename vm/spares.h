#pragma once
// Large memory that was given back, kept for whoever asks for as much next: results of a program that is called again
// and again. The system takes longer to give and clear such memory than many a program to fill it.

#include <array>
#include <atomic>
#include <cstdint>

namespace tfvm {

// Thread safe, without locks.
class Spares {
 public:
  static constexpr std::int64_t kLeast = std::int64_t{1} << 20,
                                kMost = std::int64_t{64} << 20;  // bytes: of one, of all

  Spares() = default;
  Spares(const Spares&) = delete;
  ~Spares() { clear(); }
  void* take(std::int64_t bytes) noexcept;                             // null where none has exactly so many
  [[nodiscard]] bool keep(void* memory, std::int64_t bytes) noexcept;  // false: the caller's to free, with std::free
  void clear() noexcept;
  std::int64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  void free(void* memory) noexcept;

  std::array<std::atomic<void*>, 16> places_{};  // what is kept begins with its size
  std::atomic<std::uint32_t> turn_{0};
  std::atomic<std::int64_t> bytes_{0};
};

}  // namespace tfvm
