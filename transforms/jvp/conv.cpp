#include "transforms/jvp/rules.h"

namespace tfvm {

// Linear in each operand. Convolutions multiply as IEEE: no strong zero.
void jvp_conv(JvpCtx& c) {
  for (std::size_t k = 0; k < 2; ++k) {
    if (!c.active(k)) continue;
    std::vector<ValueId> operands(c.x.begin(), c.x.end());
    operands[k] = c.t[k];
    c.dy[0] = c.add(c.dy[0], c.b.emit(Op::conv, operands, c.in.attrs));
  }
}

}  // namespace tfvm
