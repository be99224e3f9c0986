#include "tools/tfasm/suite.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "tools/tfasm/bad_file.h"
#include "tools/tfasm/files.h"

namespace tfvm::tool {

namespace fs = std::filesystem;

namespace {

// Tests of one file that one machine runs: files with many are shared between threads.
constexpr std::size_t kUnitTests = 64;
struct Unit {
  std::string file;
  std::vector<std::string> names;     // of all tests of the file, in order; of a bad file: "errors"
  std::vector<std::size_t> selected;  // places of those to run
  std::vector<Verdict> verdicts;      // one for each of `selected`
};

class Suite {
 public:
  explicit Suite(const SuiteOptions& options) : o_(options) {}

  SuiteResult run() {
    for (const std::string& path : o_.paths) add(path);
    std::vector<std::thread> threads;
    for (std::size_t k = 1; k < o_.jobs; ++k) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& t : threads) t.join();
    if (o_.progress) std::fputs("\r\033[K", stderr);
    for (Unit& u : units_) collect(u);
    return std::move(result_);
  }

 private:
  // Finds tests; a file is parsed here only for the names of its tests.
  void add(const std::string& path);
  void add_file(const std::string& file);
  bool is_selected(const std::string& file, const std::string& test) const {
    return !o_.filter || std::regex_search(file + ": " + test, *o_.filter);
  }
  void select(const std::string& file, const std::vector<std::string>& names);

  void work() {
    for (std::size_t k; (k = next_++) < units_.size();) {
      run(units_[k]);
      if (!o_.progress) continue;
      const std::lock_guard guard(progress_);
      done_ += units_[k].selected.size();
      fmt::print(stderr, "\r{} of {} tests", done_, total_);
    }
  }
  void run(Unit& u);
  void collect(Unit& u);

  const SuiteOptions& o_;
  SuiteResult result_;
  std::vector<Unit> units_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex progress_;
  std::size_t done_ = 0, total_ = 0;
};

void Suite::add(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return add_file(path);
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error) && (it->path().extension() == ".tfa" || it->path().extension() == ".tfbc"))
      files.push_back(it->path().string());
  if (error) result_.unreadable.push_back(fmt::format("can't read the folder '{}': {}", path, error.message()));
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) add_file(file);
}

void Suite::add_file(const std::string& file) {
  if (is_bad_file(file)) return select(file, {"errors"});
  StringTable strings;
  const Result<Module> m = read_module(strings, file);
  if (!m && m.error().code == Code::Io) {
    result_.unreadable.push_back(m.error().message);
    return;
  }
  if (!m) return select(file, {""});
  std::vector<std::string> names;
  for (const Test& t : m->tests) names.emplace_back(strings[t.name]);
  select(file, names);
}

void Suite::select(const std::string& file, const std::vector<std::string>& names) {
  ++result_.files;
  std::vector<std::size_t> selected;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (is_selected(file, names[k])) selected.push_back(k);
  total_ += selected.size();
  for (std::size_t begin = 0; begin < selected.size(); begin += kUnitTests) {
    const auto first = selected.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto count = std::min(kUnitTests, selected.size() - begin);
    units_.push_back({file, names, {first, first + static_cast<std::ptrdiff_t>(count)}, std::vector<Verdict>(count)});
  }
}

// Imported items come first, with tests of their own, which are not this file's.
void Suite::run(Unit& u) {
  if (is_bad_file(u.file)) {
    if (auto failure = run_bad_file(u.file, o_.update)) u.verdicts[0].failures.push_back(*std::move(failure));
    return;
  }
  VmOptions options;
  options.functionalize = o_.functionalize;
  Result<std::unique_ptr<VM>> created = VM::create(options);
  if (!created) {
    for (Verdict& v : u.verdicts)
      v.failures.push_back({u.file, "", 0, created.error().message, created.error().message});
    return;
  }
  VM& vm = **created;
  if (const Status loaded = load_file(vm, u.file); !loaded) {
    for (std::size_t k = 0; k < u.selected.size(); ++k)
      u.verdicts[k].failures.push_back(failure_of(vm, loaded.error(), u.file, u.names[u.selected[k]]));
    return;
  }
  Context context(vm.budget());
  VerifyEach verify(vm);
  const std::vector<Test>& all = vm.module().tests;
  const std::size_t imported = all.size() - u.names.size();
  for (std::size_t k = 0; k < u.selected.size(); ++k) {
    if (o_.forget_each) vm.forget();
    u.verdicts[k] =
        TestRun(vm, context, all[imported + u.selected[k]], u.file, o_.verify_each ? &verify : nullptr).run(o_.tier);
  }
}

void Suite::collect(Unit& u) {
  const std::string parent = fs::path(u.file).parent_path().string();
  Counts& folder = result_.folders[parent.empty() ? "." : parent];
  for (Verdict& v : u.verdicts) {
    const auto field = v.skipped ? &Counts::skipped : v.failures.empty() ? &Counts::passed : &Counts::failed;
    ++(folder.*field);
    ++(result_.all.*field);
    std::move(v.failures.begin(), v.failures.end(), std::back_inserter(result_.failures));
  }
}

}  // namespace

SuiteResult run_suite(const SuiteOptions& options) { return Suite(options).run(); }

}  // namespace tfvm::tool
