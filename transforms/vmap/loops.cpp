// Loops: carries become batched until nothing changes; a batched predicate, or count of trips, batches all of them.
// Lanes then go through as many trips as the longest; a lane that is done keeps its carries, and what it writes on
// tapes from there on is never read by it.
#include <algorithm>

#include "transforms/values.h"
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

// x[B, L, …] <-> [L, B, …]; within a tape the batch dim stands already where it is.
ValueId swap_first(Builder& b, ValueId v) {
  if (b.failed()) return kNoValue;
  const TypeKind kind = b.tables().types[b.type(v)].kind;
  if (kind == TypeKind::Tape) return v;
  if (kind == TypeKind::Pack) {
    std::vector<ValueId> items = unpack(b, v);
    for (ValueId& item : items) item = swap_first(b, item);
    std::vector<TypeId> types;
    for (ValueId item : items) types.push_back(b.failed() ? kNone<TypeId> : b.type(item));
    if (b.failed()) return kNoValue;
    return pack_as(b, b.tables().types.pack(types, b.tables().types[b.type(v)].origin), items);
  }
  std::vector<std::int64_t> perm{1, 0};
  for (std::int64_t d = 2; d < b.rank(v); ++d) perm.push_back(d);
  return b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}});
}

struct While {
  FunctionId cond, body;
  std::size_t cond_consts, body_consts, carries, tapes;
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
  const bool harmless = (w.tapes == 0 && is_harmless_body(c.t(), body)) || runs_on_all(c, body, w.body);
  const Body& lane_body = c.t().bodies[w.body.body];
  for (std::size_t k = 0; k < w.body_consts && !harmless; ++k)
    if (body_body.types[k] != lane_body.types[k]) body_args[k] = repeat_first(inner, live, body_args[k]);
  for (ValueId v : old) body_args.push_back(harmless ? v : repeat_first(inner, live, v));
  std::vector<ValueId> now = b.emit_all(Op::call, body_args, c.t().attrs.dict({{Key::callee, body}}));
  if (b.failed()) return {};
  for (std::size_t k = 0; k < w.carries; ++k) now[k] = select_lanes(inner, live, now[k], old[k]);
  cond_args.insert(cond_args.end(), now.begin(), now.begin() + static_cast<std::ptrdiff_t>(w.carries));
  const ValueId more = b.emit(Op::call, cond_args, c.t().attrs.dict({{Key::callee, cond}}));
  now.insert(now.begin(), b.emit(Op::and_, {live, more}));
  Result<FunctionId> r = b.seal(now);
  if (!r) forward_error(c.b, r.error());
  return r ? *r : FunctionId{};
}

FunctionId any_live(BatchCtx& c, FunctionId body, std::size_t carries_n) {
  Builder b(c.t(), c.env.options, body, "vmap");
  const std::int64_t lanes[] = {c.axis.size};
  const ValueId live = b.param(c.t().types.tensor(DType::Bool, Ints(lanes)));
  const std::vector<TypeId> carries = c.t().bodies[body.body].result_types();
  for (std::size_t k = 1; k <= carries_n; ++k) b.param(carries[k]);
  const std::int64_t axes[] = {0};
  Result<FunctionId> r = b.seal({b.emit(Op::reduce_or, {live}, {{Key::axes, Ints(axes)}})});
  return r ? *r : FunctionId{};
}

void batched_predicate(BatchCtx& c, const While& w, const Mask& cond_in, const Mask& body_consts) {
  AttrTable& at = c.t().attrs;
  const Mask all(w.carries, 1);
  Mask one(1, 1), out = concat(all, Mask(w.tapes, 0));
  const FunctionId cond = batched_function(c, w.cond, concat(slice(cond_in, 0, w.cond_consts), all), one, true);
  const FunctionId body = batched_function(c, w.body, concat(body_consts, all), out, false);
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
  const AttrId attrs = at.dict({{Key::cond, any_live(c, new_body, w.carries)},
                                {Key::body, new_body},
                                {Key::cond_consts, 0},
                                {Key::body_consts, static_cast<std::int64_t>(w.cond_consts + w.body_consts)},
                                {Key::tapes, static_cast<std::int64_t>(w.tapes)}});
  const std::vector<ValueId> results = c.b.emit_all(Op::while_, operands, attrs);
  for (std::size_t k = 1; k < results.size(); ++k) c.push(results[k], out[k - 1]);
}

}  // namespace

void batch_while(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  While w{at.get_func(c.in.attrs, Key::cond),
          at.get_func(c.in.attrs, Key::body),
          static_cast<std::size_t>(at.get_int(c.in.attrs, Key::cond_consts)),
          static_cast<std::size_t>(at.get_int(c.in.attrs, Key::body_consts)),
          0,
          static_cast<std::size_t>(at.get_int(c.in.attrs, Key::tapes))};
  w.carries = c.in.num_results - w.tapes;
  const Mask in(c.batched.begin(), c.batched.end());
  const Mask cond_consts = slice(in, 0, w.cond_consts), body_consts = slice(in, w.cond_consts, w.body_consts);
  Mask carries = slice(in, w.cond_consts + w.body_consts, w.carries);
  FunctionId body;
  Mask out;
  for (;;) {
    out = concat(carries, Mask(w.tapes, 0));
    body = batched_function(c, w.body, concat(body_consts, carries), out, false);
    if (c.b.failed()) return;
    const Mask next = slice(out, 0, w.carries);
    if (next == carries) break;
    carries = next;
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
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], out[k]);
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

