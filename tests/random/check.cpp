#include "tests/random/check.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "transforms/compositions.h"

namespace tfvm::testing {

Bench::Bench() {
  VmOptions options;
  auto made = VM::create(options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  if (made) vm = std::move(*made);
}

Tensor Bench::tensor(TypeId type, const Values& v) {
  Tensor x = *Tensor::make(vm->budget(), t().types.dtype(type), t().types.dims(type));
  for (std::size_t i = 0; i < v.size(); ++i)
    store_element(x.dtype(), v[i], x.data() + static_cast<std::int64_t>(i) * size_of(x.dtype()));
  return x;
}

std::vector<Tensor> Bench::run(FunctionId f, std::span<const Tensor> inputs) {
  Result<PlanRef> plan = vm->plans().get(t(), f);
  if (!plan) {
    ADD_FAILURE() << "plan: " << plan.error().message;
    return {};
  }
  Result<std::vector<Tensor>> r = context.call(**plan, inputs);
  if (!r) {
    ADD_FAILURE() << "run: " << r.error().message;
    return {};
  }
  return std::move(*r);
}

std::vector<Tensor> Bench::random_inputs(std::span<const TypeId> types, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> uniform(-1.5, 1.5);
  std::vector<Tensor> out;
  for (TypeId type : types) {
    Values v(static_cast<std::size_t>(t().types.elements(type)));
    for (double& e : v) e = t().types.dtype(type) == DType::F64 ? uniform(rng) : static_cast<double>(rng() % 3);
    out.push_back(tensor(type, v));
  }
  return out;
}

Tensor Bench::plus(const Tensor& x, double h, const Tensor& dx) {
  Values v = values(x), d = values(dx);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] += h * d[i];
  return tensor(t().types.tensor(x.dtype(), x.dims()), v);
}

Values values(const Tensor& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.bytes()));
  x.copy_to(bytes);
  Values v;
  for (std::int64_t i = 0; i < x.elements(); ++i)
    v.push_back(load_double(x.dtype(), bytes.data() + i * size_of(x.dtype())));
  return v;
}

double dot(const Tensor& x, const Tensor& y) {
  const Values a = values(x), b = values(y);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double difference(std::span<const Tensor> a, std::span<const Tensor> b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].type_text() != b[k].type_text()) return INFINITY;
    const Values x = values(a[k]), y = values(b[k]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      const double d = std::abs(x[i] - y[i]) / std::max({1.0, std::abs(x[i]), std::abs(y[i])});
      worst = std::max(worst, std::isnan(d) ? INFINITY : d);
    }
  }
  return worst;
}

