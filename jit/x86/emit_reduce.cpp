// What the schedules share: prologue, loops, trees.
#include <algorithm>

#include "jit/x86/reduce_emitter.h"

namespace tfvm::x86 {

namespace {

ax::Mem qword(ax::Mem m) {
  m.setSize(8);
  return m;
}

}  // namespace

ReduceEmitter::ReduceEmitter(const NestShape& shape, Target target, aj::CodeHolder& holder)
    : shape_(shape),
      holder_(holder),
      a_(&holder),
      code_(shape.lanes, target.is_avx512 ? 64 : 32),
      e_{a_, shape, code_, {}, Pool(a_, target.is_avx512 ? 64 : 32), target.is_avx512},
      low_(shape, code_, Lowering::Zeros::Checked) {
  e_.few_registers = target.few_registers;
  e_.notes = target.notes;
  code_.has_sources = target.notes != nullptr;
  validate(a_, target);
  a_.setErrorHandler(&failed_);
}

Status ReduceEmitter::run() {
  lower();
  find_levels();
  lay_out();
  enter(e_);
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k) set_pointer(e_, k);
  set_rest_masks(e_);
  set_indices(e_);
  shape_.schedule == Schedule::Across ? across() : along();
  leave(e_);
  for (std::size_t k = 0; k < late_.size(); ++k) late_[k]();
  for (Body& b : bodies_) b.emit_rare_calls();
  x86::finish(e_, holder_);
  return failed_.status();
}

// What depends on no trip, or on no round within one, is computed before it, and has a home for what does.
void ReduceEmitter::find_levels() {
  level_.assign(code_.size(), 2);
  e_.home.assign(code_.size(), -1);
  find_levels(main_);
  find_levels(checked_);
  find_levels(exact_);
}

void ReduceEmitter::find_levels(Line l) {
  const auto level = [&](LaneId v) -> std::uint8_t {
    const LaneInst& i = code_[v];
    switch (i.op) {
      case LaneOp::Const:
        return 0;
      case LaneOp::Load:
      case LaneOp::LoadBool:
      case LaneOp::LoadHalf:
      case LaneOp::Iota: {
        const ShapeAccess& a = shape_.accesses[i.in[0]];
        const bool is_still = a.is_still || shape_.within == 0;
        std::uint8_t most = is_still ? a.inner == Inner::Same ? 0 : shape_.within > 0 ? 1 : 2 : 2;
        code_.for_operands(v, [&](LaneId in) { most = std::max(most, level_[in]); });
        return most;
      }
      case LaneOp::LoadPlace:
      case LaneOp::Sum:
      case LaneOp::RestMask:
      case LaneOp::Call:
      case LaneOp::CallPart:
        return 2;
      default: {
        if (!has_result(i.op)) return 2;
        std::uint8_t most = 0;
        code_.for_operands(v, [&](LaneId in) { most = std::max(most, level_[in]); });
        return most;
      }
    }
  };
  const std::vector<std::uint8_t> needed = code_.mark_needed();
  std::vector<std::uint8_t> has_home(code_.size(), 0);
  for (LaneId v = l.first; v < l.end; ++v) {
    level_[v] = level(v);
    if (needed[v])
      code_.for_operands(v, [&](LaneId in) {
        if (level_[in] < level_[v] && code_[in].op != LaneOp::Const) has_home[in] = 1;
      });
  }
  for (LaneId v = l.first; v < l.end; ++v)
    if (has_home[v]) e_.home[v] = e_.frame.take(e_.reg_bytes());
}

void ReduceEmitter::lay_out() {
  place_pointers(e_, std::size(kPointerRegisters) - 1);  // rdi counts
  for (int d = 0; d < shape_.outside() + shape_.within; ++d) {
    counters_.push_back(e_.frame.take(8));
    heads_.push_back(a_.newLabel());
  }
  in_group_ = e_.frame.take(8);
  in_doubt_ = e_.frame.take(8);
  take_places(e_);
}

