// What is decided when a function is made: what it is specialised for, why it is made again, which ops share loops, how
// vmap batches each op.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/tfasm/explain.h"
#include "tools/tfasm/files.h"
#include "vm/plan/fusion_report.h"
#include "vm/type_text.h"

namespace tfvm::tool {

namespace {

using Json = nlohmann::json;

// Makes the function for one list of types.
Result<Function> make(VM& vm, const ExplainOptions& o, const std::string* types) {
  if (!types) return vm.entry_as_written(o.function);
  Result<std::vector<ArgType>> args = vm.parse_args(*types);
  return args ? vm.entry_for(o.function, *std::move(args)) : args.error();
}

void print(const ExplainOptions& o, const char* name, const Json& list, const std::string& end) {
  if (o.json)
    fmt::print("{}\n", Json({{name, list}}).dump(2));
  else
    fmt::print("{}\n", end);
}

Json json_of(const Tables& t, const Loc& loc) {
  return loc.line ? Json({{"file", t.strings[loc.file]}, {"line", loc.line}}) : Json();
}

// Lines of the log of the caches, as they come.
Status explain_cache(VM& vm, const ExplainOptions& o, const std::vector<std::string>& log) {
  Json list = Json::array();
  std::size_t made = 0;
  for (std::size_t k = 0; k < std::max<std::size_t>(o.args.size(), 1); ++k) {
    const std::int64_t before = vm.cache_stats().misses;
    const std::size_t from = log.size();
    const Result<Function> f = make(vm, o, o.args.empty() ? nullptr : &o.args[k]);
    if (!f) return f.error();
    const bool is_made = vm.cache_stats().misses > before;
    made += is_made;
    std::string why;
    for (std::size_t n = from; n < log.size(); ++n) why += (why.empty() ? "" : "; ") + log[n];
    if (!is_made) why = o.function + ": the function that is there will do";
    if (why.empty()) why = o.function + ": made first";
    list.push_back({{"call", k}, {"made", is_made}, {"why", why}});
    if (!o.json) fmt::print("call {}: {}\n", k, why);
  }
  print(o, o.what.c_str(), list, fmt::format("{} calls, {} functions made", list.size(), made));
  return ok();
}

Status explain_fusion(VM& vm, const ExplainOptions& o) {
  const Result<Function> f = make(vm, o, o.args.empty() ? nullptr : &o.args[0]);
  if (!f) return f.error();
  if (!f->plan) return Error(Code::Unsupported, "a function that writes runs as written, op by op");
  const std::lock_guard guard(vm.lock());
  const Tables& t = vm.tables();
  Json list = Json::array();
  std::int64_t groups = 0, missed = 0, bytes = 0;
  for (const FusionEntry& e : fusion_of(t, *f->plan)) {
    Json ops = Json::array();
    for (const auto& part : e.parts) ops.push_back({{"op", part.op}, {"at", json_of(t, part.loc)}});
    list.push_back({{"missed", e.missed}, {"ops", ops}, {"bytes", e.bytes}, {"why", e.why}});
    if (!o.json) fmt::print("{}\n", text(e));
    (e.missed ? missed : groups) += 1;
    bytes += e.missed ? e.bytes : 0;
  }
  print(o, "fusion", list, fmt::format("{} groups, {} missed, {} bytes through memory", groups, missed, bytes));
  return ok();
}

Status explain_batch_rule(VM& vm, const ExplainOptions& o) {
  Json list = Json::array();
  std::size_t loops = 0;
  Tables& t = vm.tables();
  vm.transforms().batch_trace = [&](FunctionId f, InstrId i, std::string_view how, const Mask& batched) {
    const Op op = t.body(f).ops[index(i)];
    const Loc loc = t.debugs.find_loc(f.debug, i);
    std::vector<std::size_t> which;
    for (std::size_t k = 0; k < batched.size(); ++k)
      if (batched[k]) which.push_back(k);
    loops += how == "a loop over lanes";
    list.push_back({{"op", name(op)}, {"at", json_of(t, loc)}, {"rule", how}, {"batched", which}});
    if (!o.json)
      fmt::print("{}{}: {}; batched operands: {}\n", name(op), loc.line ? fmt::format(" line {}", loc.line) : "", how,
                 which.empty() ? "none" : fmt::format("{}", fmt::join(which, ", ")));
  };
  const Result<Function> f = make(vm, o, o.args.empty() ? nullptr : &o.args[0]);
  vm.transforms().batch_trace = {};
  if (!f) return f.error();
  print(o, "batch_rule", list, fmt::format("{} ops, {} loops over lanes", list.size(), loops));
  return ok();
}

}  // namespace

Status explain_making(VM& vm, const ExplainOptions& o) {
  std::vector<std::string> log;
  if (o.what == "guards" || o.what == "recompiles")
    vm.transforms().log = [&](std::string_view category, const std::string& message) {
      if (category == o.what) log.push_back(message);
    };
  if (Status s = load_file(vm, o.file); !s) return s;
  const Status done = o.what == "fusion"       ? explain_fusion(vm, o)
                      : o.what == "batch_rule" ? explain_batch_rule(vm, o)
                                               : explain_cache(vm, o, log);
  vm.transforms().log = {};
  return done;
}

}  // namespace tfvm::tool
