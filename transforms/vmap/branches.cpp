// cond and switch. An unbatched predicate stays a branch. A batched one runs each branch that some lane takes.
#include <algorithm>
#include <unordered_set>

#include "transforms/values.h"
#include "transforms/vmap/control.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

ValueId select_lanes(BatchCtx& c, ValueId mask, ValueId yes, ValueId no) {
  if (yes == no) return yes;
  const ValueId both[] = {yes, no};
  return map_values(
      c.b, both, std::span(&mask, 1), [&](Builder& b, std::span<const ValueId> m, std::span<const ValueId> v) {
        std::vector<std::int64_t> column(static_cast<std::size_t>(b.rank(v[0])), 1);
        column[0] = c.axis.size;
        return b.emit(Op::select, {b.emit(Op::reshape, {m[0]}, {{Key::shape, Ints(column)}}), v[0], v[1]});
      });
}

ValueId repeat_first(BatchCtx& c, ValueId mask, ValueId v) {
  Builder& b = c.b;
  if (b.failed() || c.axis.size == 0) return v;
  // Records of lanes that do not ask were made on repeated lanes: they are safe as they are.
  if (c.t().types[b.type(v)].kind == TypeKind::Tape) return v;
  if (c.t().types[b.type(v)].kind == TypeKind::Pack) {
    std::vector<ValueId> items = unpack(b, v);
    for (ValueId& item : items) item = repeat_first(c, mask, item);
    return pack_as(b, b.type(v), items);
  }
  const ValueId as_int = b.emit(Op::cast, {mask}, {{Key::dtype, DType::I32}});
  const ValueId first = b.emit(Op::argmax, {as_int}, {{Key::axis, 0}});
  const ValueId lane = b.emit(Op::take, {v, first}, {{Key::axis, 0}, {Key::mode, "clip"}});
  return select_lanes(c, mask, v, c.add_batch(lane));
}

namespace {

bool is_harmless(Op op) {
  const OpKind k = info(op).kind;
  return is_elementwise(k) || k == OpKind::Shape || k == OpKind::Reduce || op == Op::constant ||
         op == Op::stop_gradient;
}

}  // namespace

bool is_harmless(const Tables& t, FunctionId f) {
  const Body& body = t.bodies[f.body];
  return !body.effects && std::ranges::all_of(body.ops, [](Op op) { return is_harmless(op); });
}

bool is_harmless_body(const Tables& t, FunctionId f) {
  std::vector<FunctionId> all{f};
  std::unordered_set<FunctionId> seen{f};
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Body& body = t.bodies[all[k].body];
    if (body.effects) return false;
    for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
      const Op op = body.ops[i];
      if (op == Op::call) {
        const FunctionId g = t.attrs.get_func(body.attrs[i], Key::callee);
        if (seen.insert(g).second) all.push_back(g);
      } else if (op != Op::dot_general && !is_harmless(op)) {
        return false;
      }
    }
  }
  return true;
}

bool runs_on_all(BatchCtx& c, FunctionId f, FunctionId source) {
  if (is_harmless(c.t(), f)) return true;
  if (!lane_use(c.env, source).collectives) return false;
  if (c.t().bodies[f.body].effects)
    c.b.fail(Code::Type, "[" + std::string(name(c.in.op)) +
                             "] vmap: lanes differ in the predicate, so a collective inside runs on lanes that don't "
                             "enter; what can fail (assert, a checked index) can't stand beside it");
  return true;
}

bool batch_branches(BatchCtx& c, std::span<const FunctionId> branches, const Mask& in, Branches& result) {
  // At most two rounds: flags only grow, and the second asks all branches for the union.
  for (int round = 0; round < 2; ++round) {
    result.functions.clear();
    for (FunctionId f : branches)
      if (!result.add(c, f, in)) return false;
  }
  return true;
}

