#include "functionalize/custom_call.h"

#include <algorithm>

#include "bytecode/externs.h"

namespace tfvm::functional {

bool is_functional_custom(Op op) { return op == Op::auto_functionalized || op == Op::auto_functionalized_v2; }

Result<CustomCall> read_custom(Tables& t, const Instr& in) {
  const bool v1 = in.op == Op::auto_functionalized, v2 = in.op == Op::auto_functionalized_v2;
  const Attr numbers = t.attrs[t.attrs.get(in.attrs, Key::arg_base)],
             views = t.attrs[t.attrs.get(in.attrs, Key::views)];
  const std::size_t count = v2 ? std::max(numbers.items.size(), numbers.ints.size()) : in.operands.size();
  const Result<ExternArgs> args = extern_args(t, in.attrs, count);
  if (!args) return args.error();
  const auto number = [&](std::size_t k) -> std::optional<std::size_t> {
    if (!numbers.ints.empty()) return static_cast<std::size_t>(numbers.ints[k]);
    const Attr& a = t.attrs[numbers.items[k]];
    return a.kind == AttrKind::Int ? std::optional(static_cast<std::size_t>(a.i)) : std::nullopt;
  };
  CustomCall c;
  std::size_t other = 0, view = 0;
  for (std::size_t k = 0; k < count; ++k) {
    CustomArgument a;
    a.mut = args->mut[k];
    if (v2) a.base = number(k);
    if (v1 && a.mut) a.base = c.bases.size(), c.bases.push_back(in.operands[k]);
    if (!a.base) a.value = in.operands[v2 ? other++ : k];
    if (v2 && a.base) a.view = views.items[view++];
    if (!v2) a.view = t.attrs.call(t.strings.intern("alias"), {});
    c.args.push_back(a);
  }
  if (v2) c.bases.assign(in.operands.begin() + static_cast<std::ptrdiff_t>(other), in.operands.end());
  c.results = in.num_results - c.bases.size();
  return c;
}

namespace {

// slice(dim, start, end, step), select(dim, index).
Chain cut_links(Tables& t, const Attr& a, TypeId base, bool select) {
  const auto number = [&](std::size_t k) { return t.attrs[a.items[k]].i; };
  const Dims d = t.types.dims(base);
  const DType dtype = t.types.dtype(base);
  std::vector<std::int64_t> start(d.size(), 0), limit(d.begin(), d.end()), step(d.size(), 1), part = limit;
  const auto k = static_cast<std::size_t>(number(0));
  start[k] = number(1);
  limit[k] = select ? number(1) + 1 : number(2);
  step[k] = select ? 1 : number(3);
  part[k] = (limit[k] - start[k] + step[k] - 1) / step[k];
  const AttrId cut = t.attrs.dict({{Key::start, Ints(start)}, {Key::limit, Ints(limit)}, {Key::stride, Ints(step)}});
  Chain out{{Op::slice, cut, base, t.types.tensor(dtype, part)}};
  if (!select) return out;
  part.erase(part.begin() + static_cast<std::ptrdiff_t>(k));
  const TypeId to = t.types.tensor(dtype, part);
  out.push_back({Op::view, t.attrs.dict({{Key::shape, Ints(part)}}), out[0].to, to});
  return out;
}

}  // namespace

Chain links_of(Tables& t, AttrId view, TypeId base) {
  const Attr a = t.attrs[view];
  if (a.kind == AttrKind::List) {
    Chain all;
    for (AttrId step : a.items)
      for (const View& v : links_of(t, step, all.empty() ? base : all.back().to)) all.push_back(v);
    return all;
  }
  const std::string_view name = t.strings[a.str];
  if (name == "alias") return {};
  if (name != "as_strided") return cut_links(t, a, base, name == "select");
  const Ints shape = t.attrs[a.items[0]].ints;
  const AttrId attrs =
      t.attrs.dict({{Key::shape, a.items[0]}, {Key::strides, a.items[1]}, {Key::offset, t.attrs[a.items[2]].i}});
  return {{Op::as_strided, attrs, base, t.types.tensor(t.types.dtype(base), shape)}};
}

Strided place_of(Tables& t, AttrId view, TypeId base) {
  Strided s = row_major(t.types.dims(base));
  for (const View& v : links_of(t, view, base))
    if (Result<Strided> next = lie(t, v, s, t.types.elements(base))) s = *std::move(next);
  return s;
}

bool is_strided(const Tables& t, AttrId view) {
  const Attr& a = t.attrs[view];
  return a.kind == AttrKind::Call && t.strings[a.str] == "as_strided";
}

}  // namespace tfvm::functional
