// Params and buffers, and functions that take them as inputs.
#include "vm/state.h"

#include "vm/capi/handles.h"
#include "vm/safetensors/safetensors.h"

namespace {

using namespace tfvm;
using capi::fail;
using capi::guarded;
using capi::misuse;

// The tensor of a param or buffer; Code::Name where there is none.
Result<const Tensor*> find(VM& vm, std::string_view name) {
  const std::lock_guard guard(vm.lock());
  const Module& m = vm.module();
  const StrId id = vm.tables().strings.find(name);
  const Item* item = id == kNone<StrId> ? nullptr : m.find(id);
  if (!item || item->kind != ItemKind::Global)
    return Error(Code::Name, "there is no param or buffer @" + std::string(name));
  const Tensor& t = vm.globals()[item->at];
  if (!t) return Error(Code::Name, "@" + std::string(name) + " has no value: its first value failed");
  return &t;
}

// Code::Name where a param or buffer has no value.
Status all_have_values(VM& vm) {
  const std::lock_guard guard(vm.lock());
  for (std::size_t k = 0; k < vm.globals().size(); ++k)
    if (!vm.globals()[k])
      return Error(Code::Name, "@" + std::string(vm.tables().strings[vm.module().globals[k].name]) +
                                   " has no value: its first value failed");
  return ok();
}

// Copies between a param or buffer and a view, where both have one type.
tfvm_status copy(tfvm_vm* vm, const char* name, const tfvm_view* view, bool into_state, tfvm_error* error) noexcept {
  if (!vm || !name || !view) return misuse(error, "a VM, a name and a view are needed");
  return guarded(error, [&]() -> tfvm_status {
    const Result<const Tensor*> found = find(*vm->vm, name);
    if (!found) return fail(error, found.error(), *vm->vm);
    const Tensor& own = **found;
    const Result<Tensor> given = capi::tensor_over(*view);
    if (!given) return fail(error, given.error(), *vm->vm);
    if (own.dtype() != given->dtype() || own.layout().dims != given->layout().dims)
      return fail(error, TFVM_TYPE, "@" + std::string(name) + " is " + own.type_text() + ", not " + given->type_text());
    const Tensor &to = into_state ? own : *given, &from = into_state ? *given : own;
    copy_elements(to.layout(), to.base(), from.layout(), from.base(), size_of(to.dtype()));
    if (into_state) own.storage()->written(0);
    return TFVM_OK;
  });
}

}  // namespace

extern "C" {

size_t tfvm_state_count(const tfvm_vm* vm) noexcept {
  if (!vm) return 0;
  const std::lock_guard guard(vm->vm->lock());
  return vm->vm->module().globals.size();
}

size_t tfvm_state_name(const tfvm_vm* vm, size_t k, char* text, size_t capacity) noexcept {
  if (!vm) return 0;
  const std::lock_guard guard(vm->vm->lock());
  const auto& globals = vm->vm->module().globals;
  if (k >= globals.size()) return 0;
  const std::string_view name = vm->vm->tables().strings[globals[k].name];
  capi::copy_text(text, text ? capacity : 0, name);
  return name.size();
}

tfvm_status tfvm_state_view(tfvm_vm* vm, const char* name, tfvm_view* view, tfvm_error* error) noexcept {
  if (!vm || !name || !view || view->size < sizeof(tfvm_view))
    return misuse(error, "a VM, a name and a view are needed");
  return guarded(error, [&]() -> tfvm_status {
    const Result<const Tensor*> t = find(*vm->vm, name);
    if (!t) return fail(error, t.error(), *vm->vm);
    capi::fill_view(*view, (*t)->dtype(), (*t)->layout().dims, nullptr, (*t)->data());
    return TFVM_OK;
  });
}

tfvm_status tfvm_state_get(tfvm_vm* vm, const char* name, const tfvm_view* into, tfvm_error* error) noexcept {
  return copy(vm, name, into, false, error);
}

tfvm_status tfvm_state_set(tfvm_vm* vm, const char* name, const tfvm_view* from, tfvm_error* error) noexcept {
  return copy(vm, name, from, true, error);
}

tfvm_status tfvm_state_save(tfvm_vm* vm, const char* format, void* sink,
                            void (*give)(void* sink, const void* bytes, size_t size), tfvm_error* error) noexcept {
  if (!vm || !format || !give) return misuse(error, "a VM, a format and a function that takes the bytes are needed");
  const std::string_view f = format;
  if (f != "npz" && f != "safetensors") return misuse(error, "formats are npz and safetensors");
  return guarded(error, [&]() -> tfvm_status {
    if (const Status s = all_have_values(*vm->vm); !s) return fail(error, s.error(), *vm->vm);
    const NamedTensors all = state(*vm->vm);
    const Result<std::vector<std::byte>> bytes = f == "npz" ? to_npz(all) : to_safetensors(all);
    if (!bytes) return fail(error, bytes.error(), *vm->vm);
    give(sink, bytes->data(), bytes->size());
    return TFVM_OK;
  });
}

tfvm_status tfvm_state_load(tfvm_vm* vm, const void* bytes, size_t size, tfvm_error* error) noexcept {
  if (!vm || (!bytes && size > 0)) return misuse(error, "a VM and bytes are needed");
  return guarded(error, [&]() -> tfvm_status {
    const std::span file(static_cast<const std::byte*>(bytes), size);
    const bool zip = size >= 2 && std::memcmp(bytes, "PK", 2) == 0;
    const Result<NamedTensors> all =
        zip ? parse_npz(file, vm->vm->budget()) : parse_safetensors(file, vm->vm->budget());
    if (!all) return fail(error, all.error(), *vm->vm);
    if (const Status s = all_have_values(*vm->vm); !s) return fail(error, s.error(), *vm->vm);
    const Status s = set_state(*vm->vm, *all);
    return s ? TFVM_OK : fail(error, s.error(), *vm->vm);
  });
}

tfvm_status tfvm_make_functional(tfvm_vm* vm, const char* callee, const char* types, tfvm_function** function,
                                 tfvm_error* error) noexcept {
  if (!vm || !callee || !function) return misuse(error, "a VM, a callee and a place for the function are needed");
  return guarded(error, [&]() -> tfvm_status {
    Result<std::vector<std::string>> names = vm->vm->state_of(callee);
    if (!names) return fail(error, names.error(), *vm->vm);
    const std::string_view c = callee;
    const std::string lifted =
        "functional_call(" + std::string(c.find_first_of("@(") == c.npos ? "@" : "") + callee + ")";
    std::string all;
    for (const std::string& name : *names) {
      const Result<const Tensor*> t = find(*vm->vm, name);
      if (!t) return fail(error, t.error(), *vm->vm);
      all += (all.empty() ? "" : ", ") + (*t)->type_text();
    }
    if (types && *types) all += (all.empty() ? "" : ", ") + std::string(types);
    const tfvm_status s = tfvm_prepare(vm, lifted.c_str(), types ? all.c_str() : nullptr, function, error);
    if (s == TFVM_OK) (*function)->state = *std::move(names);
    return s;
  });
}

const char* tfvm_function_state(const tfvm_function* function, size_t k) noexcept {
  return function && k < function->state.size() ? function->state[k].c_str() : nullptr;
}

}  // extern "C"
