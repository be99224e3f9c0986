#pragma once
// Which input elements the derivative of each element of a value may depend on, by one pass over the code:
//
//   func @f(%x: f64[3]) { %s = mul %x, %x   %r = reduce_sum %s {axes=[0]}   ret %s, %r }
//   %x {0} {1} {2}   %s {0} {1} {2}   %r {0,1,2}
//
// Only what has a derivative counts: not what chooses (predicates, places, loop conditions) and not what is piecewise
// constant. Values that depend on no input are computed on the way, so places that the program computes are known:
// `take`, `dynamic_slice` and `scan` are followed exactly. Where a place is not known, all places are taken; branches
// are united; `while`, and `scan` that is too long to follow, are repeated until nothing grows. So the sets are never
// too small.

#include <map>
#include <memory>

#include "transforms/env.h"
#include "transforms/sparse/sets.h"

namespace tfvm {

// Of one value: a set for each element in row-major order (a pack or tape counts as one), or null where all are empty;
// and the value itself, where no input decides it.
struct Fact {
  std::shared_ptr<const std::vector<SetId>> sets;
  ConstId known = kNone<ConstId>;
  bool is_known() const { return known != kNone<ConstId>; }
};

class Dependence {
 public:
  explicit Dependence(TransformEnv& env) : env_(env) {}
  // Facts of the results, given those of the parameters.
  std::vector<Fact> run(FunctionId f, std::span<const Fact> args);

  Sets& sets() { return sets_; }
  Tables& tables() { return env_.tables; }
  std::size_t elements(TypeId t) const;
  // Runs one op on constants; false where nobody can.
  bool evaluate(Op op, AttrId attrs, std::span<const ConstId> operands, std::span<const TypeId> results,
                std::span<ConstId> out);
  // Every element of a value of type `t` has the set `s`.
  Fact uniform(TypeId t, SetId s) const;
  Fact of(std::vector<SetId> sets) const;  // null where all are empty
  SetId all(const Fact& f);
  Fact unite(const Fact& a, const Fact& b);

 private:
  std::vector<Fact> follow(FunctionId f, std::span<const Fact> args);
  TransformEnv& env_;
  Sets sets_;
  std::map<std::vector<std::uint32_t>, std::vector<Fact>> done_;
};

// What a rule sees: one instruction, facts of its operands; it fills in the sets of the results.
struct DepCtx {
  Dependence& d;
  const Body& body;
  const Instr& in;
  std::span<const Fact> x;
  std::vector<Fact>& y;  // one per result, no sets yet

  Tables& t() const { return d.tables(); }
  TypeId type(std::size_t operand) const { return body.type(in.operands[operand]); }
  Dims dims(std::size_t operand) const { return t().types.dims(type(operand)); }
  Dims out_dims() const { return t().types.dims(body.type(in.result())); }
  FunctionId func(Key k) const { return t().attrs[t().attrs.get(in.attrs, k)].func; }
  const std::vector<SetId>& sets(std::size_t operand) const { return *x[operand].sets; }
};

// Rules, by family (rules.cpp, loops.cpp).
void depend_all(DepCtx&);
void depend(DepCtx&);      // the rule of the op
void depend_all(DepCtx&);  // every result on all of every operand
void depend_control(DepCtx&);
void depend_scan(DepCtx&);
void depend_while(DepCtx&);
void depend_dot(DepCtx&);
void depend_reduce_window(DepCtx&);
void depend_conv(DepCtx&);

}  // namespace tfvm
