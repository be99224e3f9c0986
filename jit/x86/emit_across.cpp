// Lanes are results.
#include <bit>

#include "jit/region/reduce.h"
#include "jit/x86/reduce_emitter.h"

namespace tfvm::x86 {

void ReduceEmitter::across() {
  const int outside = shape_.outside();
  if (asks_at_end()) {
    ax::Mem in_doubt = e_.at(in_doubt_);
    in_doubt.setSize(8);
    a_.mov(in_doubt, 0);
  }
  for (int d = 0; d < outside; ++d) begin_loop(d);
  emit_main(Trip::Whole, 0);
  inner_trips(
      e_, [&](Trip trip) { across_trip(trip); }, true);
  for (int d = outside; d-- > 0;) end_loop(d, false);
}

// Where the sums say that one of the rounds was wrong, all are run again, each with its own check. Then there may be
// more such rounds in other trips, which are run so from the beginning.
void ReduceEmitter::across_trip(Trip trip) {
  emit_main(trip, 1);
  if (!asks_at_end()) {
    across_rounds([&] { emit_main(trip, 2); });
    return emit(results_, trip);
  }
  const aj::Label redo = a_.newLabel(), back = a_.newLabel();
  ax::Mem in_doubt = e_.at(in_doubt_);
  in_doubt.setSize(8);
  a_.cmp(in_doubt, 0);
  a_.jne(redo);
  across_rounds([&] { emit_main(trip, 2); });
  e_.redo = redo;
  emit(check_, trip);
  a_.bind(back);
  emit(results_, trip);
  later([this, redo, back, trip, in_doubt] {
    a_.bind(redo);
    a_.mov(in_doubt, 1);
    for (int level : {0, 1})
      for (Line l : {checked_, exact_}) emit(l, trip, level);
    across_rounds([&] { emit_checked(checked_, trip); });
    a_.jmp(back);
  });
}

// Rounds go through memory in steps that no machine foresees: the last line of what they take, of those ahead. Its
// first one, where there are two, is the last of the trip before.
void ReduceEmitter::ask_for_lines(int loop) {
  constexpr std::uint32_t kAhead = 3;  // rounds, as a shift
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k) {
    const ShapeAccess& s = shape_.accesses[k];
    if (s.inner != Inner::Unit || s.is_still || s.is_iota || e_.pointers[k].gp < 0) continue;
    const auto size = static_cast<std::int32_t>(size_of(s.dtype));
    const auto shift = static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint32_t>(size)));
    a_.mov(ax::rax, e_.arg(arg_access(shape_, k) + 2 + loop));
    a_.lea(ax::rax, ax::ptr(ax::gpq(static_cast<std::uint32_t>(e_.pointers[k].gp)), ax::rax, kAhead));
    a_.prefetcht0(ax::ptr(ax::rax, Emission::kIndex, shift, shape_.lanes * size - 1));
  }
}

// All rounds of the loops within, for one vector of results: their sums are in the record then, and the pointers where
// they were. r13 counts the rounds of the innermost loop, rdi what is left of a group.
void ReduceEmitter::across_rounds(const std::function<void()>& round) {
  const int outside = shape_.outside(), last = outside + shape_.within - 1;
  for (int d = outside; d <= last; ++d) heads_[static_cast<std::size_t>(d)] = a_.newLabel();
  emit(clear_, Trip::Whole);
  clear(groups_);
  a_.mov(ax::edi, static_cast<int>(kRowGroup));
  for (int d = outside; d < last; ++d) begin_loop(d);
  a_.mov(Emission::kEnd, e_.arg(kArgExtents + last));
  const aj::Label again = a_.newLabel(), full = a_.newLabel(), back = a_.newLabel();
  a_.align(aj::AlignMode::kCode, 32);
  a_.bind(again);
  round();
  if (shape_.is_far) ask_for_lines(last);
  a_.dec(ax::edi);
  a_.jz(full);
  a_.bind(back);
  later([this, full, back] {
    a_.bind(full);
    emit(dump_, Trip::Whole);
    push(groups_);
    emit(clear_, Trip::Whole);
    a_.mov(ax::edi, static_cast<int>(kRowGroup));
    a_.jmp(back);
  });
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k)
    if (!shape_.accesses[k].is_still) add_to_pointer(e_, k, e_.arg(arg_access(shape_, k) + 2 + last));
  a_.dec(Emission::kEnd);
  a_.jnz(again);
  for (int d = last; d-- > outside;) end_loop(d, true);
  for (std::size_t k = 0; k < shape_.accesses.size(); ++k)
    if (!shape_.accesses[k].is_still) add_to_pointer(e_, k, e_.arg(arg_access(shape_, k) + 3 + last));
  emit(dump_, Trip::Whole);
  finish(groups_);
}

}  // namespace tfvm::x86
