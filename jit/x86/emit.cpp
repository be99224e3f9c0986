#include "jit/x86/emit.h"

#include <algorithm>
#include <deque>
#include <span>

#include "jit/x86/body.h"
#include "jit/x86/lower.h"

namespace tfvm::x86 {

namespace {

class NestEmitter {
 public:
  NestEmitter(const NestShape& shape, Target target, aj::CodeHolder& holder)
      : shape_(shape),
        holder_(holder),
        a_(&holder),
        code_(shape.lanes, target.is_avx512 && !shape.one ? 64 : kOneBytes, shape.one),
        e_{a_, shape, code_, {}, Pool(a_, code_.reg_bytes()), target.is_avx512} {
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
    enter(e_);
    for (std::size_t k = 0; k < shape_.accesses.size(); ++k) set_pointer(e_, k);
    if (shape_.one) {
      add_body(before_, Trip::One);
      add_trip(Trip::One);
    } else {
      set_rest_masks(e_);
      set_indices(e_);
      loops();
    }
    if (streams()) a_.sfence();
    leave(e_);
    exact_trips();
    for (Body& b : bodies_) b.emit_rare_calls();
    finish(e_, holder_);
    return failed_.status();
  }

 private:
  int outer() const { return shape_.loops > 0 ? shape_.loops - 1 : 0; }
  void lower();
  void split();
  void lay_out();
  void loops();
  void whole_trips();
  void streamed_trips(const aj::Label& rest);
  bool streams() const { return std::ranges::any_of(shape_.accesses, &ShapeAccess::is_streamed); }
  void add_body(const std::vector<LaneId>& order, Trip trip) {
    bodies_.emplace_back(e_, order, trip);
    bodies_.back().run();
  }
  void add_trip(Trip trip);
  void exact_trips();

