// Loops by steps, and their tapes (docs/architecture.md, section 3): a tape is a pointer in a tensor of 8 bytes.
#include <algorithm>
#include <cstring>

#include "vm/eager/run.h"
#include "vm/run_steps.h"

namespace tfvm {

Status EagerRun::loop(const EagerStep& s, Frame& f) {
  const EagerCode &cond = *s.targets[0], &body = *s.targets[1];
  const std::size_t first = s.consts[0] + s.consts[1];
  std::vector<Tensor> carries = f.take(s.in, first, s.in.size() - first), tapes;
  for (std::int64_t bytes : s.records) {
    Result<Tensor> t = new_tape(bytes);
    if (!t) return std::move(t).error();
    tapes.push_back(*std::move(t));
  }
  if (Status fresh = make_fresh(carries); !fresh) return fresh;
  for (;;) {
    std::vector<Tensor> args = f.take(s.in, 0, s.consts[0]);
    args.insert(args.end(), carries.begin(), carries.end());
    for (std::size_t k = s.consts[0]; cond.full && k < args.size(); ++k) {
      Result<Tensor> own = args[k].clone(context_.budget());
      if (!own) return std::move(own).error();
      args[k] = *std::move(own);
    }
    Result<std::vector<Tensor>> go = call(cond, std::move(args));
    if (!go) return std::move(go).error();
    if (integer_of(go->front()) == 0) break;
    args = f.take(s.in, s.consts[0], s.consts[1]);
    args.insert(args.end(), std::move_iterator(carries.begin()), std::move_iterator(carries.end()));
    Result<std::vector<Tensor>> next = values(body, std::move(args));
    if (!next) return std::move(next).error();
    for (std::size_t k = 0; k < tapes.size(); ++k)
      if (Status w = write_record(tapes[k], {}, (*next)[carries.size() + k]); !w) return w;
    next->resize(carries.size());
    carries = *std::move(next);
  }
  carries.insert(carries.end(), tapes.begin(), tapes.end());
  for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = std::move(carries[k]);
  return ok();
}

namespace {

// Element i along the leading dim.
Tensor leading(const Tensor& x, std::int64_t i) {
  Layout y = x.layout();
  y.offset += i * y.strides.front();
  y.dims.erase(y.dims.begin());
  y.strides.erase(y.strides.begin());
  return x.with_layout(std::move(y));
}

}  // namespace

Status EagerRun::scan(const EagerStep& s, Frame& f) {
  const std::size_t consts = s.consts[0], carry = s.consts[1], xs = s.in.size() - consts - carry;
  std::vector<Tensor> carries = f.take(s.in, consts, carry), scanned = f.take(s.in, consts + carry, xs), stacked;
  if (Status fresh = make_fresh(carries); !fresh) return fresh;
  if (s.snapshot)
    if (Status fresh = make_fresh(scanned); !fresh) return fresh;
  for (const ValueType& type : s.stacked) {
    Result<Tensor> t = Tensor::make(context_.budget(), type.dtype, type.dims);
    if (!t) return std::move(t).error();
    stacked.push_back(*std::move(t));
  }
  for (std::int64_t n = 0; n < s.length; ++n) {
    const std::int64_t i = s.reverse ? s.length - 1 - n : n;
    std::vector<Tensor> args = f.take(s.in, 0, consts);
    args.insert(args.end(), std::move_iterator(carries.begin()), std::move_iterator(carries.end()));
    for (std::size_t k = 0; k < xs; ++k) {
      Result<Tensor> x = leading(scanned[k], i).clone(context_.budget());
      if (!x) return std::move(x).error();
      args.push_back(*std::move(x));
    }
    Result<std::vector<Tensor>> out = values(*s.targets[0], std::move(args));
    if (!out) return std::move(out).error();
    for (std::size_t k = 0; k < stacked.size(); ++k) {
      const Tensor to = leading(stacked[k], i), &y = (*out)[carry + k];
      copy_elements(to.layout(), to.base(), y.layout(), y.base(), size_of(to.dtype()));
    }
    out->resize(carry);
    carries = *std::move(out);
  }
  for (std::size_t k = 0; k < s.out.size(); ++k)
    f.slots[s.out[k]] = std::move(k < carry ? carries[k] : stacked[k - carry]);
  return ok();
}

Result<Tensor> EagerRun::new_tape(std::int64_t record_bytes) {
  Result<Tensor> out = Tensor::make(context_.budget(), DType::I64, {});
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

namespace {

std::int64_t records_of(const Tensor& tape) {
  const Tape* t = tape_at(tape.data());
  return t ? t->size() : 0;
}

}  // namespace

// As Executor::loop of tapes: behind its end a tape reads as zeros, and -1 trips are as many as the longest has.
Status EagerRun::tape_scan(const EagerStep& s, Frame& f) {
  const std::size_t consts = s.consts[0], carry = s.consts[1];
  std::vector<Tensor> carries = f.take(s.in, 1 + consts, carry), outputs;
  const std::vector<Tensor> inputs = f.take(s.in, 1 + consts + carry, s.in.size() - 1 - consts - carry);
  std::int64_t length = integer_of(f.slots[s.in[0]]);
  if (length == -1)
    for (const Tensor& t : inputs) length = std::max(length, records_of(t));
  length = std::max<std::int64_t>(length, 0);
  for (std::int64_t bytes : s.records) {
    Result<Tensor> t = new_tape(bytes);
    if (!t) return std::move(t).error();
    if (!tape_at(t->data())->resize(length)) return Error(Code::Memory, "a tape can't be allocated");
    outputs.push_back(*std::move(t));
  }
  if (Status fresh = make_fresh(carries); !fresh) return fresh;
  for (std::int64_t n = 0; n < length; ++n) {
    const std::int64_t i = s.reverse ? length - 1 - n : n;
    std::vector<Tensor> args = f.take(s.in, 1, consts);
    args.insert(args.end(), std::move_iterator(carries.begin()), std::move_iterator(carries.end()));
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      Result<Tensor> x = Tensor::make(context_.budget(), s.stacked[k].dtype, s.stacked[k].dims);
      if (!x) return std::move(x).error();
      const auto bytes = static_cast<std::size_t>(x->bytes());
      if (i < records_of(inputs[k]))
        std::memcpy(x->data(), tape_at(inputs[k].data())->at(i), bytes);
      else
        std::memset(x->data(), 0, bytes);
      args.push_back(*std::move(x));
    }
    Result<std::vector<Tensor>> out = values(*s.targets[0], std::move(args));
    if (!out) return std::move(out).error();
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (Status w = write_record(outputs[k], i, (*out)[carry + k]); !w) return w;
    out->resize(carry);
    carries = *std::move(out);
  }
  carries.insert(carries.end(), outputs.begin(), outputs.end());
  for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = std::move(carries[k]);
  return ok();
}

}  // namespace tfvm
