// Tapes of loops by steps (docs/architecture.md, section 3): a tape is a pointer in a tensor of 8 bytes.
#include <algorithm>
#include <cstring>

#include "vm/eager/run.h"
#include "vm/run_steps.h"

namespace tfvm {

namespace {

std::int64_t records_of(const Tensor& tape) {
  const Tape* t = tape_at(tape.data());
  return t ? t->size() : 0;
}

}  // namespace

Result<Tensor> EagerRun::new_tape(std::int64_t record_bytes) {
  Result<Tensor> out = context_.make(DType::I64, {});
  if (out) set_tape(out->data(), kept_->tapes.make(record_bytes));
  return out;
}

// Behind the last record, or over that of a trip.
Status EagerRun::write_record(const Tensor& tape, std::optional<std::int64_t> trip, const Tensor& record) {
  Tape* t = tape_at(tape.data());
  std::byte* to = trip ? t->at(*trip) : t->append();
  if (!to) return Error(Code::Memory, "a tape can't be allocated");
  copy_elements(row_major(record.dims()), to, record.layout(), record.base(), size_of(record.dtype()));
  return ok();
}

// Results of the outermost call own what their tapes stand in.
Status EagerRun::own_tapes(const EagerCode& code, std::vector<Tensor>& out) {
  struct Owner {
    Tensor pointer;
    std::shared_ptr<Kept> kept;
  };
  const auto release = [](void* owner) { delete static_cast<Owner*>(owner); };
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!code.tapes[k]) continue;
    Result<Tensor> pointer = out[k].clone(context_.budget());
    if (!pointer) return std::move(pointer).error();
    StorageRef storage = StorageRef::borrow(pointer->data(), pointer->bytes(), release, new Owner{*pointer, kept_});
    out[k] = Tensor::over(pointer->data(), pointer->dtype(), pointer->layout(), std::move(storage));
  }
  return ok();
}

// As Executor::loop of tapes: -1 trips are as many as the longest tape has.
std::int64_t EagerRun::tape_trips(const Tensor& trips, std::span<const Tensor> tapes) {
  std::int64_t length = integer_of(trips);
  if (length == -1)
    for (const Tensor& t : tapes) length = std::max(length, records_of(t));
  return std::max<std::int64_t>(length, 0);
}

// Tapes that a loop writes; of a loop over tapes with room for all its records.
Status EagerRun::make_tapes(const EagerStep& s, Frame& f) {
  f.tapes.clear();
  for (std::int64_t bytes : s.records) {
    Result<Tensor> t = new_tape(bytes);
    if (!t) return std::move(t).error();
    if (s.kind == EagerStep::Kind::TapeScan && !tape_at(t->data())->resize(f.length))
      return Error(Code::Memory, "a tape can't be allocated");
    f.tapes.push_back(*std::move(t));
  }
  return ok();
}

// Behind its end a tape reads as zeros.
Result<Tensor> EagerRun::read_record(const Tensor& tape, std::int64_t trip, const ValueType& type) {
  Result<Tensor> x = context_.make(type.dtype, type.dims);
  if (!x) return x;
  const auto bytes = static_cast<std::size_t>(x->bytes());
  if (trip < records_of(tape))
    std::memcpy(x->data(), tape_at(tape.data())->at(trip), bytes);
  else
    std::memset(x->data(), 0, bytes);
  return x;
}

}  // namespace tfvm
