#pragma once
/* Contexts, in which functions are called. */

#include <tfvm/function.h>
#include <tfvm/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfvm_context tfvm_context;

/* The host's job system. `run` calls job(arg, k) once for each k < count, from any threads, and returns when all have
   ended. Results have the same bits whatever `width` (how many may run at a time) is. */
typedef struct tfvm_executor {
  size_t size;
  void* user;
  void (*run)(void* user, void (*job)(void* arg, size_t k), void* arg, size_t count);
  size_t width;
} tfvm_executor;

typedef struct tfvm_context_options {
  size_t size;
  void* arena; /* working memory of calls, the caller's; NULL: the VM's, which grows with the largest function called */
  size_t arena_bytes;
  const tfvm_executor* executor; /* NULL: calls stay on their thread */
  /* What the op `print` of a program shows; the view is valid during the call of it. NULL: nothing. */
  void (*print)(void* user, const char* label, const tfvm_view* value);
  void* print_user;
} tfvm_context_options;
#define TFVM_CONTEXT_OPTIONS \
  { sizeof(tfvm_context_options), NULL, 0, NULL, NULL, NULL }

/* `options` may be NULL. */
tfvm_status tfvm_context_create(tfvm_vm* vm, const tfvm_context_options* options, tfvm_context** context,
                                tfvm_error* error) TFVM_NOEXCEPT;
void tfvm_context_release(tfvm_context* context) TFVM_NOEXCEPT;

/* Of each call that begins from now on; 0: no limit. A step is a trip of a loop or a call of a function that was not
   inlined. A call that passes one fails with TFVM_LIMIT. */
tfvm_status tfvm_set_limits(tfvm_context* context, int64_t steps, int64_t microseconds) TFVM_NOEXCEPT;

/* From any thread: the call that runs or is paused, or else the next one, fails with TFVM_CANCELLED, once. */
void tfvm_cancel(tfvm_context* context) TFVM_NOEXCEPT;

/* Calls a function on the caller's memory: one pointer to row-major elements for each input and each output, aligned
   for the dtype. Outputs may overlap inputs (that costs a copy), not each other. Allocates nothing when it has been
   called once, hashes nothing and takes no lock, unless it fails, or the function differentiates a `while`, writes, or
   has custom ops. An input that the function declares `mut` is written in place; a call that is cancelled or passes a
   limit may have done a write in part.
   TFVM_INDEX, TFVM_ASSERT, TFVM_LIMIT, TFVM_CANCELLED with the line of the program; TFVM_MEMORY; TFVM_MISUSE for a
   wrong count, a NULL or misaligned pointer, a function of another VM. After a failure outputs are unspecified. */
tfvm_status tfvm_call(tfvm_context* context, const tfvm_function* function, const void* const* inputs,
                      size_t input_count, void* const* outputs, size_t output_count, tfvm_error* error) TFVM_NOEXCEPT;
/* A call whose pointers are checked once, for who calls often on the same memory: context, function and memory stay in
   use until it is released. Outputs must overlap neither each other nor inputs. TFVM_MISUSE as tfvm_call; TFVM_MEMORY. */
typedef struct tfvm_bound tfvm_bound;
tfvm_status tfvm_bind(tfvm_context* context, const tfvm_function* function, const void* const* inputs,
                      size_t input_count, void* const* outputs, size_t output_count, tfvm_bound** bound,
                      tfvm_error* error) TFVM_NOEXCEPT;
/* As tfvm_call. */
tfvm_status tfvm_call_bound(const tfvm_bound* bound, tfvm_error* error) TFVM_NOEXCEPT;
void tfvm_bound_release(tfvm_bound* bound) TFVM_NOEXCEPT; /* NULL is fine */
/* As tfvm_call with any strides, and dtypes and dims checked (TFVM_TYPE). What is not row-major costs a copy. */
tfvm_status tfvm_call_views(tfvm_context* context, const tfvm_function* function, const tfvm_view* inputs,
                            size_t input_count, const tfvm_view* outputs, size_t output_count,
                            tfvm_error* error) TFVM_NOEXCEPT;
/* For values like these: the way to prepare what takes a pack, lin and bwd. As tfvm_prepare. */
tfvm_status tfvm_prepare_values(tfvm_vm* vm, const char* callee, tfvm_value* const* arguments, size_t count,
                                tfvm_function** function, tfvm_error* error) TFVM_NOEXCEPT;
/* With values; counts are those of the language, where a pack is one value. Results are fresh. */
tfvm_status tfvm_call_values(tfvm_context* context, const tfvm_function* function, tfvm_value* const* inputs,
                             size_t input_count, tfvm_value** outputs, size_t output_count,
                             tfvm_error* error) TFVM_NOEXCEPT;

/* As tfvm_call, but gives TFVM_PAUSED where the call is not through after so many microseconds; tfvm_resume goes on,
   and gives the same again, and so on. Results have the bits of a call in one piece. All pointers stay in use until the
   end, and the context can do nothing else (TFVM_MISUSE) until then, or until the call is abandoned. A call pauses
   between two steps of its plan or two blocks of a fused loop nest; a single large kernel (a dot, a sort, a kernel
   of the host) is waited for. A function that writes, or has custom ops, pauses between any two of its steps, too; what
   it has written by then stands in its `mut` inputs. Outputs must not overlap inputs. */
tfvm_status tfvm_run_for(tfvm_context* context, const tfvm_function* function, const void* const* inputs,
                         size_t input_count, void* const* outputs, size_t output_count, int64_t microseconds,
                         tfvm_error* error) TFVM_NOEXCEPT;
tfvm_status tfvm_resume(tfvm_context* context, int64_t microseconds, tfvm_error* error) TFVM_NOEXCEPT;
void tfvm_abandon(tfvm_context* context) TFVM_NOEXCEPT; /* nothing where no call is paused */

#ifdef __cplusplus
}
#endif
