// tfasm gradcheck: the derivatives of a function beside differences of its values.

#include <cmath>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "tools/tfasm/values.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, function = "@main";
  std::vector<std::string> args;
  std::int64_t order = 2;
  double eps = 0, rtol = 0, atol = 0;
  bool json = false;
};

// One element of a derivative. `output` and `inputs` say of what; `at` is its place, out dims and then in dims.
struct Entry {
  std::vector<std::int64_t> at;
  double forward, reverse, difference;
  double apart() const {
    const double d = std::max(std::abs(forward - difference), std::abs(reverse - difference));
    return std::isnan(d) ? HUGE_VAL : d;
  }
};

// All derivatives of one output by one input (second order: by two).
struct Block {
  std::size_t output;
  std::vector<std::string> inputs;
  std::int64_t elements = 0;
  std::vector<Entry> kinks;
  std::optional<Entry> worst;  // of those that are no kinks
};

struct Report {
  double error = 0;
  std::int64_t kinks = 0;
  std::vector<Block> blocks;
  bool agree() const { return error <= 1; }
};

constexpr std::size_t kTables = 4;  // forward, reverse, difference, kink

std::vector<std::int64_t> place(std::int64_t flat, Dims dims) {
  std::vector<std::int64_t> at(dims.size());
  for (std::size_t d = dims.size(); d-- > 0; flat /= dims[d]) at[d] = flat % dims[d];
  return at;
}

void fill(Block& block, std::span<const Value> tables) {
  const Tensor &forward = tables[0].tensor(), &reverse = tables[1].tensor(), &difference = tables[2].tensor();
  block.elements = forward.elements();
  for (std::int64_t k = 0; k < block.elements; ++k) {
    Entry e{place(k, forward.dims()), forward.as<double>()[k], reverse.as<double>()[k], difference.as<double>()[k]};
    if (tables[3].tensor().as<bool>()[k])
      block.kinks.push_back(std::move(e));
    else if (!block.worst || e.apart() > block.worst->apart())
      block.worst = std::move(e);
  }
}

// The blocks in the order of the transform: orders, outputs, inputs.
std::vector<Block> blocks_of(std::span<const std::size_t> outputs, std::span<const std::string> inputs, bool second) {
  std::vector<Block> out;
  for (std::size_t o : outputs)
    for (const std::string& in : inputs) out.push_back({o, {in}, 0, {}, {}});
  const std::vector<Block> first = out;
  for (std::size_t k = 0; second && k < first.size(); ++k)
    for (const std::string& in : inputs) out.push_back({first[k].output, {first[k].inputs[0], in}, 0, {}, {}});
  return out;
}

Result<Report> check(VM& vm, const Options& o) {
  if (Status s = load_file(vm, o.file); !s) return s.error();
  const Result<Callee*> f = find_function(vm, o.function);
  if (!f) return f.error();
  std::string text = fmt::format("gradcheck({}, order={}, details=true", o.function, o.order);
  for (const auto& [key, value] : {std::pair("eps", o.eps), std::pair("rtol", o.rtol), std::pair("atol", o.atol)})
    if (value > 0) text += fmt::format(", {}={:e}", key, value);
  const Result<Callee*> checked = find_function(vm, text + ")");
  if (!checked) return checked.error();
  const Result<std::vector<Value>> args = read_arguments(vm, **f, o.args);
  if (!args) return args.error();
  std::vector<TypeId> types;
  for (const Value& v : *args) types.push_back(v.type);
  const Result<Function> plain = prepare(vm, **f, types), ready = prepare(vm, **checked, types);
  if (!plain || !ready) return plain ? ready.error() : plain.error();
  Context context(vm.budget());
  const Result<std::vector<Value>> results = vm.call(context, *ready, *args);
  if (!results) return results.error();

  const std::lock_guard guard(vm.lock());
  const TypeTable& known = vm.tables().types;
  const std::span<const StrId> names = (*f)->param_names();
  std::vector<std::size_t> outputs;
  std::vector<std::string> inputs;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (known.is_differentiable(types[k]))
      inputs.push_back(k < names.size() ? fmt::format("%{}", vm.tables().strings[names[k]]) : fmt::format("{}", k));
  for (std::size_t k = 0; k < plain->results.size(); ++k)
    if (known.is_differentiable(plain->results[k])) outputs.push_back(k);
  Report r{(*results)[0].tensor().as<double>()[0], (*results)[1].tensor().as<std::int64_t>()[0],
           blocks_of(outputs, inputs, o.order == 2)};
  for (std::size_t k = 0; k < r.blocks.size(); ++k)
    fill(r.blocks[k], std::span(*results).subspan(2 + k * kTables, kTables));
  return r;
}

