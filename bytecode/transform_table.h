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

// An axis of a vmap around what is made: collectives name it.
struct NamedAxis {
  StrId name;
  std::int64_t size;
  friend bool operator==(const NamedAxis&, const NamedAxis&) = default;
};

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
  // May it write and alias (language.md, section 5)? What `instantiate` gives is then a full body, most often.
  virtual bool is_full() = 0;
  // Is it one of the functions that `instantiate` has given?
  virtual bool has_made(FunctionId f) const = 0;
  virtual std::string text() const = 0;  // "grad(@f)", for messages
  // The named axes in scope, outermost first. Whoever adds one takes it off again; what is instantiated meanwhile may
  // name it, and is kept apart by it.
  virtual std::vector<NamedAxis>& axes() = 0;
  // The dtype that a literal takes as argument k. Types of the arguments that are known stand in `args`, all before k
  // among them; kNone for literals that have no type yet. nullopt: no parameter decides it.
  virtual std::optional<DType> hint(std::span<const TypeId> args, std::size_t k) = 0;
  // The types of its parameters, where they are decided without a call: written in full.
  virtual std::optional<std::vector<TypeId>> fixed_types() { return std::nullopt; }
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
  // As CalleeRef::hint. Null: that of the callee for the same arguments, which is right where the dtypes of parameters
  // are kept. jvp: tangents have the dtypes of the float primals; vjp: cotangents those of the float outputs; and so
  // on.
  std::optional<DType> (*hint)(TransformEnv& env, CalleeRef& callee, AttrId attrs, std::span<const TypeId> args,
                               std::size_t k) = nullptr;
  // `make` takes a full callee as it is, and gives core. Any other transform of a full callee is made by make_of_full.
  bool takes_full = false;
};
// What elaboration has done before a row sees the attributes: they are complete and in the order of the row; argnums
// that are given are Ints (names and groups resolved; params, as in argnums=[@w], have become leading arguments); a
// list of in_dims with one entry for each group of parameters has become one entry for each parameter.

struct TransformTable {
  std::vector<TransformRow> rows;
  TransformEnv* env = nullptr;
  // The row applied to what functionalize makes of the callee; what is written goes back into the mut parameters and
  // globals, so that the result is full where there are any.
  Result<FunctionId> (*make_of_full)(TransformEnv& env, const TransformRow& row, CalleeRef& callee, AttrId attrs,
                                     std::span<const TypeId> args) = nullptr;
  Result<FunctionId> (*functionalize)(TransformEnv& env, FunctionId full) = nullptr;
  const TransformRow* find(std::string_view name) const {
    for (const TransformRow& r : rows)
      if (r.name == name) return &r;
    return nullptr;
  }
};

// Functions reached only by transforms, as those of stdlib/derivatives.tfa.
class DerivativeRules {
 public:
  virtual ~DerivativeRules() = default;
  virtual bool has(std::string_view name) const = 0;
  virtual Result<FunctionId> instantiate(std::string_view name, std::span<const TypeId> args) = 0;
};

}  // namespace tfvm
