// Made from the op table, in f64, for every op that has a derivative and each of its operands: forward mode is the
// difference quotient, reverse mode is its transpose, and the second derivatives by jvp(jvp), jvp(vjp), vjp(jvp) and
// vjp(vjp) agree. At kinks, too, all modes agree. What has no derivative has none in either mode.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/transforms/op_bench.h"
#include "transforms/compositions.h"
#include "transforms/coverage.h"

namespace tfvm::testing {
namespace {

using Tensors = std::vector<Tensor>;

Tensors operator+(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensors last(const Tensors& a, std::size_t n) { return {a.end() - static_cast<std::ptrdiff_t>(n), a.end()}; }
Tensors first(const Tensors& a, std::size_t n) { return {a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n)}; }

bool finite(const Tensors& a) {
  for (const Tensor& x : a)
    for (double v : values(x))
      if (!std::isfinite(v)) return false;
  return true;
}

// A sum of products, and the sum of their sizes.
struct Inner {
  double sum = 0, size = 0;
};

Inner inner(const Tensors& a, const Tensors& b) {
  Inner r;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Values v = values(a[k]), w = values(b[k]);
    for (std::size_t i = 0; i < v.size(); ++i) {
      r.sum += v[i] * w[i];
      r.size += std::abs(v[i] * w[i]);
    }
  }
  return r;
}

void expect_same(const Inner& a, const Inner& b, std::string_view what) {
  EXPECT_LE(std::abs(a.sum - b.sum), 1e-12 * std::max({1.0, a.size, b.size}))
      << what << ": " << a.sum << " and " << b.sum;
}

constexpr Range kRanges[] = {{-1.9, 1.9}, {0.15, 0.85}, {1.15, 1.85}};
constexpr Range kKinks{-1.4, 2.4, true};

struct DerivativeOps : ::testing::TestWithParam<Op>, OpBench {
  FunctionId f;
  std::vector<TypeId> in, out;  // those with tangents

  // The nest `outer(inner(f))`; "j" and "v" are jvp and vjp.
  FunctionId nest(std::string_view letters) {
    FunctionId g = f;
    for (auto c = letters.rbegin(); c != letters.rend() && g; ++c) {
      const Result<FunctionId> r =
          *c == 'j' ? jvp_transform(bench.env(), g, false) : vjp_transform(bench.env(), g, false);
      EXPECT_TRUE(r) << letters << ": " << r.error().message;
      g = r ? *r : FunctionId{};
    }
    return g;
  }
  // Multiples of 1/64, so that products with ones and roundings to f32 are exact.
  Tensors directions(std::span<const TypeId> types) {
    Tensors v;
    for (TypeId type : types) {
      Values e(static_cast<std::size_t>(t().types.elements(type)));
      for (double& x : e) x = static_cast<double>(static_cast<int>(rng() % 257) - 128) / 64;
      v.push_back(bench.tensor(type, e));
    }
    return v;
  }
  Tensors zeros(std::span<const TypeId> types) {
    Tensors v;
    for (TypeId type : types)
      v.push_back(bench.tensor(type, Values(static_cast<std::size_t>(t().types.elements(type)))));
    return v;
  }
  Tensors point(const OpCase& c, Range range) {
    Tensors x;
    for (const OpOperand& o : c.operands) x.push_back(random(o, Dims(o.dims), DType::F64, range));
    return x;
  }

