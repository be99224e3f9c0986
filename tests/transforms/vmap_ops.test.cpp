// Made from the op table: for every op that can stand alone, vmap(op) gives bit for bit what a loop over lanes gives,
// for every dtype, every choice of batched operands and every dim that may be the batch's, in and out.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/transforms/op_bench.h"
#include "transforms/vmap/vmap.h"

namespace tfvm::testing {
namespace {

// One way to batch: which operands, and from where dims are counted.
struct Way {
  std::uint32_t mask;  // batched operands
  std::int64_t shift;  // the batch is dim shift + k, modulo the rank, of operand k
  bool from_end;       // written as a negative number
  std::int64_t size;
};

std::int64_t place(const Way& w, std::size_t k, std::int64_t lane_rank) {
  const std::int64_t d = (w.shift + static_cast<std::int64_t>(k)) % (lane_rank + 1);
  return w.from_end ? d - lane_rank - 1 : d;
}

struct VmapOps : ::testing::TestWithParam<Op>, OpBench {
  // Lane i along dim d, row-major.
  std::vector<std::byte> lane(const Tensor& x, std::int64_t i, std::int64_t d) {
    Layout l = x.layout();
    const std::int64_t at = d < 0 ? d + l.rank() : d;
    l.offset += i * l.strides[static_cast<std::size_t>(at)];
    l.dims.erase(l.dims.begin() + at);
    l.strides.erase(l.strides.begin() + at);
    const Tensor part = x.with_layout(l);
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.bytes()));
    part.copy_to(bytes);
    return bytes;
  }

  void check(Op op, const OpCase& c, DType group, const Way& way);
};

void VmapOps::check(Op op, const OpCase& c, DType group, const Way& way) {
  Result<FunctionId> f = function(op, c, group);
  ASSERT_TRUE(f) << f.error().message;
  std::vector<Tensor> args;
  std::vector<TypeId> types;
  VmapParams params;
  params.axis_size = way.size;
  params.randomness = Randomness::Same;
  for (std::size_t k = 0; k < c.operands.size(); ++k) {
    std::vector<std::int64_t> dims(c.operands[k].dims);
    const std::int64_t at = place(way, k, static_cast<std::int64_t>(dims.size()));
    const bool batched = (way.mask >> k & 1) != 0;
    params.in_dims.push_back(batched ? std::optional(at) : std::nullopt);
    if (batched) dims.insert(at < 0 ? dims.end() + (at + 1) : dims.begin() + at, way.size);
    args.push_back(random(c.operands[k], dims, group));
    types.push_back(t().types.tensor(dtype_of(c.operands[k], group), dims));
  }
  const std::vector<TypeId> results = bench.body(*f).result_types();
  for (std::size_t r = 0; r < results.size(); ++r)
    params.out_dims.push_back(place(way, r, static_cast<std::int64_t>(t().types.rank(results[r]))));
  Result<FunctionId> v = vmap(bench.env(), *f, types, params);
  ASSERT_TRUE(v) << v.error().message;
  const std::vector<Tensor> all = bench.run(*v, args);
  ASSERT_EQ(all.size(), results.size());
  for (std::int64_t i = 0; i < way.size; ++i) {
    std::vector<Tensor> lanes;
    for (std::size_t k = 0; k < args.size(); ++k) {
      if (!params.in_dims[k]) {
        lanes.push_back(args[k]);
        continue;
      }
      const std::vector<std::byte> bytes = lane(args[k], i, *params.in_dims[k]);
      lanes.push_back(*Tensor::make(bench.vm->budget(), args[k].dtype(), Dims(c.operands[k].dims), bytes));
    }
    const std::vector<Tensor> one = bench.run(*f, lanes);
    ASSERT_EQ(one.size(), all.size());
    for (std::size_t r = 0; r < one.size(); ++r) {
      const std::vector<std::byte> part = lane(all[r], i, *params.out_dims[r]);
      ASSERT_EQ(one[r].bytes(), static_cast<std::int64_t>(part.size()));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), one[r].data())) << "lane " << i << " of result " << r;
    }
  }
}

TEST_P(VmapOps, IsTheLoopOverLanes) {
  const Op op = GetParam();
  std::size_t cases = 0;
  for (std::size_t d = 0; d < kDTypes; ++d) {
    const auto group = static_cast<DType>(d);
    if (!takes(op, group)) continue;
    for (const OpCase& c : op_cases(t(), op, group)) {
      std::int64_t rank = 0;
      for (const OpOperand& o : c.operands) rank = std::max(rank, static_cast<std::int64_t>(o.dims.size()));
      for (std::uint32_t mask = 0; mask < 1u << c.operands.size(); ++mask)
        for (std::int64_t shift = 0; shift <= rank; ++shift)
          for (std::int64_t size : {3, 1, 0}) {
            const Way way{mask, shift, (cases & 1) != 0, size};
            SCOPED_TRACE(std::string(name(op)) + " of " + c.text(group) + ", batched mask " + std::to_string(mask) +
                         ", dims from " + std::to_string(shift) + ", " + std::to_string(size) + " lanes");
            check(op, c, group, way);
            if (HasFatalFailure()) return;
            ++cases;
          }
    }
  }
  EXPECT_GT(cases, 0u) << "no cases: add some to op_cases.cpp";
}

INSTANTIATE_TEST_SUITE_P(Table, VmapOps, ::testing::ValuesIn(tested_ops()),
                         [](const auto& p) { return std::string(name(p.param)); });

}  // namespace
}  // namespace tfvm::testing
