#pragma once
/* Functions made by the host, one statement at a time. */

#include <tfvm/vm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfvm_builder tfvm_builder;
typedef int32_t tfvm_ref; /* a value of the function being built; -1 where an earlier step failed */

/* Errors are kept: after the first one every step gives -1, and tfvm_builder_finish says what it was. `name` is that of
   the function, without @. */
tfvm_status tfvm_builder_create(tfvm_vm* vm, const char* name, tfvm_builder** builder, tfvm_error* error) TFVM_NOEXCEPT;
void tfvm_builder_release(tfvm_builder* builder) TFVM_NOEXCEPT;

/* The next parameter; all come before the first statement. `type` is a type of the language, "f32[3]", "f32[n,..]", or
   NULL for any. */
tfvm_ref tfvm_build_param(tfvm_builder* builder, const char* type) TFVM_NOEXCEPT;
/* A constant with the elements of a view, bit for bit. */
tfvm_ref tfvm_build_constant(tfvm_builder* builder, const tfvm_view* value) TFVM_NOEXCEPT;
/* The op or function with these operands: "add", "reduce_sum", "call @f". `attributes` as in the language, without
   braces: "axes=[0]"; NULL or "": none. Gives its one result. */
tfvm_ref tfvm_build_op(tfvm_builder* builder, const char* op, const tfvm_ref* operands, size_t count,
                       const char* attributes) TFVM_NOEXCEPT;
/* Any statement of the language, in one line, with $0, $1, … for the operands:
     "scan @step ($0, $1) {carry=1}"      "mul $0, 0.5"      "assert $0 {message=\"x > 0\"}"
   Writes as many results as the statement has, which is `result_count`. */
void tfvm_build_statement(tfvm_builder* builder, const char* statement, const tfvm_ref* operands, size_t count,
                          tfvm_ref* results, size_t result_count) TFVM_NOEXCEPT;

/* Adds the function to the program, which may then name it: "grad(@name)". The builder is used up, whether or not this
   succeeds, and remains to be released. The line of an error is that of tfvm_builder_text. */
tfvm_status tfvm_builder_finish(tfvm_builder* builder, const tfvm_ref* results, size_t count,
                                tfvm_error* error) TFVM_NOEXCEPT;
/* The function as a text of the language, so far; valid until the next step. */
const char* tfvm_builder_text(const tfvm_builder* builder) TFVM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
