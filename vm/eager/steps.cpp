// Single steps of code that runs as written.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/eager/run.h"

namespace tfvm {

namespace {

// A write needs a place of its own for every element.
Status check_target(const EagerStep& s, const Tensor& x) {
  if (!overlaps_itself(x.layout())) return ok();
  return Error(Code::Type,
               fmt::format("[{}] can't write into an expanded or overlapping view: {} with strides [{}] has "
                           "elements that share a place; clone it first",
                           s.name, x.type_text(), fmt::join(x.layout().strides, ", ")));
}

void note_write(const EagerStep& s, const Tensor& x) {
  if (x.storage() && x.elements() > 0) x.storage()->written(s.site);
}

// Elements of v, which has x's dims, into x.
Status copy_into(const EagerStep& s, const Tensor& x, Tensor v, const Context& context) {
  const bool same = x.data() == v.data() && x.layout().strides == v.layout().strides;
  if (same) return ok();
  if (may_overlap(x, v)) {
    Result<Tensor> apart = context.clone(v);
    if (!apart) return std::move(apart).error();
    v = *std::move(apart);
  }
  copy_elements(x.layout(), x.base(), v.layout(), v.base(), size_of(x.dtype()));
  note_write(s, x);
  return ok();
}

bool is_own(const Tensor& t) {
  return t.storage().unique() && t.is_row_major() && t.data() == t.storage()->data() &&
         t.bytes() == t.storage()->bytes();
}

}  // namespace

Result<EagerRun::Next> EagerRun::step(const EagerStep& s, Frame& f) {
  using Kind = EagerStep::Kind;
  Status done = ok();
  switch (s.kind) {
    case Kind::Constant:
      done = constant(s, f);
      break;
    case Kind::Global:
      f.slots[s.out[0]] = globals_[static_cast<std::size_t>(s.globals[0])];
      break;
    case Kind::View:
      done = view(s, f);
      break;
    case Kind::Plan:
      return plan(s, f);
    case Kind::Write:
      if (done = check_target(s, f.slots[s.in[0]]); done) return plan(s, f);
      break;
    case Kind::Copy:
      done = copy(s, f);
      break;
    case Kind::Update:
      done = update(s, f);
      break;
    case Kind::Call:
    case Kind::Branch:
    case Kind::While:
    case Kind::Scan:
    case Kind::TapeScan:
      return enter_block(s, f);
    case Kind::Move:
      for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = f.slots[s.in[k]];
      f.take(s.in, 0, s.in.size(), in_);
      done = check_saved(in_, sites_);
      in_.clear();
      break;
    case Kind::Extern:
      done = custom(s, f);
      break;
  }
  if (!done) return std::move(done).error();
  return Next::Step;
}

Status EagerRun::constant(const EagerStep& s, Frame& f) {
  Result<Tensor> value = s.shared ? Result<Tensor>(s.value) : context_.clone(s.value);
  if (!value) return std::move(value).error();
  f.slots[s.out[0]] = *std::move(value);
  return ok();
}

Status EagerRun::view(const EagerStep& s, Frame& f) {
  Result<Tensor> view = view_of(s.view, f.slots[s.in[0]]);
  if (!view) return std::move(view).error();
  f.slots[s.out[0]] = *std::move(view);
  return ok();
}

// Of a write into its target; else into fresh tensors. A step that stands in a pause is its plan taken up again.
Result<EagerRun::Next> EagerRun::plan(const EagerStep& s, Frame& f) {
  if (plan_paused_) return plan_ended(s, f, context_.go_on(*s.plan));
  in_.clear(), out_.clear();
  for (std::int64_t g : s.globals) in_.push_back(globals_[static_cast<std::size_t>(g)]);
  f.take(s.in, 0, s.in.size(), in_);
  if (Status fresh = check_saved(in_, sites_); !fresh) return std::move(fresh).error();
  if (s.kind == EagerStep::Kind::Write)
    out_.push_back(f.slots[s.in[0]]);
  else if (Status made = context_.make_outputs(*s.plan, in_, s.kept, out_); !made)
    return std::move(made).error();
  context_.limits.steps = steps_left_;
  return plan_ended(s, f, context_.begin(*s.plan, in_, out_));
}

Result<EagerRun::Next> EagerRun::plan_ended(const EagerStep& s, Frame& f, RunEnd end) {
  plan_paused_ = end == RunEnd::Paused;
  if (plan_paused_) return Next::Paused;
  steps_left_ = context_.steps_left();
  in_.clear();
  if (end == RunEnd::Failed) {
    out_.clear();
    const StepOrigin at = context_.failed_at();
    failed_at_ = at.debug == s.plan_debug || at.debug == kNone<DebugId> ? s.origin : at;
    failed_ = true;
    if (steps_left_ < 0) return Error(Code::Limit, fmt::format("the limit of {} steps is reached", limits_.steps));
    return context_.error();
  }
  if (s.kind == EagerStep::Kind::Write) note_write(s, out_[0]);
  context_.own_tapes(*s.plan, out_);
  for (std::size_t k = 0; k < out_.size(); ++k)
    if (s.plan->results[k].is_tape) kept_->owners.push_back(out_[k]);
  f.give(s.out, out_);
  return Next::Step;
}

Status EagerRun::copy(const EagerStep& s, Frame& f) {
  const Tensor x = f.slots[s.in[0]];
  if (Status good = check_target(s, x); !good) return good;
  const Tensor v = s.value ? s.value : f.slots[s.in[1]];
  const Tensor wide = v.with_layout(broadcast(v.layout(), x.dims()));
  if (Status done = copy_into(s, x, wide, context_); !done) return done;
  f.slots[s.out[0]] = x;
  return ok();
}

// Starts are moved so that the update fits.
Status EagerRun::update(const EagerStep& s, Frame& f) {
  const Tensor x = f.slots[s.in[0]], u = f.slots[s.in[1]];
  if (Status good = check_target(s, x); !good) return good;
  Layout place{u.layout().dims, x.layout().strides, x.layout().offset};
  for (std::size_t k = 0; k < place.dims.size(); ++k)
    place.offset += place.strides[k] *
                    std::clamp<std::int64_t>(integer_of(f.slots[s.in[2 + k]]), 0, x.layout().dims[k] - place.dims[k]);
  if (Status done = copy_into(s, x.with_layout(std::move(place)), u, context_); !done) return done;
  f.slots[s.out[0]] = x;
  return ok();
}

Status EagerRun::make_fresh(std::vector<Tensor>& tensors) {
  if (Status fresh = check_saved(tensors, sites_); !fresh) return fresh;
  for (Tensor& t : tensors) {
    if (is_own(t)) continue;
    Result<Tensor> own = context_.clone(t);
    if (!own) return std::move(own).error();
    t = *std::move(own);
  }
  return ok();
}

}  // namespace tfvm
