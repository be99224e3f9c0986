// while and scan: carries become batched until nothing changes; a batched predicate batches all of them.
#include <algorithm>

#include "transforms/vmap/control.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

Mask slice(const Mask& m, std::size_t begin, std::size_t n) {
  return Mask(m.begin() + static_cast<std::ptrdiff_t>(begin), m.begin() + static_cast<std::ptrdiff_t>(begin + n));
}

Mask concat(const Mask& a, const Mask& b) {
  Mask m(a);
  m.insert(m.end(), b.begin(), b.end());
  return m;
}

// x[B, L, …] <-> [L, B, …]
ValueId swap_first(Builder& b, ValueId v) {
  if (b.failed()) return kNoValue;
  std::vector<std::int64_t> perm{1, 0};
  for (std::int64_t d = 2; d < b.rank(v); ++d) perm.push_back(d);
  return b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}});
}

struct While {
  FunctionId cond, body;
  std::size_t cond_consts, body_consts, carries;
};

// The body of a loop whose predicate is batched. Parameters: cond consts, body consts, live bool[B], carries. Lanes
// that are done keep their carries; meanwhile they repeat a live lane, so that the body sees nothing that the program
// would not have given it.
FunctionId live_body(BatchCtx& c, const While& w, FunctionId cond, FunctionId body, FunctionId source) {
  Builder b(c.t(), c.env.options, source, "vmap");
  BatchCtx inner{c.env, b, c.axis, source, c.in, {}, {}, c.out, c.out_batched};
  const Body& cond_body = c.t().bodies[cond.body];
  const Body& body_body = c.t().bodies[body.body];
  std::vector<ValueId> cond_args, body_args, old;
  for (std::size_t k = 0; k < w.cond_consts; ++k) cond_args.push_back(b.param(cond_body.types[k]));
  for (std::size_t k = 0; k < w.body_consts; ++k) body_args.push_back(b.param(body_body.types[k]));
  const std::int64_t lanes[] = {c.axis.size};
  const ValueId live = b.param(c.t().types.tensor(DType::Bool, Ints(lanes)));
  for (std::size_t k = 0; k < w.carries; ++k) old.push_back(b.param(body_body.types[w.body_consts + k]));
  const bool harmless = runs_on_all(c, body, w.body);
  const Body& lane_body = c.t().bodies[w.body.body];
  for (std::size_t k = 0; k < w.body_consts && !harmless; ++k)
    if (body_body.types[k] != lane_body.types[k]) body_args[k] = repeat_first(inner, live, body_args[k]);
  for (ValueId v : old) body_args.push_back(harmless ? v : repeat_first(inner, live, v));
  std::vector<ValueId> now = b.emit_all(Op::call, body_args, c.t().attrs.dict({{Key::callee, body}}));
  for (std::size_t k = 0; k < now.size(); ++k) now[k] = select_lanes(inner, live, now[k], old[k]);
  cond_args.insert(cond_args.end(), now.begin(), now.end());
  const ValueId more = b.emit(Op::call, cond_args, c.t().attrs.dict({{Key::callee, cond}}));
  now.insert(now.begin(), b.emit(Op::and_, {live, more}));
  Result<FunctionId> r = b.seal(now);
  if (!r) forward_error(c.b, r.error());
  return r ? *r : FunctionId{};
}

FunctionId any_live(BatchCtx& c, FunctionId body) {
  Builder b(c.t(), c.env.options, body, "vmap");
  const std::int64_t lanes[] = {c.axis.size};
  const ValueId live = b.param(c.t().types.tensor(DType::Bool, Ints(lanes)));
  const std::vector<TypeId> carries = c.t().bodies[body.body].result_types();
  for (std::size_t k = 1; k < carries.size(); ++k) b.param(carries[k]);
  const std::int64_t axes[] = {0};
  Result<FunctionId> r = b.seal({b.emit(Op::reduce_or, {live}, {{Key::axes, Ints(axes)}})});
  return r ? *r : FunctionId{};
}

