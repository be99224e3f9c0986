#pragma once
// Runs the kernel of one instruction on values given as doubles, for tests.

#include <vector>

#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "vm/kernels/kernel.h"

namespace tfvm::testing {

struct Value {
  DType dtype = DType::F64;
  std::vector<std::int64_t> dims;
  std::vector<double> v;           // row-major
  std::vector<std::int64_t> perm;  // how the dims stand in memory, outermost first; empty: row-major
  std::int64_t repeated = -1;      // a dim along which all elements are one
};

inline std::vector<std::int64_t> strides_of(const Value& x) {
  std::vector<std::int64_t> s(x.dims.size(), 1);
  std::int64_t run = 1;
  for (std::size_t k = x.dims.size(); k-- > 0;) {
    const auto d = x.perm.empty() ? k : static_cast<std::size_t>(x.perm[k]);
    s[d] = run;
    run *= x.dims[d];
  }
  if (x.repeated >= 0) s[static_cast<std::size_t>(x.repeated)] = 0;
  return s;
}

struct Run {
  std::vector<double> v;
  std::vector<std::int64_t> dims;
  IndexFailure failure;
};

inline Run run_kernel(Tables& t, Op op, const std::vector<Value>& operands, std::initializer_list<AttrArg> attrs) {
  Builder b(t, {.evaluator = nullptr, .simplify = false});
  std::vector<ValueId> params;
  std::vector<TypeId> types;
  for (const Value& x : operands) params.push_back(b.param(types.emplace_back(t.types.tensor(x.dtype, x.dims))));
  const ValueId r = b.emit(op, params, t.attrs.dict(attrs));
  EXPECT_FALSE(b.failed()) << b.error().message;
  if (b.failed()) return {};
  const TypeId result = b.type(r);
  const Result<Kernel> kernel = make_kernel(t.types, t.attrs, op, b.body().attrs.back(), types, {&result, 1});
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message);
  if (!kernel) return {};
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::vector<std::int64_t>> strides;
  std::vector<View> in;
  for (const Value& x : operands) strides.push_back(strides_of(x));
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Value& x = operands[k];
    const std::int64_t size = size_of(x.dtype);
    auto& m = memory.emplace_back((x.v.size() + 1) * static_cast<std::size_t>(size));
    std::vector<std::int64_t> at(x.dims.size(), 0);
    for (double e : x.v) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[k][d];
      store_element(x.dtype, e, m.data() + offset * size);
      for (std::size_t d = at.size(); d-- > 0 && ++at[d] == x.dims[d];) at[d] = 0;
    }
    in.push_back({m.data(), x.dtype, static_cast<std::int32_t>(x.dims.size()), x.dims.data(), strides[k].data()});
  }
  Value out{t.types.dtype(result), {t.types.dims(result).begin(), t.types.dims(result).end()}, {}, {}};
  const std::vector<std::int64_t> out_strides = strides_of(out);
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.types.bytes(result)) + 1),
      scratch(kernel->scratch_bytes + 64);
  const View to{bytes.data(), out.dtype, static_cast<std::int32_t>(out.dims.size()), out.dims.data(),
                out_strides.data()};
  Run run;
  std::byte* aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
  (*kernel)({in.data(), &to, aligned, &run.failure});
  for (std::int64_t i = 0; i < t.types.elements(result); ++i)
    run.v.push_back(load_double(out.dtype, bytes.data() + i * size_of(out.dtype)));
  run.dims = out.dims;
  return run;
}

}  // namespace tfvm::testing
