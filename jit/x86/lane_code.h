#pragma once
// Lane code: what one trip of a vector loop computes, as straight-line SSA over vector registers, before registers are
// assigned. A value is one register of lanes of 4 or 8 bytes, or a mask of as many lanes. Pure instructions are
// numbered by value; what nothing needs is dropped by mark_needed.
//
// A trip has `lanes` points. A value of an n-byte dtype takes parts(n) registers; where the lanes fill half a register
// (4-byte dtypes beside 8-byte ones, one register each), the upper half holds nothing that counts.

#include <cstdint>
#include <vector>

#include "jit/region/block_op.h"
#include "jit/x86/lane_op.h"

namespace tfvm::x86 {

using LaneId = std::uint32_t;
inline constexpr LaneId kNoLane = 0xffffffffu;

struct LaneInst {
  LaneOp op = LaneOp::Const;
  std::uint8_t width = 4;  // bytes of a lane of the result, or of what is compared or stored
  std::uint8_t imm = 0;
  LaneId in[3] = {kNoLane, kNoLane, kNoLane};
  std::uint64_t bits = 0;
  friend bool operator==(const LaneInst&, const LaneInst&) = default;
};

// A value of the nest over the lanes of a trip. bool is a mask in one or both widths.
struct Lanes {
  DType dtype = DType::F32;
  std::vector<LaneId> parts;   // bool: of 4-byte lanes, empty until needed
  std::vector<LaneId> parts8;  // bool: of 8-byte lanes, likewise
};

// The block interpreter's function on the lanes of a trip. With masks it runs only where a lane of one is set, and the
// results are else `usual`.
struct LaneCall {
  BlockFn fn = nullptr;
  DType out = DType::F32;
  std::vector<DType> dtypes;            // of operands
  std::vector<std::vector<LaneId>> in;  // their parts; bool: a mask of 4-byte lanes
  std::vector<LaneId> masks, usual;
};

class LaneCode {
 public:
  // `lanes`: 4 or a multiple of 8; reg_bytes: 32 or 64. is_one: nothing but the first lane counts.
  LaneCode(int lanes, int reg_bytes, bool is_one = false) : lanes_(lanes), reg_bytes_(reg_bytes), is_one_(is_one) {}

  int lanes() const { return lanes_; }
  int reg_bytes() const { return reg_bytes_; }
  bool is_one() const { return is_one_; }
  // Of the registers that instructions name: the smallest, which takes some machines half the work, where one lane
  // counts.
  int named_bytes() const { return is_one_ ? 16 : reg_bytes_; }
  int parts(int bytes) const { return lanes_ * bytes <= reg_bytes_ ? 1 : lanes_ * bytes / reg_bytes_; }

  LaneId add(const LaneInst& inst);
  LaneId constant(int width, std::uint64_t bits) { return add({LaneOp::Const, std::uint8_t(width), 0, {}, bits}); }
  LaneId op(LaneOp o, int width, LaneId a, LaneId b = kNoLane, LaneId c = kNoLane, int imm = 0);
  LaneId load(int width, Place from);
  void store(int width, LaneId v, Place to);
  LaneId sum(int width, std::uint64_t which);
  void set_sum(int width, std::uint64_t which, LaneId v, int trips = 0);
  // What follows is another line: it shares no values with what came before.
  void start_section();
  // The parts of the results, one CallPart each.
  std::vector<LaneId> call(LaneCall call);

  const LaneInst& operator[](LaneId v) const { return insts_[v]; }
  std::size_t size() const { return insts_.size(); }
  const std::vector<LaneCall>& calls() const { return calls_; }
  // Every operand of an instruction, in order.
  template <class Fn>
  void for_operands(LaneId v, Fn fn) const;
  // One flag per instruction: stores, what is carried on, and what they need.
  std::vector<std::uint8_t> mark_needed() const;

  // What is added from now on is made for this (NestSource), which is kept where somebody asks.
  std::uint32_t source = 0;
  bool has_sources = false;
  std::uint32_t source_of(LaneId v) const { return has_sources ? sources_[v] : 0; }

  std::vector<LaneId> rare;  // masks of lanes for which the function being traced is not what was traced
  // Of a loop, per carry: the values that a trip begins with, and ends with. Of LaneOp::While: the masks, per part.
  std::vector<LaneId> carried, next, condition;

 private:
  bool is_extreme(LaneInst& select) const;  // then it is one
  LaneId negated(LaneId v) const;           // x of -x, kNoLane of all else
  LaneId asked_for_nan(LaneId mask) const;  // x of x != x, kNoLane of all else
  LaneId append(const LaneInst& inst);
  void grow();

  int lanes_, reg_bytes_;
  bool is_one_;
  LaneId section_ = 0;
  std::vector<LaneInst> insts_;
  std::vector<std::uint32_t> sources_;  // of each
  std::vector<LaneCall> calls_;
  std::vector<LaneId> table_ = std::vector<LaneId>(256, kNoLane);  // open addressing
};

template <class Fn>
void LaneCode::for_operands(LaneId v, Fn fn) const {
  const LaneInst& i = insts_[v];
  switch (i.op) {
    case LaneOp::Load:
      if (i.in[1] != kNoLane) fn(i.in[1]);
      if (i.in[2] != kNoLane) fn(i.in[2]);
      return;
    case LaneOp::LoadBool:
    case LaneOp::LoadHalf:
    case LaneOp::Iota:
    case LaneOp::Const:
    case LaneOp::LoadPlace:
    case LaneOp::Sum:
    case LaneOp::RestMask:
      return;
    case LaneOp::Store:
    case LaneOp::StoreBool:
    case LaneOp::StoreHalf:
      return fn(i.in[0]);
    case LaneOp::Next:
      for (LaneId n : next) fn(n);
      return;
    case LaneOp::While:
      for (LaneId m : condition) fn(m);
      for (LaneId r : carried) fn(r);
      return;
    case LaneOp::Call: {
      const LaneCall& c = calls_[i.bits];
      for (LaneId m : c.masks) fn(m);
      for (const auto& parts : c.in)
        for (LaneId p : parts) fn(p);
      for (LaneId u : c.usual) fn(u);
      return;
    }
    default:
      for (LaneId in : i.in)
        if (in != kNoLane) fn(in);
  }
}

}  // namespace tfvm::x86