namespace {

// One branch under a lane mask: entered only where some lane takes it; other lanes repeat the first that does.
FunctionId guarded_branch(BatchCtx& c, FunctionId batched, FunctionId source) {
  const Body& body = c.t().bodies[batched.body];
  Builder b(c.t(), c.env.options, source, "vmap");
  BatchCtx inner{c.env, b, c.axis, source, c.in, {}, {}, c.out, c.out_batched};
  const std::int64_t lanes[] = {c.axis.size};
  const ValueId mask = b.param(c.t().types.tensor(DType::Bool, Ints(lanes)));
  const Body& lane_body = c.t().bodies[source.body];
  std::vector<ValueId> args;
  for (std::uint32_t k = 0; k < body.num_params; ++k) args.push_back(b.param(body.types[k]));
  for (std::uint32_t k = 0; k < body.num_params; ++k)
    if (body.types[k] != lane_body.types[k]) args[k] = repeat_first(inner, mask, args[k]);
  Result<FunctionId> r = b.seal(b.emit_all(Op::call, args, c.t().attrs.dict({{Key::callee, batched}})));
  if (!r) forward_error(c.b, r.error());
  return r ? *r : FunctionId{};
}

FunctionId zeros_branch(BatchCtx& c, FunctionId like) {
  const Body& body = c.t().bodies[like.body];
  Builder b(c.t(), c.env.options, like, "vmap");
  for (TypeId type : body.param_types()) b.param(type);
  std::vector<ValueId> zeros;
  for (TypeId type : body.result_types()) zeros.push_back(b.zeros(type));
  Result<FunctionId> r = b.seal(zeros);
  return r ? *r : FunctionId{};
}

// Results of a branch for all lanes; those of lanes outside `mask` mean nothing.
std::vector<ValueId> run_branch(BatchCtx& c, ValueId mask, FunctionId batched, FunctionId source,
                                std::span<const ValueId> args) {
  AttrTable& at = c.t().attrs;
  if (runs_on_all(c, batched, source)) return c.b.emit_all(Op::call, args, at.dict({{Key::callee, batched}}));
  const FunctionId then = guarded_branch(c, batched, source);
  if (c.b.failed()) return {};
  const ValueId any = c.b.emit(Op::reduce_or, {mask}, {{Key::axes, at.none()}});
  std::vector<ValueId> operands{any, mask};
  operands.insert(operands.end(), args.begin(), args.end());
  return c.b.emit_all(Op::cond, operands, at.dict({{Key::then, then}, {Key::else_, zeros_branch(c, then)}}));
}

// `masks[k]` says which lanes take branch k; the last branch takes the rest.
void select_branches(BatchCtx& c, std::span<const ValueId> masks, std::span<const FunctionId> branches) {
  const Mask in(c.batched.begin() + 1, c.batched.end());
  Branches all;
  all.out.assign(c.t().bodies[branches[0].body].results.size(), 1);
  if (!batch_branches(c, branches, in, all)) return;
  std::vector<ValueId> result;
  for (std::size_t k = branches.size(); k-- > 0 && !c.b.failed();) {
    const std::vector<ValueId> r = run_branch(c, masks[k], all.functions[k], branches[k], c.x.subspan(1));
    if (result.empty())
      result = r;
    else
      for (std::size_t i = 0; i < r.size(); ++i) result[i] = select_lanes(c, masks[k], r[i], result[i]);
  }
  for (ValueId v : result) c.push(v);
}

}  // namespace

void batch_cond(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const FunctionId branches[] = {at.get_func(c.in.attrs, Key::then), at.get_func(c.in.attrs, Key::else_)};
  if (c.batched[0]) {
    const ValueId masks[] = {c.x[0], c.b.emit(Op::not_, {c.x[0]})};
    return select_branches(c, masks, branches);
  }
  Branches r;
  if (!batch_branches(c, branches, Mask(c.batched.begin() + 1, c.batched.end()), r)) return;
  const AttrId attrs = at.dict({{Key::then, r.functions[0]}, {Key::else_, r.functions[1]}});
  const std::vector<ValueId> results = c.b.emit_all(Op::cond, c.x, attrs);
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], r.out[k]);
}

void batch_switch(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  std::vector<FunctionId> branches;
  for (AttrId item : at[at.get(c.in.attrs, Key::branches)].items) branches.push_back(at[item].func);
  if (c.batched[0]) {
    const auto last = static_cast<std::int64_t>(branches.size()) - 1;
    const DType d = c.b.dtype(c.x[0]);
    const ValueId i = c.b.emit(Op::clamp, {c.b.scalar_int(d, 0), c.x[0], c.b.scalar_int(d, last)});
    std::vector<ValueId> masks;
    for (std::int64_t k = 0; k <= last; ++k) masks.push_back(c.b.emit(Op::eq, {i, c.b.scalar_int(d, k)}));
    return select_branches(c, masks, branches);
  }
  Branches r;
  if (!batch_branches(c, branches, Mask(c.batched.begin() + 1, c.batched.end()), r)) return;
  std::vector<AttrId> items;
  for (FunctionId f : r.functions) items.push_back(at.of(f));
  const std::vector<ValueId> results = c.b.emit_all(Op::switch_, c.x, at.dict({{Key::branches, at.list(items)}}));
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], r.out[k]);
}

}  // namespace tfvm
