// Made from the op table: for every pure op that runs, vmap(op) gives bit for bit what a loop over lanes gives, for
// every choice of batched operands, for three lanes, one and none.
#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/random/check.h"
#include "tests/transforms/op_cases.h"
#include "transforms/vmap/vmap.h"

namespace tfvm::testing {
namespace {

struct VmapOps : ::testing::TestWithParam<Op> {
  Bench bench;
  std::mt19937_64 rng{7};

  Tables& t() { return bench.t(); }

  Tensor random(const OpOperand& o, Dims dims, DType group) {
    const DType dtype = dtype_of(o, group);
    Values v(static_cast<std::size_t>(t().types.elements(t().types.tensor(dtype, dims))));
    std::uniform_int_distribution<std::int64_t> index(o.low, o.high), small(-3, 3);
    std::uniform_real_distribution<double> real(-2, 2);
    for (double& e : v) {
      if (o.role == OpRole::Index) e = static_cast<double>(index(rng));
      if (o.role == OpRole::Key) e = static_cast<double>(rng() % 1000);
      if (o.role == OpRole::Group) e = is_float(dtype) ? real(rng) : static_cast<double>(small(rng));
      if (dtype == DType::Bool) e = static_cast<double>(rng() % 2);
    }
    return bench.tensor(t().types.tensor(dtype, dims), v);
  }

  Tensor lane(const Tensor& x, std::int64_t i, const OpOperand& o, DType group) {
    Tensor y = bench.tensor(t().types.tensor(dtype_of(o, group), Dims(o.dims)), {});
    std::memcpy(y.data(), x.data() + i * y.bytes(), static_cast<std::size_t>(y.bytes()));
    return y;
  }

  Result<FunctionId> function(Op op, const OpCase& c, DType group) {
    Builder b(t(), {}, "op");
    std::vector<ValueId> x;
    for (const OpOperand& o : c.operands) x.push_back(b.param(t().types.tensor(dtype_of(o, group), Dims(o.dims))));
    return b.seal(b.emit_all(op, x, c.attrs));
  }

  void check(Op op, const OpCase& c, DType group, std::uint32_t mask, std::int64_t size);
};

void VmapOps::check(Op op, const OpCase& c, DType group, std::uint32_t mask, std::int64_t size) {
  Result<FunctionId> f = function(op, c, group);
  ASSERT_TRUE(f) << f.error().message;
  std::vector<Tensor> args;
  std::vector<TypeId> types;
  VmapParams params;
  params.out_dims = {0};
  params.axis_size = size;
  params.randomness = Randomness::Same;
  for (std::size_t k = 0; k < c.operands.size(); ++k) {
    const bool batched = (mask >> k & 1) != 0;
    std::vector<std::int64_t> dims(c.operands[k].dims);
    if (batched) dims.insert(dims.begin(), size);
    params.in_dims.push_back(batched ? std::optional<std::int64_t>(0) : std::nullopt);
    args.push_back(random(c.operands[k], dims, group));
    types.push_back(t().types.tensor(dtype_of(c.operands[k], group), dims));
  }
  Result<FunctionId> v = vmap(bench.vm->transforms(), *f, types, params);
  ASSERT_TRUE(v) << v.error().message;
  const std::vector<Tensor> all = bench.run(*v, args);
  ASSERT_EQ(all.size(), t().bodies[f->body].results.size());
  for (std::int64_t i = 0; i < size; ++i) {
    std::vector<Tensor> lanes;
    for (std::size_t k = 0; k < args.size(); ++k)
      lanes.push_back(params.in_dims[k] ? lane(args[k], i, c.operands[k], group) : args[k]);
    const std::vector<Tensor> one = bench.run(*f, lanes);
    ASSERT_EQ(one.size(), all.size());
    for (std::size_t r = 0; r < one.size(); ++r) {
      ASSERT_EQ(one[r].bytes() * size, all[r].bytes());
      EXPECT_EQ(
          std::memcmp(one[r].data(), all[r].data() + i * one[r].bytes(), static_cast<std::size_t>(one[r].bytes())), 0)
          << "lane " << i << " of result " << r;
    }
  }
}

TEST_P(VmapOps, IsTheLoopOverLanes) {
  const Op op = GetParam();
  std::size_t cases = 0;
  for (DType group : {DType::F64, DType::F32, DType::I32, DType::Bool}) {
    if (!takes(op, group)) continue;
    for (const OpCase& c : op_cases(t(), op, group)) {
      const std::uint32_t masks = 1u << c.operands.size();
      for (std::uint32_t mask = 0; mask < masks; ++mask)
        for (std::int64_t size : {3, 1, 0}) {
          SCOPED_TRACE(std::string(name(op)) + " of " + c.text(group) + ", batched mask " + std::to_string(mask) +
                       ", " + std::to_string(size) + " lanes");
          check(op, c, group, mask, size);
          if (HasFatalFailure()) return;
          ++cases;
        }
    }
  }
  EXPECT_GT(cases, 0u) << "no cases: add some to op_cases.cpp";
}

std::vector<Op> ops_that_run() {
  std::vector<Op> ops;
  for (std::size_t k = 0; k < kOps; ++k)
    if (runs_alone(static_cast<Op>(k))) ops.push_back(static_cast<Op>(k));
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Table, VmapOps, ::testing::ValuesIn(ops_that_run()),
                         [](const auto& p) { return std::string(name(p.param)); });

}  // namespace
}  // namespace tfvm::testing