std::vector<LaneId> ReduceEmitter::order(Line l, int level, Trip trip) const {
  std::vector<std::uint8_t> needed(code_.size(), 0);
  const int other = trip == Trip::Rest ? 1 : 2;
  for (LaneId v = l.end; v-- > l.first;) {
    if (!has_result(code_[v].op) && code_[v].op != LaneOp::Call)
      needed[v] = code_[v].op != LaneOp::SetSum || code_[v].imm != other || level < 2;
    if (needed[v]) code_.for_operands(v, [&](LaneId in) { needed[in] = 1; });
  }
  std::vector<LaneId> list;
  for (LaneId v = l.first; v < l.end; ++v)
    if (needed[v] && level_[v] == level && code_[v].op != LaneOp::Const) list.push_back(v);
  return list;
}

void ReduceEmitter::emit(Line l, Trip trip, int level) {
  bodies_.emplace_back(e_, order(l, level, trip), trip);
  bodies_.back().run();
}

// Where a check fails, the line is run again from its beginning: nothing was stored yet.
void ReduceEmitter::emit_checked(Line l, Trip trip) {
  const aj::Label redo = a_.newLabel(), back = a_.newLabel();
  e_.redo = redo;
  emit(l, trip);
  a_.bind(back);
  if (!has_exact_) return;
  later([this, redo, back, trip] {
    a_.bind(redo);
    emit(exact_, trip);
    a_.jmp(back);
  });
}

void ReduceEmitter::emit_main(Trip trip, int level) {
  if (level == 2 && low_.has_checks()) return emit_checked(main_, trip);
  emit(main_, trip, level);
  if (level < 2 && low_.has_checks()) emit(exact_, trip, level);
}

void ReduceEmitter::clear(const Tree& t) { a_.mov(qword(e_.at(t.occupied)), 0); }

// As the carries of a binary counter.
void ReduceEmitter::push(const Tree& t) {
  const aj::Label again = a_.newLabel(), keep = a_.newLabel();
  a_.mov(ax::rsi, e_.at(t.occupied));
  a_.xor_(ax::ecx, ax::ecx);
  a_.bind(again);
  a_.test(ax::esi, 1);
  a_.jz(keep);
  emit(t.combine, Trip::Whole);
  a_.add(ax::rcx, record_);
  a_.shr(ax::rsi, 1);
  a_.jmp(again);
  a_.bind(keep);
  emit(t.keep, Trip::Whole);
  a_.inc(qword(e_.at(t.occupied)));
}

// What the tree holds, from the lightest, onto the value.
void ReduceEmitter::finish(const Tree& t) {
  const aj::Label again = a_.newLabel(), next = a_.newLabel(), done = a_.newLabel();
  a_.mov(ax::rsi, e_.at(t.occupied));
  a_.xor_(ax::ecx, ax::ecx);
  a_.bind(again);
  a_.test(ax::rsi, ax::rsi);
  a_.jz(done);
  a_.test(ax::esi, 1);
  a_.jz(next);
  emit(t.combine, Trip::Whole);
  a_.bind(next);
  a_.add(ax::rcx, record_);
  a_.shr(ax::rsi, 1);
  a_.jmp(again);
  a_.bind(done);
}

void ReduceEmitter::begin_loop(int loop) {
  begin_rounds(e_, counters_[static_cast<std::size_t>(loop)], heads_[static_cast<std::size_t>(loop)]);
}

void ReduceEmitter::end_loop(int loop, bool within) {
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k)
    if (!within || !shape_.accesses[k].is_still) add_to_pointer(e_, k, e_.arg(arg_access(shape_, k) + 2 + loop));
  end_rounds(e_, counters_[static_cast<std::size_t>(loop)], loop, heads_[static_cast<std::size_t>(loop)]);
}

Status emit_reduction(const NestShape& shape, Target target, aj::CodeHolder& holder) {
  return ReduceEmitter(shape, target, holder).run();
}

}  // namespace tfvm::x86
