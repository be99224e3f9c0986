#pragma once
// The functional forms of custom ops, read back: which arguments lie in which base, and by which views.

#include "functionalize/view.h"

namespace tfvm::functional {

bool is_functional_custom(Op op);  // auto_functionalized, auto_functionalized_v2

struct CustomArgument {
  ValueId value = kNoValue;         // where it lies in no base
  std::optional<std::size_t> base;  // number of the base
  AttrId view{};                    // how it lies in it: an entry of `views`
  bool mut = false;
};
struct CustomCall {
  std::vector<CustomArgument> args;
  std::vector<ValueId> bases;  // operands; in v1 the arguments that are written
  std::size_t results = 0;     // of the op: new values of the bases stand behind them
};
// Of `extern` too, whose arguments lie in no base. Fails where the attributes don't fit the declaration.
Result<CustomCall> read_custom(Tables& t, const Instr& in);

// The ops that an entry of `views` stands for, as links on the base.
Chain links_of(Tables& t, AttrId view, TypeId base);
// Where an argument lies in its base, which is row-major.
Strided place_of(Tables& t, AttrId view, TypeId base);
bool is_strided(const Tables& t, AttrId view);  // as_strided, which needs a base of known strides

}  // namespace tfvm::functional
