#include "transforms/gradcheck.h"

#include <cmath>

#include "transforms/basis.h"
#include "transforms/functions.h"
#include "transforms/vmap/vmap.h"

namespace tfvm {

namespace {

using Values = std::vector<ValueId>;

double epsilon(DType t) { return t == DType::F64 ? std::numeric_limits<double>::epsilon() : 0x1p-23; }

// Slopes of one output along the unit vectors of one input, and what is known of them; all f64[in elements, out
// elements].
struct Slopes {
  ValueId centre, wide_centre, wide_gap, gap, rounding, finite;
};

// The values of a function around a point, along one input: of f(x), and in 4 groups of lanes f(x ± h e_i) and
// f(x ± h/4 e_i).
struct Around {
  ValueId steps[4];      // f64[n, 1]: the steps as they were rounded
  Values centre, lanes;  // per output; f64[1, m], f64[4n, m]
  std::int64_t n;
};

class Gradcheck {
 public:
  Gradcheck(TransformEnv& env, Builder& b, const GradcheckParams& p, const Values& args)
      : error(b.scalar(DType::F64, 0)), kinks(b.scalar_int(DType::I64, 0)), env_(env), b_(b), p_(p), args_(args) {}

  // Adds the checks of the derivatives of `f`.
  Status order(FunctionId f);
  ValueId error, kinks;
  Values details;

 private:
  struct Pair {  // an output beside an input
    TypeId out, in;
    double epsilon;
  };
  ValueId wide(ValueId v) { return b_.emit(Op::cast, {v}, {{Key::dtype, DType::F64}}); }
  ValueId number(double v) { return b_.scalar(DType::F64, v); }
  ValueId op(Op o, ValueId x, ValueId y) { return b_.emit(o, {x, y}); }
  ValueId larger_size(ValueId x, ValueId y) { return op(Op::max, b_.emit(Op::abs, {x}), b_.emit(Op::abs, {y})); }
  ValueId reshaped(ValueId v, std::initializer_list<std::int64_t> shape) {
    return b_.emit(Op::reshape, {v}, {{Key::shape, Ints(shape)}});
  }
  ValueId rows(ValueId v, std::int64_t group, std::int64_t n);
  ValueId flat(ValueId jacobian, const Pair& p);
  ValueId shaped(ValueId table, const Pair& p);
  ValueId tolerance(const Pair& p, ValueId x, ValueId y, ValueId rounding);
  Result<Around> around(FunctionId f, std::size_t input, double step);
  Slopes slopes(const Around& at, std::size_t output, const Pair& p);
  void compare(const Pair& p, const Slopes& s, ValueId forward, ValueId reverse);
  void take(ValueId errors);
  double eps(double epsilon) const { return p_.eps > 0 ? p_.eps : std::cbrt(epsilon); }

  TransformEnv& env_;
  Builder& b_;
  const GradcheckParams& p_;
  const Values& args_;
};

// Rows group·n … of v[4n, m].
ValueId Gradcheck::rows(ValueId v, std::int64_t group, std::int64_t n) {
  if (b_.failed()) return kNoValue;
  const std::int64_t m = b_.dims(v)[1], start[] = {group * n, 0}, limit[] = {group * n + n, m};
  return b_.emit(Op::slice, {v}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}});
}

// out dims + in dims -> f64[in elements, out elements], and back
ValueId Gradcheck::flat(ValueId jacobian, const Pair& p) {
  const std::int64_t perm[] = {1, 0};
  const TypeTable& types = b_.tables().types;
  const ValueId table = reshaped(wide(jacobian), {types.elements(p.out), types.elements(p.in)});
  return b_.emit(Op::transpose, {table}, {{Key::perm, Ints(perm)}});
}

ValueId Gradcheck::shaped(ValueId table, const Pair& p) {
  const std::int64_t perm[] = {1, 0};
  const std::vector<std::int64_t> shape = joined_dims(b_.tables().types.dims(p.out), b_.tables().types.dims(p.in));
  const ValueId turned = b_.emit(Op::transpose, {table}, {{Key::perm, Ints(perm)}});
  return b_.emit(Op::reshape, {turned}, {{Key::shape, Ints(shape)}});
}

// atol + rtol·max(|x|, |y|) + rounding
ValueId Gradcheck::tolerance(const Pair& p, ValueId x, ValueId y, ValueId rounding) {
  const double by_dtype = std::max(1e-6, 80 * std::cbrt(p.epsilon * p.epsilon));
  const double rtol = p_.rtol > 0 ? p_.rtol : by_dtype, atol = p_.atol > 0 ? p_.atol : by_dtype;
  const ValueId relative = op(Op::mul, larger_size(x, y), number(rtol));
  return op(Op::add, op(Op::add, relative, number(atol)), rounding);
}

