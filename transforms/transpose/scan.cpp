// scan: the steps run the other way. Cotangents of carries are the carries, cotangents of constants are summed in
// further carries, cotangents of scanned inputs are the stacked outputs.
#include <algorithm>

#include "transforms/transpose/rules.h"

namespace tfvm {

namespace {

struct Scan {
  FunctionId body;
  std::size_t first;  // operand: behind the count of trips of a tape_scan
  std::size_t consts, carries, xs, ys;
  Mask linear_consts, linear_xs;  // of the operands
  Mask linear;                    // of the body: every carry is
};

Scan scan_of(TransposeCtx& c) {
  const AttrTable& at = c.attrs();
  Scan s{c.func(Key::body),
         c.in.op == Op::tape_scan ? std::size_t{1} : 0,
         static_cast<std::size_t>(at.get_int(c.in.attrs, Key::consts)),
         static_cast<std::size_t>(at.get_int(c.in.attrs, Key::carry)),
         0,
         0,
         {},
         {},
         {}};
  s.xs = c.in.operands.size() - s.first - s.consts - s.carries;
  s.ys = c.in.num_results - s.carries;
  const Mask all = c.linear_operands(), carries(s.carries, 1);
  s.linear_consts = slice(all, s.first, s.consts);
  s.linear_xs = slice(all, s.first + s.consts + s.carries, s.xs);
  s.linear = concat({&s.linear_consts, &carries, &s.linear_xs});
  return s;
}

// The body transposed for the least set of carries with a cotangent; `carries` grows to it.
Result<Transposed> fixpoint(TransposeCtx& c, const Scan& s, Mask& carries, const Mask& ys) {
  const std::size_t n = count(s.linear_consts);
  const Mask no_consts(n, 0), no_xs(count(s.linear_xs), 0);
  for (;;) {
    Result<Transposed> t =
        transpose(c.env, s.body, s.linear, concat({&carries, &ys}), concat({&no_consts, &carries, &no_xs}));
    if (!t) return t;
    Mask next = slice(t->in, n, s.carries);
    if (next == carries) return t;
    carries = std::move(next);
  }
}

// (known consts…; cotangents of carries…, sums for consts…; known xs…, cotangents of ys…)
//   -> (cotangents of carries…, sums…; cotangents of xs…)
Result<FunctionId> reversed_body(TransposeCtx& c, const Scan& s, const Transposed& t, std::size_t carries) {
  const Body& body = c.tables().bodies[t.f.body];
  Builder b(c.tables(), c.env.options, t.f, "");
  const std::size_t consts = s.consts - count(s.linear_consts), xs = s.xs - count(s.linear_xs);
  const std::size_t sums = count(slice(t.in, 0, count(s.linear_consts)));
  const std::vector<TypeId> results = body.result_types();
  std::vector<ValueId> args(body.num_params, kNoValue), acc;
  const auto take = [&](std::size_t from, std::size_t n) {
    for (std::size_t k = from; k < from + n; ++k) args[k] = b.param(body.types[k]);
  };
  take(0, consts);
  take(consts + xs, carries);
  for (std::size_t k = 0; k < sums; ++k) acc.push_back(b.param(results[k]));
  take(consts, xs);
  take(consts + xs + carries, args.size() - consts - xs - carries);
  const std::vector<ValueId> d = inline_kin(b, t.f, args, Kin::Parent);
  std::vector<ValueId> out(d.begin() + static_cast<std::ptrdiff_t>(sums),
                           d.begin() + static_cast<std::ptrdiff_t>(sums + carries));
  for (std::size_t k = 0; k < sums; ++k) out.push_back(add_values(b, acc[k], d[k]));
  out.insert(out.end(), d.begin() + static_cast<std::ptrdiff_t>(sums + carries), d.end());
  return b.seal(out);
}

}  // namespace

void transpose_scan(TransposeCtx& c) {
  AttrTable& at = c.tables().attrs;
  const Scan s = scan_of(c);
  if (s.first && c.is_linear(0)) return c.refuse();
  const Mask cts = c.ct_mask(), ys = slice(cts, s.carries, s.ys);
  Mask carries = slice(cts, 0, s.carries);
  const Result<Transposed> t = fixpoint(c, s, carries, ys);
  if (!t) return forward(c.b, t.error());
  const Result<FunctionId> body = reversed_body(c, s, *t, count(carries));
  if (!body) return forward(c.b, body.error());
  std::vector<ValueId> operands;
  if (s.first) operands.push_back(c.known(0));
  for (std::size_t k = 0; k < s.consts; ++k)
    if (!s.linear_consts[k]) operands.push_back(c.known(s.first + k));
  const std::size_t consts = operands.size() - s.first;
  for (std::uint32_t k = 0; k < s.carries && !c.b.failed(); ++k)
    if (carries[k]) operands.push_back(cts[k] ? c.ct(k) : c.b.zeros(c.body.type(c.in.result(k))));
  std::size_t n = 0;
  for (std::size_t k = 0; k < s.consts && !c.b.failed(); ++k)
    if (s.linear_consts[k] && t->in[n++]) operands.push_back(c.b.zeros(c.type(s.first + k)));
  const std::size_t carried = operands.size() - s.first - consts;
  for (std::size_t k = 0; k < s.xs; ++k)
    if (!s.linear_xs[k]) operands.push_back(c.known(s.first + s.consts + s.carries + k));
  for (std::size_t k = 0; k < s.ys; ++k)
    if (ys[k]) operands.push_back(c.ct(s.carries + k));
  AttrId attrs = at.with(c.in.attrs, Key::body, at.of(*body));
  attrs = at.with(attrs, Key::consts, at.of(static_cast<std::int64_t>(consts)));
  attrs = at.with(attrs, Key::carry, at.of(static_cast<std::int64_t>(carried)));
  attrs = at.with(attrs, Key::reverse, at.of(!at.get_bool(c.in.attrs, Key::reverse)));
  const std::vector<ValueId> out = c.b.emit_all(c.in.op, operands, attrs);
  if (c.b.failed()) return;
  // Results: cotangents of carries, sums for consts, stacked cotangents of xs.
  std::size_t next = 0;
  for (std::size_t k = 0; k < s.carries; ++k)
    if (carries[k]) c.add(s.first + s.consts + k, out[next++]);
  n = 0;
  for (std::size_t k = 0; k < s.consts; ++k)
    if (s.linear_consts[k] && t->in[n++]) c.add(s.first + k, out[next++]);
  n = count(s.linear_consts) + s.carries;
  for (std::size_t k = 0; k < s.xs; ++k)
    if (s.linear_xs[k] && t->in[n++]) c.add(s.first + s.consts + s.carries + k, out[next++]);
}

}  // namespace tfvm
