// The function of a loop. For each group of lanes: what is the same in all trips, then the trips, then what the carries
// are at the end.
#include <algorithm>
#include <bit>
#include <deque>

#include "jit/x86/body.h"
#include "jit/x86/emit.h"
#include "jit/x86/lower.h"

namespace tfvm::x86 {

namespace {

const ax::Gp kTrips = Emission::kEnd;  // that are left

class LoopEmitter {
 public:
  LoopEmitter(const LoopShape& loop, Target target, aj::CodeHolder& holder)
      : loop_(loop),
        shape_(loop.nest),
        holder_(holder),
        a_(&holder),
        code_(shape_.lanes, loop.reg_bytes, shape_.one),
        e_{a_, shape_, code_, {}, Pool(a_, loop.reg_bytes), target.is_avx512} {
    e_.few_registers = target.few_registers;
    e_.notes = target.notes;
    code_.has_sources = target.notes != nullptr;
    validate(a_, target);
    a_.setErrorHandler(&failed_);
  }

  Status run() {
    lower();
    split();
    lay_out();
    place_carries();
    enter(e_);
    for (std::size_t k = 0; k < shape_.accesses.size(); ++k) set_pointer(e_, k);
    if (is_while()) begin_count();
    if (shape_.one) {
      a_.xor_(ax::r12d, ax::r12d);
      group(Trip::One);
    } else {
      set_rest_masks(e_);
      set_indices(e_);
      loops();
      add_body(shared_last_, Trip::Whole);
    }
    if (is_while()) end_count();
    leave(e_);
    for (Body& b : bodies_) b.emit_rare_calls();
    finish(e_, holder_);
    return failed_.status();
  }

 private:
  int outer() const { return shape_.loops > 0 ? shape_.loops - 1 : 0; }
  bool is_while() const { return loop_.condition != kNoNode; }
  bool is_fixed(std::uint32_t access) const { return loop_.by_trip[access] == ByTrip::Fixed; }
  bool is_same(LaneId v) const;
  void lower();
  void split();
  void condition_first();
  void lay_out();
  void place_carries();
  void begin_count();
  void end_count();
  void loops();
  void group(Trip trip);
  void step(bool is_back);
  void move_back(bool is_end);
  void prefetch(Trip trip);
  void add_body(const std::vector<LaneId>& order, Trip trip) {
    if (order.empty()) return;
    bodies_.emplace_back(e_, order, trip);
    bodies_.back().run();
  }

