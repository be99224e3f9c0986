#pragma once
/* Params and buffers of a program. */

#include <tfvm/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In order of declaration; names without @. Writes at most `capacity` bytes of a name, a 0 at the end among them, and
   gives its length; 0 for no such one. */
size_t tfvm_state_count(const tfvm_vm* vm) TFVM_NOEXCEPT;
size_t tfvm_state_name(const tfvm_vm* vm, size_t k, char* text, size_t capacity) TFVM_NOEXCEPT;

/* A param or buffer itself, row-major: where it stands never changes, so it may be read and written through the view,
   while no function that uses it is called. TFVM_NAME for an unknown one, or one without a value. */
tfvm_status tfvm_state_view(tfvm_vm* vm, const char* name, tfvm_view* view, tfvm_error* error) TFVM_NOEXCEPT;
/* Copies out and in; TFVM_TYPE for another dtype or other dims. Any strides. */
tfvm_status tfvm_state_get(tfvm_vm* vm, const char* name, const tfvm_view* into, tfvm_error* error) TFVM_NOEXCEPT;
tfvm_status tfvm_state_set(tfvm_vm* vm, const char* name, const tfvm_view* from, tfvm_error* error) TFVM_NOEXCEPT;

/* All of it as the bytes of a file: "npz" (numpy.load reads it) or "safetensors". Passes them to give(sink, …) once. */
tfvm_status tfvm_state_save(tfvm_vm* vm, const char* format, void* sink,
                            void (*give)(void* sink, const void* bytes, size_t size), tfvm_error* error) TFVM_NOEXCEPT;
/* Sets what is in such a file, whose format is found out. TFVM_NAME for a name that the program has not, or
   one that is missing, TFVM_TYPE for another type, TFVM_SYNTAX for what is no such file; then nothing is set. */
tfvm_status tfvm_state_load(tfvm_vm* vm, const void* bytes, size_t size, tfvm_error* error) TFVM_NOEXCEPT;

/* The function with the params and buffers that it uses as leading inputs, in order of declaration, and new values of
   the buffers that it writes as trailing outputs: functional_call(callee). `types` are those of its other arguments.
   tfvm_function_state names the leading inputs, NULL behind the last. */
tfvm_status tfvm_make_functional(tfvm_vm* vm, const char* callee, const char* types, tfvm_function** function,
                                 tfvm_error* error) TFVM_NOEXCEPT;
const char* tfvm_function_state(const tfvm_function* function, size_t k) TFVM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
