#pragma once
// How `vmap(grad(@f), in_dims=[0])` in a program finds its passes: bytecode/elaborate meets the name, looks it up in a
// table that vm hands in (transforms/ fills it), and gives the row a view of its callee. bytecode knows no transform.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/status.h"
#include "bytecode/tables.h"

namespace tfvm {

// The function that a transform is applied to, e.g. the grad(@f) of vmap(grad(@f)). It becomes typed code only for
// given argument types.
class CalleeRef {
 public:
  virtual ~CalleeRef() = default;
  // How many of `available` (the argument types of a call, in order) the callee takes for itself.
  virtual Result<std::size_t> arity(std::span<const TypeId> available) = 0;
  virtual Result<FunctionId> instantiate(std::span<const TypeId> args) = 0;
  // Names of its parameters without %, where it is (a transform that keeps the parameters of) a written function.
  virtual std::span<const StrId> param_names() const = 0;
  virtual std::string text() const = 0;  // "grad(@f)", for messages
};

struct TransformEnv;  // transforms/env.h: tables, evaluator, memo, derivative rules, options

struct TransformRow {
  std::string_view name;
  std::vector<AttrSpec> attrs;  // "argnums:any=[0] has_aux:bool=false"
  // Number of arguments that the derived function takes, given the types that are there.
  Result<std::size_t> (*arity)(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> available);
  // The derived function for these argument types.
  Result<FunctionId> (*make)(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> args);
  bool keeps_params;  // parameters (count and names) are the callee's, as of vmap, grad, jacrev …
};

struct TransformTable {
  std::vector<TransformRow> rows;
  TransformEnv* env = nullptr;
  const TransformRow* find(std::string_view name) const {
    for (const TransformRow& r : rows)
      if (r.name == name) return &r;
    return nullptr;
  }
};

}  // namespace tfvm
