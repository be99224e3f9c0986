#pragma once
// The function of a nest with reductions. Values are combined in the order of jit/region/reduce.h: a row in 32 lanes
// that fold, rows in groups of 64 in sequence, blocks of a row and groups by counting trees. What is to be combined and
// does not exist (lanes that no element reaches, the group after the last one) is the neutral element, which changes no
// bits.
//
//   Across: lanes are results, so each step of the order is one vector operation. The sums are carried in registers
//   through the loops over rows.
//   Along: lanes are elements of a row. Where one loop is the row, its trips of 32 points go into the lanes; else the
//   elements of all its loops are put in a buffer of one block, and taken from there.

#include <deque>
#include <functional>
#include <utility>

#include "jit/x86/body.h"
#include "jit/x86/emit.h"
#include "jit/x86/lower.h"
#include "jit/x86/reduce_op.h"
#include "jit/x86/twins.h"

namespace tfvm::x86 {

class ReduceEmitter {
 public:
  ReduceEmitter(const NestShape& shape, Target target, aj::CodeHolder& holder);
  Status run();

 private:
  // A range of lane code that is emitted as one line.
  struct Line {
    LaneId first = 0, end = 0;
  };
  // Registers of all reductions behind each other: a record.
  struct Tree {
    std::int32_t value = 0, levels = 0, occupied = 0;  // places: a record, records, a number
    Line combine, keep;                                // value = level op value; level = value
  };
  struct Sum {
    DType dtype = DType::F32;  // of the lanes
    Op op = Op::add;
    std::uint64_t neutral = 0;
    int width = 4;
    int parts = 1;                // of a record
    std::int32_t record = 0;      // place in a record
    std::uint32_t source = 0;     // what it is made for
    std::int32_t buffer = 0;      // Along: of a block's elements
    std::uint32_t carry = 0;      // the first
    Line clear, take, fold, pad;  // Along, from a buffer
  };

  // Lowering (lower_reduce.cpp).
  template <class Fn>
  Line line(Fn fn);
  template <class Fn>
  void lower_main(Fn take);
  void lower_check(std::int32_t value);
  void lower();
  void lower_across();
  void lower_along();
  void lower_sum(Sum& s);
  void lower_packing();
  Tree tree(std::int32_t value);
  Lanes at(const Sum& s, Place record);
  void put(const Sum& s, const Lanes& lanes, Place record);
  Lanes carried(const Sum& s, int count);
  Lanes neutral(const Sum& s, int count);
  Lanes folded(const Sum& s, Lanes v);
  void set_carries(const Sum& s, const Lanes& v, int trips = 0);
  int row_registers(const Sum& s) const { return 32 * s.width / code_.reg_bytes(); }
  Line results(std::int32_t value);

  // Emission (emit_reduce.cpp, emit_across.cpp, emit_along.cpp).
  void find_levels();
  void lay_out();
  std::vector<LaneId> order(Line l, int level, Trip trip) const;
  void emit(Line l, Trip trip, int level = 2);
  void emit_main(Trip trip, int level);
  void emit_checked(Line l, Trip trip);
  void find_levels(Line l);
  void across();
  void across_trip(Trip trip);
  void ask_for_lines(int loop);
  void across_rounds(const std::function<void()>& round);
  bool has_twin(std::size_t sum) const { return !twins_.empty() && twins_[sum].of != kNoTwin; }
  bool is_twin_of(std::size_t sum) const;
  bool asks_at_end() const { return asks_at_end_; }
  void along();
  void along_row();
  void whole_trips();
  void check_block();
  void pack();
  void end_block();
  void sum_buffer(bool is_full);
  void end_row();
  void push(const Tree& t);
  void finish(const Tree& t);
  void clear(const Tree& t);
  void begin_loop(int loop);
  void end_loop(int loop, bool within);
  void later(std::function<void()> fn) { late_.push_back(std::move(fn)); }

  const NestShape& shape_;
  aj::CodeHolder& holder_;
  EmitFailure failed_;
  ax::Assembler a_;
  LaneCode code_;
  Emission e_;
  Lowering low_;
  std::vector<Sum> sums_;
  std::vector<Twin> twins_;  // empty: they are not looked for
  bool asks_at_end_ = false, has_exact_ = false;
  std::int32_t record_ = 0;  // bytes
  Line main_, results_;
  Line exact_;         // main_ where a check of it fails; empty: it has none
  Line check_;         // Across: of a trip's sums, at its end; where it fails the trip runs again by checked_,
  Line checked_;       // which is main_ with its own checks, and so do all trips behind it
  Line clear_, dump_;  // of what is carried: begins; goes to a record, folded where lanes are a row's
  Line packing_;
  Lowering::Packed packed_;
  Line overflow_, take_row_, clear_group_;
  Tree blocks_, groups_;
  std::int32_t in_group_ = 0, in_doubt_ = 0;
  std::vector<std::uint8_t> level_;  // of lane values: 0 the same in all trips, 1 in all rounds within a trip
  std::vector<std::int32_t> counters_;
  std::vector<aj::Label> heads_;
  std::deque<Body> bodies_;
  std::deque<std::function<void()>> late_;  // may grow while one runs
};

}  // namespace tfvm::x86
