/* A C host: the gradient of a loss per sample, with the program's text, and a failure with its line. */
#include <stdio.h>
#include <string.h>

#include <tfvm.h>

static const char* const kProgram =
    "func @loss(%w: f32[3], %x: f32[3], %y: f32) -> f32 {\n"
    "  %p = dot %w, %x\n"
    "  %d = sub %p, %y\n"
    "  %l = mul %d, %d\n"
    "  ret %l\n"
    "}\n"
    "func @pick(%x: f32[3], %i: i64) -> f32 {\n"
    "  %y = take %x, %i\n"
    "  ret %y\n"
    "}\n";

static int fail(const tfvm_error* e) {
  printf("%s:%d:%d: %s: %s\n", e->file, (int)e->line, (int)e->column, tfvm_status_name(e->code), e->message);
  return 1;
}

int main(void) {
  tfvm_error e = TFVM_ERROR;
  tfvm_vm* vm = NULL;
  tfvm_context* context = NULL;
  tfvm_function *grad = NULL, *pick = NULL;
  const float w[3] = {1, 2, 3}, x[6] = {1, 0, 0, 0, 1, 0}, y[2] = {0, 0};
  const int64_t outside = 7;
  float g[6] = {0}, picked = 0;
  const void* inputs[3];
  void* outputs[1];
  int k;

  if (tfvm_vm_create(NULL, &vm, &e) || tfvm_load_text(vm, kProgram, strlen(kProgram), "first.tfa", NULL, &e) ||
      tfvm_prepare(vm, "vmap(grad(@loss), in_dims=[none, 0, 0])", "f32[3], f32[2,3], f32[2]", &grad, &e) ||
      tfvm_prepare(vm, "@pick", NULL, &pick, &e) || tfvm_context_create(vm, NULL, &context, &e))
    return fail(&e);
  inputs[0] = w;
  inputs[1] = x;
  inputs[2] = y;
  outputs[0] = g;
  if (tfvm_call(context, grad, inputs, 3, outputs, 1, &e)) return fail(&e);
  for (k = 0; k < 6; ++k) printf("%g ", (double)g[k]);
  printf("\n");
  if (g[0] != 2 || g[1] != 0 || g[4] != 4) return 1;

  inputs[0] = w;
  inputs[1] = &outside;
  outputs[0] = &picked;
  if (tfvm_call(context, pick, inputs, 2, outputs, 1, &e) != TFVM_INDEX || e.line != 8) return fail(&e);
  printf("%s:%d: %s\n", e.file, (int)e.line, e.message);

  tfvm_context_release(context);
  tfvm_function_release(pick);
  tfvm_function_release(grad);
  tfvm_vm_release(vm);
  return 0;
}
