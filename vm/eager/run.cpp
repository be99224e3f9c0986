// What every step may rely on, and must keep:
//  1. A slot holds its tensor from the step that gives it to the last that reads it. Two slots may hold one tensor.
//  2. Results of plans are storages of their own; only View, Move, Call and writes give a tensor that another slot has.
//  3. A write checks its target, then computes, then writes: a step that fails has written nothing.
//  4. What passes the edge of a block (results of branches and loops, carries, scanned inputs) is a value: row-major in
//     a storage that nothing else sees. Consts and captures are the tensors themselves.
#include "vm/eager/run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bytecode/consts.h"

namespace tfvm {

EagerRun::EagerRun(Context& context, std::span<const Tensor> globals)
    : context_(context),
      limits_(context.limits),
      globals_(globals),
      steps_left_(context.limits.steps),
      kept_(std::make_shared<Kept>(Kept{{}, Tapes(context.budget())})) {}

EagerRun::~EagerRun() { context_.limits = limits_; }

std::vector<Tensor> EagerRun::Frame::take(const Slots& from, std::size_t begin, std::size_t count) const {
  std::vector<Tensor> out;
  for (std::size_t k = begin; k < begin + count; ++k) out.push_back(slots[from[k]]);
  return out;
}

Status EagerRun::poll() {
  if (--steps_left_ < 0) return Error(Code::Limit, fmt::format("the limit of {} steps is reached", limits_.steps));
  if (limits_.cancel && limits_.cancel->load(std::memory_order_relaxed))
    return Error(Code::Cancelled, "the call was cancelled");
  if (limits_.deadline && std::chrono::steady_clock::now() >= *limits_.deadline)
    return Error(Code::Limit, "the deadline has passed");
  return ok();
}

Result<std::vector<Tensor>> EagerRun::call(const EagerCode& code, std::vector<Tensor> args) {
  const std::size_t owners = kept_->owners.size(), tapes = kept_->tapes.mark();
  if (depth_ == 0 && code.gives_tapes) kept_->owners = args;  // a tape that was given may be given back
  ++depth_;
  Frame f;
  f.slots = std::move(args);
  f.slots.resize(code.slots);
  for (const EagerStep& s : code.steps) {
    Status done = step(s, f);
    if (!done) {
      if (!failed_) failed_at_ = s.origin;
      failed_ = true;
      --depth_;
      return std::move(done).error();
    }
    for (Slot dead : s.dead) f.slots[dead] = {};
  }
  std::vector<Tensor> out = f.take(code.results, 0, code.results.size());
  f.slots.clear();
  --depth_;
  if (!code.gives_tapes) {
    kept_->owners.resize(owners);
    kept_->tapes.release(tapes);
  } else if (depth_ == 0) {
    if (Status owned = own_tapes(code, out); !owned) return std::move(owned).error();
  }
  if (code.fresh)
    if (Status fresh = make_fresh(out); !fresh) return std::move(fresh).error();
  return out;
}

Status EagerRun::step(const EagerStep& s, Frame& f) {
  using Kind = EagerStep::Kind;
  switch (s.kind) {
    case Kind::Constant: {
      Result<Tensor> value = s.shared ? Result<Tensor>(s.value) : s.value.clone(context_.budget());
      if (!value) return std::move(value).error();
      f.slots[s.out[0]] = *std::move(value);
      return ok();
    }
    case Kind::Global:
      f.slots[s.out[0]] = globals_[static_cast<std::size_t>(s.globals[0])];
      return ok();
    case Kind::View: {
      Result<Tensor> view = view_of(s.view, f.slots[s.in[0]]);
      if (!view) return std::move(view).error();
      f.slots[s.out[0]] = *std::move(view);
      return ok();
    }
    case Kind::Plan:
      return plan(s, f);
    case Kind::Write:
      return write(s, f);
    case Kind::Copy:
      return copy(s, f);
    case Kind::Update:
      return update(s, f);
    case Kind::Call: {
      if (Status polled = poll(); !polled) return polled;
      Result<std::vector<Tensor>> out = call(*s.targets[0], f.take(s.in, 0, s.in.size()));
      if (!out) return std::move(out).error();
      for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = std::move((*out)[k]);
      return ok();
    }
    case Kind::Branch:
      return branch(s, f);
    case Kind::While:
      return loop(s, f);
    case Kind::Scan:
      return scan(s, f);
    case Kind::TapeScan:
      return tape_scan(s, f);
    case Kind::Move:
      for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = f.slots[s.in[k]];
      return ok();
    case Kind::Extern:
      return custom(s, f);
  }
  return ok();
}

std::vector<Tensor> EagerRun::plan_inputs(const EagerStep& s, const Frame& f) const {
  std::vector<Tensor> in;
  for (std::int64_t g : s.globals) in.push_back(globals_[static_cast<std::size_t>(g)]);
  for (Slot k : s.in) in.push_back(f.slots[k]);
  return in;
}

// The plan's share of the limits, and where it failed.
Status EagerRun::after_plan(const EagerStep& s, Status done) {
  steps_left_ = context_.steps_left();
  if (done) return done;
  const StepOrigin at = context_.failed_at();
  failed_at_ = at.debug == s.plan_debug || at.debug == kNone<DebugId> ? s.origin : at;
  failed_ = true;
  return done;
}

Status EagerRun::plan(const EagerStep& s, Frame& f) {
  context_.limits.steps = steps_left_;
  Result<std::vector<Tensor>> out = context_.call(*s.plan, plan_inputs(s, f));
  if (Status done = after_plan(s, out ? ok() : Status(std::move(out).error())); !done) return done;
  for (std::size_t k = 0; k < s.out.size(); ++k) {
    if (s.plan->results[k].is_tape) kept_->owners.push_back((*out)[k]);
    f.slots[s.out[k]] = std::move((*out)[k]);
  }
  return ok();
}

std::int64_t integer_of(const Tensor& t) {
  const std::int64_t v = load_int(t.dtype(), t.data());
  return t.dtype() == DType::U64 && v < 0 ? std::numeric_limits<std::int64_t>::max() : v;
}

namespace {

// A write needs a place of its own for every element.
Status check_target(const EagerStep& s, const Tensor& x) {
  if (!overlaps_itself(x.layout())) return ok();
  return Error(Code::Type,
               fmt::format("[{}] can't write into an expanded or overlapping view: {} with strides [{}] has "
                           "elements that share a place; clone it first",
                           s.name, x.type_text(), fmt::join(x.layout().strides, ", ")));
}

// Elements of v, which has x's dims, into x.
Status copy_into(const Tensor& x, Tensor v, const BudgetRef& budget) {
  const bool same = x.data() == v.data() && x.layout().strides == v.layout().strides;
  if (same) return ok();
  if (may_overlap(x, v)) {
    Result<Tensor> apart = v.clone(budget);
    if (!apart) return std::move(apart).error();
    v = *std::move(apart);
  }
  copy_elements(x.layout(), x.base(), v.layout(), v.base(), size_of(x.dtype()));
  return ok();
}

bool is_own(const Tensor& t) {
  return t.storage().unique() && t.is_row_major() && t.data() == t.storage()->data() &&
         t.bytes() == t.storage()->bytes();
}

}  // namespace

Status EagerRun::write(const EagerStep& s, Frame& f) {
  const Tensor x = f.slots[s.in[0]];
  if (Status good = check_target(s, x); !good) return good;
  const std::vector<Tensor> in = plan_inputs(s, f);
  context_.limits.steps = steps_left_;
  if (Status done = after_plan(s, context_.call(*s.plan, in, std::span(&x, 1))); !done) return done;
  f.slots[s.out[0]] = x;
  return ok();
}

Status EagerRun::copy(const EagerStep& s, Frame& f) {
  const Tensor x = f.slots[s.in[0]];
  if (Status good = check_target(s, x); !good) return good;
  const Tensor v = s.value ? s.value : f.slots[s.in[1]];
  if (Status done = copy_into(x, v.with_layout(broadcast(v.layout(), x.dims())), context_.budget()); !done) return done;
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
  if (Status done = copy_into(x.with_layout(std::move(place)), u, context_.budget()); !done) return done;
  f.slots[s.out[0]] = x;
  return ok();
}

Status EagerRun::make_fresh(std::vector<Tensor>& tensors) {
  for (Tensor& t : tensors) {
    if (is_own(t)) continue;
    Result<Tensor> own = t.clone(context_.budget());
    if (!own) return std::move(own).error();
    t = *std::move(own);
  }
  return ok();
}

// Of a block: what it gives are values.
Result<std::vector<Tensor>> EagerRun::values(const EagerCode& code, std::vector<Tensor> args) {
  if (Status polled = poll(); !polled) return std::move(polled).error();
  Result<std::vector<Tensor>> out = call(code, std::move(args));
  if (!out) return out;
  if (Status fresh = make_fresh(*out); !fresh) return std::move(fresh).error();
  return out;
}

Status EagerRun::branch(const EagerStep& s, Frame& f) {
  const Tensor selector = f.slots[s.in[0]];
  const std::int64_t i = integer_of(selector), last = static_cast<std::int64_t>(s.targets.size()) - 1;
  const std::int64_t which = selector.dtype() == DType::Bool ? (i ? 0 : 1) : std::clamp<std::int64_t>(i, 0, last);
  Result<std::vector<Tensor>> out =
      values(*s.targets[static_cast<std::size_t>(which)], f.take(s.in, 1, s.in.size() - 1));
  if (!out) return std::move(out).error();
  for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = std::move((*out)[k]);
  return ok();
}

}  // namespace tfvm
