// Values: tensors in memory of the VM or of the caller.
#include <algorithm>

#include "vm/capi/handles.h"
#include "vm/memory_use.h"
#include "vm/print.h"

namespace {

using namespace tfvm;
using capi::fail;
using capi::guarded;
using capi::misuse;

tfvm_value* make(const tfvm_vm& vm, Tensor t) {
  auto out = std::make_unique<tfvm_value>();
  out->vm = vm.vm;
  out->value = vm.vm->value(std::move(t));
  return out.release();
}

// `view` as a tensor, or a status.
template <class Use>
tfvm_status with_view(VM& vm, const tfvm_view* view, tfvm_error* error, Use use) noexcept {
  return guarded(error, [&]() -> tfvm_status {
    const Result<Tensor> t = capi::tensor_over(*view);
    return t ? use(*t) : fail(error, t.error(), vm);
  });
}

}  // namespace

extern "C" {

tfvm_status tfvm_value_copy(tfvm_vm* vm, const tfvm_view* from, tfvm_value** value, tfvm_error* error) noexcept {
  if (!vm || !from || !value) return misuse(error, "a VM, a view and a place for the value are needed");
  return with_view(*vm->vm, from, error, [&](const Tensor& t) -> tfvm_status {
    Result<Tensor> copy = t.clone(vm->vm->budget());
    if (!copy) return fail(error, copy.error(), *vm->vm);
    *value = make(*vm, *std::move(copy));
    return TFVM_OK;
  });
}

tfvm_status tfvm_value_over(tfvm_vm* vm, const tfvm_view* memory, void (*release)(void* user), void* user,
                            tfvm_value** value, tfvm_error* error) noexcept {
  if (!vm || !memory || !value) return misuse(error, "a VM, a view and a place for the value are needed");
  return with_view(*vm->vm, memory, error, [&](const Tensor& t) -> tfvm_status {
    auto out = std::make_unique<tfvm_value>();
    out->vm = vm->vm;
    out->value = vm->vm->value(t);
    Layout layout = t.layout();
    StorageRef storage = StorageRef::borrow(t.base(), 0, release, user);  // the last that can fail
    if (!storage) throw std::bad_alloc();
    out->value.leaves[0] = Tensor::over(t.base(), t.dtype(), std::move(layout), std::move(storage));
    *value = out.release();
    return TFVM_OK;
  });
}

void tfvm_value_release(tfvm_value* value) noexcept { delete value; }

tfvm_status tfvm_value_view(const tfvm_value* value, tfvm_view* view, tfvm_error* error) noexcept {
  if (!value || !view || view->size < sizeof(tfvm_view)) return misuse(error, "a value and a view are needed");
  if (!value->is_tensor()) return misuse(error, "a pack has no view");
  const Tensor& t = value->value.tensor();
  capi::fill_view(*view, t.dtype(), t.layout().dims, t.layout().strides.data(), t.data());
  return TFVM_OK;
}

tfvm_status tfvm_value_read(const tfvm_value* value, const tfvm_view* into, tfvm_error* error) noexcept {
  if (!value || !into) return misuse(error, "a value and a view are needed");
  if (!value->is_tensor()) return misuse(error, "a pack can't be read");
  return with_view(*value->vm, into, error, [&](const Tensor& to) -> tfvm_status {
    const Tensor& from = value->value.tensor();
    if (to.dtype() != from.dtype() || to.layout().dims != from.layout().dims)
      return fail(error, TFVM_TYPE, "the value is " + from.type_text() + ", not " + to.type_text());
    copy_elements(to.layout(), to.base(), from.layout(), from.base(), size_of(to.dtype()));
    return TFVM_OK;
  });
}

size_t tfvm_format(const tfvm_view* view, char* text, size_t capacity) noexcept {
  if (!view) return 0;
  try {
    const Result<Tensor> t = capi::tensor_over(*view);
    if (!t) return 0;
    const std::string s = print(*t, {.full = true});
    if (text && capacity > 0) {
      const std::size_t n = std::min(s.size(), capacity - 1);
      std::memcpy(text, s.data(), n);
      text[n] = 0;
    }
    return s.size();
  } catch (...) {
    return 0;
  }
}

int64_t tfvm_value_bytes(const tfvm_value* value) noexcept {
  return value ? value_bytes(*value->vm, {&value->value, 1}) : 0;
}

}  // extern "C"
