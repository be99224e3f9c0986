#pragma once
// The stack frame of generated code, its constants, and the registers of addresses. See emit.h for who lays them out.

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include <asmjit/x86.h>

namespace tfvm::x86 {

namespace aj = asmjit;
namespace ax = asmjit::x86;

inline ax::Vec vector(int bytes, std::uint32_t id) {
  return bytes == 64 ? ax::Vec(ax::zmm(id)) : bytes == 32 ? ax::Vec(ax::ymm(id)) : ax::Vec(ax::xmm(id));
}

// Bytes above rsp, which is aligned to 64.
class Frame {
 public:
  std::int32_t take(std::int32_t bytes) {
    const std::int32_t align = bytes < 64 ? bytes : 64;
    size_ = (size_ + align - 1) / align * align;
    size_ += bytes;
    return size_ - bytes;
  }
  std::int32_t size() const { return (size_ + 63) / 64 * 64; }
  ax::Mem at(std::int32_t offset) const { return is_used_ = true, ax::ptr(ax::rsp, offset); }
  bool is_used() const { return is_used_; }  // by instructions so far

 private:
  std::int32_t size_ = 0;
  mutable bool is_used_ = false;
};

// Behind the code: each constant fills a register, so that any instruction may take it from memory.
class Pool {
 public:
  Pool(ax::Assembler& a, int reg_bytes) : a_(a), reg_bytes_(reg_bytes), label_(a.newLabel()) {}

  ax::Mem lanes(int width, std::uint64_t bits) {
    std::vector<std::uint8_t> v(static_cast<std::size_t>(reg_bytes_));
    for (int at = 0; at < reg_bytes_; at += width) std::memcpy(v.data() + at, &bits, static_cast<std::size_t>(width));
    return bytes(std::move(v));
  }
  // first, first + step, … in lanes of `width` bytes.
  ax::Mem ramp(int width, std::int64_t first, std::int64_t step) {
    std::vector<std::uint8_t> v(static_cast<std::size_t>(reg_bytes_));
    for (int at = 0; at < reg_bytes_; at += width, first += step)
      std::memcpy(v.data() + at, &first, static_cast<std::size_t>(width));
    return bytes(std::move(v));
  }
  // All bits of the first `count` lanes.
  ax::Mem first(int width, int count) {
    std::vector<std::uint8_t> v(static_cast<std::size_t>(reg_bytes_));
    std::memset(v.data(), 255, static_cast<std::size_t>(width * count));
    return bytes(std::move(v));
  }
  void embed() {
    a_.align(aj::AlignMode::kZero, 64);
    a_.bind(label_);
    a_.embed(data_.data(), data_.size());
  }

 private:
  ax::Mem bytes(std::vector<std::uint8_t> v) {
    const auto [it, is_new] = places_.try_emplace(std::move(v), static_cast<std::int32_t>(data_.size()));
    if (is_new) data_.insert(data_.end(), it->first.begin(), it->first.end());
    return ax::ptr(label_, it->second);
  }

  ax::Assembler& a_;
  int reg_bytes_;
  aj::Label label_;
  std::map<std::vector<std::uint8_t>, std::int32_t> places_;
  std::vector<std::uint8_t> data_;
};

// Where the address of an access is kept.
struct Pointer {
  int gp = -1;              // a register, or
  std::int32_t slot = 0;    // a place in the frame
  bool is_indexed = false;  // kIndex moves it though it is the same for all lanes: a loop over single points
};

// A register's worth that a loop carries from trip to trip: as a trip begins `read` is in a register, or at `home`.
struct Carried {
  std::uint32_t read = 0, next = 0;  // lane values
  int reg = -1;                      // of a vector; -1: at home
  std::int32_t home = 0;             // in the frame
};

}  // namespace tfvm::x86
