#include "bytecode/tables.h"

namespace tfvm {

void Tables::keep() { types.keep(), attrs.keep(), consts.keep(), bodies.keep(), debugs.keep(); }

void Tables::forget() { types.forget(), attrs.forget(), consts.forget(), bodies.forget(), debugs.forget(); }

std::int64_t Tables::fresh_bytes() const {
  return types.fresh_bytes() + attrs.fresh_bytes() + consts.fresh_bytes() + bodies.fresh_bytes() + debugs.fresh_bytes();
}

}  // namespace tfvm
