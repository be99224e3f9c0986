#pragma once
// How values go to functions that share the caller's tensors: a base that one of them writes goes whole, and each value
// in it by its chain; other values go as they are.

#include "functionalize/pass.h"

namespace tfvm::functional {

// The caller's bases that the functions of `in` write, in order of the operands.
std::vector<std::uint32_t> written_bases(const Walk& w, const Instr& in, std::span<const FunctionId> callees);

// The parameters of one functional function, and the caller's values for them.
class Passing {
 public:
  Passing(Walk& w, std::span<const std::uint32_t> whole) : w_(w), whole_(whole) {}
  // All whole bases, in order; once.
  void bases();
  // The next parameter of the full function: the caller's value, or a value of the callee's own (a carry).
  void value(ValueId old);
  void own(TypeId type, ValueId now);

  Pattern pattern;
  std::vector<ValueId> operands;  // per base of the pattern

 private:
  Walk& w_;
  std::span<const std::uint32_t> whole_;  // the caller's bases
  std::vector<std::size_t> waiting_;      // args that lie in a whole base, until it has a place
  std::optional<std::uint32_t> first_;    // place of the first whole base
  std::optional<std::size_t> whole_at(std::uint32_t base) const;
};

}  // namespace tfvm::functional
