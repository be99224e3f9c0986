#pragma once
// The tests of many files, run in parallel, and what came of them.

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "tools/tfasm/test_run.h"

namespace tfvm::tool {

struct SuiteOptions {
  std::vector<std::string> paths;    // files, and folders with all that lies below
  std::optional<std::regex> filter;  // searched in "file: test"
  Tier tier = Tier::Both;
  std::size_t jobs = 1;
  bool update = false;         // rewrite the expected errors of bad-*.tfa
  bool verify_each = false;    // every function that is made
  bool functionalize = false;  // VmOptions::functionalize
  bool forget_each = false;    // VM::forget before every test
  bool progress = false;       // on standard error
};

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

struct SuiteResult {
  Counts all;
  std::map<std::string, Counts> folders;
  std::vector<Failure> failures;        // in the order of files and of their tests
  std::vector<std::string> unreadable;  // messages
  std::size_t files = 0;                // that were read
};

// A file that isn't well-formed counts as one failed test "", and one that can't be loaded fails each of its tests.
// bad-*.tfa are programs with errors: each is one test, of what `tfasm check` prints (bad_file.h).
SuiteResult run_suite(const SuiteOptions& options);

}  // namespace tfvm::tool
