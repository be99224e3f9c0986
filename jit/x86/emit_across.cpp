// Lanes are results.
#include "jit/region/reduce.h"
#include "jit/x86/reduce_emitter.h"

namespace tfvm::x86 {

void ReduceEmitter::across() {
  const int outside = shape_.outside();
  for (int d = 0; d < outside; ++d) begin_loop(d);
  emit_main(Trip::Whole, 0);
  inner_trips(e_, [&](Trip trip) { across_trip(trip); });
  for (int d = outside; d-- > 0;) end_loop(d, false);
}

// All rounds of the loops within, for one vector of results. r13 counts the rounds of the innermost loop, rdi what is
// left of a group.
void ReduceEmitter::across_trip(Trip trip) {
  const int outside = shape_.outside(), last = outside + shape_.within - 1;
  for (int d = outside; d <= last; ++d) heads_[static_cast<std::size_t>(d)] = a_.newLabel();
  emit_main(trip, 1);
  emit(clear_, Trip::Whole);
  clear(groups_);
  a_.mov(ax::edi, static_cast<int>(kRowGroup));
  for (int d = outside; d < last; ++d) begin_loop(d);
  a_.mov(Emission::kEnd, e_.arg(kArgExtents + last));
  const aj::Label again = a_.newLabel(), full = a_.newLabel(), back = a_.newLabel();
  a_.align(aj::AlignMode::kCode, 32);
  a_.bind(again);
  emit_main(trip, 2);
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
  emit(results_, trip);
}

}  // namespace tfvm::x86
