#include "transforms/jvp/rules.h"

namespace tfvm {

// d(x . y) = dx . y + x . dy. Dots multiply as IEEE: no strong zero.
void jvp_dot_general(JvpCtx& c) {
  for (std::size_t k = 0; k < 2; ++k) {
    if (!c.active(k)) continue;
    std::vector<ValueId> operands(c.x.begin(), c.x.end());
    operands[k] = c.t[k];
    c.dy[0] = c.add(c.dy[0], c.b.emit(Op::dot_general, operands, c.in.attrs));
  }
}

}  // namespace tfvm
