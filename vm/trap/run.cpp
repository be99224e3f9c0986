// Calls with a NaN trap.
#include "transforms/nan/flags.h"
#include "vm/trap/nan_trap.h"
#include "vm/vm.h"

namespace tfvm {

// Where flags spoil a plan (an update that must be in place), results alone are looked at.
Status VM::prepare_trap(Function& f, FunctionId lean) {
  f.flagged = f.plan;
  if (nan_trap_ != NanTrap::All) return ok();
  const Result<FunctionId> flagged = nan_flags(env_, lean);
  if (!flagged) return flagged.error();
  if (Result<PlanRef> plan = plans_.get(tables_, *flagged)) f.flagged = *std::move(plan);
  return ok();
}

Result<std::vector<Tensor>> VM::run_trapped(Context& context, const Function& f, std::vector<Tensor> in) {
  if (f.eager) return find_nan(context, f, std::move(in));
  if (Status fresh = check_saved(in, &eager_.sites); !fresh) return std::move(fresh).error();
  std::vector<std::uint8_t> kept = f.kept;
  if (!kept.empty()) kept.resize(f.flagged->results.size(), 0);
  Result<std::vector<Tensor>> out = context.call(*f.flagged, in, kept);
  if (!out && !may_come_of_nan(out.error().code)) return out;
  bool bad = !out;
  if (out) {
    const std::size_t results = f.plan->results.size();
    if (out->size() > results) bad = bad || *out->back().as<std::int32_t>() != 0;
    out->resize(results);
    for (const Tensor& t : *out) bad = bad || first_nan(t);
  }
  if (!bad) return out;
  Result<std::vector<Tensor>> found = find_nan(context, f, std::move(in));
  return found ? out : found;
}

Status VM::name_nan(Context& context, const Function& f, std::vector<Tensor> in) {
  if (auto found = find_nan(context, f, std::move(in)); !found) return std::move(found).error();
  return ok();
}

// Step by step; of a plan, whose call has been made, once more. Results, where no nan is found.
Result<std::vector<Tensor>> VM::find_nan(Context& context, const Function& f, std::vector<Tensor> in) {
  Result<EagerRef> code = [&]() -> Result<EagerRef> {
    if (f.eager) return f.eager;
    const std::lock_guard guard(lock_);
    return eager_.get(tables_, f.id, budget_);
  }();
  if (!code) return std::move(code).error();
  const PrintSink sink = context.sink;
  if (f.plan) context.sink = {};  // it has printed already
  const bool live = nan_trap_ == NanTrap::Live;
  NanWatch watch(live);
  EagerRun eager(context, globals_, &eager_.sites);
  eager.set_watch(&watch);
  // Inputs that are written are the caller's: they can't be marked.
  Status seen = live && (*code)->full ? ok() : watch.look_at_inputs(in, (*code)->function, budget_);
  Result<std::vector<Tensor>> out =
      seen ? eager.call(**code, std::move(in)) : Result<std::vector<Tensor>>(std::move(seen).error());
  context.sink = sink;
  const NanOrigin* origin = watch.found() ? &*watch.found() : nullptr;
  if (out && live) origin = watch.origin_of(*out);
  if (origin) {
    const std::lock_guard guard(lock_);
    return error_of(tables_, *origin);
  }
  return out ? std::move(out) : located(std::move(out).error(), eager.failed_at());
}

}  // namespace tfvm
