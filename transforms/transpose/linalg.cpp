// A triangular solve is linear in b: its transpose solves with the transposed matrix.
#include "transforms/transpose/rules.h"

namespace tfvm {

void transpose_triangular_solve(TransposeCtx& c) {
  if (c.is_linear(0)) return c.refuse();
  AttrTable& at = c.tables().attrs;
  const bool transposed = at.get_bool(c.in.attrs, Key::transpose_a);
  c.add(1, c.b.emit(Op::triangular_solve, std::vector{c.known(0), c.ct()},
                    at.with(c.in.attrs, Key::transpose_a, at.of(!transposed))));
}

}  // namespace tfvm
