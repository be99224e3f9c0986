#include "transforms/transpose/rules.h"

namespace tfvm {

void transpose_neg(TransposeCtx& c) { c.add(0, c.b.emit(Op::neg, {c.ct()})); }

void transpose_add(TransposeCtx& c) {
  c.add(0, c.ct());
  if (c.is_linear(1)) c.add(1, c.in.op == Op::sub ? c.b.emit(Op::neg, {c.ct()}) : c.ct());
}

// Always the strong zero: a cotangent of 0 gives 0, whatever the factor is.
void transpose_mul(TransposeCtx& c) {
  if (c.is_linear(0) && c.is_linear(1)) return c.refuse();
  if (c.is_linear(0))
    c.add(0, c.b.emit(Op::zmul, {c.ct(), c.known(1)}));
  else
    c.add(1, c.b.emit(Op::zmul, {c.known(0), c.ct()}));
}

void transpose_div(TransposeCtx& c) {
  if (c.is_linear(1)) return c.refuse();
  c.add(0, c.b.emit(Op::zmul, {c.ct(), c.b.emit(Op::reciprocal, {c.known(1)})}));
}

void transpose_fma(TransposeCtx& c) {
  if (c.is_linear(0) && c.is_linear(1)) return c.refuse();
  if (c.is_linear(0)) c.add(0, c.b.emit(Op::zmul, {c.ct(), c.known(1)}));
  if (c.is_linear(1)) c.add(1, c.b.emit(Op::zmul, {c.known(0), c.ct()}));
  c.add(2, c.ct());
}

static void refuse_complex(TransposeCtx& c) {
  c.b.fail(Code::Unsupported, "[transpose] " + std::string(name(c.in.op)) + " of complex values has no rule");
}

// The parts of a real value are itself and 0.
void transpose_part(TransposeCtx& c) {
  if (is_complex(c.tables().types.dtype(c.type(0)))) return refuse_complex(c);
  if (c.in.op != Op::imag) c.add(0, c.ct());
}

void transpose_cast(TransposeCtx& c) {
  if (!c.b.failed() && is_complex(c.b.dtype(c.ct())) != is_complex(c.tables().types.dtype(c.type(0))))
    return refuse_complex(c);
  c.add(0, c.b.emit(Op::cast, {c.ct()}, {{Key::dtype, c.tables().types.dtype(c.type(0))}}));
}

void transpose_select(TransposeCtx& c) {
  if (c.b.failed()) return;
  const ValueId zero = c.b.zeros(c.type(1)), p = c.known(0);
  if (c.is_linear(1)) c.add(1, c.b.emit(Op::select, {p, c.ct(), zero}));
  if (c.is_linear(2)) c.add(2, c.b.emit(Op::select, {p, zero, c.ct()}));
}

void transpose_same(TransposeCtx& c) { c.add(0, c.ct()); }

void transpose_drop(TransposeCtx&) {}

void transpose_barrier(TransposeCtx& c) {
  const std::vector<ValueId> after = c.b.emit_all(Op::optimization_barrier, c.active_cts(), c.in.attrs);
  const Mask has = c.ct_mask();
  for (std::size_t k = 0, n = 0; k < has.size() && n < after.size(); ++k)
    if (has[k]) c.add(k, after[n++]);
}

}  // namespace tfvm
