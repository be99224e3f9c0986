#pragma once
// The C structs of DLPack 0.x (dlpack.h of dmlc/dlpack, Apache 2.0), by its public specification: data layout only.

#include <cstdint>

struct DLDevice {
  std::int32_t device_type, device_id;
};

struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

namespace tfvm::capi {

inline constexpr std::int32_t kDLCPU = 1, kDLCUDAHost = 3;
enum DLCode : std::uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 };

}  // namespace tfvm::capi
