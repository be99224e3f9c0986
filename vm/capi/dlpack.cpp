// Tensors to and from DLPack, over the same memory.
#include "vm/capi/dlpack.h"

#include <fmt/format.h>

#include "vm/capi/handles.h"

namespace {

using namespace tfvm;
using capi::fail;
using capi::guarded;
using capi::misuse;

DLDataType to_dl(DType d) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(d));
  if (d == DType::Bool) return {capi::kDLBool, bits, 1};
  if (d == DType::BF16) return {capi::kDLBfloat, bits, 1};
  if (is_complex(d)) return {capi::kDLComplex, bits, 1};
  if (is_float(d)) return {capi::kDLFloat, bits, 1};
  return {is_signed(d) ? capi::kDLInt : capi::kDLUInt, bits, 1};
}

std::optional<DType> from_dl(DLDataType type) {
  for (std::size_t k = 0; k < kDTypes; ++k) {
    const DLDataType t = to_dl(static_cast<DType>(k));
    if (t.code == type.code && t.bits == type.bits && t.lanes == type.lanes) return static_cast<DType>(k);
  }
  return std::nullopt;
}

Result<Tensor> tensor_of(const DLTensor& t) {
  if (t.device.device_type != capi::kDLCPU && t.device.device_type != capi::kDLCUDAHost)
    return Error(Code::Unsupported,
                 fmt::format("a tensor of DLPack's device type {}, not in the CPU's memory", t.device.device_type));
  const auto dtype = from_dl(t.dtype);
  if (!dtype)
    return Error(Code::Unsupported, fmt::format("DLPack's element type (code {}, {} bits, {} lanes) has no counterpart",
                                                t.dtype.code, t.dtype.bits, t.dtype.lanes));
  tfvm_view v = TFVM_VIEW;
  v.data = t.data ? static_cast<std::byte*>(t.data) + t.byte_offset : nullptr;
  v.dims = t.shape;
  v.strides = t.strides;
  v.rank = t.ndim;
  v.dtype = static_cast<tfvm_dtype>(*dtype);
  return capi::tensor_over(v);
}

// What is given out: the struct, and the tensor that it shows.
struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  std::vector<std::int64_t> dims, strides;
};

}  // namespace

extern "C" {

tfvm_status tfvm_value_from_dlpack(tfvm_vm* vm, DLManagedTensor* tensor, tfvm_value** value,
                                   tfvm_error* error) noexcept {
  if (!vm || !tensor || !value) return misuse(error, "a VM, a tensor and a place for the value are needed");
  return guarded(error, [&]() -> tfvm_status {
    const Result<Tensor> t = tensor_of(tensor->dl_tensor);
    if (!t) return fail(error, t.error(), *vm->vm);
    auto out = std::make_unique<tfvm_value>();
    out->vm = vm->vm;
    out->value = vm->vm->value(*t);
    const auto release = [](void* p) {
      auto* m = static_cast<DLManagedTensor*>(p);
      if (m->deleter) m->deleter(m);
    };
    Layout layout = t->layout();
    StorageRef storage = StorageRef::borrow(t->base(), 0, release, tensor);  // the last that can fail
    if (!storage) throw std::bad_alloc();
    out->value.leaves[0] = Tensor::over(t->base(), t->dtype(), std::move(layout), std::move(storage));
    *value = out.release();
    return TFVM_OK;
  });
}

tfvm_status tfvm_value_to_dlpack(const tfvm_value* value, DLManagedTensor** tensor, tfvm_error* error) noexcept {
  if (!value || !tensor) return misuse(error, "a value and a place for the tensor are needed");
  if (!value->is_tensor()) return misuse(error, "a pack is no tensor");
  return guarded(error, [&]() -> tfvm_status {
    auto out = std::make_unique<Exported>();
    out->tensor = value->value.tensor();
    out->dims = out->tensor.layout().dims;
    out->strides = out->tensor.layout().strides;
    DLTensor& t = out->managed.dl_tensor;
    t.data = out->tensor.data();
    t.device = {capi::kDLCPU, 0};
    t.ndim = static_cast<std::int32_t>(out->dims.size());
    t.dtype = to_dl(out->tensor.dtype());
    t.shape = out->dims.data();
    t.strides = out->strides.data();
    t.byte_offset = 0;
    out->managed.manager_ctx = out.get();
    out->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
    *tensor = &out.release()->managed;
    return TFVM_OK;
  });
}

}  // extern "C"
