#pragma once
// Reverse mode put together: jvp, split by what depends on tangents, and the linear part transposed. The known part and
// the transposed linear part go into one builder, so that residuals are just values of one function.

#include "transforms/split/split.h"
#include "transforms/transpose/transpose.h"

namespace tfvm {

struct Linearized {
  FunctionId jvp;  // (parameters…, tangents…) -> (results…, tangents…); the parent of the two parts
  Split split;
  std::size_t params = 0, results = 0;
  Mask active;  // parameters that are differentiated
  Mask out;     // results that depend on them
};

Result<Linearized> linearize(TransformEnv& env, FunctionId f, const Mask& active);

// A builder for a function made of the parts of `l`, and the parts.
class Reverse {
 public:
  Reverse(TransformEnv& env, const Linearized& l, std::string_view pass);
  Builder& builder() { return b_; }
  // Makes the parameters of the function; the caller may add further ones before known_part(), which appends the code.
  void make_params();
  void known_part();
  std::span<const ValueId> params() const { return params_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  // Cotangents of all results (kNoValue = zero) in, of all parameters out (kNoValue = zero).
  std::vector<ValueId> backward(std::span<const ValueId> cts);
  // The linear part transposed as a function of its own: (residuals…, cotangent of result k) -> cotangents of active
  // parameters, zeros written out. Result k must depend on them.
  Result<FunctionId> backward_function(std::size_t k);
  std::span<const ValueId> residuals() const { return residuals_; }

 private:
  Mask linear_params() const;
  TransformEnv& env_;
  const Linearized& l_;
  Builder b_;
  std::vector<ValueId> params_, outputs_, residuals_;
};

}  // namespace tfvm
