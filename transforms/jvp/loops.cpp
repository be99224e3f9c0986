// while and scan: carries become active until nothing changes. The tangents of each group of operands follow the group.
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

// The body differentiated for constants, `carries` (grown to the fixpoint) and scanned inputs.
Result<Jvp> fixpoint(JvpCtx& c, FunctionId body, const Mask& consts, Mask& carries, const Mask& xs,
                     std::size_t outputs) {
  const std::size_t n = carries.size();
  for (;;) {
    const Mask none(outputs, 0);
    Result<Jvp> r = jvp(c.env, body, concat({&consts, &carries, &xs}), concat({&carries, &none}), c.mode);
    if (!r) return r;
    Mask next = slice(r->out, 0, n);
    if (next == carries) return r;
    carries = std::move(next);
  }
}

// Operands in groups, tangents of the active ones behind each group.
std::vector<ValueId> grouped(JvpCtx& c, std::size_t from, std::span<const std::size_t> groups, const Mask& active) {
  std::vector<ValueId> all(c.x.begin() + static_cast<std::ptrdiff_t>(from), c.x.end()), out;
  for (std::size_t k = 0; k < active.size(); ++k)
    if (active[k]) all.push_back(c.tangent(from + k));
  for (std::uint32_t k : regroup(groups, active)) out.push_back(all[k]);
  return out;
}

// The inverse for results: primals and tangents of each group back into y and dy.
void ungroup(JvpCtx& c, std::span<const ValueId> results, std::span<const std::size_t> groups, const Mask& active) {
  if (c.b.failed()) return;
  const std::vector<std::uint32_t> order = regroup(groups, active);
  std::vector<ValueId> flat(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) flat[order[k]] = results[k];
  c.y.assign(flat.begin(), flat.begin() + static_cast<std::ptrdiff_t>(active.size()));
  for (std::size_t k = 0, at = active.size(); k < active.size(); ++k)
    if (active[k]) c.dy[k] = flat[at++];
}

}  // namespace

void jvp_while(JvpCtx& c) {
  AttrTable& at = c.tables().attrs;
  const auto cond_consts = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::cond_consts));
  const auto body_consts = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::body_consts));
  const std::size_t n = c.x.size() - cond_consts - body_consts, tapes = c.in.num_results - n;
  const Mask active = c.active();
  const Mask consts = slice(active, cond_consts, body_consts);
  Mask carries = slice(active, cond_consts + body_consts, n);
  const Result<Jvp> r = fixpoint(c, c.func(Key::body), consts, carries, {}, tapes);
  if (!r) return forward(c.b, r.error());
  const std::size_t groups[] = {body_consts, n}, out_groups[] = {n, tapes};
  const Mask flags = concat({&consts, &carries});
  const Result<FunctionId> body = rearrange(c.env, r->f, regroup(groups, flags), regroup(out_groups, r->out));
  if (!body) return forward(c.b, body.error());
  std::vector<TypeId> extra;
  for (std::uint32_t k : positions(carries)) extra.push_back(c.b.type(c.x[cond_consts + body_consts + k]));
  const Result<FunctionId> cond = with_extra_params(c.env, c.func(Key::cond), extra);
  if (!cond) return forward(c.b, cond.error());
  std::vector<ValueId> operands(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(cond_consts));
  const std::vector<ValueId> rest = grouped(c, cond_consts, groups, flags);
  operands.insert(operands.end(), rest.begin(), rest.end());
  AttrId attrs = at.with(at.with(c.in.attrs, Key::cond, at.of(*cond)), Key::body, at.of(*body));
  attrs = at.with(attrs, Key::body_consts, at.of(static_cast<std::int64_t>(body_consts + count(consts))));
  attrs = at.with(attrs, Key::tapes, at.of(static_cast<std::int64_t>(tapes + count(slice(r->out, n, tapes)))));
  ungroup(c, c.b.emit_all(Op::while_, operands, attrs), out_groups, r->out);
}

void jvp_scan(JvpCtx& c) {
  AttrTable& at = c.tables().attrs;
  const std::size_t first = c.in.op == Op::tape_scan ? 1 : 0;  // behind the count of trips
  const auto consts_n = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::consts));
  const auto n = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::carry));
  const std::size_t xs_n = c.x.size() - first - consts_n - n, ys_n = c.in.num_results - n;
  const Mask active = c.active();
  const Mask consts = slice(active, first, consts_n), xs = slice(active, first + consts_n + n, xs_n);
  Mask carries = slice(active, first + consts_n, n);
  const Result<Jvp> r = fixpoint(c, c.func(Key::body), consts, carries, xs, ys_n);
  if (!r) return forward(c.b, r.error());
  const std::size_t groups[] = {consts_n, n, xs_n}, out_groups[] = {n, ys_n};
  const Mask flags = concat({&consts, &carries, &xs});
  const Result<FunctionId> body = rearrange(c.env, r->f, regroup(groups, flags), regroup(out_groups, r->out));
  if (!body) return forward(c.b, body.error());
  AttrId attrs = at.with(c.in.attrs, Key::body, at.of(*body));
  attrs = at.with(attrs, Key::consts, at.of(static_cast<std::int64_t>(consts_n + count(consts))));
  attrs = at.with(attrs, Key::carry, at.of(static_cast<std::int64_t>(n + count(carries))));
  std::vector<ValueId> operands(c.x.begin(), c.x.begin() + static_cast<std::ptrdiff_t>(first));
  const std::vector<ValueId> rest = grouped(c, first, groups, flags);
  operands.insert(operands.end(), rest.begin(), rest.end());
  ungroup(c, c.b.emit_all(c.in.op, operands, attrs), out_groups, r->out);
}

}  // namespace tfvm
