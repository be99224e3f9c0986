// What does the block interpreter cost: per scalar op, per element of a fused expression, per element of a reduction?
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "jit/region/build.h"
#include "jit/region/run.h"

namespace {

using namespace tfvm;

struct Buffers {
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> owned;
  std::vector<std::byte*> bases;
  std::byte* add(std::size_t bytes) {
    auto* p = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
    owned.emplace_back(p, &std::free);
    bases.push_back(p);
    return p;
  }
};

template <class T>
void fill(std::byte* p, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    reinterpret_cast<T*>(p)[i] = static_cast<T>(static_cast<double>(i % 6001) / 1000 - 3);
}

std::uint32_t op(Nest& nest, DType d, Op o, std::initializer_list<std::uint32_t> in) {
  NestNode n;
  n.op = o;
  n.dtype = d;
  std::size_t k = 0;
  for (std::uint32_t i : in) n.in[k++] = i;
  nest.nodes.push_back(n);
  return static_cast<std::uint32_t>(nest.nodes.size() - 1);
}

std::uint32_t load(Nest& nest, const Access& a) {
  nest.accesses.push_back(a);
  NestNode n;
  n.kind = NestNodeKind::Load;
  n.dtype = a.dtype;
  n.access = static_cast<std::uint32_t>(nest.accesses.size() - 1);
  nest.nodes.push_back(n);
  return static_cast<std::uint32_t>(nest.nodes.size() - 1);
}

// sin(x) exp(-x x) + tanh(x) / (1 + x x)
Nest expression(DType d, std::int64_t n) {
  Nest nest;
  nest.extents = {n};
  nest.reduced = {0};
  const auto x = load(nest, {0, d, 0, {1}});
  NestNode one;
  one.kind = NestNodeKind::Constant;
  one.dtype = d;
  one.bits = d == DType::F32 ? 0x3f800000u : 0x3ff0000000000000u;
  nest.nodes.push_back(one);
  const auto c = static_cast<std::uint32_t>(nest.nodes.size() - 1);
  const auto xx = op(nest, d, Op::mul, {x, x});
  const auto bell = op(nest, d, Op::exp, {op(nest, d, Op::neg, {xx})});
  const auto left = op(nest, d, Op::mul, {op(nest, d, Op::sin, {x}), bell});
  const auto right = op(nest, d, Op::div, {op(nest, d, Op::tanh, {x}), op(nest, d, Op::add, {c, xx})});
  nest.stores.push_back({op(nest, d, Op::add, {left, right}), {1, d, 0, {1}}});
  return nest;
}

void run(benchmark::State& state, const Nest& nest, Buffers& buffers, std::int64_t items) {
  auto code = prepare(nest);
  Buffers scratch;
  std::byte* s = scratch.add(scratch_bytes(**code));
  for (auto _ : state) {
    run_nest(**code, buffers.bases.data(), s);
    benchmark::ClobberMemory();
  }
  state.counters["ns_per_item"] =
      benchmark::Counter(static_cast<double>(items) * 1e-9 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class T>
void expression_bench(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  Buffers b;
  fill<T>(b.add(static_cast<std::size_t>(n) * sizeof(T)), n);
  b.add(static_cast<std::size_t>(n) * sizeof(T));
  run(state, expression(sizeof(T) == 4 ? DType::F32 : DType::F64, n), b, n);
}
BENCHMARK(expression_bench<float>)->Name("nest/expression/f32")->Arg(10000)->Arg(1000000);
BENCHMARK(expression_bench<double>)->Name("nest/expression/f64")->Arg(10000)->Arg(1000000);

// `range` ops on one element each reading the one before.
void scalar_bench(benchmark::State& state) {
  Buffers b;
  fill<float>(b.add(64), 1);
  b.add(64);
  Nest nest;
  auto x = load(nest, {0, DType::F32, 0, {}});
  const auto first = x;
  for (std::int64_t k = 0; k < state.range(0); ++k) x = op(nest, DType::F32, k % 2 ? Op::mul : Op::add, {x, first});
  nest.stores.push_back({x, {1, DType::F32, 0, {}}});
  run(state, nest, b, state.range(0));
}
BENCHMARK(scalar_bench)->Name("nest/scalar_ops")->Arg(1)->Arg(4)->Arg(32);

void small_bench(benchmark::State& state) {
  Buffers b;
  const std::int64_t n = state.range(0);
  for (int k = 0; k < 3; ++k) fill<float>(b.add(static_cast<std::size_t>(n) * 4), n);
  const std::int64_t dims[] = {n};
  const Access in[] = {row_major(0, DType::F32, dims), row_major(1, DType::F32, dims)};
  run(state, elementwise_nest(Op::add, DType::F32, dims, in, row_major(2, DType::F32, dims)), b, n);
}
BENCHMARK(small_bench)->Name("nest/add")->Arg(3)->Arg(64)->Arg(1000)->Arg(100000);

// x[rows, columns] + b, b of one row or one column, or a transposed x.
void broadcast_bench(benchmark::State& state, std::vector<std::int64_t> x, std::vector<std::int64_t> b) {
  Buffers m;
  const std::int64_t dims[] = {state.range(0), state.range(1)}, n = dims[0] * dims[1];
  for (int k = 0; k < 3; ++k) fill<float>(m.add(static_cast<std::size_t>(n) * 4), n);
  for (auto* s : {&x, &b})
    for (std::int64_t& v : *s) v = v == -1 ? dims[1] : v == -2 ? dims[0] : v;
  const Access in[] = {{0, DType::F32, 0, x}, {1, DType::F32, 0, b}};
  run(state, elementwise_nest(Op::add, DType::F32, dims, in, row_major(2, DType::F32, dims)), m, n);
}
const std::vector<std::pair<std::int64_t, std::int64_t>> kShapes{{1000, 1000}, {100000, 10}, {333333, 3}};
void shapes(benchmark::internal::Benchmark* b) {
  for (auto [r, c] : kShapes) b->Args({r, c});
}
BENCHMARK_CAPTURE(broadcast_bench, row, {-1, 1}, {0, 1})->Name("nest/add_row")->Apply(shapes);
BENCHMARK_CAPTURE(broadcast_bench, column, {-1, 1}, {1, 0})->Name("nest/add_column")->Apply(shapes);
BENCHMARK_CAPTURE(broadcast_bench, transposed, {1, -2}, {-1, 1})->Name("nest/add_transposed")->Apply(shapes);

void reduce_bench(benchmark::State& state, Op o, std::int64_t axis) {
  Buffers m;
  const std::int64_t dims[] = {state.range(0), state.range(1)}, n = dims[0] * dims[1];
  fill<float>(m.add(static_cast<std::size_t>(n) * 4), n);
  m.add(static_cast<std::size_t>(n) * 4);
  const std::int64_t axes[] = {axis}, kept[] = {dims[1 - axis]};
  run(state, reduce_nest(o, dims, axes, row_major(0, DType::F32, dims), row_major(1, DType::F32, kept)), m, n);
}
BENCHMARK_CAPTURE(reduce_bench, sum, Op::reduce_sum, 1)->Name("nest/sum_rows")->Apply(shapes)->Args({1, 1000000});
BENCHMARK_CAPTURE(reduce_bench, max, Op::reduce_max, 1)->Name("nest/max_rows")->Apply(shapes)->Args({1, 1000000});
BENCHMARK_CAPTURE(reduce_bench, columns, Op::reduce_sum, 0)
    ->Name("nest/sum_columns")
    ->Apply(shapes)
    ->Args({1000000, 1});

}  // namespace
