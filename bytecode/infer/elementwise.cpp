// Elementwise ops: the operands have one shape, which is the result's.
#include "bytecode/infer/steps.h"

namespace tfvm {

bool infer_same(InferCtx& c) {
  c.out.push_back(c.in[0]);
  return true;
}

bool infer_abs(InferCtx& c) { return infer_real_part(c); }

bool infer_real_part(InferCtx& c) {
  const DType d = c.dtype(0);
  const DType real = d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d;
  return c.push(real, c.dims(0));
}

bool infer_predicate(InferCtx& c) {
  const bool ordered = c.op == Op::lt || c.op == Op::le || c.op == Op::gt || c.op == Op::ge;
  if (ordered && is_complex(c.dtype(0))) return infer::expect(c, "a dtype with an order");
  return c.push(DType::Bool, c.dims(0));
}

bool infer_select(InferCtx& c) {
  c.out.push_back(c.in[1]);
  return true;
}

bool infer_cast(InferCtx& c) {
  const DType to = c.t.attrs.get_dtype(c.attrs, Key::dtype);
  if (is_complex(c.dtype(0)) && !is_complex(to))
    return c.fail("expected a complex dtype to cast to, got " + std::string(name(to)) + " for " + infer::types(c) +
                  "; use real or imag");
  return c.push(to, c.dims(0));
}

bool infer_bitcast(InferCtx& c) {
  const DType to = c.t.attrs.get_dtype(c.attrs, Key::dtype);
  if (size_of(to) != size_of(c.dtype(0)) || (to == DType::Bool && c.dtype(0) != DType::Bool))
    return c.fail("expected a dtype of equal size (and not bool), got " + std::string(name(to)) + " for " +
                  infer::types(c));
  return c.push(to, c.dims(0));
}

}  // namespace tfvm
