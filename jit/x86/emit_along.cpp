// Lanes are elements of a row.
#include "jit/region/reduce.h"
#include "jit/x86/reduce_emitter.h"

namespace tfvm::x86 {

void ReduceEmitter::along() {
  const int kept = shape_.kept, rows = shape_.rows;
  ax::Mem in_group = e_.at(in_group_);
  in_group.setSize(8);
  for (int d = 0; d < kept; ++d) begin_loop(d);
  const auto begin_group = [&] {
    emit(clear_group_, Trip::Whole);
    a_.mov(in_group, static_cast<int>(kRowGroup));
  };
  if (rows > 0) {
    clear(groups_);
    begin_group();
  }
  for (int d = kept; d < kept + rows; ++d) begin_loop(d);
  along_row();
  if (rows > 0) {
    emit(take_row_, Trip::Whole);
    const aj::Label over = a_.newLabel();
    a_.dec(in_group);
    a_.jnz(over);
    push(groups_);
    begin_group();
    a_.bind(over);
    for (int d = kept + rows; d-- > kept;) end_loop(d, false);
    finish(groups_);
  }
  emit(results_, Trip::One);
  for (int d = kept; d-- > 0;) end_loop(d, false);
}

void ReduceEmitter::pack() {
  inner_trips(e_, [&](Trip trip) { emit(packing_, trip); });
}

void ReduceEmitter::check_block() {
  const aj::Label full = a_.newLabel(), back = a_.newLabel();
  a_.cmp(ax::rdi, static_cast<int>(kRowBlock));
  a_.jge(full);
  a_.bind(back);
  later([this, full, back] {
    a_.bind(full);
    end_block();
    a_.jmp(back);
  });
}

void ReduceEmitter::whole_trips() {
  const aj::Label again = a_.newLabel(), rest = a_.newLabel();
  a_.mov(Emission::kEnd, e_.arg(kArgWhole));
  a_.test(Emission::kEnd, Emission::kEnd);
  a_.jz(rest);
  a_.align(aj::AlignMode::kCode, 32);
  a_.bind(again);
  emit_main(Trip::Whole, 2);
  a_.add(ax::rdi, shape_.lanes);
  check_block();
  a_.add(Emission::kIndex, shape_.lanes);
  a_.cmp(Emission::kIndex, Emission::kEnd);
  a_.jl(again);
  a_.bind(rest);
}

// rdi counts the elements of the block.
void ReduceEmitter::along_row() {
  const int first = shape_.kept + shape_.rows, last = shape_.outside();
  clear(blocks_);
  a_.xor_(ax::edi, ax::edi);
  if (!packed_.empty()) pack();
  for (int d = first; d < last; ++d) begin_loop(d);
  emit_main(Trip::Whole, 0);
  if (shape_.is_direct) emit(clear_, Trip::Whole);
  a_.xor_(ax::r12d, ax::r12d);
  if (shape_.trips & kWholeTrips) whole_trips();
  rest_trip(e_, [&](Trip trip) {
    emit_main(trip, 2);
    if (shape_.is_direct) return;
    a_.add(ax::rdi, e_.arg(kArgRest));
    check_block();
  });
  for (int d = last; d-- > first;) end_loop(d, false);
  end_row();
}

void ReduceEmitter::end_block() {
  if (shape_.is_direct) {
    emit(dump_, Trip::Whole);
    push(blocks_);
    emit(clear_, Trip::Whole);
    a_.xor_(ax::edi, ax::edi);
    return;
  }
  sum_buffer(true);
  push(blocks_);
  emit(overflow_, Trip::Whole);
  a_.sub(ax::rdi, static_cast<int>(kRowBlock));
}

void ReduceEmitter::end_row() {
  if (shape_.is_direct) {
    emit(dump_, Trip::Whole);
  } else {
    for (const Sum& s : sums_) emit(s.pad, Trip::Whole);
    sum_buffer(false);
  }
  finish(blocks_);
}

// The elements in the buffer, or a whole block of them, become the record of blocks.
void ReduceEmitter::sum_buffer(bool is_full) {
  for (const Sum& s : sums_) {
    const aj::Label again = a_.newLabel(), done = a_.newLabel();
    emit(s.clear, Trip::Whole);
    a_.xor_(ax::ecx, ax::ecx);
    if (is_full) {
      a_.mov(ax::esi, static_cast<int>(kRowBlock) * s.width);
    } else {
      a_.mov(ax::rsi, ax::rdi);
      a_.shl(ax::rsi, s.width == 8 ? 3 : 2);
      a_.jz(done);
    }
    a_.bind(again);
    emit(s.take, Trip::Whole);
    a_.add(ax::rcx, static_cast<int>(kReduceLanes) * s.width);
    a_.cmp(ax::rcx, ax::rsi);
    a_.jl(again);
    a_.bind(done);
    emit(s.fold, Trip::Whole);
  }
}

}  // namespace tfvm::x86
