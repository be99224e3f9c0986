// Calls, branches and loops of code that runs as written. Each enters a block, and is taken up again with its results.
#include <algorithm>

#include "vm/eager/run.h"

namespace tfvm {

namespace {

std::size_t target_of(const EagerStep& s, const Tensor& selector) {
  const std::int64_t i = integer_of(selector), last = static_cast<std::int64_t>(s.targets.size()) - 1;
  if (selector.dtype() == DType::Bool) return i ? 0 : 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, last));
}

// Element i along the leading dim.
Tensor leading(const Tensor& x, std::int64_t i) {
  Layout y = x.layout();
  y.offset += i * y.strides.front();
  y.dims.erase(y.dims.begin());
  y.strides.erase(y.strides.begin());
  return x.with_layout(std::move(y));
}

// Elements of `more` behind those of `list`.
void append(std::vector<Tensor>& list, std::vector<Tensor>& more) {
  list.insert(list.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  more.clear();
}

// The first `count` elements of `by` alone; the others go.
void replace(std::vector<Tensor>& list, std::vector<Tensor>& by, std::size_t count) {
  list.clear();
  by.resize(count);
  append(list, by);
}

}  // namespace

Result<EagerRun::Next> EagerRun::enter_block(const EagerStep& s, Frame& f) {
  using Kind = EagerStep::Kind;
  const std::size_t depth = depth_;
  Status entered = ok();
  if (s.kind == Kind::Call || s.kind == Kind::Branch) {
    if (entered = poll(); entered) {
      const bool branch = s.kind == Kind::Branch;
      const std::size_t which = branch ? target_of(s, f.slots[s.in[0]]) : 0;
      f.take(s.in, branch, s.in.size() - branch, args_);
      enter(*s.targets[which]);
    }
  } else {
    entered = start_loop(s, f);
  }
  if (!entered) return std::move(entered).error();
  return depth_ > depth ? Next::Block : Next::Step;
}

// The block above has ended. What a loop has to do then; a call or branch is through.
Status EagerRun::block_ended(const EagerStep& s, Frame& f, std::vector<Tensor>& out) {
  using Kind = EagerStep::Kind;
  const std::size_t depth = depth_;
  Status done = ok();
  if (s.kind == Kind::While && !f.in_body) {
    if (integer_of(out.front()) != 0) return enter_body(s, f);
    append(f.carries, f.tapes);
    f.give(s.out, f.carries);
  } else if (s.kind != Kind::Call && !(done = make_fresh(out))) {
    return done;
  } else if (s.kind == Kind::While) {
    const std::size_t carry = s.out.size() - f.tapes.size();
    for (std::size_t k = 0; k < f.tapes.size(); ++k)
      if (Status w = write_record(f.tapes[k], {}, out[carry + k]); !w) return w;
    replace(f.carries, out, carry);
    ++f.trip;
    return enter_cond(s, f);
  } else if (s.kind == Kind::Scan || s.kind == Kind::TapeScan) {
    const std::size_t carry = s.consts[1];
    const std::int64_t place = s.reverse ? f.length - 1 - f.trip : f.trip;
    for (std::size_t k = 0; k < f.stacked.size(); ++k) {
      const Tensor to = leading(f.stacked[k], place), &y = out[carry + k];
      copy_elements(to.layout(), to.base(), y.layout(), y.base(), size_of(to.dtype()));
    }
    for (std::size_t k = 0; k < f.tapes.size(); ++k)
      if (Status w = write_record(f.tapes[k], place, out[carry + k]); !w) return w;
    replace(f.carries, out, carry);
    ++f.trip;
    done = enter_trip(s, f);
  } else {
    f.give(s.out, out);
  }
  if (!done || depth_ > depth) return done;
  f.carries.clear(), f.scanned.clear(), f.stacked.clear(), f.tapes.clear();
  for (Slot dead : s.dead) f.slots[dead] = {};
  ++f.at;
  return done;
}

Status EagerRun::start_loop(const EagerStep& s, Frame& f) {
  using Kind = EagerStep::Kind;
  const bool is_while = s.kind == Kind::While;
  const std::size_t first = (s.kind == Kind::TapeScan) + s.consts[0] + (is_while ? s.consts[1] : 0);
  const std::size_t carry = is_while ? s.in.size() - first : s.consts[1];
  f.trip = 0;
  f.carries.clear(), f.scanned.clear(), f.stacked.clear();
  f.take(s.in, first, carry, f.carries);
  f.take(s.in, first + carry, s.in.size() - first - carry, f.scanned);
  f.length = s.kind == Kind::TapeScan ? tape_trips(f.slots[s.in[0]], f.scanned) : s.length;
  if (Status fresh = make_fresh(f.carries); !fresh) return fresh;
  if (s.snapshot)
    if (Status fresh = make_fresh(f.scanned); !fresh) return fresh;
  if (Status made = make_tapes(s, f); !made) return made;
  for (std::size_t k = 0; s.kind == Kind::Scan && k < s.stacked.size(); ++k) {
    Result<Tensor> t = context_.make(s.stacked[k].dtype, s.stacked[k].dims);
    if (!t) return std::move(t).error();
    f.stacked.push_back(*std::move(t));
  }
  return is_while ? enter_cond(s, f) : enter_trip(s, f);
}

Status EagerRun::enter_cond(const EagerStep& s, Frame& f) {
  const EagerCode& cond = *s.targets[0];
  f.take(s.in, 0, s.consts[0], args_);
  args_.insert(args_.end(), f.carries.begin(), f.carries.end());
  for (std::size_t k = s.consts[0]; cond.full && k < args_.size(); ++k) {
    Result<Tensor> own = context_.clone(args_[k]);
    if (!own) return std::move(own).error();
    args_[k] = *std::move(own);
  }
  f.in_body = false;
  enter(cond);
  return ok();
}

Status EagerRun::enter_body(const EagerStep& s, Frame& f) {
  if (Status polled = poll(); !polled) return polled;
  f.take(s.in, s.consts[0], s.consts[1], args_);
  append(args_, f.carries);
  f.in_body = true;
  enter(*s.targets[1]);
  return ok();
}

Status EagerRun::enter_trip(const EagerStep& s, Frame& f) {
  const bool is_tapes = s.kind == EagerStep::Kind::TapeScan;
  if (f.trip == f.length) {
    append(f.carries, f.stacked);
    append(f.carries, f.tapes);
    f.give(s.out, f.carries);
    return ok();
  }
  if (Status polled = poll(); !polled) return polled;
  f.take(s.in, is_tapes, s.consts[0], args_);
  append(args_, f.carries);
  const std::int64_t place = s.reverse ? f.length - 1 - f.trip : f.trip;
  for (std::size_t k = 0; k < f.scanned.size(); ++k) {
    Result<Tensor> x =
        is_tapes ? read_record(f.scanned[k], place, s.stacked[k]) : context_.clone(leading(f.scanned[k], place));
    if (!x) return std::move(x).error();
    args_.push_back(*std::move(x));
  }
  enter(*s.targets[0]);
  return ok();
}

}  // namespace tfvm
