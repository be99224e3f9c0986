#pragma once
/* A virtual machine: a program, what has been made of it, and its memory. */

#include <tfvm/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfvm_vm tfvm_vm;

typedef struct tfvm_vm_options {
  size_t size;
  int64_t memory_limit;            /* bytes of tensors and of working memory together; 0: no limit */
  const tfvm_allocator* allocator; /* for those; NULL: the C library's */
  /* What passes and caches have to say, by category: "batch_rule" (ops that have no rule of their own), "guards",
     "recompiles" (which argument of a function is not as before), "fusion", "reinplace", … Called from the thread that
     loads or prepares; it must not use the VM. NULL: what TFVM_LOG=guards,recompiles,… of the environment names goes to
     stderr. "native" says once that the system refuses executable memory, so calls are interpreted; without a log it
     goes to stderr whatever TFVM_LOG names, but under TFVM_TIER=interp. */
  void (*log)(void* user, const char* category, const char* message);
  void* log_user;
  uint64_t flags; /* TFVM_FUNCTIONALIZE, TFVM_NAN_TRAP, TFVM_NAN_TRAP_LIVE, or 0 */
  /* Of functions that are kept ready, and as much again of what they were made of; 0: TFVM_CACHE_BYTES of the
     environment, or 64 MiB. */
  int64_t cache_bytes;
  /* A folder of functions for later processes, past all transforms; it is made with mode 0700 and must be the user's
     own. NULL: TFVM_CACHE_DIR of the environment, or none. What is wrong with it is never an error. */
  const char* cache_folder;
} tfvm_vm_options;
#define TFVM_VM_OPTIONS \
  { sizeof(tfvm_vm_options), 0, NULL, NULL, NULL, 0, 0, NULL }

/* Functions that write run by their functional forms, as plans, and their writes are done to the caller's memory when
   all else is: outputs are the same, and a function that fails has written nothing. One form is made for each way in
   which arguments share memory; the log ("input_output") tells which, and when a function runs as written all the same.
 */
#define TFVM_FUNCTIONALIZE ((uint64_t)1)

/* Calls fail with TFVM_ASSERT at the first nan that an op gives or an input holds; the error has the op's line and
   tells the element, the lane of vmap and the step of each loop around. LIVE: only where it reaches an output, so what
   a select masks may be nan. Calls take up to half more time, and allocate; one that fails is made twice. A call in
   slices sees nan in its outputs alone, when it is through. TFVM_NAN_TRAP=1 or =live in the environment does the same.
 */
#define TFVM_NAN_TRAP ((uint64_t)2)
#define TFVM_NAN_TRAP_LIVE ((uint64_t)4)

/* `options` may be NULL. TFVM_MEMORY; TFVM_UNSUPPORTED on a CPU without AVX2 and FMA. */
tfvm_status tfvm_vm_create(const tfvm_vm_options* options, tfvm_vm** vm, tfvm_error* error) TFVM_NOEXCEPT;
void tfvm_vm_release(tfvm_vm* vm) TFVM_NOEXCEPT; /* NULL is fine */

/* Where a program's `import "…"` and `file "…"` come from. `read` passes the bytes of `path` to give(sink, …) once and
   gives 0, or anything else where it can't. Paths are those of the program, relative to the `name` of its text. */
typedef struct tfvm_loader {
  size_t size;
  void* user;
  int (*read)(void* user, const char* path, void* sink, void (*give)(void* sink, const void* bytes, size_t size));
} tfvm_loader;

/* Adds the items of a text to the program: functions, params and buffers, whose first values are computed. `name` is
   for messages (NULL: "text"). Not while functions of the VM are called. No file is read unless there is a loader.
   Bodies are checked when they are prepared. TFVM_SYNTAX, TFVM_NAME (unknown, or taken), TFVM_IO, and whatever an
   initial value fails with. A text that fails adds nothing, except that params and buffers whose first value failed are
   there and can't be used. */
tfvm_status tfvm_load_text(tfvm_vm* vm, const char* text, size_t size, const char* name, const tfvm_loader* loader,
                           tfvm_error* error) TFVM_NOEXCEPT;
/* The same for a .tfbc; any bytes are safe to load. */
tfvm_status tfvm_load_binary(tfvm_vm* vm, const void* bytes, size_t size, const char* name, const tfvm_loader* loader,
                             tfvm_error* error) TFVM_NOEXCEPT;

/* From now on no code is made: a call of tfvm_prepare that would have to fails with TFVM_SEALED and says why (which
   argument is not as prepared), as does a call with TFVM_FUNCTIONALIZE for whose arguments there is no form; nothing
   can be loaded; and what is not machine code by now stays interpreted. There is no way back. */
void tfvm_seal(tfvm_vm* vm) TFVM_NOEXCEPT;

/* The functions that the VM keeps ready. The least recently used ones go when they take more than `limit`; so does what
   functions were made of, all at once. A function that the host has stays, and calls never wait for any of this. */
typedef struct tfvm_cache_statistics {
  size_t size;
  int64_t hits, misses, evictions; /* of tfvm_prepare; functions that went */
  int64_t forgets;                 /* how often what functions were made of has gone */
  int64_t functions, bytes;        /* kept ready now, and what they take, about */
  int64_t made_bytes, code_bytes;  /* what they were made of, about; of that, machine code */
  int64_t limit;
  int64_t disk_hits, disk_misses, disk_stores; /* of the folder */
} tfvm_cache_statistics;
#define TFVM_CACHE_STATISTICS \
  { sizeof(tfvm_cache_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
tfvm_status tfvm_cache_stats(tfvm_vm* vm, tfvm_cache_statistics* statistics) TFVM_NOEXCEPT;
/* Bytes of machine code that was made, which no limit counts. */
int64_t tfvm_code_bytes(const tfvm_vm* vm) TFVM_NOEXCEPT;

/* Bytes in use, the most that ever were, and the limit. */
int64_t tfvm_memory_used(const tfvm_vm* vm) TFVM_NOEXCEPT;
int64_t tfvm_memory_peak(const tfvm_vm* vm) TFVM_NOEXCEPT;
void tfvm_set_memory_limit(tfvm_vm* vm, int64_t bytes) TFVM_NOEXCEPT; /* 0: none; what is in use stays */

#ifdef __cplusplus
}
#endif
