#include "bytecode/externs.h"

#include <algorithm>

#include "bytecode/tables.h"

namespace tfvm {

bool ExternInfo::has_mut() const { return std::ranges::any_of(params, &ExternParam::mut); }

bool is_custom(Op op) { return op == Op::extern_ || op == Op::auto_functionalized || op == Op::auto_functionalized_v2; }

const ExternInfo* find_extern(const Tables& t, AttrId attrs) {
  const Attr& op = t.attrs[t.attrs.get(attrs, Key::op)];
  const auto it = op.kind == AttrKind::Str ? t.externs.find(op.str) : t.externs.end();
  return it == t.externs.end() ? nullptr : &it->second;
}

Result<ExternArgs> extern_counts(const Tables& t, AttrId attrs) {
  const Error malformed(Code::Type, "[extern] args must hold 1, none or the length of a list for each parameter");
  const ExternInfo* op = find_extern(t, attrs);
  if (!op)
    return Error(Code::Type, "[extern] expected a custom op that is declared, got \"" +
                                 std::string(t.attrs.get_str(attrs, Key::op)) + "\"");
  ExternArgs out;
  const Attr& args = t.attrs[t.attrs.get(attrs, Key::args)];
  for (std::size_t k = 0; k < op->params.size(); ++k) {
    std::int64_t n = 1;
    if (args.kind == AttrKind::Ints && k < args.ints.size()) {
      n = args.ints[k];
    } else if (args.kind == AttrKind::List && k < args.items.size()) {
      const Attr& item = t.attrs[args.items[k]];
      if (item.kind != AttrKind::Int && item.kind != AttrKind::None) return malformed;
      n = item.kind == AttrKind::Int ? item.i : 0;
    } else if (args.kind != AttrKind::None) {
      return malformed;
    }
    if (n < 0 || (n > 1 && !op->params[k].list)) return malformed;
    out.counts.push_back(static_cast<std::size_t>(n));
    out.mut.insert(out.mut.end(), static_cast<std::size_t>(std::min<std::int64_t>(n, 1 << 20)), op->params[k].mut);
  }
  return out;
}

Result<ExternArgs> extern_args(const Tables& t, AttrId attrs, std::size_t operands) {
  Result<ExternArgs> out = extern_counts(t, attrs);
  if (!out || out->mut.size() == operands) return out;
  return Error(Code::Type, "[" + std::string(t.attrs.get_str(attrs, Key::op)) + "] takes " +
                               std::to_string(out->mut.size()) + " operands, got " + std::to_string(operands));
}

}  // namespace tfvm
