// The functional forms of custom ops. v1 gives the op's results, then a clone of each argument that it writes. v2 takes
// the other arguments, then bases, and gives the op's results, then the new bases: `arg_base` has an entry for each
// argument, none or the number of the base that it is a view of, `views` an entry for each that is a view of one: a
// step, or a list of steps.
#include <algorithm>

#include "bytecode/externs.h"
#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

namespace {

bool results(InferCtx& c, std::span<const TypeId> operands) {
  const ExternInfo* op = find_extern(c.t, c.attrs);
  Status s = op->infer(c.t, c.attrs, operands, c.out);
  if (!s) c.error = std::move(s).error().message;
  return static_cast<bool>(s);
}

bool arguments(InferCtx& c, std::size_t n, ExternArgs& out) {
  Result<ExternArgs> args = extern_args(c.t, c.attrs, n);
  if (!args)
    c.error = args.error().message;
  else
    out = *std::move(args);
  return static_cast<bool>(args);
}

bool malformed(InferCtx& c) {
  return c.fail(
      "expected views alias(), slice(dim, start, end, step), select(dim, index) or as_strided([shape], [strides], "
      "offset) of the bases");
}

// The type of a view of the base; kNone where the entry doesn't fit.
TypeId viewed_type(InferCtx& c, TypeId base, const Attr& view) {
  if (view.kind == AttrKind::List) {
    for (AttrId step : view.items)
      if (base != kNone<TypeId>) base = viewed_type(c, base, c.t.attrs[step]);
    return base;
  }
  const std::string_view name = view.kind == AttrKind::Call ? c.t.strings[view.str] : std::string_view();
  Shape d = infer::copy(c.t.types.dims(base)), n;
  for (AttrId item : view.items) n.push_back(c.t.attrs[item].kind == AttrKind::Int ? c.t.attrs[item].i : -1);
  const auto dim = [&] { return n[0] >= 0 && n[0] < infer::ssize(d); };
  if (name == "alias" && n.empty()) return base;
  if (name == "slice" && n.size() == 4 && dim() && n[1] >= 0 && n[1] <= n[2] && n[2] <= d[at(n[0])] && n[3] > 0) {
    d[at(n[0])] = (n[2] - n[1]) / n[3] + ((n[2] - n[1]) % n[3] != 0);
    return c.t.types.tensor(c.t.types.dtype(base), d);
  }
  if (name == "select" && n.size() == 2 && dim() && n[1] >= 0 && n[1] < d[at(n[0])]) {
    d.erase(d.begin() + n[0]);
    return c.t.types.tensor(c.t.types.dtype(base), d);
  }
  if (name != "as_strided" || view.items.size() != 3 || n[2] < 0) return kNone<TypeId>;
  const Attr shape = c.t.attrs[view.items[0]], strides = c.t.attrs[view.items[1]];
  if (shape.ints.size() != strides.ints.size()) return kNone<TypeId>;
  std::int64_t last = n[2];
  const bool none = std::ranges::find(shape.ints, 0) != shape.ints.end();
  for (std::size_t k = 0; k < shape.ints.size(); ++k) {
    std::int64_t reach = 0;
    if (shape.ints[k] < 0 || strides.ints[k] < 0 || !infer::mul(shape.ints[k] - 1, strides.ints[k], reach) ||
        (!none && !infer::add(last, reach, last)))
      return kNone<TypeId>;
  }
  return none || last < c.t.types.elements(base) ? c.t.types.tensor(c.t.types.dtype(base), shape.ints) : kNone<TypeId>;
}

}  // namespace

bool infer_auto_functionalized(InferCtx& c) {
  ExternArgs args;
  if (!arguments(c, c.in.size(), args) || !results(c, c.in)) return false;
  for (std::size_t k = 0; k < c.in.size(); ++k)
    if (args.mut[k]) c.out.push_back(c.in[k]);
  return true;
}

bool infer_auto_functionalized_v2(InferCtx& c) {
  const Attr numbers = c.t.attrs[c.t.attrs.get(c.attrs, Key::arg_base)],
             views = c.t.attrs[c.t.attrs.get(c.attrs, Key::views)];
  std::vector<std::int64_t> base;  // −1: another argument
  for (std::int64_t i : numbers.ints) base.push_back(i);
  for (AttrId item : numbers.items) base.push_back(c.t.attrs[item].kind == AttrKind::Int ? c.t.attrs[item].i : -1);
  std::int64_t bases = 0;
  const auto most = static_cast<std::int64_t>(c.in.size());
  for (std::int64_t i : base) bases = std::max(bases, std::min(i, most) + 1);
  const auto others = std::ranges::count(base, -1);
  if (std::ranges::any_of(base, [](std::int64_t i) { return i < -1; }) ||
      static_cast<std::int64_t>(c.in.size()) != others + bases)
    return c.fail("expected the arguments that arg_base has no number for, then as many bases as it numbers");
  std::vector<TypeId> operands;
  std::size_t other = 0, view = 0;
  for (std::int64_t i : base) {
    if (i < 0) {
      operands.push_back(c.in[other++]);
      continue;
    }
    if (view >= views.items.size()) return malformed(c);
    operands.push_back(viewed_type(c, c.in[at(others + i)], c.t.attrs[views.items[view++]]));
    if (operands.back() == kNone<TypeId>) return malformed(c);
  }
  ExternArgs args;
  if (view != views.items.size()) return malformed(c);
  if (!arguments(c, operands.size(), args) || !results(c, operands)) return false;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (args.mut[k] && base[k] < 0) return c.fail("expected a base for each argument that the op writes");
  c.out.insert(c.out.end(), c.in.begin() + others, c.in.end());
  return true;
}

}  // namespace tfvm
