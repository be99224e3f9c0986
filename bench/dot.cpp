// How near is dot_general to what the core's multipliers give, and what do thin, batched and tiny products cost?
#include <cstdlib>
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "bytecode/builder.h"
#include "vm/kernels/kernel.h"

namespace {

using namespace tfvm;

struct Shape {
  std::vector<std::int64_t> x, y;
  std::vector<std::int64_t> batch_x, batch_y, contract_x, contract_y;
};

std::vector<std::int64_t> row_major_strides(Dims dims) {
  std::vector<std::int64_t> s(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) s[k - 1] = s[k] * dims[k];
  return s;
}

AttrId pair_of(Tables& t, const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const AttrId items[] = {t.attrs.ints(a), t.attrs.ints(b)};
  return t.attrs.list(items);
}

void dot(benchmark::State& state, DType d, const Shape& s) {
  Tables t;
  Builder b(t, {.evaluator = nullptr, .simplify = false});
  const TypeId types[] = {t.types.tensor(d, s.x), t.types.tensor(d, s.y)};
  const ValueId params[] = {b.param(types[0]), b.param(types[1])};
  const ValueId r = b.emit(Op::dot_general, params,
                           t.attrs.dict({{Key::batch, pair_of(t, s.batch_x, s.batch_y)},
                                         {Key::contract, pair_of(t, s.contract_x, s.contract_y)}}));
  if (b.failed()) return state.SkipWithError(b.error().message.c_str());
  const TypeId result = b.type(r);
  auto kernel = make_kernel(t.types, t.attrs, Op::dot_general, b.body().attrs.back(), types, {&result, 1});
  const auto alloc = [](std::size_t n) { return static_cast<std::byte*>(std::aligned_alloc(64, (n + 127) / 64 * 64)); };
  const TypeId all[] = {types[0], types[1], result};
  std::vector<std::int64_t> strides[3];
  View v[3];
  for (std::size_t k = 0; k < 3; ++k) {
    const Dims dims = t.types.dims(all[k]);
    strides[k] = row_major_strides(dims);
    v[k] = {alloc(static_cast<std::size_t>(t.types.bytes(all[k]))), d, static_cast<std::int32_t>(dims.size()),
            dims.data(), strides[k].data()};
    std::memset(v[k].data, 0, static_cast<std::size_t>(t.types.bytes(all[k])));
  }
  std::byte* scratch = alloc(kernel->scratch_bytes);
  IndexFailure failure;
  for (auto _ : state) {
    (*kernel)({v, v + 2, scratch, &failure});
    benchmark::ClobberMemory();
  }
  double flops = 2 * static_cast<double>(t.types.elements(result));
  for (std::int64_t axis : s.contract_x) flops *= static_cast<double>(s.x[static_cast<std::size_t>(axis)]);
  state.counters["gflops"] =
      benchmark::Counter(flops * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  for (const View& x : v) std::free(x.data);
  std::free(scratch);
}

Shape matmul(std::int64_t m, std::int64_t k, std::int64_t n) { return {{m, k}, {k, n}, {}, {}, {1}, {0}}; }
Shape transposed(std::int64_t m, std::int64_t k, std::int64_t n) { return {{m, k}, {n, k}, {}, {}, {1}, {1}}; }

BENCHMARK_CAPTURE(dot, f32_512, DType::F32, matmul(512, 512, 512))->Name("dot/f32/512");
BENCHMARK_CAPTURE(dot, f32_512t, DType::F32, transposed(512, 512, 512))->Name("dot/f32/512_transposed");
BENCHMARK_CAPTURE(dot, f32_1024, DType::F32, matmul(1024, 1024, 1024))->Name("dot/f32/1024");
BENCHMARK_CAPTURE(dot, f64_512, DType::F64, matmul(512, 512, 512))->Name("dot/f64/512");
BENCHMARK_CAPTURE(dot, i32_512, DType::I32, matmul(512, 512, 512))->Name("dot/i32/512");
BENCHMARK_CAPTURE(dot, bf16_512, DType::BF16, matmul(512, 512, 512))->Name("dot/bf16/512");
BENCHMARK_CAPTURE(dot, f32_64, DType::F32, matmul(64, 64, 64))->Name("dot/f32/64");
BENCHMARK_CAPTURE(dot, f32_layer, DType::F32, matmul(1437, 64, 128))->Name("dot/f32/1437x64x128");
BENCHMARK_CAPTURE(dot, f32_head, DType::F32, matmul(1437, 128, 10))->Name("dot/f32/1437x128x10");
BENCHMARK_CAPTURE(dot, f32_matvec, DType::F32, Shape{{1000, 1000}, {1000}, {}, {}, {1}, {0}})
    ->Name("dot/f32/matvec_1000");
BENCHMARK_CAPTURE(dot, f32_vecmat, DType::F32, Shape{{1000}, {1000, 1000}, {}, {}, {0}, {0}})
    ->Name("dot/f32/vecmat_1000");
BENCHMARK_CAPTURE(dot, f32_dot, DType::F32, Shape{{100000}, {100000}, {}, {}, {0}, {0}})->Name("dot/f32/inner_100000");
BENCHMARK_CAPTURE(dot, f32_outer, DType::F32, Shape{{1000}, {1000}, {}, {}, {}, {}})->Name("dot/f32/outer_1000");
BENCHMARK_CAPTURE(dot, f32_3, DType::F32, Shape{{3}, {3}, {}, {}, {0}, {0}})->Name("dot/f32/inner_3");
BENCHMARK_CAPTURE(dot, f32_4, DType::F32, matmul(4, 4, 4))->Name("dot/f32/4");
BENCHMARK_CAPTURE(dot, f32_batch4, DType::F32, Shape{{10000, 4, 4}, {10000, 4, 4}, {0}, {0}, {2}, {1}})
    ->Name("dot/f32/10000_of_4");
BENCHMARK_CAPTURE(dot, f32_batchv, DType::F32, Shape{{10000, 16}, {10000, 16}, {0}, {0}, {1}, {1}})
    ->Name("dot/f32/10000_of_inner_16");

}  // namespace