  const LoopShape& loop_;
  const NestShape& shape_;
  aj::CodeHolder& holder_;
  EmitFailure failed_;
  ax::Assembler a_;
  LaneCode code_;
  Emission e_;
  LaneId while_ = kNoLane, next_ = 0;         // the ends of all trips, and of one
  std::vector<LaneId> before_, trip_, last_;  // code that runs once before the trips, in each, and once behind them
  std::vector<LaneId> shared_last_;           // and behind all
  std::vector<std::uint8_t> same_;            // per value: the same in all trips
  std::vector<std::int32_t> counters_;
  std::int32_t count_ = 0, most_ = 0, left_ = 0;  // LoopNest::count, its address; trips of a group, of those the least
  std::vector<std::int32_t> began_;  // of a while: where accesses that move stood before the trips; then the index
  std::deque<Body> bodies_;
};

// Values that are carried are those of the loads of their first element; what is stored last is stored from there.
void LoopEmitter::lower() {
  Lowering low(shape_, code_);
  low.run();
  for (const LoopShape::Carry& c : loop_.carries) {
    const bool is_bool = low.dtype(c.read) == DType::Bool;
    const std::vector<LaneId> read = is_bool ? low.masks(c.read, 4) : low.value(c.read).parts;
    const std::vector<LaneId> next = is_bool ? low.masks(c.next, 4) : low.value(c.next).parts;
    for (std::size_t k = 0; k < next.size(); ++k) {  // one read may serve all parts, if all lanes have one element
      code_.carried.push_back(read[k]);
      code_.next.push_back(next[k]);
    }
  }
  if (is_while()) {
    const int width = low.mask_width(loop_.condition);
    code_.condition = low.masks(loop_.condition, width);
    code_.source = shape_.nodes[loop_.condition].source.index;
    while_ = code_.add({LaneOp::While, static_cast<std::uint8_t>(width), 0, {}, 0});
  }
  code_.source = 0;
  next_ = code_.add({LaneOp::Next, 4, 0, {}, 0});
  std::size_t at = 0;
  for (const LoopShape::Carry& c : loop_.carries) {
    const bool is_bool = low.dtype(c.read) == DType::Bool;
    const int width = is_bool ? 4 : static_cast<int>(size_of(low.dtype(c.read)));
    // What is the same for all lanes is stored when the last of them has read what was there.
    const bool is_shared = !shape_.one && shape_.accesses[c.last].inner == Inner::Same;
    for (int k = 0; k < code_.parts(width); ++k)
      (is_shared ? shared_last_ : last_)
          .push_back(code_.add({is_bool ? LaneOp::StoreBool : LaneOp::Store,
                                static_cast<std::uint8_t>(width),
                                static_cast<std::uint8_t>(k),
                                {code_.carried[at++], c.last, kNoLane},
                                0}));
  }
}

bool LoopEmitter::is_same(LaneId v) const {
  const LaneInst& i = code_[v];
  switch (i.op) {
    case LaneOp::Const:
      return true;
    case LaneOp::LoadBool:
    case LaneOp::LoadHalf:
    case LaneOp::Iota:
      return is_fixed(i.in[0]);
    case LaneOp::Store:
    case LaneOp::StoreBool:
    case LaneOp::StoreHalf:
    case LaneOp::Next:
    case LaneOp::While:
    case LaneOp::Call:
    case LaneOp::CallPart:
      return false;
    default:
      bool all = i.op != LaneOp::Load || is_fixed(i.in[0]);
      code_.for_operands(v, [&](LaneId in) { all = all && same_[in]; });
      return all;
  }
}

void LoopEmitter::split() {
  const std::vector<std::uint8_t> needed = code_.mark_needed();
  std::vector<std::uint8_t> is_read(code_.size(), 0), used(code_.size(), 0);
  for (std::size_t k = 0; k < code_.carried.size(); ++k) is_read[code_.carried[k]] = code_.carried[k] != code_.next[k];
  same_.assign(code_.size(), 0);
  e_.home.assign(code_.size(), -1);
  for (LaneId v = 0; v <= next_; ++v) {
    if (!needed[v] || code_[v].op == LaneOp::Const) {
      same_[v] = code_[v].op == LaneOp::Const;
      continue;
    }
    same_[v] = is_same(v) && !is_read[v];
    (same_[v] || is_read[v] ? before_ : trip_).push_back(v);
    if (!same_[v] && !is_read[v]) code_.for_operands(v, [&](LaneId in) { used[in] = 1; });
  }
  for (LaneId v : code_.carried) used[v] = 1;
  for (LaneId v : before_)
    if (used[v]) e_.home[v] = e_.frame.take(e_.reg_bytes());
  if (is_while()) condition_first();
}

// What the condition needs, the way out, then the others.
void LoopEmitter::condition_first() {
  std::vector<std::uint8_t> asked(code_.size(), 0);
  for (LaneId m : code_.condition) asked[m] = 1;
  for (LaneId v = while_; v-- > 0;)
    if (asked[v]) code_.for_operands(v, [&](LaneId in) { asked[in] = 1; });
  for (LaneId v = 0; v < while_; ++v)  // with a call all that it gives
    if (code_[v].op == LaneOp::CallPart) asked[v] = asked[code_[v].in[0]];
  asked[while_] = 1;
  std::ranges::stable_partition(trip_, [&](LaneId v) { return asked[v] != 0; });
}

void LoopEmitter::lay_out() {
  e_.pointers.resize(shape_.accesses.size());
  std::size_t taken = 0;
  for (const bool moves : {true, false})
    for (std::uint32_t k = 0; k < shape_.accesses.size(); ++k) {
      if (is_fixed(k) == moves) continue;
      Pointer& p = e_.pointers[k];
      if (taken < std::size(kPointerRegisters))
        p.gp = kPointerRegisters[taken++];
      else
        p.slot = e_.frame.take(8);
      p.is_indexed = shape_.one && loop_.by_trip[k] == ByTrip::Indexed;
    }
  for (int d = 0; d < outer(); ++d) counters_.push_back(e_.frame.take(8));
  if (is_while())
    for (std::int32_t* at : {&count_, &most_, &left_}) *at = e_.frame.take(8);
  for (std::size_t k = 0; k <= shape_.accesses.size() && is_while(); ++k) began_.push_back(e_.frame.take(8));
  take_places(e_);
}

// A few registers are left for what happens within a trip.
void LoopEmitter::place_carries() {
  const int most = e_.few_registers ? 2 : e_.is_avx512 ? 20 : 9;
  int taken = 0;
  for (std::size_t k = 0; k < code_.carried.size(); ++k) {
    const auto first = std::ranges::find(code_.carried, code_.carried[k]) -
                       code_.carried.begin();  // one element of all lanes is in one
    if (code_.carried[k] == code_.next[k] || first < static_cast<std::ptrdiff_t>(k)) continue;
    Carried c{code_.carried[k], code_.next[k], -1, e_.home[code_.carried[k]]};
    const bool is_mask_register = e_.is_avx512 && is_mask(code_[c.read].op);
    if (!is_mask_register && taken < most) c.reg = e_.registers() - 1 - taken++;
    e_.carries.push_back(c);
  }
}

void LoopEmitter::loops() {
  std::vector<aj::Label> heads;
  for (int d = 0; d < outer(); ++d) {
    heads.push_back(a_.newLabel());
    begin_rounds(e_, counters_[static_cast<std::size_t>(d)], heads.back());
  }
  inner_trips(e_, [&](Trip trip) { group(trip); });
  for (int d = outer(); d-- > 0;) {
    for (std::size_t k = 0; k < shape_.accesses.size(); ++k)
      add_to_pointer(e_, k, e_.arg(arg_access(shape_, k) + 2 + d));
    end_rounds(e_, counters_[static_cast<std::size_t>(d)], d, heads[static_cast<std::size_t>(d)]);
  }
}

void LoopEmitter::group(Trip trip) {
  add_body(before_, trip);
  for (const Carried& c : e_.carries)
    if (c.reg >= 0) a_.vmovups(e_.vec(c.reg), e_.at(c.home));
  a_.mov(kTrips, is_while() ? e_.at(most_) : e_.arg(arg_trips(shape_)));
  if (is_while()) move_back(false);
  const aj::Label again = a_.newLabel();
  e_.done = a_.newLabel();
  a_.align(aj::AlignMode::kCode, 32);
  a_.bind(again);
  prefetch(trip);
  add_body(trip_, trip);
  step(false);
  a_.dec(kTrips);
  a_.jnz(again);
  if (!is_while()) step(true);
  for (const Carried& c : e_.carries)
    if (c.reg >= 0) a_.vmovups(e_.at(c.home), e_.vec(c.reg));
  if (is_while()) {
    a_.bind(e_.done);
    move_back(true);
    a_.mov(ax::rax, e_.at(left_));
    a_.cmp(kTrips, ax::rax);
    a_.cmovl(ax::rax, kTrips);
    a_.mov(e_.at(left_), ax::rax);
  }
  add_body(last_, trip);
}

void LoopEmitter::begin_count() {
  a_.mov(ax::rax, ax::ptr(ax::rcx, static_cast<std::int32_t>(loop_.count) * 8));
  a_.mov(e_.at(count_), ax::rax);
  a_.mov(ax::rax, ax::ptr(ax::rax));
  for (std::int32_t at : {most_, left_}) a_.mov(e_.at(at), ax::rax);
}

void LoopEmitter::end_count() {
  a_.mov(ax::rax, e_.at(count_));
  a_.mov(ax::rcx, e_.at(left_));
  a_.mov(ax::ptr(ax::rax), ax::rcx);
}

// How many trips a `while` makes is only known at its end: keeps where accesses stand, or puts them back there.
void LoopEmitter::move_back(bool is_end) {
  const auto move = [&](const aj::Operand& place, std::int32_t began) {
    const bool is_reg = place.isReg();
    if (is_end) {
      if (!is_reg) a_.mov(ax::rax, e_.at(began));
      is_reg ? a_.mov(place.as<ax::Gp>(), e_.at(began)) : a_.mov(place.as<ax::Mem>(), ax::rax);
    } else {
      if (!is_reg) a_.mov(ax::rax, place.as<ax::Mem>());
      a_.mov(e_.at(began), is_reg ? place.as<ax::Gp>() : ax::rax);
    }
  };
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k) {
    const Pointer& p = e_.pointers[k];
    if (loop_.by_trip[k] != ByTrip::Stepped) continue;
    move(p.gp >= 0 ? aj::Operand(ax::gpq(static_cast<std::uint32_t>(p.gp))) : aj::Operand(e_.at(p.slot)), began_[k]);
  }
  if (std::ranges::find(loop_.by_trip, ByTrip::Indexed) != loop_.by_trip.end()) move(Emission::kIndex, began_.back());
}

// Accesses move on by a trip, or back by all of them.
void LoopEmitter::step(bool is_back) {
  const auto indexed = std::ranges::find(loop_.by_trip, ByTrip::Indexed);
  if (indexed != loop_.by_trip.end()) a_.add(Emission::kIndex, e_.arg(arg_trips(shape_) + 1 + is_back));
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k)
    if (loop_.by_trip[k] == ByTrip::Stepped) add_to_pointer(e_, k, e_.arg(arg_step(shape_, k) + is_back));
}

