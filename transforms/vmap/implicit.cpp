// Calls whose results are defined by an equation (bytecode/own_rules.h): the solver, the equation and what solves its
// linear systems are batched alike.
#include "transforms/functions.h"
#include "transforms/vmap/control.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

struct Implicit {
  BatchCtx& c;
  std::size_t lead, unknowns;
  Mask leading;        // flags of the c
  bool lanes = false;  // do solutions differ from lane to lane?

  // One function of (c…, then `more` times as many values as there are unknowns).
  FunctionId batched(Key key, std::size_t more, Mask& out) {
    const AttrTable& at = c.t().attrs;
    Mask in = leading;
    in.resize(lead + more * unknowns, lanes);
    return batched_function(c, at.get_func(c.in.attrs, key), in, out, false);
  }

  // Does the function differ between lanes by itself, by a collective or a draw?
  bool differs(Key key, std::size_t more) {
    Mask out;
    if (!c.b.failed() && c.t().attrs.has(c.in.attrs, key)) batched(key, more, out);
    return any(out);
  }
};

}  // namespace

void batch_implicit(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const bool is_root = at.has(c.in.attrs, Key::root);
  const Key equation = is_root ? Key::root : Key::matvec, solve = is_root ? Key::tangent_solve : Key::transpose_solve;
  const Body& f = c.t().bodies[at.get_func(c.in.attrs, equation).body];
  const std::size_t unknowns = f.results.size(), lead = f.num_params - unknowns;
  Mask in(c.batched.begin(), c.batched.end()), out;
  Implicit all{c, lead, unknowns, slice(in, 0, lead)};
  const FunctionId callee = at.get_func(c.in.attrs, Key::callee);
  batched_function(c, callee, in, out, false);
  if (c.b.failed()) return;
  all.lanes = any(slice(in, 0, is_root ? lead : in.size())) || any(slice(out, 0, unknowns));
  all.lanes = all.lanes || all.differs(equation, 1) || all.differs(solve, is_root ? 2 : 1);
  std::vector<ValueId> operands(c.x.begin(), c.x.end());
  for (std::size_t k = lead; k < in.size() && !is_root && all.lanes; ++k) {
    operands[k] = c.with_batch(k);
    in[k] = 1;
  }
  for (std::size_t k = 0; k < unknowns; ++k) out[k] = all.lanes;
  AttrId attrs = at.with(c.in.attrs, Key::callee, at.of(batched_function(c, callee, in, out, false)));
  Mask solution(unknowns, all.lanes);
  attrs = at.with(attrs, equation, at.of(all.batched(equation, 1, solution)));
  if (at.has(c.in.attrs, solve)) {
    Mask found(c.t().bodies[at.get_func(c.in.attrs, solve).body].results.size(), 0);
    for (std::size_t k = 0; k < unknowns; ++k) found[k] = all.lanes;
    attrs = at.with(attrs, solve, at.of(all.batched(solve, is_root ? 2 : 1, found)));
  }
  if (c.b.failed()) return;
  const std::vector<ValueId> results = c.b.emit_all(Op::call, operands, attrs);
  for (std::size_t k = 0; k < results.size(); ++k) c.push(results[k], out[k]);
}

}  // namespace tfvm