  bool make(Op op, const OpCase& c, std::uint32_t active);
  bool first_order(const Tensors& x);
  bool second_order(const Tensors& x);
  void quotient(const Tensors& x);
  void laws(const OpCase& c, bool all_active);
  void no_derivative(const OpCase& c);
};

// False where the table says that this case has no rule.
bool DerivativeOps::make(Op op, const OpCase& c, std::uint32_t active) {
  const Result<FunctionId> made = function(op, c, DType::F64, active);
  EXPECT_TRUE(made) << made.error().message;
  f = made ? *made : FunctionId{};
  in.clear(), out.clear();
  if (!f) return false;
  for (TypeId type : bench.body(f).param_types())
    if (t().types.is_differentiable(type)) in.push_back(type);
  for (TypeId type : bench.body(f).result_types())
    if (t().types.is_differentiable(type)) out.push_back(type);
  const Result<FunctionId> d = jvp_transform(bench.env(), f, false);
  if (d) return true;
  EXPECT_EQ(d.error().code, Code::Unsupported) << d.error().message;
  EXPECT_NE(info(op).hole.find("jvp"), std::string_view::npos) << "no hole of the table: " << d.error().message;
  return false;
}

// ct . J t = J^T ct . t; false where a value is not finite.
bool DerivativeOps::first_order(const Tensors& x) {
  const Tensors u = directions(in), ct = directions(out);
  const Tensors forward = last(bench.run(nest("j"), x + u), out.size()),
                reverse = last(bench.run(nest("v"), x + ct), in.size());
  if (!finite(forward) || !finite(reverse)) return false;
  expect_same(inner(forward, ct), inner(reverse, u), "jvp and vjp");
  return true;
}

// ct . D^2 f [u, v] in four ways; what comes along is the first derivative, by two of them.
bool DerivativeOps::second_order(const Tensors& x) {
  const Tensors u = directions(in), v = directions(in), ct = directions(out), no_in = zeros(in), no_out = zeros(out);
  const std::size_t n = in.size(), m = out.size();
  const Tensors jj = last(bench.run(nest("jj"), x + u + v + no_in), m),
                jv = last(bench.run(nest("jv"), x + ct + v + no_out), n),
                vj = last(bench.run(nest("vj"), x + u + no_out + ct), 2 * n),
                vv = last(bench.run(nest("vv"), x + ct + no_out + u), n + m);
  if (!finite(jj) || !finite(jv) || !finite(vj) || !finite(vv)) return false;
  const Inner a = inner(jj, ct);
  expect_same(a, inner(jv, u), "jvp(jvp) and jvp(vjp)");
  expect_same(a, inner(first(vj, n), v), "jvp(jvp) and vjp(jvp)");
  expect_same(a, inner(first(vv, n), v), "jvp(jvp) and vjp(vjp)");
  EXPECT_LE(difference(last(vj, n), last(bench.run(nest("v"), x + ct), n)), 1e-12);
  EXPECT_LE(difference(last(vv, m), last(bench.run(nest("j"), x + u), m)), 1e-12);
  return true;
}

void DerivativeOps::quotient(const Tensors& x) {
  for (TypeId type : out)
    if (t().types.dtype(type) != DType::F64) return;  // rounded too much for differences
  const Tensors u = directions(in);
  const Tensors d = last(bench.run(nest("j"), x + u), out.size());
  double best = INFINITY;
  for (double h : {1e-6, 1e-7, 1e-5}) {  // a jump may lie within one step, hardly within all
    const auto moved = [&](double by) {
      Tensors y;
      std::size_t n = 0;
      for (const Tensor& v : x) y.push_back(is_differentiable(v.dtype()) ? bench.plus(v, by, u[n++]) : v);
      Tensors floats;
      for (const Tensor& r : bench.run(f, y))
        if (is_differentiable(r.dtype())) floats.push_back(r);
      return floats;
    };
    const Tensors up = moved(h), down = moved(-h);
    Tensors q;
    for (std::size_t k = 0; k < up.size(); ++k) {
      Values v = values(up[k]);
      const Values w = values(down[k]), slope = values(d[k]);
      // Outside of its domain (and where `fill` reads NaN) a function has no quotient.
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = std::isfinite(v[i]) && std::isfinite(w[i]) ? (v[i] - w[i]) / (2 * h) : slope[i];
      q.push_back(bench.tensor(out[k], v));
    }
    best = std::min(best, difference(d, q));
  }
  EXPECT_LT(best, 1e-5) << "jvp and difference quotient";
}

void DerivativeOps::laws(const OpCase& c, bool all_active) {
  bool defined = false;
  for (const Range& range : kRanges) {
    const Tensors x = point(c, range);
    if (!first_order(x) || !second_order(x)) continue;
    defined = true;
    if (all_active) quotient(x);
  }
  EXPECT_TRUE(defined) << "finite on no range of values";
  const Tensors x = point(c, kKinks);
  if (first_order(x)) second_order(x);
}

void DerivativeOps::no_derivative(const OpCase& c) {
  const Tensors x = point(c, kRanges[0]), u = directions(in), ct = directions(out);
  EXPECT_EQ(difference(last(bench.run(nest("j"), x + u), out.size()), zeros(out)), 0);
  EXPECT_EQ(difference(last(bench.run(nest("v"), x + ct), in.size()), zeros(in)), 0);
}

TEST_P(DerivativeOps, ModesAgreeAtFirstAndSecondOrder) {
  const Op op = GetParam();
  const std::string rule = coverage(bench.env())[static_cast<std::size_t>(op)].jvp;
  if (rule.starts_with("missing")) {
    EXPECT_NE(info(op).hole, "") << rule;
    return;
  }
  std::size_t checked = 0;
  for (const OpCase& c : op_cases(t(), op, DType::F64)) {
    std::vector<std::uint32_t> masks{~0u};
    for (std::size_t k = 0; k < c.operands.size() && c.operands.size() > 1; ++k)
      if (c.operands[k].role == OpRole::Group) masks.push_back(1u << k);
    for (std::uint32_t active : masks) {
      SCOPED_TRACE(std::string(name(op)) + " of " + c.text(DType::F64) + ", active mask " + std::to_string(active));
      if (!make(op, c, active)) continue;
      if (rule == "zero")
        no_derivative(c);
      else
        laws(c, active == ~0u);
      ++checked;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(checked, 0u) << "no cases: add some to op_cases.cpp";
}

// Ops of integers and booleans alone have no derivative by their dtypes.
std::vector<Op> float_ops() {
  std::vector<Op> ops;
  for (Op op : tested_ops())
    if (takes(op, DType::F64)) ops.push_back(op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Table, DerivativeOps, ::testing::ValuesIn(float_ops()),
                         [](const auto& p) { return std::string(name(p.param)); });

}  // namespace
}  // namespace tfvm::testing
