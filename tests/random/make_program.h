#pragma once
// Random typed programs from a seed: differentiable float values of small shapes, with integers and booleans beside
// them, calls, branches and loops. Values stay bounded and functions smooth almost everywhere, so derivatives can be
// compared with finite differences.

#include <cstdint>
#include <random>
#include <vector>

#include "bytecode/builder.h"
#include "transforms/env.h"

namespace tfvm::testing {

struct ProgramOptions {
  int instrs = 12;                    // per body, about
  int depth = 2;                      // of nested functions
  bool control = true;                // cond, switch, scan, call
  bool while_loops = false;           // loops whose trips depend on the data
  bool nested_while = false;          // every body that may have control flow ends with such a loop
  TransformEnv* own_rules = nullptr;  // calls carry rules of their own, which these transforms make
  bool custom_vjp = false;            // such rules too: only the reverse mode of the program is defined
  bool kinks = false;                 // abs, max, sort-like ops: not for finite differences
};

class ProgramMaker {
 public:
  ProgramMaker(Tables& t, BuilderOptions build, std::uint64_t seed, ProgramOptions options)
      : t_(t), build_(build), rng_(seed), options_(options) {}

  // A function of `params` with results of `results` (f64 tensors, i64 or bool scalars).
  FunctionId make(std::span<const TypeId> params, std::span<const TypeId> results) {
    return make(params, results, options_.depth);
  }
  // f64 types of rank 0 to 2 with extents 1 to 3.
  TypeId float_type();
  std::vector<TypeId> float_types(std::size_t n);
  // Floats, and perhaps an integer or a boolean.
  std::vector<TypeId> mixed_types(std::size_t floats);
  std::mt19937_64& rng() { return rng_; }

 private:
  struct Scope {
    Builder& b;
    std::vector<ValueId> values;
    int depth;
  };
  FunctionId make(std::span<const TypeId> params, std::span<const TypeId> results, int depth);
  void step(Scope& s);
  void unary(Scope& s);
  void binary(Scope& s);
  void compare(Scope& s);
  void integer(Scope& s);
  void shape_op(Scope& s);
  void reduce(Scope& s);
  void dot(Scope& s);
  void small_dots(Scope& s);
  void index_op(Scope& s);
  void call(Scope& s);
  AttrId with_rule(AttrId attrs, FunctionId f);
  void branch(Scope& s);
  void scan(Scope& s);
  void while_loop(Scope& s);
  FunctionId keeps_going(std::span<const TypeId> carries, bool early);
  ValueId trips(Scope& s);
  ValueId pick(Scope& s, DType dtype);
  ValueId pick_float(Scope& s) { return pick(s, DType::F64); }
  // Some value brought to this type by reductions and broadcasts.
  ValueId as_type(Scope& s, TypeId type);
  std::vector<ValueId> args(Scope& s, std::span<const TypeId> types);
  std::vector<TypeId> types_of(const Scope& s, std::span<const ValueId> values) const;
  int below(int n) { return static_cast<int>(rng_() % static_cast<std::uint64_t>(n)); }
  std::int64_t bound() { return std::int64_t{16} << below(6); }  // bytes, on what a loop keeps for reverse mode
  void push(Scope& s, ValueId v) {
    if (v != kNoValue) s.values.push_back(v);
  }

  Tables& t_;
  BuilderOptions build_;
  std::mt19937_64 rng_;
  ProgramOptions options_;
};

}  // namespace tfvm::testing
