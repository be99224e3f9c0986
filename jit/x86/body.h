#pragma once
// Emits straight lines of lane code: one trip of the inner loop, or what is computed once before it.

#include <algorithm>

#include "jit/x86/emission.h"
#include "jit/x86/registers.h"
#include "jit/x86/rows.h"

namespace tfvm::x86 {

class Body {
 public:
  Body(Emission& e, std::vector<LaneId> order, Trip trip);
  void run();
  // The code of rare calls, placed out of the way.
  void emit_rare_calls();

 private:
  struct RareCall {
    aj::Label entry, back;
    const LaneCall* call;
    std::vector<ax::Reg> results;
    std::vector<std::vector<aj::Operand>> in;
    std::uint32_t source;
  };

  // Memory of a part of an access at the present trip.
  struct At {
    std::uint32_t access;
    int part = 0;
    std::int32_t displacement = 0;
  };

  void inst(LaneId v);
  bool simple(LaneId v);  // one machine instruction from the table
  void fma(LaneId v);
  void shift(LaneId v);
  void compare(LaneId v);
  void select(LaneId v);
  void mask_op(LaneId v);
  void convert(LaneId v);
  void load(LaneId v);
  void load_bool(LaneId v);
  void load_half(LaneId v);
  void load_strided(LaneId v);
  void load_each(LaneId v);
  void store_each(LaneId v);
  void load_picked(LaneId v);
  void pick_one(LaneId v);
  void pick_same(LaneId v);
  void pick_lanes(LaneId v);
  void pick_each(LaneId v);
  void pick_all(LaneId v);
  // Lane by lane from memory: at `place`, which has rcx as its index, for each of the indices in the frame's bytes; or
  // from rdx on, rcx bytes apart, of which rsi has three.
  void each_into(LaneId v, ax::Mem place, bool by_index);
  void skip_if_none(const ax::Reg& mask, int width, const aj::Label& none);
  void ask_for_all(int width, const aj::Label& all);
  ax::Vec pick_index(LaneId v);
  ax::Reg pick_mask(LaneId v, bool is_own);
  ax::Gp pointer(std::uint32_t access, const ax::Gp& other);
  ax::Mem row(LaneId v);
  void iota(LaneId v);
  void store(LaneId v);
  void store_pieces(At at, const ax::Reg& value, int width);
  void store_bool(LaneId v);
  void store_half(LaneId v);
  void round_half(LaneId v);
  void place(LaneId v);
  void upper(LaneId v);
  void check(LaneId v);
  void bits_of(const ax::Gp& to, const ax::Reg& mask, int width);  // one bit a lane
  void end_of_trips(LaneId v);
  void any_of_rest(int width);
  void call(LaneId v);
  void rare_call(LaneId v);
  void any_lane(const std::vector<LaneId>& masks);
  void call_part(LaneId v);

  // Rows of an array of structs, all elements at once where the first of them is asked for.
  void row(const Row& row);
  ax::Mem lane(int k, int displacement = 0) const;
  void next_lanes();
  void move_rows(const Row& row, int width, const ax::Vec* regs, const std::uint8_t* rows, bool is_load);

  ax::Mem address(At at, int bytes_per_lane);  // may use rax and rdx
  ax::Gp strided(At at, int lanes_per_part);
  void each_stride(std::uint32_t access);
  void each_lane(At at, int size, int count, bool is_load);
  ax::Mem rest_mask(int width, int part) const;
  ax::Mem full(ax::Mem m) const { return m.setSize(static_cast<std::uint32_t>(code_.named_bytes())), m; }
  ax::Vec half(const ax::Reg& r) const { return vector(e_.reg_bytes() / 2, r.id()); }
  ax::Vec sized(const ax::Reg& r, int bytes) const { return vector(std::min(bytes, code_.named_bytes()), r.id()); }
  void broadcast(const ax::Vec& to, const ax::Mem& from, int width);
  void widen(const ax::Vec& to, const ax::Mem& from, DType d);
  void mask_to_bytes(const ax::Reg& mask, const ax::Vec& out);
  aj::Operand upper_or_lower(LaneId v, int half_index);
  void store_operand(const ax::Mem& to, const ax::Reg& from, DType d);
  void rare_operands(const RareCall& r);
  void call_function(const LaneCall& c, aj::Label& caller);  // on what is in the buffers
  int lanes_of(int width) const {
    return e_.code.lanes() * width <= e_.reg_bytes() ? e_.code.lanes() : e_.reg_bytes() / width;
  }

  Emission& e_;
  ax::Assembler& a_;
  const LaneCode& code_;
  std::vector<LaneId> order_;
  Rows rows_;  // of a whole trip
  Registers r_;
  const Trip trip_;
  std::vector<RareCall> rare_calls_;
};

}  // namespace tfvm::x86
