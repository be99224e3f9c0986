#pragma once
// Assigns registers to a straight line of lane code while it is emitted: a value that is not needed for longest gives
// way (Belady). Constants and values with a home in memory are taken from there and never stored. Two files of
// registers: vectors, and where masks are not vectors, k1 to k7.

#include <span>
#include <utility>

#include "jit/x86/frame.h"
#include "jit/x86/lane_code.h"

namespace tfvm::x86 {

class Registers {
 public:
  // `order`: the instructions to be emitted. `has_mask_registers`: AVX-512. `vectors`: how many of the vector registers
  // values may have, from the first on; sums have what they are told.
  Registers(ax::Assembler& a, const LaneCode& code, Frame& frame, Pool& pool, std::vector<LaneId> order,
            bool has_mask_registers, int vectors);

  // Before and after the instruction at a place of the order.
  void begin(std::size_t position);
  void end();

  // The value in a register, until end().
  ax::Reg reg(LaneId v);
  // In a register or in memory, whichever is cheaper. Vectors only.
  aj::Operand any(LaneId v);
  // Where the value stands, without moving it.
  aj::Operand where(LaneId v);
  // Where the value stands in memory, to which it goes if it has a register.
  ax::Mem in_memory(LaneId v);
  // The register was read for the last time in this instruction, and may be had before its end.
  void unpin(const ax::Reg& reg);
  // Vector registers that an instruction may have at most.
  int available() const;
  // All values go to memory: what follows may change every register.
  void flush();
  // A new register for the result. `over`: it may be that of an operand that is not needed any more.
  ax::Reg out(LaneId v, bool over = true);
  // The register of `operand` becomes that of `v`, by a copy where the operand is still needed, or `copies`.
  ax::Reg take(LaneId v, LaneId operand, bool copies = false);
  // A register for the time of the instruction.
  ax::Vec temp();
  ax::KReg mask_temp();

  // Carries are where they are as a trip begins; at its end, the next ones are put there.
  void begin_trip(std::span<const Carried> carries);
  void carry_on(std::span<const Carried> carries);
  // Within a trip: the carries that began it, to their homes. For a way out: what is in registers here stays as it was.
  void bring_home(std::span<const Carried> carries);
  // A sum from line to line: in `id` as the line begins, and as it ends.
  void begin_sum(LaneId v, int id);
  void end_sum(LaneId v, int id);
  // Sums that are still needed are where they were as the line began.
  void restore_sums();
  // Where a value stands at the end of the preheader, for all trips.
  void set_home(LaneId v, std::int32_t offset) { values_[v].slot = offset, values_[v].is_home = true; }
  bool is_last_use(LaneId v) const;
  bool is_in_register(LaneId v) const { return values_[v].reg >= 0; }
  // The registers in use now: a bit for each vector, then one for each mask.
  std::uint64_t live() const;

  ax::Vec vec(int id) const { return vector(code_.named_bytes(), static_cast<std::uint32_t>(id)); }
  ax::Mem slot(std::int32_t offset) const { return frame_.at(offset); }

 private:
  struct Value {
    std::int32_t slot = -1;
    std::int8_t reg = -1;
    bool is_home = false;              // the slot is not given back
    std::uint32_t next = 0, last = 0;  // in uses_
  };
  struct File {
    std::vector<LaneId> holds;                 // kNoLane: free
    std::vector<std::uint8_t> pinned, locked;  // until the end of the instruction, of the line
    int first = 0;
  };

  File& file(LaneId v) { return masks_apart_ && is_mask(code_[v].op) ? masks_ : vectors_; }
  bool is_k(LaneId v) const { return masks_apart_ && is_mask(code_[v].op); }
  ax::Reg name(LaneId v, int id) const { return is_k(v) ? ax::Reg(ax::k(id)) : ax::Reg(vec(id)); }
  std::uint32_t next_use(LaneId v) const;
  int free_register(File& f);
  bool has_free_vector() const;
  void evict(LaneId v);
  void load(LaneId v, int id);
  bool is_constant(LaneId v) const { return code_[v].op == LaneOp::Const; }
  void move(const Carried& c, const ax::Vec& t, const ax::KReg& mask);
  void step_aside(LaneId v, const ax::Vec& t);
  int pick(LaneId v);
  ax::Mem memory(LaneId v);

  ax::Assembler& a_;
  const LaneCode& code_;
  Frame& frame_;
  Pool& pool_;
  const bool masks_apart_;
  std::vector<LaneId> order_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> uses_;  // positions, of each value in order
  std::vector<std::int32_t> free_slots_;
  File vectors_, masks_;
  std::vector<std::pair<LaneId, int>> sums_;
  std::uint32_t position_ = 0;
};

}  // namespace tfvm::x86
