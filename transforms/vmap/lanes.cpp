// What has no rule of its own: a loop over lanes (right, slow, reported), and reduce @f, which is lowered to a scan.
#include "bytecode/externs.h"
#include "transforms/custom.h"
#include "transforms/lower/reduce_fn.h"
#include "transforms/vmap/control.h"

namespace tfvm {

void batch_by_lanes(BatchCtx& c) {
  const std::string what = is_custom(c.in.op) ? custom_name(c.t(), c.in.attrs) : "[" + std::string(name(c.in.op)) + "]";
  if (!is_pure(c.t(), c.in.op, c.in.attrs)) {
    c.b.fail(Code::Unsupported, what + " vmap: it acts on the world, and lanes have no order");
    return;
  }
  AttrTable& at = c.t().attrs;
  const Body& source = c.t().bodies[c.source.body];
  // Consts are the unbatched operands, scanned inputs the batched ones.
  Builder b(c.t(), c.env.options, c.source, "vmap");
  std::vector<ValueId> operands(c.x.size(), kNoValue), args;
  std::int64_t consts = 0;
  for (bool scanned : {false, true})
    for (std::size_t k = 0; k < c.x.size(); ++k) {
      if ((c.batched[k] != 0) != scanned) continue;
      operands[k] = b.param(source.type(c.in.operands[k]));
      args.push_back(c.x[k]);
      consts += !scanned;
    }
  Result<FunctionId> body = b.seal(b.emit_all(c.in.op, operands, c.in.attrs));
  if (!body) return forward_error(c.b, body.error());
  const AttrId attrs = at.dict({{Key::body, *body}, {Key::consts, consts}, {Key::length, c.axis.size}});
  for (ValueId v : c.b.emit_all(Op::scan, args, attrs)) c.push(v);
  c.env.report("batch_rule", what + " has no batching rule: it loops over " + std::to_string(c.axis.size) + " lanes");
}

void batch_reduce_fn(BatchCtx& c) {
  const std::size_t n = c.x.size() / 2;
  std::vector<ValueId> xs, inits;
  for (std::size_t k = 0; k < n; ++k) xs.push_back(c.with_batch(k));
  for (std::size_t k = n; k < c.x.size(); ++k) inits.push_back(c.x[k]);
  std::vector<std::int64_t> axes;
  for (std::int64_t a : c.attrs().get_ints(c.in.attrs, Key::axes)) axes.push_back(a + 1);
  const FunctionId f = c.attrs().get_func(c.in.attrs, Key::body);
  for (ValueId v : lower_reduce_fn(c.env, c.b, f, xs, inits, axes)) c.push(v);
}

}  // namespace tfvm