namespace {

struct TapeScan {
  FunctionId body;
  std::size_t consts, carries;
};

// The body of a tape_scan whose lanes have counts of their own: (n, consts…; i, carries…; xs…) -> (i', carries…; ys…).
// `reverse`: i runs down. Lanes behind their count keep their carries.
FunctionId counted_body(BatchCtx& c, const TapeScan& s, FunctionId body, bool reverse) {
  Builder b(c.t(), c.env.options, s.body, "vmap");
  BatchCtx inner{c.env, b, c.axis, s.body, c.in, {}, {}, c.out, c.out_batched};
  const Body& wide = c.t().bodies[body.body];
  const Body& lane = c.t().bodies[s.body.body];
  const std::int64_t lanes[] = {c.axis.size};
  const ValueId n = b.param(c.t().types.tensor(DType::I64, Ints(lanes)));
  std::vector<ValueId> args;
  ValueId i = kNoValue;
  for (std::size_t k = 0; k < wide.num_params; ++k) {
    if (k == s.consts) i = b.param(c.t().types.scalar(DType::I64));
    args.push_back(b.param(wide.types[k]));
  }
  if (s.consts == wide.num_params) i = b.param(c.t().types.scalar(DType::I64));
  const std::vector<ValueId> old(args.begin() + static_cast<std::ptrdiff_t>(s.consts),
                                 args.begin() + static_cast<std::ptrdiff_t>(s.consts + s.carries));
  const ValueId live = b.emit(Op::lt, {i, n});
  if (!is_harmless(c.t(), body))
    for (std::size_t k = 0; k < args.size(); ++k)
      if (wide.types[k] != lane.types[k]) args[k] = repeat_first(inner, live, args[k]);
  std::vector<ValueId> out = b.emit_all(Op::call, args, c.t().attrs.dict({{Key::callee, body}}));
  for (std::size_t k = 0; k < s.carries && !b.failed(); ++k) out[k] = select_lanes(inner, live, out[k], old[k]);
  out.insert(out.begin(), b.emit(Op::add, {i, b.scalar_int(DType::I64, reverse ? -1 : 1)}));
  Result<FunctionId> r = b.seal(out);
  if (!r) forward_error(c.b, r.error());
  return r ? *r : FunctionId{};
}

void batch_counts(BatchCtx& c, const TapeScan& s, const Mask& consts, const Mask& xs) {
  AttrTable& at = c.t().attrs;
  const bool reverse = at.get_bool(c.in.attrs, Key::reverse);
  Mask out = concat(Mask(s.carries, 1), Mask(c.in.num_results - s.carries, 0));
  const FunctionId body = batched_function(c, s.body, concat(concat(consts, Mask(s.carries, 1)), xs), out, false);
  if (c.b.failed()) return;
  const FunctionId counted = counted_body(c, s, body, reverse);
  if (c.b.failed()) return;
  const ValueId zero = c.b.scalar_int(DType::I64, 0);
  const ValueId longest = c.b.emit(Op::max, {c.b.emit(Op::reduce_max, {c.x[0]}, {{Key::axes, at.none()}}), zero});
  std::vector<ValueId> operands{longest, c.x[0]};
  for (std::size_t k = 0; k < s.consts; ++k) operands.push_back(c.x[k + 1]);
  operands.push_back(reverse ? c.b.emit(Op::add, {longest, c.b.scalar_int(DType::I64, -1)}) : zero);
  for (std::size_t k = s.consts; k < s.consts + s.carries; ++k) operands.push_back(c.with_batch(k + 1));
  for (std::size_t k = s.consts + s.carries; k + 1 < c.x.size(); ++k) operands.push_back(c.x[k + 1]);
  AttrId attrs = at.with(c.in.attrs, Key::body, at.of(counted));
  attrs = at.with(attrs, Key::consts, at.of(static_cast<std::int64_t>(s.consts + 1)));
  attrs = at.with(attrs, Key::carry, at.of(static_cast<std::int64_t>(s.carries + 1)));
  const std::vector<ValueId> results = c.b.emit_all(Op::tape_scan, operands, attrs);
  for (std::size_t k = 1; k < results.size(); ++k) c.push(results[k], out[k - 1]);
}

}  // namespace

void batch_tape_scan(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const TapeScan s{at.get_func(c.in.attrs, Key::body), static_cast<std::size_t>(at.get_int(c.in.attrs, Key::consts)),
                   static_cast<std::size_t>(at.get_int(c.in.attrs, Key::carry))};
  const Mask in(c.batched.begin() + 1, c.batched.end());
  const Mask consts = slice(in, 0, s.consts), xs = slice(in, s.consts + s.carries, in.size() - s.consts - s.carries);
  if (c.batched[0]) return batch_counts(c, s, consts, xs);
  Mask carries = slice(in, s.consts, s.carries), out;
  FunctionId body;
  for (;;) {
    out = concat(carries, Mask(c.in.num_results - s.carries, 0));
    body = batched_function(c, s.body, concat(concat(consts, carries), xs), out, false);
    if (c.b.failed()) return;
    const Mask next = slice(out, 0, s.carries);
    if (next == carries) break;
    carries = next;
  }
  std::vector<ValueId> operands(c.x.begin(), c.x.end());
  for (std::size_t k = 0; k < s.carries; ++k)
    if (carries[k]) operands[1 + s.consts + k] = c.with_batch(1 + s.consts + k);
  const std::vector<ValueId> results =
      c.b.emit_all(Op::tape_scan, operands, at.with(c.in.attrs, Key::body, at.of(body)));
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], out[k]);
}

void batch_pack(BatchCtx& c) {
  std::vector<ValueId> items;
  for (std::size_t k = 0; k < c.x.size(); ++k) items.push_back(c.with_batch(k));
  c.emit(items, c.in.attrs);
}

void batch_unpack(BatchCtx& c) {
  for (ValueId v : unpack(c.b, c.x[0])) c.push(v);
}

}  // namespace tfvm