void batched_predicate(BatchCtx& c, const While& w, const Mask& cond_in, const Mask& body_consts) {
  AttrTable& at = c.t().attrs;
  const Mask all(w.carries, 1);
  Mask one(1, 1), carries(all);
  const FunctionId cond = batched_function(c, w.cond, concat(slice(cond_in, 0, w.cond_consts), all), one, true);
  const FunctionId body = batched_function(c, w.body, concat(body_consts, all), carries, true);
  if (c.b.failed()) return;
  std::vector<ValueId> first(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(w.cond_consts));
  std::vector<ValueId> operands(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(w.cond_consts + w.body_consts));
  std::vector<ValueId> init;
  for (std::size_t k = w.cond_consts + w.body_consts; k < c.x.size(); ++k) init.push_back(c.with_batch(k));
  first.insert(first.end(), init.begin(), init.end());
  operands.push_back(c.b.emit(Op::call, first, at.dict({{Key::callee, cond}})));
  operands.insert(operands.end(), init.begin(), init.end());
  const FunctionId new_body = live_body(c, w, cond, body, w.body);
  if (c.b.failed()) return;
  const AttrId attrs = at.dict({{Key::cond, any_live(c, new_body)},
                                {Key::body, new_body},
                                {Key::cond_consts, 0},
                                {Key::body_consts, static_cast<std::int64_t>(w.cond_consts + w.body_consts)}});
  const std::vector<ValueId> results = c.b.emit_all(Op::while_, operands, attrs);
  for (std::size_t k = 1; k < results.size(); ++k) c.push(results[k]);
}

}  // namespace

void batch_while(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  While w{at.get_func(c.in.attrs, Key::cond), at.get_func(c.in.attrs, Key::body),
          static_cast<std::size_t>(at.get_int(c.in.attrs, Key::cond_consts)),
          static_cast<std::size_t>(at.get_int(c.in.attrs, Key::body_consts)), c.in.num_results};
  const Mask in(c.batched.begin(), c.batched.end());
  const Mask cond_consts = slice(in, 0, w.cond_consts), body_consts = slice(in, w.cond_consts, w.body_consts);
  Mask carries = slice(in, w.cond_consts + w.body_consts, w.carries);
  FunctionId body;
  for (;;) {
    Mask out = carries;
    body = batched_function(c, w.body, concat(body_consts, carries), out, false);
    if (c.b.failed()) return;
    if (out == carries) break;
    carries = out;
  }
  Mask pred;
  const FunctionId cond = batched_function(c, w.cond, concat(cond_consts, carries), pred, false);
  if (c.b.failed()) return;
  if (pred[0]) return batched_predicate(c, w, concat(cond_consts, carries), body_consts);
  std::vector<ValueId> operands(c.x.begin(), c.x.end());
  for (std::size_t k = 0; k < w.carries; ++k)
    if (carries[k]) operands[w.cond_consts + w.body_consts + k] = c.with_batch(w.cond_consts + w.body_consts + k);
  const AttrId attrs = at.with(at.with(c.in.attrs, Key::cond, at.of(cond)), Key::body, at.of(body));
  const std::vector<ValueId> results = c.b.emit_all(Op::while_, operands, attrs);
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], carries[k]);
}

void batch_scan(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const FunctionId f = at.get_func(c.in.attrs, Key::body);
  const auto consts = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::consts));
  const auto n = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::carry));
  const Mask in(c.batched.begin(), c.batched.end());
  const Mask xs = slice(in, consts + n, in.size() - consts - n);
  Mask carries = slice(in, consts, n), out;
  FunctionId body;
  for (;;) {
    out = concat(carries, Mask(c.in.num_results - n, 0));
    body = batched_function(c, f, concat(concat(slice(in, 0, consts), carries), xs), out, false);
    if (c.b.failed()) return;
    const Mask next = slice(out, 0, n);
    if (next == carries) break;
    carries = next;
  }
  std::vector<ValueId> operands(c.x.begin(), c.x.end());
  for (std::size_t k = 0; k < n; ++k)
    if (carries[k]) operands[consts + k] = c.with_batch(consts + k);
  for (std::size_t k = consts + n; k < operands.size(); ++k)
    if (in[k]) operands[k] = swap_first(c.b, operands[k]);
  const std::vector<ValueId> results = c.b.emit_all(Op::scan, operands, at.with(c.in.attrs, Key::body, at.of(body)));
  for (std::size_t k = 0; k < results.size(); ++k)
    c.push(k >= n && out[k] ? swap_first(c.b, results[k]) : results[k], out[k]);
}

}  // namespace tfvm
