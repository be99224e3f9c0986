#include "bytecode/callees.h"

namespace tfvm {

namespace {

void add_callee(const Tables& t, AttrId dict, Key key, std::vector<FunctionId>& out) {
  const AttrId a = t.attrs.get(dict, key);
  if (t.attrs[a].kind == AttrKind::Func) out.push_back(t.attrs[a].func);
  for (AttrId item : t.attrs[a].items)
    if (t.attrs[item].kind == AttrKind::Func) out.push_back(t.attrs[item].func);
}

}  // namespace

std::vector<FunctionId> callees(const Tables& t, Op op, AttrId attrs) {
  std::vector<FunctionId> out;
  if (info(op).kind != OpKind::Control && op != Op::reduce) return out;
  for (const Key k : {Key::callee, Key::then, Key::else_, Key::branches, Key::cond, Key::body})
    add_callee(t, attrs, k, out);
  return out;
}

}  // namespace tfvm
