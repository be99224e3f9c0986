// Every dump of docs/mutation.md is what the library prints. With TFVM_UPDATE_PAGE set the page is written anew.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "functionalize/input_output.h"
#include "functionalize/reinplace.h"
#include "tests/functionalize/made.h"
#include "tests/source_dir.h"

namespace tfvm::test {

namespace {

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// What the page shows of one function: functionalized, then in place, then the log.
std::string dump(const std::string& program, std::istringstream words) {
  std::string name, word, args, form;
  words >> name;
  while (words >> word && word != "v1" && word != "v2") args += word + ' ';
  form = word;
  Loaded p(program);
  if (!p.load_error.empty()) return p.load_error + '\n';
  Tables& t = *p.tables;
  const Result<Callee*> f = p.program.function(name.substr(1));
  if (!f) return Loaded::describe(f.error()) + '\n';
  const Result<FunctionId> full = (*f)->instantiate(types(t, args));
  if (!full) return Loaded::describe(full.error()) + '\n';
  const Result<FunctionId> core = functionalize(t, *full, {{}, form == "v1"});
  if (!core) return Loaded::describe(core.error()) + '\n';
  std::vector<std::uint32_t> into;
  for (std::uint32_t k = 0; k < t.body(*full).mut_params.size(); ++k)
    if (t.body(*full).mut_params[k]) into.push_back(k);
  ReinplaceLog log;
  const Result<FunctionId> made = reinplace(t, *core, into, &log);
  if (!made) return Loaded::describe(made.error()) + '\n';
  std::string s = "// functionalize(" + name + ", auto=\"" + form + "\")\n" +
                  print_function(t, *core, {.types = false}) + "\n// reinplace\n" +
                  print_function(t, *made, {.types = false}) + '\n';
  for (const ReinplaceEntry& e : log) s += "// " + text(e) + '\n';
  return s;
}

std::string refusal(std::string program) {
  const std::string plain = "  inc %head\n";
  program.replace(program.find(plain), plain.size(), "  inc %head {inplace=true}\n");
  return dump(program, std::istringstream("@later f32[6] v2"));
}

// A function whose parameter types are written in full, an empty line, and what becomes of its inputs and outputs.
std::string inputs_and_outputs(const std::string& block) {
  const std::string program = block.substr(0, block.find("\n}\n") + 3);
  Loaded p(program);
  if (!p.load_error.empty()) return p.load_error + '\n';
  Result<Callee*> f = p.program.function("f");
  if (!f) return Loaded::describe(f.error()) + '\n';
  const auto fixed = (*f)->fixed_types();
  const Result<FunctionId> full = (*f)->instantiate(*fixed);
  if (!full) return Loaded::describe(full.error()) + '\n';
  const Result<InputOutput> io = input_output(*p.tables, *full, {});
  return program + '\n' + (io ? text(*p.tables, *io) : Loaded::describe(io.error()) + '\n');
}

// Replaces the block that follows each comment.
std::string renewed(const std::string& page) {
  std::string out, program;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    out += line + '\n';
    if (!line.starts_with("<!-- ")) continue;
    const std::string what = line.substr(5, line.size() - 9);
    std::string block;
    std::getline(lines, line);
    out += line + '\n';
    while (std::getline(lines, line) && line != "```") block += line + '\n';
    if (what == "program")
      program = block;
    else if (what == "io")
      block = inputs_and_outputs(block);
    else if (what == "refusal")
      block = refusal(program);
    else
      block = dump(program, std::istringstream(what.substr(5)));
    out += block + "```\n";
  }
  return out;
}

}  // namespace

TEST(MutationPage, DumpsAreWhatTheLibraryPrints) {
  const std::string path = std::string(source_dir()) + "/docs/mutation.md", page = read(path);
  ASSERT_FALSE(page.empty());
  const std::string now = renewed(page);
  if (std::getenv("TFVM_UPDATE_PAGE")) std::ofstream(path) << now;
  EXPECT_EQ(page, now);
}

}  // namespace tfvm::test