Result<Around> Gradcheck::around(FunctionId f, std::size_t input, double step) {
  const TypeId in = b_.type(args_[input]);
  const TypeTable& types = b_.tables().types;
  Around at;
  at.n = types.elements(in);
  const ValueId x = args_[input], size = b_.emit(Op::abs, {x}), unit = basis(b_, in);
  const ValueId least = op(Op::max, size, b_.splat(in, 1));
  Values points;
  for (double factor : {step, -step, step / 4, -step / 4}) {
    const ValueId h = op(Op::mul, least, b_.splat(in, factor));
    const ValueId point = op(Op::add, x, op(Op::mul, unit, h));
    const ValueId moved = wide(reshaped(op(Op::sub, point, x), {at.n, at.n}));
    const std::int64_t axes[] = {1};
    const ValueId rounded = b_.emit(Op::reduce_sum, {moved}, {{Key::axes, Ints(axes)}});
    at.steps[points.size()] = reshaped(rounded, {at.n, 1});
    points.push_back(point);
  }
  const ValueId all = b_.emit(Op::concat, points, b_.tables().attrs.dict({{Key::axis, 0}}));
  Mask batched(args_.size(), 0), force(b_.tables().bodies[f.body].results.size(), 1);
  batched[input] = 1;
  const Result<Batched> lanes = batch(env_, f, batched, Axis{4 * at.n}, force);
  if (!lanes) return lanes.error();
  Values operands = args_;
  const Values centre = b_.emit_all(Op::call, operands, b_.tables().attrs.dict({{Key::callee, f}}));
  operands[input] = all;
  const Values moved = b_.emit_all(Op::call, operands, b_.tables().attrs.dict({{Key::callee, lanes->f}}));
  for (std::size_t k = 0; k < centre.size() && !b_.failed(); ++k) {
    const std::int64_t m = types.elements(b_.type(centre[k]));
    const bool counts = types.is_differentiable(b_.type(centre[k]));
    at.centre.push_back(counts ? reshaped(wide(centre[k]), {1, m}) : kNoValue);
    at.lanes.push_back(counts ? reshaped(wide(moved[k]), {4 * at.n, m}) : kNoValue);
  }
  if (b_.failed()) return b_.error();
  return at;
}

Slopes Gradcheck::slopes(const Around& at, std::size_t output, const Pair& p) {
  ValueId value[4], side[4];
  for (int g = 0; g < 4; ++g) {
    value[g] = rows(at.lanes[output], g, at.n);
    side[g] = op(Op::div, op(Op::sub, value[g], at.centre[output]), at.steps[g]);
  }
  Slopes s;
  s.centre = op(Op::div, op(Op::sub, value[2], value[3]), op(Op::sub, at.steps[2], at.steps[3]));
  s.wide_centre = op(Op::div, op(Op::sub, value[0], value[1]), op(Op::sub, at.steps[0], at.steps[1]));
  s.wide_gap = b_.emit(Op::abs, {op(Op::sub, side[0], side[1])});
  s.gap = b_.emit(Op::abs, {op(Op::sub, side[2], side[3])});
  const ValueId largest = op(Op::max, larger_size(value[2], value[3]), b_.emit(Op::abs, {at.centre[output]}));
  s.rounding = op(Op::div, op(Op::mul, largest, number(8 * p.epsilon)), at.steps[2]);
  s.finite = op(Op::and_, b_.emit(Op::isfinite, {side[2]}), b_.emit(Op::isfinite, {side[3]}));
  return s;
}

// The largest of `errors`, NaN as inf.
void Gradcheck::take(ValueId errors) {
  const ValueId nan = b_.emit(Op::isnan, {errors});
  const ValueId known = b_.emit(Op::select, {nan, number(std::numeric_limits<double>::infinity()), errors});
  error = op(Op::max, error, b_.emit(Op::reduce_max, {known}));
}

void Gradcheck::compare(const Pair& p, const Slopes& s, ValueId forward, ValueId reverse) {
  const ValueId r = flat(reverse, p), f = forward == kNoValue ? r : flat(forward, p);
  // Of a smooth function the gap of a quarter step is a quarter of the gap, that of a kink stays.
  const ValueId open = op(Op::gt, s.gap, tolerance(p, s.centre, s.gap, s.rounding));
  const ValueId stays = op(Op::gt, s.gap, op(Op::mul, s.wide_gap, number(0.5)));
  // The slope over a jump, as a derivative has at a kink, grows as the step shrinks.
  const ValueId steep = b_.emit(Op::abs, {s.centre}), less = b_.emit(Op::abs, {s.wide_centre});
  const ValueId grows =
      op(Op::gt, steep, op(Op::add, op(Op::mul, less, number(1.5)), tolerance(p, s.centre, s.wide_centre, s.rounding)));
  const ValueId broken = op(Op::or_, grows, b_.emit(Op::not_, {s.finite}));
  const ValueId bend = op(Op::or_, op(Op::and_, open, stays), broken);
  // A function that is NaN at the point itself has no kink there.
  const ValueId kink = op(Op::and_, bend, b_.emit(Op::not_, {b_.emit(Op::isnan, {r})}));
  const ValueId none = number(0);
  for (ValueId j : {f, r}) {
    const ValueId apart = b_.emit(Op::abs, {op(Op::sub, j, s.centre)});
    take(b_.emit(Op::select, {kink, none, op(Op::div, apart, tolerance(p, j, s.centre, s.rounding))}));
  }
  const ValueId apart = b_.emit(Op::abs, {op(Op::sub, f, r)});
  const ValueId allowed = op(Op::mul, op(Op::add, larger_size(f, r), number(1)), number(1e5 * p.epsilon));
  take(b_.emit(Op::select, {op(Op::eq, f, r), none, op(Op::div, apart, allowed)}));
  const ValueId count = b_.emit(Op::reduce_sum, {b_.emit(Op::cast, {kink}, {{Key::dtype, DType::I64}})});
  kinks = op(Op::add, kinks, count);
  if (!p_.details) return;
  for (ValueId v : {f, r, s.centre, kink}) details.push_back(shaped(v, p));
}

