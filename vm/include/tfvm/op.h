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
  /* Rules, each NULL or a name: "@f", any callee of the program ("vmap(@f)"), or another op of the host ("game.slope").
     Those that the declaration has ({derivative=@f}) stand before these. x: arguments, y: results, dx, dy: tangents of
     those that are floats. Of an op that writes, y are the results and then the new values of its `mut` arguments.
       derivative        (x…, y…, dx…) -> dy…, linear in dx: serves forward and reverse mode, at all orders
       custom_jvp        (x…, dx…) -> (y…, dy…)
       custom_vjp_fwd    (x…) -> (y…, r…), with
       custom_vjp_bwd    (r…, cotangents of y…) -> cotangents of x…: reverse mode alone
       custom_vmap       (x…) -> (y…), each with a leading batch dim. Without it vmap calls the op lane by lane.
     A transform that needs a rule and finds none, or one that doesn't fit, fails when the function is prepared. */
  const char* derivative;
  const char* custom_jvp;
  const char* custom_vjp_fwd;
  const char* custom_vjp_bwd;
  const char* custom_vmap;
} tfvm_op;

/* For functions that are prepared from now on; in place of an older op of that name. An op runs in the interpreter
   only. `user` must live as long as the VM and its functions. */
tfvm_status tfvm_register_op(tfvm_vm* vm, const char* name, const tfvm_op* op, tfvm_error* error) TFVM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
