// Preparing functions, and what is to be known of them.
#include "vm/capi/handles.h"
#include "vm/memory_use.h"
#include "vm/type_text.h"

namespace {

using namespace tfvm;
using capi::fail;
using capi::guarded;
using capi::misuse;
using capi::Slot;

void add_slots(std::vector<Slot>& slots, bool& has_tapes, std::span<const ValueType> types) {
  for (const ValueType& type : types) {
    const auto bytes = static_cast<std::size_t>(type.bytes);
    const auto size = static_cast<std::uintptr_t>(std::min<std::int64_t>(size_of(type.dtype), 8));
    slots.push_back({type.dtype, type.dims, bytes, bytes > 0 ? size - 1 : 0});
    has_tapes = has_tapes || type.is_tape;
  }
}

Result<std::unique_ptr<tfvm_function>> make(const tfvm_vm& vm, Result<Function> f) {
  if (!f) return std::move(f).error();
  auto out = std::make_unique<tfvm_function>();
  out->vm = vm.vm;
  out->function = *std::move(f);
  for (std::int64_t g : out->function.globals)
    out->globals.push_back(vm.vm->globals()[static_cast<std::size_t>(g)].data());
  add_slots(out->inputs, out->has_tapes, out->function.in);
  add_slots(out->outputs, out->has_tapes, out->function.out);
  return out;
}

// Makes the function that `entry` gives.
template <class Entry>
tfvm_status prepare(tfvm_vm* vm, const char* callee, tfvm_function** function, tfvm_error* error,
                    Entry entry) noexcept {
  if (!vm || !callee || !function) return misuse(error, "a VM, a callee and a place for the function are needed");
  return guarded(error, [&]() -> tfvm_status {
    Result<std::unique_ptr<tfvm_function>> made = make(*vm, entry());
    if (!made) return fail(error, made.error(), *vm->vm);
    *function = made->release();
    return TFVM_OK;
  });
}

tfvm_status type_of(const std::vector<Slot>* slots, size_t k, tfvm_view* type) {
  if (!slots || !type || k >= slots->size() || type->size < sizeof(tfvm_view)) return TFVM_MISUSE;
  capi::fill_view(*type, (*slots)[k].dtype, (*slots)[k].dims, nullptr, nullptr);
  return TFVM_OK;
}

}  // namespace

extern "C" {

tfvm_status tfvm_prepare(tfvm_vm* vm, const char* callee, const char* types, tfvm_function** function,
                         tfvm_error* error) noexcept {
  return prepare(vm, callee, function, error, [&]() -> Result<Function> {
    if (!types) return vm->vm->entry_as_written(callee);
    Result<std::vector<ArgType>> args = vm->vm->parse_args(types);
    return args ? vm->vm->entry_for(callee, *std::move(args)) : args.error();
  });
}

tfvm_status tfvm_prepare_for(tfvm_vm* vm, const char* callee, const tfvm_view* arguments, size_t count,
                             tfvm_function** function, tfvm_error* error) noexcept {
  if (!arguments && count > 0) return misuse(error, "arguments are needed");
  return prepare(vm, callee, function, error, [&]() -> Result<Function> {
    std::vector<ArgType> types;
    for (std::size_t k = 0; k < count; ++k) {
      tfvm_view v = *capi::view_at(arguments, k);
      static char some;
      if (!v.data) v.data = &some;  // only its type is looked at
      const Result<Tensor> t = capi::tensor_over(v);
      if (!t) return t.error();
      types.push_back({t->dtype(), t->layout().dims});
    }
    return vm->vm->entry_for(callee, std::move(types));
  });
}

tfvm_status tfvm_prepare_values(tfvm_vm* vm, const char* callee, tfvm_value* const* arguments, size_t count,
                                tfvm_function** function, tfvm_error* error) noexcept {
  if (!arguments && count > 0) return misuse(error, "arguments are needed");
  for (std::size_t k = 0; k < count; ++k)
    if (!arguments[k] || !vm || arguments[k]->vm != vm->vm)
      return misuse(error, "an argument is NULL or of another VM");
  return prepare(vm, callee, function, error, [&]() -> Result<Function> {
    std::vector<ArgType> types;
    for (std::size_t k = 0; k < count; ++k) {
      const Value& v = arguments[k]->value;
      if (arguments[k]->pack)
        types.push_back({DType::Bool, {}, v.type});
      else
        types.push_back({v.tensor().dtype(), v.tensor().layout().dims});
    }
    return vm->vm->entry_for(callee, std::move(types));
  });
}

void tfvm_function_release(tfvm_function* function) noexcept { delete function; }

size_t tfvm_input_count(const tfvm_function* function) noexcept { return function ? function->inputs.size() : 0; }
size_t tfvm_output_count(const tfvm_function* function) noexcept { return function ? function->outputs.size() : 0; }

tfvm_status tfvm_input_type(const tfvm_function* function, size_t k, tfvm_view* type) noexcept {
  return type_of(function ? &function->inputs : nullptr, k, type);
}
tfvm_status tfvm_output_type(const tfvm_function* function, size_t k, tfvm_view* type) noexcept {
  return type_of(function ? &function->outputs : nullptr, k, type);
}

int64_t tfvm_working_bytes(const tfvm_function* function) noexcept {
  return function && function->function.plan ? function->function.plan->frame_bytes : 0;
}

tfvm_status tfvm_function_bytes(const tfvm_function* function, tfvm_call_bytes* bytes) noexcept {
  if (!function || !bytes || bytes->size < sizeof(tfvm_call_bytes)) return TFVM_MISUSE;
  const CallBytes b = call_bytes(function->function);
  bytes->working = b.working;
  bytes->outputs = b.outputs;
  bytes->kept = b.kept;
  bytes->grows = b.grows;
  return TFVM_OK;
}

}  // extern "C"
