#include "tests/transforms/op_bench.h"

#include "bytecode/builder.h"
#include "transforms/vmap/vmap.h"

namespace tfvm::testing {

namespace {

// The values of integers, predicates and the like: small ones.
double whole_value(std::mt19937_64& rng, const OpOperand& o, DType dtype) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return static_cast<double>(std::uniform_int_distribution<std::int64_t>(low, high)(rng));
  };
  if (dtype == DType::Bool) return between(0, 1);
  if (o.role == OpRole::Index) return between(o.low, o.high);
  if (o.role == OpRole::Key) return between(0, 999);
  return between(is_unsigned(dtype) ? 0 : -3, 3);
}

}  // namespace

TypeId OpBench::type(const OpOperand& o, DType group) { return t().types.tensor(dtype_of(o, group), Dims(o.dims)); }

Tensor OpBench::random(const OpOperand& o, Dims dims, DType group, Range range) {
  const DType dtype = dtype_of(o, group);
  Values v(static_cast<std::size_t>(t().types.elements(t().types.tensor(dtype, dims))));
  std::uniform_real_distribution<double> real(range.low, range.high);
  for (double& e : v) {
    e = o.role == OpRole::Group && is_float(dtype) ? real(rng) : whole_value(rng, o, dtype);
    if (range.whole) e = std::round(e);
  }
  return bench.tensor(t().types.tensor(dtype, dims), v);
}

Result<FunctionId> OpBench::function(Op op, const OpCase& c, DType group, std::uint32_t active) {
  Builder b(t(), {}, "op");
  std::vector<ValueId> x;
  std::vector<TypeId> wide;
  for (const OpOperand& o : c.operands) {
    wide.push_back(type(o, group));
    x.push_back(b.param(t().types.tensor(dtype_of(o, group), Dims(o.dims).subspan(c.lanes ? 1 : 0))));
  }
  for (std::size_t k = 0; k < x.size(); ++k)
    if ((active >> k & 1) == 0) x[k] = b.emit(Op::stop_gradient, {x[k]});
  Result<FunctionId> f = b.seal(b.emit_all(op, x, c.attrs));
  if (!f || !c.lanes) return f;
  VmapParams params;
  params.in_dims.assign(x.size(), 0);
  params.out_dims = {0};
  params.axis_name = t().attrs[t().attrs.get(c.attrs, Key::axis_name)].str;
  return vmap(bench.env(), *f, wide, params);
}

std::vector<Op> tested_ops() {
  std::vector<Op> ops;
  for (std::size_t k = 0; k < kOps; ++k)
    if (why_untested(static_cast<Op>(k)).empty()) ops.push_back(static_cast<Op>(k));
  return ops;
}

}  // namespace tfvm::testing
