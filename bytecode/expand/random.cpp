// Random numbers from random bits.
#include <cmath>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

// Uniform in [0, 1): multiples of 2^-d, where d is the number of digits of the dtype, so that none rounds to 1.
Values expand_uniform(ExpandCtx& c) {
  struct Draw {
    DType dtype, bits;
    int width, digits;
  };
  constexpr Draw kDraws[] = {{DType::F16, DType::U16, 16, 11},
                             {DType::BF16, DType::U8, 8, 8},
                             {DType::F32, DType::U32, 32, 24},
                             {DType::F64, DType::U64, 64, 53}};
  const DType dtype = attrs(c).get_dtype(c.attrs, Key::dtype);
  for (const Draw& d : kDraws) {
    if (d.dtype != dtype) continue;
    const ValueId bits =
        c.b.emit(Op::rng_bits, {c.in[0]}, {{Key::shape, get_ints(c, Key::shape)}, {Key::dtype, d.bits}});
    const ValueId top = c.b.emit(Op::shr, {bits, c.b.scalar_int(d.bits, d.width - d.digits)});
    return {c.b.emit(Op::mul, {cast(c.b, top, dtype), c.b.scalar(dtype, std::ldexp(1.0, -d.digits))})};
  }
  return expected(c, "uniform", "a float dtype");
}

}  // namespace tfvm