std::string entry_text(const Entry& e) {
  return fmt::format("at [{}]: forward {:.10g}, reverse {:.10g}, difference {:.7g}", fmt::join(e.at, ", "), e.forward,
                     e.reverse, e.difference);
}

void print_text(const Options& o, const Report& r) {
  constexpr std::size_t kShown = 3;
  for (const Block& b : r.blocks) {
    fmt::print("output {} by {}: {} derivatives", b.output, fmt::join(b.inputs, " and "), b.elements);
    fmt::print("{}\n", b.kinks.empty() ? "" : fmt::format(", {} at kinks", b.kinks.size()));
    if (b.worst) fmt::print("  farthest {}\n", entry_text(*b.worst));
    for (std::size_t k = 0; k < std::min(b.kinks.size(), kShown); ++k)
      fmt::print("  kink {}\n", entry_text(b.kinks[k]));
  }
  fmt::print("{}: {} (error {:.3g} of the tolerance, {} {})\n", o.function, r.agree() ? "ok" : "DIFFERS", r.error,
             r.kinks, r.kinks == 1 ? "kink" : "kinks");
}

nlohmann::ordered_json to_json(const Entry& e) {
  return {{"at", e.at}, {"forward", e.forward}, {"reverse", e.reverse}, {"difference", e.difference}};
}

void print_json(const Options& o, const Report& r) {
  nlohmann::ordered_json out{{"function", o.function}, {"ok", r.agree()}, {"error", r.error}, {"kinks", r.kinks}};
  out["derivatives"] = nlohmann::ordered_json::array();
  for (const Block& b : r.blocks) {
    nlohmann::ordered_json block{{"output", b.output}, {"inputs", b.inputs}, {"elements", b.elements}};
    block["farthest"] = b.worst ? to_json(*b.worst) : nlohmann::ordered_json();
    block["kinks"] = nlohmann::ordered_json::array();
    for (const Entry& e : b.kinks) block["kinks"].push_back(to_json(e));
    out["derivatives"].push_back(std::move(block));
  }
  fmt::print("{}\n", out.dump(1));
}

int gradcheck(const Options& o) {
  Result<std::unique_ptr<VM>> vm = VM::create();
  if (!vm) return report(vm.error(), StringTable());
  const Result<Report> r = check(**vm, o);
  if (!r) return report(r.error(), (*vm)->tables().strings);
  o.json ? print_json(o, *r) : print_text(o, *r);
  return r->agree() ? kDone : kFailed;
}

}  // namespace

void add_gradcheck(Application& app) {
  const Command cmd = app.command("gradcheck", "Compare the derivatives of a function with differences of its values");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program").required();
  cmd.option("FUNCTION", o->function, "@name or a derived function; default @main");
  cmd.option("-a,--arg", o->args, "The next argument, where derivatives are taken; as for run");
  cmd.option("--order", o->order, "Highest order of derivatives, 1 or 2; default 2").between(1, 2);
  cmd.option("--eps", o->eps, "Step, relative to max(1, |x|); default: cube root of the dtype's epsilon");
  cmd.option("--rtol", o->rtol, "Relative tolerance; default 1e-6, f32 2e-3");
  cmd.option("--atol", o->atol, "Absolute tolerance; default 1e-6, f32 2e-3");
  cmd.flag("--json", o->json, "Print JSON, with all kinks");
  cmd.footer(
      "Forward mode, reverse mode and central differences are compared element by element, and the derivatives of\n"
      "reverse mode in the same way. Where the slopes on both sides of a point disagree there is a kink: it is told "
      "and\n"
      "is no failure. Exits 1 where derivatives differ.\n\n"
      "Examples:\n"
      "  tfasm gradcheck first.tfa @loss --arg '[1, 2, 3]' --arg '[1, 0, 1]' --arg 0.5\n"
      "  tfasm gradcheck examples/pendulum.tfa @final_angle --arg 0.1 --json\n"
      "  tfasm gradcheck examples/per_sample.tfa 'vmap(@loss, in_dims=[none, none, 0, 0])' --order 1 \\\n"
      "    --arg '[1, 2, 3]' --arg 0 --arg '[[1, 0, 1], [0, 1, 1]]' --arg '[1, 2]'");
  cmd.action([o] { return gradcheck(*o); });
}

}  // namespace tfvm::tool