// Rows of wide loops are pages apart, which no machine foresees: what is touched in the fourth trip from here.
void LoopEmitter::prefetch(Trip trip) {
  if (trip != Trip::Whole || std::ranges::find(loop_.by_trip, ByTrip::Indexed) == loop_.by_trip.end()) return;
  a_.mov(ax::rdx, e_.arg(arg_trips(shape_) + 1));
  a_.lea(ax::rdx, ax::ptr(Emission::kIndex, ax::rdx, 2));
  for (std::uint32_t k = 0; k < shape_.accesses.size(); ++k) {
    const ShapeAccess& s = shape_.accesses[k];
    if (loop_.by_trip[k] != ByTrip::Indexed || s.inner != Inner::Unit) continue;
    const Pointer& p = e_.pointers[k];
    const ax::Gp base = p.gp >= 0 ? ax::gpq(static_cast<std::uint32_t>(p.gp)) : ax::rax;
    if (p.gp < 0) a_.mov(base, e_.at(p.slot));
    const bool is_stored = std::ranges::find(shape_.stores, k, &ShapeStore::access) != shape_.stores.end();
    const auto size = static_cast<unsigned>(size_of(s.dtype));
    for (int at = 0; at < shape_.lanes * static_cast<int>(size); at += 64) {
      const ax::Mem m = ax::ptr(base, ax::rdx, static_cast<std::uint32_t>(std::countr_zero(size)), at);
      is_stored ? a_.prefetchw(m) : a_.prefetcht0(m);
    }
  }
}

}  // namespace

Status emit_loop(const LoopShape& shape, Target target, aj::CodeHolder& holder) {
  return LoopEmitter(shape, target, holder).run();
}

}  // namespace tfvm::x86
