#include "transforms/simplify/size.h"

#include <unordered_set>
#include <vector>

namespace tfvm {

namespace {

void add_functions(const AttrTable& at, AttrId id, std::vector<BodyId>& out) {
  const Attr& a = at[id];
  if (a.kind == AttrKind::Func) out.push_back(a.func.body);
  for (AttrId item : a.items) add_functions(at, item, out);
}

}  // namespace

CodeSize code_size(const Tables& t, FunctionId f) {
  CodeSize size;
  std::vector<BodyId> open{f.body};
  std::unordered_set<BodyId> seen;
  while (!open.empty()) {
    const BodyId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Body& body = t.bodies[id];
    ++size.functions;
    for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
      size.instructions += body.ops[i] != Op::constant;
      if (body.ops[i] != Op::pack) add_functions(t.attrs, body.attrs[i], open);  // it names its maker
    }
  }
  return size;
}

}  // namespace tfvm
