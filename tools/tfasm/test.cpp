// tfasm test: runs the tests that stand in programs.

#include <cstdio>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tools/tfasm/command.h"
#include "tools/tfasm/suite.h"

namespace tfvm::tool {

namespace {

struct Options {
  SuiteOptions suite;
  std::string filter;
  std::string tier = "both";
  bool json = false;
};

nlohmann::ordered_json to_json(const Counts& c) {
  return {{"passed", c.passed}, {"failed", c.failed}, {"skipped", c.skipped}};
}

void print_json(const SuiteResult& r) {
  nlohmann::ordered_json out = to_json(r.all);
  out["folders"] = nlohmann::ordered_json::object();
  for (const auto& [name, counts] : r.folders) out["folders"][name] = to_json(counts);
  out["failures"] = nlohmann::ordered_json::array();
  for (const Failure& f : r.failures)
    out["failures"].push_back({{"file", f.file}, {"test", f.test}, {"line", f.line}, {"message", f.message}});
  // Messages may hold bytes of files that are no text.
  fmt::print("{}\n", out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(const SuiteResult& r) {
  for (const Failure& f : r.failures) fmt::print("{}\n", f.shown);
  std::size_t width = 6;
  for (const auto& [name, counts] : r.folders) width = std::max(width, name.size());
  const auto row = [width](const std::string& name, const Counts& c) {
    fmt::print("{:{}} {:6} passed {:6} failed {:6} skipped\n", name, width, c.passed, c.failed, c.skipped);
  };
  for (const auto& [name, counts] : r.folders) row(name, counts);
  if (r.folders.size() > 1) row("all", r.all);
}

int test(Options& o) {
  if (!o.filter.empty()) {
    try {
      o.suite.filter.emplace(o.filter);
    } catch (const std::regex_error& e) {
      fmt::print(stderr, "error: --filter: '{}' is no regular expression: {}\n", o.filter, e.what());
      return kUsage;
    }
  }
  o.suite.tier = o.tier == "jit" ? Tier::Jit : o.tier == "interp" ? Tier::Interp : Tier::Both;
  o.suite.progress = isatty(STDERR_FILENO) != 0;
  const SuiteResult r = run_suite(o.suite);
  for (const std::string& message : r.unreadable) fmt::print(stderr, "error: {}\n", message);
  o.json ? print_json(r) : print_text(r);
  if (r.files == 0 || !r.unreadable.empty()) return kUsage;
  return r.all.failed == 0 ? kDone : kFailed;
}

}  // namespace

void add_test(Application& app) {
  const Command cmd = app.command("test", "Run the tests in programs, in parallel");
  const auto o = std::make_shared<Options>();
  o->suite.jobs = std::max(1u, std::thread::hardware_concurrency());
  cmd.option("PATH", o->suite.paths, "Programs, and folders: all programs below them").required();
  cmd.option("-f,--filter", o->filter, "Only tests where this regular expression is found in \"file: test\"");
  cmd.flag("--json", o->json, "Print one JSON object, and nothing else");
  cmd.flag("--update", o->suite.update, "Rewrite the expected errors in bad-*.tfa");
  cmd.flag("--verify-each", o->suite.verify_each, "Verify every function that a statement or a pass makes");
  cmd.flag("--forget-each", o->suite.forget_each, "Let go of all that is made before every test");
  cmd.flag("--functionalize", o->suite.functionalize,
           "Run statements and functions that write by their functional forms");
  cmd.option("--tier", o->tier, "Which tier runs: interp, jit or both; where there is one, that one (default both)")
      .one_of({"interp", "jit", "both"});
  cmd.option("-j,--jobs", o->suite.jobs, "Threads; default: as many as the machine has cores").between(1, 1024);
  cmd.footer(
      "A program bad-*.tfa is a test of its errors: it ends with what `tfasm check` prints, behind `//! `.\n"
      "The JSON object: {\"passed\", \"failed\", \"skipped\", \"folders\": {name: counts}, \"failures\": [{\"file\",\n"
      "\"test\", \"line\", \"message\"}]}. Exit codes: 0 all passed, 1 a test failed, 2 wrong usage or nothing to "
      "read.\n\n"
      "Examples:\n"
      "  tfasm test first.tfa\n"
      "  tfasm test examples tests/tfa --filter 'grad|jvp'\n"
      "  tfasm test tests/tfa --json > result.json");
  cmd.action([o] { return test(*o); });
}

}  // namespace tfvm::tool
