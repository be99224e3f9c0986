#include "vm/eager/custom.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/eager/run.h"

namespace tfvm {

namespace {

using Operand = EagerCustom::Operand;

// A cut of one dim, and for `select` the view without it.
std::vector<ViewOp> cut(std::vector<std::int64_t> dims, std::size_t axis, std::int64_t start, std::int64_t limit,
                        std::int64_t stride, bool drop) {
  std::vector<ViewOp> out(1);
  out[0].op = Op::slice;
  out[0].first.assign(dims.size(), 0), out[0].second = dims, out[0].third.assign(dims.size(), 1);
  out[0].first[axis] = start, out[0].second[axis] = limit, out[0].third[axis] = stride;
  if (!drop) return out;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  out.emplace_back().op = Op::view;
  out[1].dims = std::move(dims);
  return out;
}

// An entry of `views`, whose form inference has checked.
std::vector<ViewOp> views_of(const Tables& t, AttrId entry, TypeId base) {
  const Attr& view = t.attrs[entry];
  const std::string_view name = t.strings[view.str];
  const Dims d = t.types.dims(base);
  const auto number = [&](std::size_t k) { return t.attrs[view.items[k]].i; };
  const auto list = [&](std::size_t k) {
    const Ints ints = t.attrs[view.items[k]].ints;
    return std::vector<std::int64_t>(ints.begin(), ints.end());
  };
  if (name == "alias") return {};
  if (name == "as_strided") {
    ViewOp v;
    v.op = Op::as_strided;
    v.dims = list(0), v.first = list(1), v.offset = number(2);
    return {v};
  }
  const bool select = name == "select";
  return cut({d.begin(), d.end()}, static_cast<std::size_t>(number(0)), number(1), select ? number(1) + 1 : number(2),
             select ? 1 : number(3), select);
}

// The operands of the op in order, by the form of the instruction; fills in the bases.
std::vector<Operand> operands_of(const Tables& t, const Body& body, const Instr& in, std::span<const std::uint8_t> mut,
                                 std::vector<std::uint32_t>& bases) {
  std::vector<Operand> out;
  if (in.op != Op::auto_functionalized_v2) {
    for (std::uint32_t k = 0; k < in.operands.size(); ++k) {
      const bool copied = in.op == Op::auto_functionalized && mut[k];
      out.push_back({copied ? static_cast<std::uint32_t>(bases.size()) : k, copied, {}});
      if (copied) bases.push_back(k);
    }
    return out;
  }
  const Attr &numbers = t.attrs[t.attrs.get(in.attrs, Key::arg_base)],
             &views = t.attrs[t.attrs.get(in.attrs, Key::views)];
  std::vector<std::int64_t> base(numbers.ints.begin(), numbers.ints.end());  // −1: another argument
  for (AttrId item : numbers.items) base.push_back(t.attrs[item].kind == AttrKind::Int ? t.attrs[item].i : -1);
  const auto others = static_cast<std::uint32_t>(std::ranges::count(base, -1));
  for (std::uint32_t k = others; k < in.operands.size(); ++k) bases.push_back(k);
  std::uint32_t other = 0;
  std::size_t view = 0;
  for (std::int64_t b : base) {
    if (b < 0) {
      out.push_back({other++, false, {}});
    } else {
      const auto at = static_cast<std::uint32_t>(b);
      out.push_back({at, true, views_of(t, views.items[view++], body.type(in.operands[bases[at]]))});
    }
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const EagerCustom>> custom_step(const Tables& t, const Body& body, const Instr& in,
                                                       const CustomOps& ops) {
  const Result<ExternArgs> args = extern_counts(t, in.attrs);
  if (!args) return args.error();
  const std::string op(t.attrs.get_str(in.attrs, Key::op));
  const auto it = ops.find(op);
  if (it == ops.end())
    return Error(Code::Unsupported, fmt::format("[{}] is declared, but the host has registered no kernel for it", op));
  auto c = std::make_shared<EagerCustom>();
  c->op = it->second;
  for (const ExternParam& p : find_extern(t, in.attrs)->params) c->mut.push_back(p.mut);
  std::vector<Operand> operands = operands_of(t, body, in, args->mut, c->bases);
  auto next = operands.begin();
  for (std::size_t n : args->counts) {
    const auto end = next + static_cast<std::ptrdiff_t>(n);
    c->args.emplace_back(std::move_iterator(next), std::move_iterator(end));
    next = end;
  }
  for (std::uint32_t k = 0; k + c->bases.size() < in.num_results; ++k) {
    const TypeId type = body.type(in.result(k));
    const Dims dims = t.types.dims(type);
    c->results.push_back({t.types.dtype(type), {dims.begin(), dims.end()}, t.types.bytes(type), false});
  }
  return std::shared_ptr<const EagerCustom>(std::move(c));
}

// A base that nothing else has and that dies here is written in place.
Status EagerRun::custom(const EagerStep& s, Frame& f) {
  const EagerCustom& c = *s.custom;
  std::vector<Tensor> bases, out;
  for (std::uint32_t k : c.bases) {
    const Slot slot = s.in[k];
    const bool dies = std::ranges::find(s.dead, slot) != s.dead.end() && std::ranges::count(s.in, slot) == 1;
    bases.push_back(dies ? std::exchange(f.slots[slot], {}) : f.slots[slot]);
  }
  if (Status fresh = make_fresh(bases); !fresh) return fresh;
  std::vector<CustomArg> args;
  for (const auto& operands : c.args) {
    CustomArg& arg = args.emplace_back();
    for (const Operand& o : operands) {
      Tensor t = o.is_base ? bases[o.at] : f.slots[s.in[o.at]];
      for (const ViewOp& v : o.views) {
        Result<Tensor> view = view_of(v, t);
        if (!view) return std::move(view).error();
        t = *std::move(view);
      }
      arg.tensors.push_back(std::move(t));
    }
  }
  for (const ValueType& type : c.results) {
    Result<Tensor> t = Tensor::make(context_.budget(), type.dtype, type.dims);
    if (!t) return std::move(t).error();
    out.push_back(*std::move(t));
  }
  if (Status done = run_custom(*c.op, s.name, std::move(args), c.mut, out, context_.budget()); !done) return done;
  out.insert(out.end(), std::move_iterator(bases.begin()), std::move_iterator(bases.end()));
  for (std::size_t k = 0; k < s.out.size(); ++k) f.slots[s.out[k]] = std::move(out[k]);
  return ok();
}

}  // namespace tfvm
