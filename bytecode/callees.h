#pragma once

#include <vector>

#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

// The functions that an instruction runs: callee; then and else; branches; cond and body. Rules that ride on a call are
// not among them.
std::vector<FunctionId> callees(const Tables& t, Op op, AttrId attrs);

// The attributes with `with` in place of each of those functions: Result<FunctionId> with(FunctionId). Its first error
// ends it.
inline constexpr Key kCalleeKeys[] = {Key::callee, Key::body, Key::cond, Key::then, Key::else_, Key::branches};

template <class Fn>
Result<AttrId> map_callees(AttrTable& at, AttrId attrs, Fn with) {
  for (Key key : kCalleeKeys) {
    const Attr a = at[at.get(attrs, key)];
    if (a.kind == AttrKind::Func) {
      const Result<FunctionId> g = with(a.func);
      if (!g) return g.error();
      attrs = at.with(attrs, key, at.of(*g));
    } else if (a.kind == AttrKind::List) {
      std::vector<AttrId> items;
      for (AttrId item : a.items) {
        const Result<FunctionId> g = with(at[item].func);
        if (!g) return g.error();
        items.push_back(at.of(*g));
      }
      attrs = at.with(attrs, key, at.list(items));
    }
  }
  return attrs;
}

}  // namespace tfvm