namespace {

std::vector<TypeId> floats(const Tables& t, std::span<const TypeId> types) {
  std::vector<TypeId> out;
  for (TypeId type : types)
    if (t.types.is_differentiable(type)) out.push_back(type);
  return out;
}

std::vector<Tensor> joined(std::vector<Tensor> a, std::span<const Tensor> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// (f(x + h dx) - f(x - h dx)) / 2h, of the results that are floats.
std::vector<Tensor> quotient(Bench& bench, FunctionId f, std::span<const Tensor> x, std::span<const Tensor> dx,
                             double h) {
  const auto at = [&](double by) {
    std::vector<Tensor> y, out;
    std::size_t n = 0;
    for (const Tensor& v : x) y.push_back(is_differentiable(v.dtype()) ? bench.plus(v, by, dx[n++]) : v);
    for (const Tensor& v : bench.run(f, y))
      if (is_differentiable(v.dtype())) out.push_back(v);
    return out;
  };
  const std::vector<Tensor> up = at(h), down = at(-h);
  std::vector<Tensor> q;
  for (std::size_t k = 0; k < up.size(); ++k) {
    Values v = values(up[k]);
    const Values w = values(down[k]);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = (v[i] - w[i]) / (2 * h);
    q.push_back(bench.tensor(bench.t().types.tensor(up[k].dtype(), up[k].dims()), v));
  }
  return q;
}

}  // namespace

double jvp_against_quotient(Bench& bench, FunctionId f, std::mt19937_64& rng) {
  const Result<FunctionId> d = jvp_transform(bench.env(), f, false);
  EXPECT_TRUE(d) << (d ? "" : d.error().message);
  if (!d) return INFINITY;
  const auto types = bench.body(f).param_types();
  const std::vector<Tensor> x = bench.random_inputs(types, rng),
                            dx = bench.random_inputs(floats(bench.t(), types), rng),
                            both = bench.run(*d, joined(x, dx));
  const std::size_t n = bench.body(f).results.size();
  if (both.size() != n + floats(bench.t(), bench.body(f).result_types()).size()) return INFINITY;
  double best = INFINITY;
  for (double h : {1e-6, 1e-7, 1e-5}) {  // a jump of the program may lie within one step, hardly within all
    best = std::min(best, difference(std::span(both).subspan(n), quotient(bench, f, x, dx, h)));
    if (best < 1e-6) break;
  }
  return best;
}

double vjp_against_jvp(Bench& bench, FunctionId f, std::mt19937_64& rng) {
  const Result<FunctionId> fwd = jvp_transform(bench.env(), f, false), rev = vjp_transform(bench.env(), f, false);
  EXPECT_TRUE(fwd && rev) << (fwd ? "" : fwd.error().message) << (rev ? "" : rev.error().message);
  if (!fwd || !rev) return INFINITY;
  const auto params = bench.body(f).param_types();
  const std::vector<TypeId> in = floats(bench.t(), params), out = floats(bench.t(), bench.body(f).result_types());
  const std::vector<Tensor> x = bench.random_inputs(params, rng), dx = bench.random_inputs(in, rng),
                            ct = bench.random_inputs(out, rng);
  const std::vector<Tensor> forward = bench.run(*fwd, joined(x, dx)), back = bench.run(*rev, joined(x, ct));
  const std::size_t n = bench.body(f).results.size();
  if (forward.size() != n + out.size() || back.size() != n + in.size()) return INFINITY;
  double left = 0, right = 0, size = 1;
  for (std::size_t k = 0; k < out.size(); ++k) left += dot(ct[k], forward[n + k]);
  for (std::size_t k = 0; k < in.size(); ++k) {
    right += dot(back[n + k], dx[k]);
    for (double v : values(back[n + k])) size += std::abs(v);
  }
  const double d = std::abs(left - right) / size;
  return std::isfinite(d) ? std::max(d, difference(std::span(forward).first(n), std::span(back).first(n))) : INFINITY;
}

RandomVmap random_vmap(Bench& bench, FunctionId f, std::int64_t size, std::mt19937_64& rng) {
  const Body& body = bench.body(f);
  RandomVmap v;
  v.params.axis_size = size;
  if (rng() % 4 == 0) v.params.chunk_size = 1 + static_cast<std::int64_t>(rng() % 2);
  const std::span<const TypeId> params = body.param_types();
  const std::vector<TypeId> results = body.result_types();
  const std::size_t sure = params.empty() ? 0 : rng() % params.size();
  const auto place = [&](std::int64_t rank) {
    const auto d = static_cast<std::int64_t>(rng() % (2 * static_cast<std::uint64_t>(rank) + 2));
    return d > rank ? d - 2 * rank - 2 : d;
  };
  for (std::size_t k = 0; k < params.size(); ++k) {
    std::vector<std::int64_t> dims(bench.t().types.dims(params[k]).begin(), bench.t().types.dims(params[k]).end());
    std::optional<std::int64_t> d;
    if (k == sure || rng() % 3 != 0) d = place(bench.t().types.rank(params[k]));
    if (d) dims.insert(*d < 0 ? dims.end() + (*d + 1) : dims.begin() + *d, size);
    v.params.in_dims.push_back(d);
    v.wide.push_back(bench.t().types.tensor(bench.t().types.dtype(params[k]), dims));
  }
  for (TypeId type : results) v.params.out_dims.push_back(place(bench.t().types.rank(type)));
  return v;
}

Tensor lane(const Tensor& x, std::int64_t i, std::int64_t dim) {
  Layout l = x.layout();
  const std::int64_t at = dim < 0 ? dim + l.rank() : dim;
  l.offset += i * l.strides[static_cast<std::size_t>(at)];
  l.dims.erase(l.dims.begin() + at);
  l.strides.erase(l.strides.begin() + at);
  return x.with_layout(l);
}

double vmap_against_loop(Bench& bench, FunctionId f, std::int64_t size, std::mt19937_64& rng) {
  const RandomVmap v = random_vmap(bench, f, size, rng);
  const Result<FunctionId> g = vmap(bench.env(), f, v.wide, v.params);
  EXPECT_TRUE(g) << (g ? "" : g.error().message);
  if (!g) return INFINITY;
  const std::vector<Tensor> x = bench.random_inputs(v.wide, rng), all = bench.run(*g, x);
  if (all.size() != v.params.out_dims.size()) return INFINITY;
  double worst = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    std::vector<Tensor> in, part;
    for (std::size_t k = 0; k < x.size(); ++k)
      in.push_back(v.params.in_dims[k] ? lane(x[k], i, *v.params.in_dims[k]) : x[k]);
    for (std::size_t k = 0; k < all.size(); ++k) part.push_back(lane(all[k], i, *v.params.out_dims[k]));
    worst = std::max(worst, difference(part, bench.run(f, in)));
  }
  return worst;
}

LoopCount count_loops(const Tables& t, FunctionId f) {
  LoopCount all;
  const Body& body = t.bodies[f.body];
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Op op = body.ops[i];
    if (info(op).kind != OpKind::Control) continue;
    LoopCount inner;
    const auto within = [&](AttrId a) {
      if (t.attrs[a].kind != AttrKind::Func || !t.attrs[a].func) return;
      const LoopCount c = count_loops(t, t.attrs[a].func);
      inner.scans += c.scans, inner.whiles += c.whiles;
      inner.depth = std::max(inner.depth, c.depth), inner.while_depth = std::max(inner.while_depth, c.while_depth);
    };
    for (AttrId item : t.attrs[body.attrs[i]].items) {
      within(item);
      for (AttrId branch : t.attrs[item].items) within(branch);
    }
    const bool is_while = op == Op::while_, loops = is_while || op == Op::scan;
    all.scans += inner.scans + (op == Op::scan), all.whiles += inner.whiles + is_while;
    all.depth = std::max(all.depth, inner.depth + loops);
    all.while_depth = std::max(all.while_depth, inner.while_depth + is_while);
  }
  return all;
}

}  // namespace tfvm::testing