  const NestShape& shape_;
  aj::CodeHolder& holder_;
  EmitFailure failed_;
  ax::Assembler a_;
  LaneCode code_;
  Emission e_;
  LaneId main_ = 0;                            // where lane code of exact_ begins
  std::vector<LaneId> before_, loop_, exact_;  // what every trip has in common, and the trip; where its check fails
  struct Exact {
    aj::Label redo, back;
    Trip trip = Trip::Whole;
  };
  Exact exact_trips_[3];  // whole trips may be made twice
  int exact_count_ = 0;
  aj::Label done_;  // behind the inner loop
  std::vector<std::int32_t> counters_;
  std::deque<Body> bodies_;
};

// Where strong-zero products are some, one check of what is computed of them all is less than one for each; it stands
// before the stores, so that the trip can be run again.
void NestEmitter::lower() {
  const auto products = std::ranges::count_if(shape_.nodes, [](const NestNode& n) {
    return n.kind == NestNodeKind::Op && (n.op == Op::zmul || n.op == Op::zfma);
  });
  const bool is_checked = products > 1 && products >= std::ssize(shape_.stores);
  Lowering low(shape_, code_, is_checked ? Lowering::Zeros::Checked : Lowering::Zeros::Rare);
  low.run();
  main_ = static_cast<LaneId>(code_.size());
  if (!low.has_checks()) return;
  code_.start_section();
  Lowering(shape_, code_, Lowering::Zeros::Exact).run();
}

// What depends on no trip of the inner loop is computed before it; what the trips take of that gets a home.
void NestEmitter::split() {
  const std::vector<std::uint8_t> needed = code_.mark_needed();
  std::vector<std::uint8_t> same(code_.size(), 0), used(code_.size(), 0);
  const auto is_same = [&](LaneId v) {
    const LaneInst& i = code_[v];
    switch (i.op) {
      case LaneOp::Const:
        return true;
      case LaneOp::LoadBool:
      case LaneOp::LoadHalf:
      case LaneOp::Iota:
        return shape_.accesses[i.in[0]].inner == Inner::Same;
      case LaneOp::Store:
      case LaneOp::StoreBool:
      case LaneOp::StoreHalf:
      case LaneOp::Call:
      case LaneOp::CallPart:
        return false;
      default:
        bool all = i.op != LaneOp::Load || shape_.accesses[i.in[0]].inner == Inner::Same;
        code_.for_operands(v, [&](LaneId in) { all = all && same[in]; });
        return all;
    }
  };
  for (LaneId v = 0; v < code_.size(); ++v) {
    if (!needed[v]) continue;
    same[v] = !shape_.one && v < main_ && is_same(v);
    if (code_[v].op == LaneOp::Const) continue;
    if (v >= main_) {
      exact_.push_back(v);
      continue;
    }
    (same[v] ? before_ : loop_).push_back(v);
    if (!same[v]) code_.for_operands(v, [&](LaneId in) { used[in] = 1; });
  }
  e_.same = std::move(same);
  e_.home.assign(code_.size(), -1);
  for (LaneId v : before_)
    if (used[v]) e_.home[v] = e_.frame.take(e_.reg_bytes());
}

void NestEmitter::lay_out() {
  e_.is_light = shape_.one && shape_.accesses.size() <= std::size(kLightRegisters);
  place_pointers(e_);
  for (int d = 0; d < outer(); ++d) counters_.push_back(e_.frame.take(8));
  take_places(e_);
}

void NestEmitter::add_trip(Trip trip) {
  if (exact_.empty()) return add_body(loop_, trip);
  const Exact exact{a_.newLabel(), a_.newLabel(), trip};
  e_.redo = exact.redo;
  add_body(loop_, trip);
  a_.bind(exact.back);
  exact_trips_[exact_count_++] = exact;
}

void NestEmitter::exact_trips() {
  for (const Exact& x : std::span(exact_trips_, static_cast<std::size_t>(exact_count_))) {
    a_.bind(x.redo);
    add_body(exact_, x.trip);
    a_.jmp(x.back);
  }
}

// Whole trips with stores past the caches, where they are aligned, and not to what is read: lines that were fetched
// would have to leave first. Then on with `rest`.
void NestEmitter::streamed_trips(const aj::Label& rest) {
  const aj::Label again = a_.newLabel(), no = a_.newLabel();
  const auto gp = [](const Pointer& p) { return ax::gpq(static_cast<std::uint32_t>(p.gp)); };
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k) {
    if (!shape_.accesses[k].is_streamed) continue;
    const Pointer& p = e_.pointers[k];
    p.gp >= 0 ? a_.mov(ax::rax, gp(p)) : a_.mov(ax::rax, e_.at(p.slot));
    a_.test(ax::eax, e_.reg_bytes() - 1);
    a_.jnz(no);
    for (const NestNode& n : shape_.nodes) {
      if (n.kind != NestNodeKind::Load || shape_.accesses[n.access].inner != Inner::Unit) continue;
      const Pointer& q = e_.pointers[n.access];
      q.gp >= 0 ? a_.cmp(ax::rax, gp(q)) : a_.cmp(ax::rax, e_.at(q.slot));
      a_.je(no);
    }
  }
  e_.is_streaming = true;
  a_.align(aj::AlignMode::kCode, 32);
  a_.bind(again);
  add_trip(Trip::Whole);
  a_.add(Emission::kIndex, shape_.lanes);
  a_.cmp(Emission::kIndex, Emission::kEnd);
  a_.jl(again);
  e_.is_streaming = false;
  a_.jmp(rest);
  a_.bind(no);
}

void NestEmitter::whole_trips() {
  const aj::Label again = a_.newLabel(), rest = a_.newLabel();
  done_ = a_.newLabel();
  a_.mov(Emission::kEnd, e_.arg(kArgWhole));
  a_.test(Emission::kEnd, Emission::kEnd);
  a_.jz(rest);
  if (streams()) streamed_trips(rest);
  a_.align(aj::AlignMode::kCode, 32);
  a_.bind(again);
  add_trip(Trip::Whole);
  a_.add(Emission::kIndex, shape_.lanes);
  a_.cmp(Emission::kIndex, Emission::kEnd);
  a_.jl(again);
  if (!streams()) last_points(e_, again, done_);
  a_.bind(rest);
}

void NestEmitter::loops() {
  std::vector<aj::Label> heads;
  for (int d = 0; d < outer(); ++d) {
    heads.push_back(a_.newLabel());
    begin_rounds(e_, counters_[static_cast<std::size_t>(d)], heads.back());
  }
  add_body(before_, Trip::Whole);
  a_.xor_(ax::r12d, ax::r12d);
  if (shape_.trips & kWholeTrips) whole_trips();
  rest_trip(e_, [&](Trip trip) { add_trip(trip); });
  if (shape_.trips & kWholeTrips) a_.bind(done_);
  for (int d = outer(); d-- > 0;) {
    for (std::size_t k = 0; k < shape_.accesses.size(); ++k)
      add_to_pointer(e_, k, e_.arg(arg_access(shape_, k) + 2 + d));
    end_rounds(e_, counters_[static_cast<std::size_t>(d)], d, heads[static_cast<std::size_t>(d)]);
  }
}

}  // namespace

Status emit_nest(const NestShape& shape, Target target, aj::CodeHolder& holder) {
  if (shape.schedule != Schedule::Plain) return emit_reduction(shape, target, holder);
  return NestEmitter(shape, target, holder).run();
}

}  // namespace tfvm::x86
