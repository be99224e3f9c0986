#pragma once
/* Values that the library keeps: tensors in memory of their own or of the caller, and packs. */

#include <tfvm/vm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfvm_value tfvm_value;
struct DLManagedTensor; /* of dlpack.h */

/* A copy of the elements, row-major, in memory of the VM. TFVM_TYPE for dims that are negative or overflow. */
tfvm_status tfvm_value_copy(tfvm_vm* vm, const tfvm_view* from, tfvm_value** value, tfvm_error* error) TFVM_NOEXCEPT;
/* The caller's memory itself. release(user) (NULL: nothing) is called when the last value over it is gone; on failure
   it is not called. */
tfvm_status tfvm_value_over(tfvm_vm* vm, const tfvm_view* memory, void (*release)(void* user), void* user,
                            tfvm_value** value, tfvm_error* error) TFVM_NOEXCEPT;
void tfvm_value_release(tfvm_value* value) TFVM_NOEXCEPT; /* NULL is fine */

/* The memory of the VM that it holds, tapes of a pack included; what it shares with other values counts for each. */
int64_t tfvm_value_bytes(const tfvm_value* value) TFVM_NOEXCEPT;

/* Where it stands and what it is: dims and strides are valid as long as the value. TFVM_MISUSE for a pack. */
tfvm_status tfvm_value_view(const tfvm_value* value, tfvm_view* view, tfvm_error* error) TFVM_NOEXCEPT;
/* Copies the elements, into memory of the same dtype and dims, with any strides that don't overlap. */
tfvm_status tfvm_value_read(const tfvm_value* value, const tfvm_view* into, tfvm_error* error) TFVM_NOEXCEPT;

/* DLPack (DLManagedTensor of version 0.x), without a copy. `from` takes the tensor over: its deleter is called when the
   last value over it is gone; on failure it stays the caller's. TFVM_UNSUPPORTED: not in the CPU's memory, or an
   element type that the VM has not. `to` gives one whose deleter lets go of the value; element types are DLPack's int,
   uint, float, bfloat, complex and bool, with one lane. */
tfvm_status tfvm_value_from_dlpack(tfvm_vm* vm, struct DLManagedTensor* tensor, tfvm_value** value,
                                   tfvm_error* error) TFVM_NOEXCEPT;
tfvm_status tfvm_value_to_dlpack(const tfvm_value* value, struct DLManagedTensor** tensor,
                                 tfvm_error* error) TFVM_NOEXCEPT;

/* `f32[2] [1.0, 2.0]`, which reads back to the same bits. Writes at most `capacity` bytes, a 0 at the end among them,
   and gives the length without it; more than capacity - 1: it was cut. 0 where memory is refused. */
size_t tfvm_format(const tfvm_view* view, char* text, size_t capacity) TFVM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
