#pragma once
// How values go to functions that share the caller's tensors: a base that one of them writes goes whole, and each value
// in it by its chain; other values go as they are.

#include "functionalize/pass.h"

namespace tfvm::functional {

// The caller's bases that the functions of `in` get whole, in order of the operands.
struct WholeBases {
  std::vector<std::uint32_t> written;    // by one of the functions: its new value comes back
  std::vector<std::uint32_t> addressed;  // others, whose storage an as_strided in there addresses
  std::vector<std::uint32_t> all() const;
};
WholeBases whole_bases(const Walk& w, const Instr& in, std::span<const FunctionId> callees);

// The parameters of one functional function, and the caller's values for them.
class Passing {
 public:
  // `whole`: the caller's bases that go whole, once `bases` has given them a place.
  Passing(Walk& w, std::vector<std::uint32_t> whole) : w_(w), whole_(std::move(whole)), places_(whole_.size()) {}
  // These of them, in order; each once.
  void bases(std::span<const std::uint32_t> some);
  // The next parameter of the full function: the caller's value, or a value of the callee's own (a carry).
  void value(ValueId old);
  void own(TypeId type, ValueId now);

  Pattern pattern;
  std::vector<ValueId> operands;  // per base of the pattern

 private:
  struct Waiting {  // an argument that lies in a whole base without a place
    std::size_t arg, whole;
  };
  Walk& w_;
  std::vector<std::uint32_t> whole_;
  std::vector<std::optional<std::uint32_t>> places_;  // of `whole_`, in the pattern
  std::vector<Waiting> waiting_;
};

}  // namespace tfvm::functional
