#pragma once
// Runs the random programs: as they are written, derived, and put back in place.

#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/alias_program.h"
#include "vm/vm.h"

namespace tfvm::test {

using Tensors = std::vector<Tensor>;

struct AliasOutcome {
  bool failed = false;
  std::string error;
  Tensors out;  // results, then what the first inputs are now
};

class AliasRun {
 public:
  // A machine with the custom ops of kAliasHelpers and these programs.
  explicit AliasRun(const std::vector<AliasProgram>& programs);
  void reseed(std::uint64_t seed) { rng_.seed(seed); }
  const std::string& load_error() const { return load_error_; }

  Tensors numbers(const AliasProgram& p, std::int64_t lanes = 0);  // eighths from −1 to 1
  static Tensors copy(const Tensors& in);

  // `written`: how many of the inputs are `mut`; a function without any gives their new values itself.
  AliasOutcome call(const std::string& callee, const Tensors& in, std::size_t written);
  // functionalize(@name, auto=how), then reinplace into the inputs.
  AliasOutcome in_place(const std::string& name, const char* how, const Tensors& in, std::size_t written);

 private:
  AliasOutcome run(const Result<Function>& f, const Tensors& in, std::size_t written);
  Result<Step> made_in_place(const std::string& callee, const std::vector<TypeId>& types, std::size_t written);
  std::vector<TypeId> types_of(const Tensors& in);

  std::unique_ptr<VM> vm_;
  Context context_;
  std::mt19937_64 rng_;
  std::string load_error_;
};

}  // namespace tfvm::test
