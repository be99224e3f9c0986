#pragma once
/* tfvm: tensor programs, run inside your program. The C API, C99 and later.

     tfvm_vm* vm; tfvm_context* context; tfvm_function* grad; tfvm_error e = TFVM_ERROR;
     if (tfvm_vm_create(NULL, &vm, &e) || tfvm_load_text(vm, text, strlen(text), "a.tfa", NULL, &e) ||
         tfvm_prepare(vm, "grad(@loss)", "f32[3], f32", &grad, &e) || tfvm_context_create(vm, NULL, &context, &e))
       puts(e.message);
     const void* in[] = {w, y}; void* out[] = {g};
     if (tfvm_call(context, grad, in, 2, out, 1, &e)) printf("%s:%d: %s\n", e.file, e.line, e.message);

   Conventions. Functions that can fail give a tfvm_status, 0 where they did not, and write to *error, where it is not
   NULL, only when they fail. Results are written only on success. Strings are UTF-8 and end with 0, unless a size goes
   with them. Structs begin with their size, so that they may grow: use the initializers, or zero them and set `size`.
   Nothing is thrown, aborted or printed (but one notice, see `log`), and no thread is made (but one that compiles,
   under TFVM_TIER=auto). What a function is given is not kept, unless it says so. Threads. A VM and its functions may
   be used from all threads; a context, builder or value from one at a time. Handles may be released in any order; a
   function, context or value keeps what it needs of its VM.
   docs/embedding.md tells more. */

#include <tfvm/base.h>
#include <tfvm/build.h>
#include <tfvm/call.h>
#include <tfvm/function.h>
#include <tfvm/op.h>
#include <tfvm/state.h>
#include <tfvm/value.h>
#include <tfvm/vm.h>
