#pragma once
/* Ops of the host: kernels for what a program declares as `extern op "name"(…)`. */

#include <tfvm/vm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The argument for one declared parameter: one tensor, those of a list, or none where the program leaves it out. */
typedef struct tfvm_op_argument {
  const tfvm_view* tensors;
  size_t count;
} tfvm_op_argument;

/* A result type, for `shape`. */
#define TFVM_MAX_RANK 16
typedef struct tfvm_op_type {
  tfvm_dtype dtype;
  int32_t rank;
  int64_t dims[TFVM_MAX_RANK];
} tfvm_op_type;

typedef struct tfvm_op {
  size_t size;
  void* user;
  /* Reads the arguments, writes those that are declared `mut`, and fills the results, which are row-major. Arguments
     share memory where the program's do. 0, or anything else with a message (at most `capacity` bytes, 0 at the end),
     which becomes TFVM_ASSERT with the line of the call. From any thread that calls functions. */
  int (*kernel)(void* user, const tfvm_op_argument* arguments, size_t argument_count, const tfvm_view* results,
                size_t result_count, char* message, size_t capacity);
  /* Where the declaration doesn't tell the types of the results: writes at most `capacity` of them, gives how many, or
     -1 for arguments that it refuses (TFVM_TYPE). Data pointers of arguments are NULL. NULL: by the declaration. */
  int (*shape)(void* user, const tfvm_op_argument* arguments, size_t argument_count, tfvm_op_type* results,
               size_t capacity);
  int strided; /* the kernel takes arguments with any strides; 0: they are made row-major for it */
} tfvm_op;

/* For functions that are prepared from now on; in place of an older op of that name. An op runs in the interpreter
   only. Its derivative is that of the function around it: {derivative=@rule}, {custom_jvp=…}, {custom_vjp=…}. `user`
   must live as long as the VM and its functions. */
tfvm_status tfvm_register_op(tfvm_vm* vm, const char* name, const tfvm_op* op, tfvm_error* error) TFVM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
