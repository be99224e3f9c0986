#pragma once
// What a pass promises of the function that it makes, beside runs of the function that it was made of. No side of a
// comparison comes from the pass, so that a wrong rule shows:
//
//   vmap        each lane is what the function gives for that lane
//   jvp         the function's results, and their central differences along the tangents
//   split       the known part and the linear part, one after the other, are the function
//   transpose   the products <ct, f(t) - f(0)> and <transposed(ct), t> are equal
//   licm, dead_outputs, contract   the function's results, up to rounding

#include <functional>
#include <optional>
#include <string>

#include "transforms/env.h"
#include "vm/tensor.h"

namespace tfvm {

// A pass on a function. `flags`, per parameter: has a tangent (jvp), is unknown (split), linear (transpose), batched
// (vmap). `number`: lanes, or how the pass is used (JvpMode, SplitUse).
struct PassCall {
  std::string pass;
  FunctionId f;
  Mask flags;
  std::int64_t number = 0;
};

// All that `env` remembers and that has a contract, small functions first.
std::vector<PassCall> passes_of(const TransformEnv& env);

struct BrokenContract {
  std::size_t result = 0;  // of the function that was made; transpose: 0
  std::int64_t element = 0;
  double want = 0, got = 0;
};

class Contracts {
 public:
  using Run = std::function<Result<std::vector<Tensor>>(FunctionId f, std::span<const Tensor> inputs)>;
  using Plant = std::function<FunctionId(std::string_view pass, FunctionId made)>;
  // `run` is by steps; `plant`, of tests, changes what passes make (empty: nothing does).
  Contracts(TransformEnv& env, Run run, Plant plant) : env_(env), run_(std::move(run)), plant_(std::move(plant)) {}

  // The pass is made to do it again. nullopt: it keeps its promise for these inputs of the function, or that can't be
  // told: derivatives by rules of the user's own, draws that differ by lane, values that are no tensors, differences
  // that don't converge.
  std::optional<BrokenContract> broken(const PassCall& call, std::span<const Tensor> inputs);

  // Values for all parameters, positive and about 1; `which` makes others. nullopt where one is no tensor.
  std::optional<std::vector<Tensor>> example(FunctionId f, int which) const;

 private:
  using Values = std::vector<Tensor>;
  std::optional<BrokenContract> vmap(const PassCall& call, const Values& x, const Values& y);
  std::optional<BrokenContract> jvp(const PassCall& call, const Values& x, const Values& y);
  std::optional<BrokenContract> split(const PassCall& call, const Values& x, const Values& y);
  std::optional<BrokenContract> transpose(const PassCall& call, const Values& x, const Values& y);
  std::optional<BrokenContract> same(const PassCall& call, const Values& x, const Values& y);
  std::optional<Values> run(FunctionId f, const Values& x) const;
  FunctionId planted(std::string_view pass, FunctionId made) const { return plant_ ? plant_(pass, made) : made; }
  bool are_tensors(FunctionId f) const;

  TransformEnv& env_;
  Run run_;
  Plant plant_;
};

}  // namespace tfvm