Status Gradcheck::order(FunctionId f) {
  const Tables& t = b_.tables();
  const std::vector<TypeId> results = t.bodies[f.body].result_types();
  const Result<FunctionId> reverse = jacrev_transform(env_, f, {p_.argnums, false});
  if (!reverse) return reverse.error();
  const Result<FunctionId> forward = jacfwd_transform(env_, f, {p_.argnums, false});
  if (!forward && forward.error().message.find("custom_vjp") == std::string::npos) return forward.error();
  const Values by_rows = b_.emit_all(Op::call, args_, b_.tables().attrs.dict({{Key::callee, *reverse}}));
  Values by_columns(by_rows.size(), kNoValue);
  if (forward) by_columns = b_.emit_all(Op::call, args_, b_.tables().attrs.dict({{Key::callee, *forward}}));
  std::vector<Around> points;
  for (std::int64_t a : p_.argnums) {
    const auto input = static_cast<std::size_t>(a);
    const Result<Around> at = around(f, input, eps(epsilon(t.types.dtype(b_.type(args_[input])))));
    if (!at) return at.error();
    points.push_back(*at);
  }
  std::size_t next = 0;
  for (std::size_t o = 0; o < results.size() && !b_.failed(); ++o) {
    if (!t.types.is_differentiable(results[o])) continue;
    for (std::size_t k = 0; k < points.size(); ++k, ++next) {
      const TypeId in = b_.type(args_[static_cast<std::size_t>(p_.argnums[k])]);
      const Pair p{results[o], in, std::max(epsilon(t.types.dtype(results[o])), epsilon(t.types.dtype(in)))};
      compare(p, slopes(points[k], o, p), by_columns[next], by_rows[next]);
    }
  }
  if (b_.failed()) return b_.error();
  return ok();
}

Status check_dtypes(const Tables& t, std::span<const TypeId> types, std::string_view what) {
  for (std::size_t k = 0; k < types.size(); ++k) {
    const bool other = t.types.is_differentiable(types[k]) && t.types.dtype(types[k]) != DType::F32 &&
                       t.types.dtype(types[k]) != DType::F64;
    if (other || (t.types.is_differentiable(types[k]) && !t.types[types[k]].is_tensor()))
      return Error{Code::Type, "[gradcheck] " + std::string(what) + " " + std::to_string(k) + " is " +
                                   t.types.text(types[k]) + ", expected f32 or f64"};
  }
  return ok();
}

}  // namespace

Result<FunctionId> gradcheck_transform(TransformEnv& env, FunctionId f, const GradcheckParams& params) {
  const Body& body = env.tables.bodies[f.body];
  GradcheckParams p = params;
  const Mask floats = differentiable(env.tables, body.param_types());
  if (p.all_inputs)
    for (std::uint32_t k : positions(floats)) p.argnums.push_back(k);
  const Result<Mask> active = active_inputs(env.tables, body.param_types(), p.argnums, "gradcheck");
  if (!active) return active.error();
  for (std::int64_t& a : p.argnums) a += a < 0 ? body.num_params : 0;
  if (p.order < 1 || p.order > 2)
    return Error{Code::Type, "[gradcheck] order must be 1 or 2, got " + std::to_string(p.order)};
  if (const Status s = check_dtypes(env.tables, body.param_types(), "input"); !s) return s.error();
  if (const Status s = check_dtypes(env.tables, body.result_types(), "output"); !s) return s.error();
  Builder b(env.tables, env.options, f, "gradcheck");
  Values args;
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    args.push_back(b.param(body.types[k]));
    b.name_from(args[k], body.param(k));
  }
  Gradcheck check(env, b, p, args);
  if (const Status s = check.order(f); !s) return s.error();
  if (p.order == 2) {
    const Result<FunctionId> first = jacrev_transform(env, f, {p.argnums, false});
    if (!first) return first.error();
    if (const Status s = check.order(*first); !s) return s.error();
  }
  Values results{check.error, check.kinks};
  results.insert(results.end(), check.details.begin(), check.details.end());
  return b.seal(results);
}

}  // namespace tfvm
