#pragma once
// Runs one test of a loaded program: statement by statement, on one set of values.

#include <string>
#include <unordered_map>
#include <vector>

#include "vm/vm.h"

namespace tfvm::tool {

struct Failure {
  std::string file, test;
  std::uint32_t line = 0;
  std::string message;  // with notes, without the place
  std::string shown;    // for people: place, message, source line
};

struct Verdict {
  bool skipped = false;
  std::vector<Failure> failures;
};

enum class Tier : std::uint8_t { Interp, Jit, Both };

// Verifies every function that has been made since it was last asked, whoever made it: a statement, a pass, a lowering.
class VerifyEach {
 public:
  explicit VerifyEach(VM& vm);
  Status run();

 private:
  VM& vm_;
  DebugId nameless_;
  std::uint32_t done_ = 0;
};

class TestRun {
 public:
  // `verify` may be null.
  TestRun(VM& vm, Context& context, const Test& test, std::string file, VerifyEach* verify)
      : vm_(vm), context_(context), test_(test), file_(std::move(file)), verify_(verify) {}
  // Tests that ask for a tier other than `tier` or this build's are skipped, as are those that say so.
  Verdict run(Tier tier);

 private:
  bool is_skipped(Tier tier);
  bool statement(const Stmt& s);  // false: it failed, and what follows can't be run
  void expect(const Stmt& s);
  void expect_error(const Stmt& s);
  Status execute(const Stmt& s);
  Result<std::vector<Value>> evaluate(const Step& step);
  Result<std::string> compare(const Expectation& e, const std::vector<Value>& v);
  Loc loc_of(const Stmt& s) const { return {test_.loc.file, s.place.line, s.place.col}; }
  void fail(Error e, Loc where);

  VM& vm_;
  Context& context_;
  const Test& test_;
  const std::string file_;
  VerifyEach* const verify_;
  std::unordered_map<Local, Value> values_;
  Verdict verdict_;
};

// A failure of this test, or of a file where the test is "".
Failure failure_of(VM& vm, const Error& e, std::string file, std::string test);

}  // namespace tfvm::tool
