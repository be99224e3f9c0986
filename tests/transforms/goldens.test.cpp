// Each file of goldens/ is a program, what to make of it, and the text that must come out:
//
//   func @f(%x: f64, %y: f64) { … }
//   make: @f f64 f64 | jvp 10 | linear 001
//   ----
//   func @linear.jvp.f(…) { … }
//
// `make` names a function (a transform of one too) with its argument types, then raw passes: jvp ACTIVE, reverse ACTIVE
// (a jvp for reverse mode), known UNKNOWN, linear UNKNOWN, transpose LINEAR CTS, licm; flags are one digit per
// parameter or result. TFVM_UPDATE=1 in the environment rewrites the files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "bytecode/text/print_body.h"
#include "bytecode/verify.h"
#include "tests/source_dir.h"
#include "tests/transforms/program.h"
#include "transforms/jvp/jvp.h"
#include "transforms/simplify/licm.h"
#include "transforms/split/split.h"
#include "transforms/transpose/transpose.h"

namespace tfvm::test {
namespace {

namespace fs = std::filesystem;

std::string error_text(const Error& e) {
  std::string s = "error: " + e.message + (e.loc.line ? " (line " + std::to_string(e.loc.line) + ")" : "") + "\n";
  for (const std::string& n : e.notes) s += "  " + n + "\n";
  return s;
}

Mask mask(std::string_view digits) {
  Mask m;
  for (char c : digits) m.push_back(c == '1');
  return m;
}

Result<FunctionId> pass(TransformEnv& env, FunctionId f, const std::vector<std::string_view>& w) {
  if (w[0] == "licm") return licm(env, f);
  if (w[0] == "jvp" || w[0] == "reverse") {
    Result<Jvp> r = jvp(env, f, mask(w[1]), {}, w[0] == "jvp" ? JvpMode::Forward : JvpMode::Linearize);
    return r ? Result<FunctionId>(r->f) : r.error();
  }
  if (w[0] == "known" || w[0] == "linear") {
    Result<Split> r = split(env, f, mask(w[1]));
    return r ? Result<FunctionId>(w[0] == "known" ? r->known : r->linear) : r.error();
  }
  Result<Transposed> r = transpose(env, f, mask(w[1]), mask(w[2]));
  return r ? Result<FunctionId>(r->f) : r.error();
}

std::string run(std::string_view source, std::string_view make) {
  TransformProgram p;
  if (Status s = p.load(source); !s) return error_text(s.error());
  std::string_view rest = make;
  Result<FunctionId> f{FunctionId{}};
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t bar = std::min(rest.find(" | "), rest.size());
    std::string_view part = rest.substr(0, bar);
    rest = rest.substr(std::min(bar + 3, rest.size()));
    if (first) {
      const std::size_t end = part.find(')') == part.npos ? std::min(part.find(' '), part.size()) : part.rfind(')') + 1;
      f = p.function(part.substr(0, end), part.substr(end));
    } else {
      f = pass(p.env, *f, words(part));
    }
    if (!f) return error_text(f.error());
    if (Status s = verify(p.t, *f); !s) return error_text(s.error());
  }
  return print_function(p.t, *f, {.types = false});
}

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct PassGolden : testing::TestWithParam<std::string> {};

TEST_P(PassGolden, GivesTheWrittenText) {
  const fs::path path = fs::path(source_dir()) / "tests/transforms/goldens" / (GetParam() + ".txt");
  const std::string text = read(path);
  const std::size_t make = text.find("\nmake: "), line = text.find('\n', make + 1), bar = text.find("\n----\n");
  ASSERT_NE(bar, std::string::npos) << "no line ----";
  const std::string out = run(text.substr(0, make), text.substr(make + 7, line - make - 7));
  if (std::getenv("TFVM_UPDATE")) {
    std::ofstream(path) << text.substr(0, bar + 6) << out;
    return;
  }
  EXPECT_EQ(text.substr(bar + 6), out);
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& e : fs::directory_iterator(fs::path(source_dir()) / "tests/transforms/goldens"))
    out.push_back(e.path().stem().string());
  std::ranges::sort(out);
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string s = info.param;
  std::ranges::replace(s, '-', '_');
  return s;
}

INSTANTIATE_TEST_SUITE_P(Passes, PassGolden, testing::ValuesIn(files()), test_name);

}  // namespace
}  // namespace tfvm::test
