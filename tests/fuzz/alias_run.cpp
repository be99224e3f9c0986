#include "tests/fuzz/alias_run.h"

#include "bytecode/text/parse.h"
#include "functionalize/reinplace.h"

namespace tfvm::test {

namespace {

double& at(const Tensor& t, std::int64_t k) { return t.as<double>()[k]; }

void add_op(VM& vm, const std::string& name, std::function<void(std::span<const CustomArg>, double*)> run) {
  CustomOp op;
  op.kernel = [run = std::move(run)](std::span<const CustomArg> args, std::span<const Tensor> results) -> Status {
    run(args, results.empty() ? nullptr : results[0].as<double>());
    return ok();
  };
  vm.register_op(name, std::move(op));
}

double sum(const Tensor& t) {
  double s = 0;
  for (std::int64_t k = 0; k < t.elements(); ++k) s += at(t, k);
  return s;
}

// a += b / 4, b from its start again where it is the shorter one.
void accumulate(const Tensor& a, const Tensor& b) {
  const std::int64_t n = b.elements();
  for (std::int64_t k = 0; k < a.elements() && n > 0; ++k) at(a, k) += 0.25 * at(b, k % n);
}

void add_ops(VM& vm) {
  add_op(vm, "fz.two", [](std::span<const CustomArg> args, double*) {
    for (std::int64_t k = 0; k < args[0]->elements(); ++k) at(*args[0], k) *= 0.5;
    for (std::int64_t k = 0; k < args[1]->elements(); ++k) at(*args[1], k) += 1;
  });
  add_op(vm, "fz.acc", [](std::span<const CustomArg> args, double*) { accumulate(*args[0], *args[1]); });
  add_op(vm, "fz.all", [](std::span<const CustomArg> args, double*) {
    for (const Tensor& x : args[0].tensors) {
      accumulate(x, *args[1]);
      for (std::int64_t k = 0; k < x.elements(); ++k) at(x, k) -= args[2].is_none() ? 0.5 : at(*args[2], 0);
    }
  });
  add_op(vm, "fz.take", [](std::span<const CustomArg> args, double* result) {
    *result = sum(*args[0]);
    for (std::int64_t k = 0; k < args[0]->elements(); ++k) at(*args[0], k) = sum(*args[1]) / 8;
  });
  add_op(vm, "fz.sum", [](std::span<const CustomArg> args, double* result) { *result = sum(*args[0]); });
  add_op(vm, "fz.half", [](std::span<const CustomArg> args, double*) {
    for (std::int64_t k = 0; k < args[0]->elements(); ++k) at(*args[0], k) *= 0.5;
  });
}

}  // namespace

AliasRun::AliasRun(const std::vector<AliasProgram>& programs) : vm_(*VM::create()), context_(vm_->budget()) {
  add_ops(*vm_);
  std::string text = kAliasHelpers;
  for (const AliasProgram& p : programs) text += p.text;
  const Status loaded = vm_->load_text(text, "alias.tfa");
  if (!loaded) load_error_ = loaded.error().message + " line " + std::to_string(loaded.error().loc.line) + "\n" + text;
}

Tensors AliasRun::numbers(const AliasProgram& p, std::int64_t lanes) {
  Tensors out;
  for (std::vector<std::int64_t> dims : p.inputs) {
    if (lanes) dims.insert(dims.begin(), lanes);
    Tensor t = *Tensor::make(vm_->budget(), DType::F64, dims);
    for (std::int64_t k = 0; k < t.elements(); ++k)
      at(t, k) = static_cast<double>(static_cast<int>(rng_() % 17) - 8) / 8;
    out.push_back(std::move(t));
  }
  return out;
}

Tensors AliasRun::copy(const Tensors& in) {
  Tensors out;
  for (const Tensor& t : in) out.push_back(*t.clone({}));
  return out;
}

std::vector<TypeId> AliasRun::types_of(const Tensors& in) {
  std::vector<TypeId> types;
  for (const Tensor& t : in) types.push_back(vm_->type_of(t));
  return types;
}

AliasOutcome AliasRun::run(const Result<Function>& f, const Tensors& in, std::size_t written) {
  if (!f) return {true, f.error().message, {}};
  const Tensors own = copy(in);
  Result<Tensors> out = vm_->call(context_, *f, own);
  if (!out) return {true, out.error().message, {}};
  AliasOutcome o{false, {}, copy(*out)};
  for (std::size_t k = 0; k < written; ++k) o.out.push_back(own[k]);
  return o;
}

AliasOutcome AliasRun::call(const std::string& callee, const Tensors& in, std::size_t written) {
  return run(vm_->entry(callee, types_of(in)), in, written);
}

Result<Step> AliasRun::made_in_place(const std::string& callee, const std::vector<TypeId>& types, std::size_t written) {
  const std::lock_guard guard(vm_->lock());
  const Result<ParsedCallee> parsed = parse_callee(vm_->tables().strings, callee);
  if (!parsed) return parsed.error();
  const Result<Callee*> found = vm_->program().callee(parsed->pools, parsed->callee);
  if (!found) return found.error();
  Result<Step> step = vm_->program().entry(**found, types);
  if (!step) return step;
  std::vector<std::uint32_t> into;
  for (std::uint32_t k = 0; k < written; ++k) into.push_back(k);
  const Result<FunctionId> made = reinplace(vm_->tables(), step->function, into);
  if (!made) return made.error();
  step->function = *made;
  return step;
}

AliasOutcome AliasRun::in_place(const std::string& name, const char* how, const Tensors& in, std::size_t written) {
  const std::string callee = "functionalize(@" + name + ", auto=\"" + how + "\")";
  const Result<Step> step = made_in_place(callee, types_of(in), written);
  return run(step ? vm_->prepare(*step) : Result<Function>(step.error()), in, written);
}

}  // namespace tfvm::test
