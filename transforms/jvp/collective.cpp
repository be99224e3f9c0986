// Collectives that are not linear.
#include "transforms/jvp/rules.h"

namespace tfvm {

// As of reduce_max: the lanes that equal the result share its tangent equally, sum((x == y) / n * dx).
void jvp_collective_extremum(JvpCtx& c) {
  Builder& b = c.b;
  if (b.failed()) return;
  const auto sum = [&](ValueId v) { return b.emit(Op::psum, std::span(&v, 1), c.in.attrs); };
  const ValueId hit = b.emit(Op::cast, {b.emit(Op::eq, {c.x[0], c.y[0]})}, {{Key::dtype, b.dtype(c.x[0])}});
  const ValueId share = b.emit(Op::reciprocal, {sum(hit)});
  c.dy[0] = b.emit(Op::zmul, {share, sum(b.emit(Op::zmul, {hit, c.t[0]}))});
}

}  // namespace tfvm
