// Elementwise core ops whose formula depends on the dtype.
#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

// ⌊x / y⌋, as Python's //. The truncated quotient, one less where the remainder isn't 0 and has not the sign of y;
// floats find it from x − remainder, which y divides (numpy: npy_divmod). By 0: integers give −1, floats x / y.
Values expand_floor_div(ExpandCtx& c) {
  Builder& b = c.b;
  const ValueId x = c.in[0], y = c.in[1];
  const DType d = b.dtype(x);
  if (is_complex(d) || d == DType::Bool || b.dtype(y) != d)
    return expected(c, "floor_div", "real numbers of one dtype");
  const ValueId zero = b.scalar_int(d, 0), one = b.scalar_int(d, 1);
  const ValueId r = b.emit(Op::rem, {x, y});
  const ValueId differ = b.emit(Op::xor_, {b.emit(Op::lt, {r, zero}), b.emit(Op::lt, {y, zero})});
  const ValueId down = b.emit(Op::and_, {differ, b.emit(Op::ne, {r, zero})});
  ValueId q = b.emit(Op::div, {x, y});
  if (is_float(d)) {
    const ValueId whole = b.emit(Op::round, {b.emit(Op::div, {b.emit(Op::sub, {x, r}), y})});
    const ValueId lower = b.emit(Op::select, {down, b.emit(Op::sub, {whole, one}), whole});
    return {b.emit(Op::select, {b.emit(Op::eq, {y, zero}), q, lower})};
  }
  // x rem 0 is x, so a negative x over 0 looks as if it had to go down.
  const ValueId proper = b.emit(Op::and_, {down, b.emit(Op::ne, {y, zero})});
  return {b.emit(Op::select, {proper, b.emit(Op::sub, {q, one}), q})};
}

// x in the dtype of y
Values expand_cast_like(ExpandCtx& c) { return {cast(c.b, c.in[0], c.b.dtype(c.in[1]))}; }

}  // namespace tfvm
