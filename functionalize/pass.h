#pragma once
// What functionalize knows of a function beyond its parameters: which of them share a base, and by which views. A
// callee is made functional once for each such pattern.

#include <map>

#include "functionalize/bases.h"
#include "functionalize/functionalize.h"

namespace tfvm::functional {

struct Pattern {
  std::vector<TypeId> bases;            // parameters of the functional function
  std::vector<Ref> args;                // per parameter of the full one: its place in a base
  std::vector<std::uint32_t> returned;  // bases whose new values are results
  std::size_t returned_at = kLast;      // they stand before this result of the full function
  bool values = true;                   // results are values; else places, in bases of the caller or in new ones
  static constexpr std::size_t kLast = ~std::size_t{0};
};

// Each parameter a base of its own.
Pattern plain_pattern(std::span<const TypeId> params);

struct Place {  // of a result, where `values` is false
  bool is_new;  // base number `ref.base` is a result of that number; else a base of the pattern
  Ref ref;
};
struct Outcome {
  FunctionId f;               // (bases…) -> (values or new bases…, new values of `returned`)
  std::vector<Place> places;  // per result of the full function
  std::size_t fresh = 0;      // results before the returned bases
};

class Pass {
 public:
  Pass(Tables& t, const FunctionalizeOptions& options) : t_(t), options_(options) {}
  Tables& tables() { return t_; }
  const FunctionalizeOptions& options() const { return options_; }
  Result<Outcome> function(FunctionId f, const Pattern& pattern);

 private:
  Tables& t_;
  FunctionalizeOptions options_;
  std::map<std::vector<std::uint64_t>, Outcome> done_;
};

// One body on its way.
class Walk {
 public:
  Walk(Pass& pass, FunctionId f, const Pattern& pattern);
  Result<Outcome> run();

  // --- for the rules
  Tables& t;
  Builder b;
  Bases bases;
  const Body& body;
  ValueId read(ValueId old) { return bases.read(refs_[index(old)]); }
  std::vector<ValueId> read(std::span<const ValueId> old);
  const Ref& ref(ValueId old) const { return refs_[index(old)]; }
  void set(ValueId old, Ref r) { refs_[index(old)] = std::move(r); }
  void define(ValueId old, ValueId now);  // a base of its own
  Pass& pass() { return pass_; }
  bool fail(const Error& e);  // of a callee; gives false

 private:
  void instr(const Instr& in);
  void plain(const Instr& in);
  void write(const Instr& in);
  std::vector<ValueId> results(Outcome& out);

  Pass& pass_;
  FunctionId f_;
  const Pattern& pattern_;
  std::vector<Ref> refs_;  // per value of the full body
};

// Rules of the instructions that a table finds: calls.cpp, loops.cpp, custom.cpp.
void walk_call(Walk& w, const Instr& in);
void walk_branches(Walk& w, const Instr& in);
void walk_while(Walk& w, const Instr& in);
void walk_scan(Walk& w, const Instr& in);
void walk_extern(Walk& w, const Instr& in);

}  // namespace tfvm::functional
