// The tangent of a pack is a pack of the same type: tangents of its items, zeros where an item has none.
#include "transforms/jvp/rules.h"

namespace tfvm {

void jvp_pack(JvpCtx& c) {
  std::vector<ValueId> items;
  for (std::size_t k = 0; k < c.x.size() && !c.b.failed(); ++k)
    items.push_back(c.active(k) ? c.t[k] : c.b.zeros(c.b.type(c.x[k])));
  if (!c.b.failed()) c.dy[0] = pack_as(c.b, c.b.type(c.y[0]), items);
}

void jvp_unpack(JvpCtx& c) { c.dy = unpack(c.b, c.t[0]); }

}  // namespace tfvm
