// A host that is compiled without exceptions and RTTI.
#include <tfvm.hpp>

namespace host {

// The gradient of (x - 1)^2 at 3, of a function that was built; NaN where something failed.
double built_gradient() {
  constexpr double kFailed = -1e300;
  auto vm = tfvm::Vm::create();
  if (!vm) return kFailed;
  auto b = vm->builder("f");
  if (!b) return kFailed;
  const double one = 1;
  const tfvm_view view{sizeof(tfvm_view), const_cast<double*>(&one), nullptr, nullptr, 0, TFVM_F64};
  const tfvm_ref x = b->param("f64");
  const tfvm_ref d = b->op("sub", {x, b->constant(view)});
  if (!b->finish({b->op("mul", {d, d})})) return kFailed;
  auto f = vm->prepare("grad(@f)");
  auto c = vm->context();
  if (!f || !c) return kFailed;
  const double at = 3;
  double out = 0;
  if (!c->call(*f, {&at}, {&out})) return kFailed;
  auto bound = c->bind(*f, {&at}, {&out});
  if (!bound || !bound->call()) return kFailed;
  auto slice = c->run_for(1000, *f, {&at}, {&out});
  while (slice && !*slice) {
    auto next = c->resume(1000);
    if (!next) return kFailed;
    if (*next) break;
  }
  const std::int64_t dims[] = {1};
  auto value = vm->copy(tfvm::view(&out, dims));
  return value && slice ? out : kFailed;
}

// The first error of a program that has one.
tfvm_error first_error() {
  auto vm = tfvm::Vm::create();
  const auto s = vm->load("func @f(%x: f32) {\n  ret %y\n}\n", "b.tfa");
  return s.error();
}

}  // namespace host
