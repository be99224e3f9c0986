#pragma once
/* Statuses, errors, element types, and views of memory. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TFVM_NOEXCEPT noexcept
extern "C" {
#else
#define TFVM_NOEXCEPT
#endif

#define TFVM_VERSION 1                     /* of the API; grows when something is added */
uint32_t tfvm_version(void) TFVM_NOEXCEPT; /* of the library */

typedef int32_t tfvm_status;
enum {
  TFVM_OK = 0,
  TFVM_SYNTAX,      /* the text or the binary is malformed */
  TFVM_NAME,        /* an unknown or doubly defined name */
  TFVM_TYPE,        /* dtypes, shapes, counts, attributes */
  TFVM_UNSUPPORTED, /* an op without a rule for a transform, or without a kernel */
  TFVM_INDEX,       /* an index out of range at run time */
  TFVM_ASSERT,      /* an assert of the program failed */
  TFVM_LIMIT,       /* a limit on steps, depth or time */
  TFVM_MEMORY,      /* memory was refused, by a limit, the allocator or the system */
  TFVM_IO,          /* a file can't be read */
  TFVM_CANCELLED,   /* tfvm_cancel */
  TFVM_INTERNAL,    /* a fault of the library */
  TFVM_MISUSE,      /* the caller breaks the contract of a function: NULL, a wrong count, a paused context, … */
  TFVM_PAUSED,      /* no failure: the time of tfvm_run_for is over and there is more to do */
  TFVM_SEALED       /* the VM is sealed (tfvm_seal), and this would make code; the message says which guard missed */
};
const char* tfvm_status_name(tfvm_status status) TFVM_NOEXCEPT; /* "index"; "?" for what is none */

/* Why something failed. `line` and `column` count from 1 in the text `file` of the program; 0: no line is known.
   A longer message than fits is cut; a larger struct (its `size` says so) takes more. */
typedef struct tfvm_error {
  size_t size;
  tfvm_status code;
  int32_t line, column;
  char file[108];
  char message[896];
} tfvm_error;
#define TFVM_ERROR \
  { sizeof(tfvm_error), TFVM_OK, 0, 0, "", "" }

typedef int32_t tfvm_dtype;
enum {
  TFVM_BOOL = 0, /* one byte, 0 or 1 */
  TFVM_I8,
  TFVM_I16,
  TFVM_I32,
  TFVM_I64,
  TFVM_U8,
  TFVM_U16,
  TFVM_U32,
  TFVM_U64,
  TFVM_F16,
  TFVM_BF16,
  TFVM_F32,
  TFVM_F64,
  TFVM_C64,
  TFVM_C128
};
size_t tfvm_dtype_bytes(tfvm_dtype dtype) TFVM_NOEXCEPT;     /* of an element; 0 for what is no dtype */
const char* tfvm_dtype_name(tfvm_dtype dtype) TFVM_NOEXCEPT; /* "f32"; "?" */

/* A tensor in memory: element (i, j, …) is at data + (i * strides[0] + j * strides[1] + …) elements. `data` is aligned
   for the dtype. strides NULL: row-major. They may be 0 or negative. Of an array of views all have the same `size`. */
typedef struct tfvm_view {
  size_t size;
  void* data;
  const int64_t* dims;    /* `rank` of them, >= 0; may be NULL for a scalar */
  const int64_t* strides; /* in elements */
  int32_t rank;
  tfvm_dtype dtype;
} tfvm_view;
#define TFVM_VIEW \
  { sizeof(tfvm_view), NULL, NULL, NULL, 0, TFVM_F32 }

/* The host's memory. `allocate` gives `bytes` aligned to `alignment`, or NULL, which becomes TFVM_MEMORY. Both are
   called from any thread that uses the VM, and must live as long as the last handle made of it. */
typedef struct tfvm_allocator {
  size_t size;
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes, size_t alignment);
} tfvm_allocator;

#ifdef __cplusplus
}
#endif
