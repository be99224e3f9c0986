// Decompositions by text rules, @jvp_<op>(x, results…, t): stdlib/derivatives_matrix.tfa. Triangular solves by hand.
#include "transforms/jvp/rules.h"

namespace tfvm {

namespace {

// The results of a function of the text rules, inlined.
std::vector<ValueId> by_rule(JvpCtx& c, const std::string& rule, const std::vector<ValueId>& args) {
  if (c.b.failed()) return {};
  if (!c.env.derivatives || !c.env.derivatives->has(rule)) {
    c.b.fail(Code::Unsupported, "[jvp] there is no derivative rule @" + rule);
    return {};
  }
  std::vector<TypeId> types;
  for (ValueId v : args) types.push_back(c.b.type(v));
  const Result<FunctionId> f = c.env.derivatives->instantiate(rule, types);
  if (f) return inline_body(c.b, *f, args);
  forward(c.b, f.error());
  return {};
}

ValueId one_by_rule(JvpCtx& c, const std::string& rule, const std::vector<ValueId>& args) {
  const std::vector<ValueId> out = by_rule(c, rule, args);
  return out.empty() ? kNoValue : out[0];
}

// Why a decomposition of this shape has no derivative; empty where it has.
std::string_view refusal(const JvpCtx& c) {
  const Dims d = c.b.dims(c.x[0]);
  const std::int64_t m = d[d.size() - 2], n = d[d.size() - 1];
  const bool full = (c.in.op == Op::qr || c.in.op == Op::svd) && c.attrs().get_bool(c.in.attrs, Key::full);
  if (full && m != n) return "with full=true is not unique where the matrix isn't square";
  if (c.in.op == Op::qr && m < n) return "of a wide matrix has no rule";
  return "";
}

}  // namespace

void jvp_decomposition(JvpCtx& c) {
  const std::string op(name(c.in.op));
  if (c.b.failed()) return;
  const std::string_view why = is_complex(c.b.dtype(c.x[0])) ? "of complex values has no rule" : refusal(c);
  if (!why.empty()) {
    c.b.fail(Code::Unsupported, "[jvp] " + op + " " + std::string(why));
    return;
  }
  std::vector<ValueId> args{c.x[0]};
  args.insert(args.end(), c.y.begin(), c.y.end());
  args.push_back(c.t[0]);
  const std::vector<ValueId> d = by_rule(c, "jvp_" + op, args);
  for (std::size_t k = 0; k < d.size(); ++k) c.dy[k] = d[k];
}

// op(a) x = b: op(a) dx = db - op(da) x, of da only the triangle that is read; on the right alike (Giles, "An extended
// collection of matrix derivative results for forward and reverse mode algorithmic differentiation", 2008).
void jvp_triangular_solve(JvpCtx& c) {
  const auto flag = [&](Key k) { return c.attrs().get_bool(c.in.attrs, k); };
  ValueId d = c.t[1];
  if (c.active(0)) {
    const std::string part =
        std::string(flag(Key::lower) ? "lower" : "upper") + (flag(Key::unit_diagonal) ? "_strict" : "");
    const std::string side = std::string(flag(Key::left) ? "left" : "right") + (flag(Key::transpose_a) ? "_t" : "");
    const ValueId da = one_by_rule(c, "triangle_" + part, {c.t[0]});
    const ValueId term = one_by_rule(c, "product_" + side, {da, c.y[0]});
    if (c.b.failed()) return;
    d = d == kNoValue ? c.b.emit(Op::neg, {term}) : c.b.emit(Op::sub, {d, term});
  }
  c.dy[0] = c.b.emit(Op::triangular_solve, std::vector{c.x[0], d}, c.in.attrs);
}

}  // namespace tfvm
