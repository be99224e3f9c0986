#include "tests/random/check.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "transforms/compositions.h"
#include "transforms/vmap/vmap.h"

namespace tfvm::testing {

Bench::Bench() {
  VmOptions options;
  options.plan.fuse.enabled = !std::getenv("TFVM_NO_FUSION");
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

double jvp_against_quotient(Bench& bench, FunctionId f, std::mt19937_64& rng) {
  const Result<FunctionId> d = jvp_transform(bench.env(), f, false);
  EXPECT_TRUE(d) << (d ? "" : d.error().message);
  if (!d) return INFINITY;
  const auto types = bench.body(f).param_types();
  std::vector<Tensor> x = bench.random_inputs(types, rng), dx = bench.random_inputs(types, rng), all = x;
  all.insert(all.end(), dx.begin(), dx.end());
  const std::vector<Tensor> both = bench.run(*d, all);
  const std::size_t n = bench.body(f).results.size();
  if (both.size() != 2 * n) return INFINITY;
  double best = INFINITY;
  for (double h : {1e-6, 1e-7, 1e-5}) {  // a jump of the program may lie within one step, hardly within all
    std::vector<Tensor> up, down, quotient;
    for (std::size_t k = 0; k < x.size(); ++k) {
      up.push_back(bench.plus(x[k], h, dx[k]));
      down.push_back(bench.plus(x[k], -h, dx[k]));
    }
    const std::vector<Tensor> a = bench.run(f, up), b = bench.run(f, down);
    for (std::size_t k = 0; k < a.size(); ++k) {
      Values v = values(a[k]);
      const Values w = values(b[k]);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = (v[i] - w[i]) / (2 * h);
      quotient.push_back(bench.tensor(bench.t().types.tensor(a[k].dtype(), a[k].dims()), v));
    }
    best = std::min(best, difference(std::span(both).subspan(n), quotient));
    if (best < 1e-6) break;
  }
  return best;
}

double vjp_against_jvp(Bench& bench, FunctionId f, std::mt19937_64& rng) {
  const Result<FunctionId> fwd = jvp_transform(bench.env(), f, false), rev = vjp_transform(bench.env(), f, false);
  EXPECT_TRUE(fwd && rev) << (fwd ? "" : fwd.error().message) << (rev ? "" : rev.error().message);
  if (!fwd || !rev) return INFINITY;
  const auto params = bench.body(f).param_types();
  const std::vector<Tensor> x = bench.random_inputs(params, rng), dx = bench.random_inputs(params, rng),
                            ct = bench.random_inputs(bench.body(f).result_types(), rng);
  std::vector<Tensor> forward_in = x, reverse_in = x;
  forward_in.insert(forward_in.end(), dx.begin(), dx.end());
  reverse_in.insert(reverse_in.end(), ct.begin(), ct.end());
  const std::vector<Tensor> out = bench.run(*fwd, forward_in), back = bench.run(*rev, reverse_in);
  const std::size_t n = ct.size();
  if (out.size() != 2 * n || back.size() != n + x.size()) return INFINITY;
  double left = 0, right = 0, size = 1;
  for (std::size_t k = 0; k < n; ++k) left += dot(ct[k], out[n + k]);
  for (std::size_t k = 0; k < x.size(); ++k) {
    right += dot(back[n + k], dx[k]);
    for (double v : values(back[n + k])) size += std::abs(v);
  }
  return std::abs(left - right) / size;
}

double vmap_against_loop(Bench& bench, FunctionId f, std::int64_t size, std::mt19937_64& rng) {
  const Body& body = bench.body(f);
  VmapParams p;
  p.axis_size = size;
  p.out_dims.assign(1, 0);
  std::vector<TypeId> wide;
  for (TypeId type : body.param_types()) {
    const bool batched = rng() % 3 != 0;
    p.in_dims.push_back(batched ? std::optional<std::int64_t>(0) : std::nullopt);
    std::vector<std::int64_t> dims(bench.t().types.dims(type).begin(), bench.t().types.dims(type).end());
    if (batched) dims.insert(dims.begin(), size);
    wide.push_back(bench.t().types.tensor(bench.t().types.dtype(type), dims));
  }
  const Result<FunctionId> g = vmap(bench.env(), f, wide, p);
  EXPECT_TRUE(g) << (g ? "" : g.error().message);
  if (!g) return INFINITY;
  const std::vector<Tensor> x = bench.random_inputs(wide, rng), all = bench.run(*g, x);
  if (all.size() != body.results.size()) return INFINITY;
  double worst = 0;
  for (std::int64_t lane = 0; lane < size; ++lane) {
    std::vector<Tensor> in, part;
    const auto one = [&](const Tensor& v) {
      Layout l = v.layout();
      l.offset += lane * l.strides[0];
      l.dims.erase(l.dims.begin());
      l.strides.erase(l.strides.begin());
      return v.with_layout(l);
    };
    for (std::size_t k = 0; k < x.size(); ++k) in.push_back(p.in_dims[k] ? one(x[k]) : x[k]);
    for (const Tensor& v : all) part.push_back(one(v));
    worst = std::max(worst, difference(part, bench.run(f, in)));
  }
  return worst;
}

}  // namespace tfvm::testing
