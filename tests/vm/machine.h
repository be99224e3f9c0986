// Programs built by hand, and their runs, for the tests of plan and executor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "vm/context.h"
#include "vm/plan/planner.h"
#include "vm/print.h"

namespace tfvm::testing {

using Dimensions = std::vector<std::int64_t>;

struct Machine {
  Tables t;
  PlanCache plans;
  Context context;

  explicit Machine(PlanOptions options = {}) : plans(options) {}

  TypeId f32(std::initializer_list<std::int64_t> dims = {}) { return t.types.tensor(DType::F32, dims); }
  TypeId i64(std::initializer_list<std::int64_t> dims = {}) { return t.types.tensor(DType::I64, dims); }
  TypeId boolean(std::initializer_list<std::int64_t> dims = {}) { return t.types.tensor(DType::Bool, dims); }

  // A function of these parameter types; `make` gives its results.
  using Make = std::function<std::vector<ValueId>(Builder&, const std::vector<ValueId>&)>;
  FunctionId function(const std::vector<TypeId>& params, const Make& make) {
    Builder b(t, {}, "f");
    std::vector<ValueId> values;
    for (TypeId type : params) values.push_back(b.param(type));
    const Result<FunctionId> f = b.seal(make(b, values));
    EXPECT_TRUE(f) << f.error().message;
    return f ? *f : FunctionId{};
  }

  PlanRef plan(FunctionId f) {
    Result<PlanRef> p = plans.get(t, f);
    EXPECT_TRUE(p) << p.error().message;
    return p ? *p : nullptr;
  }

  // Results as text, or the error's.
  std::vector<std::string> run_on(FunctionId f, const std::vector<Tensor>& inputs) {
    const PlanRef p = plan(f);
    const auto out = context.call(*p, inputs);
    if (!out) return {std::string(name(out.error().code)) + ": " + out.error().message};
    std::vector<std::string> texts;
    for (const Tensor& x : *out) texts.push_back(print(x, {.full = true}));
    return texts;
  }
  std::vector<std::string> run(FunctionId f, const std::vector<std::string>& inputs) {
    std::vector<Tensor> tensors;
    for (const std::string& s : inputs) tensors.push_back(*parse_tensor(s));
    return run_on(f, tensors);
  }
};

using Texts = std::vector<std::string>;

}  // namespace tfvm::testing
