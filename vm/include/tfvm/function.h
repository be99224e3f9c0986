#pragma once
/* Functions, ready to be called: specialised for the types of their arguments. */

#include <tfvm/vm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfvm_function tfvm_function;

/* `callee` is "@f" or "f", or any transform of functions: "vmap(grad(@loss), in_dims=[none, 0])". `types` are those of
   its arguments, "f32[3], i64"; NULL: as they are written in the program, where all are in full. Preparing the same
   again costs a lookup. TFVM_SYNTAX, TFVM_NAME, TFVM_TYPE, TFVM_UNSUPPORTED, TFVM_LIMIT (depth), TFVM_MEMORY. */
tfvm_status tfvm_prepare(tfvm_vm* vm, const char* callee, const char* types, tfvm_function** function,
                         tfvm_error* error) TFVM_NOEXCEPT;
/* For arguments like these, whose data and strides are not looked at. */
tfvm_status tfvm_prepare_for(tfvm_vm* vm, const char* callee, const tfvm_view* arguments, size_t count,
                             tfvm_function** function, tfvm_error* error) TFVM_NOEXCEPT;
/* Not while a context runs it or has it paused. */
void tfvm_function_release(tfvm_function* function) TFVM_NOEXCEPT;

/* Its tensors. A pack (residuals that linearize and fwd hand on) counts as the tensors that it consists of. */
size_t tfvm_input_count(const tfvm_function* function) TFVM_NOEXCEPT;
size_t tfvm_output_count(const tfvm_function* function) TFVM_NOEXCEPT;
/* dtype, rank and dims (valid as long as the function); data and strides are NULL. TFVM_MISUSE for no such tensor. */
tfvm_status tfvm_input_type(const tfvm_function* function, size_t k, tfvm_view* type) TFVM_NOEXCEPT;
tfvm_status tfvm_output_type(const tfvm_function* function, size_t k, tfvm_view* type) TFVM_NOEXCEPT;
/* Bytes of working memory that a call takes: the size of an arena, together with 64 to align it. 0: a function that
   writes into its inputs or into state, or has custom ops; it takes what it needs as it goes. */
int64_t tfvm_working_bytes(const tfvm_function* function) TFVM_NOEXCEPT;
/* What a call adds to tfvm_memory_used, exactly, before it is made. `working`: once for a context, which keeps the
   largest (0 with an arena); `outputs`: each call of tfvm_call_values, as long as its values live. `kept`: inputs that a
   pack keeps, which cost so much where they are the host's memory, else nothing. `grows`: beyond that it takes what its
   loops and writes make as they run; then the peak is not known before. */
typedef struct tfvm_call_bytes {
  size_t size;
  int64_t working, outputs, kept;
  int grows;
} tfvm_call_bytes;
#define TFVM_CALL_BYTES \
  { sizeof(tfvm_call_bytes), 0, 0, 0, 0 }
/* TFVM_MISUSE for NULL, or a size that is not set. */
tfvm_status tfvm_function_bytes(const tfvm_function* function, tfvm_call_bytes* bytes) TFVM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
