// What is wrong with a program, without running it: each mistake once, however many functions lead to it.
#include <algorithm>
#include <set>

#include "bytecode/elaborate/program.h"

namespace tfvm {

namespace {

// Two errors with one key are the same mistake: a cycle is the same whichever of its functions it is entered by.
std::string key_of(const Error& e) {
  constexpr std::string_view kCycle = "cycle of calls: ", kArrow = " -> ";
  std::string key = std::to_string(index(e.loc.file)) + ':' + std::to_string(e.loc.line) + ':' +
                    std::to_string(e.loc.col) + ':' + e.message;
  if (!e.message.starts_with(kCycle)) return key;
  std::set<std::string> functions;
  const std::string path = e.message.substr(kCycle.size(), e.message.find(';') - kCycle.size());
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(kArrow, begin), path.size());
    functions.insert(path.substr(begin, end - begin));
    begin = end + kArrow.size();
  }
  key = kCycle;
  for (const std::string& f : functions) key += f + ' ';
  return key;
}

class Findings {
 public:
  // False: a limit is reached, and what follows would only say so again.
  bool add(Error e, Loc otherwise) {
    if (e.loc.line == 0) e.loc = otherwise;
    const bool go_on = e.code != Code::Limit;
    if (keys_.insert(key_of(e)).second) errors.push_back(std::move(e));
    return go_on;
  }
  std::vector<Error> errors;

 private:
  std::set<std::string> keys_;
};

bool overflows(const Module& m, const TypePattern& type) {
  std::vector<std::int64_t> sizes;
  for (const DimPattern& d : Module::at(m.dims, type.dims))
    if (d.kind == DimKind::Number) sizes.push_back(d.number);
  return sizes.size() == type.dims.count && !checked_elements(sizes);
}

}  // namespace

Result<bool> Program::check_function(const Template& f) {
  std::vector<TypeId> args;
  for (const Param& p : f.params) {
    if (p.typed && overflows(user_.module, p.type))
      return Error{Code::Type, "[@" + std::string(t_.strings[f.name]) + "] %" + std::string(t_.strings[p.name]) +
                                   ": the sizes of " + pattern_text(t_, user_.module, p.type) + " overflow"};
    if (const auto type = p.typed ? concrete_type(t_, user_.module, p.type) : std::nullopt) args.push_back(*type);
  }
  const bool open = std::ranges::any_of(f.attr_params, [](const AttrParam& a) { return a.default_node == kNoIndex; });
  if (open || args.size() != f.params.size()) return false;
  Result<TemplateCallee*> callee = instance_of(user_, f, t_.attrs.empty());
  if (!callee) return callee.error();
  Result<FunctionId> made = (*callee)->instantiate(args);
  // A function that names an axis can be made only inside a vmap that has it.
  if (!made && made.error().message.find(kNoAxis) != std::string::npos) return false;
  return made ? Result<bool>(true) : made.error();
}

std::vector<Error> Program::check() {
  Findings found;
  for (const Template& f : user_.module.funcs)
    if (Result<bool> r = check_function(f); !r && !found.add(r.error(), f.loc)) return found.errors;
  NamedAttrs none;
  for (const Derived& d : user_.module.derived)
    if (Result<Callee*> r = callee(user_, d.callee, none); !r && !found.add(r.error(), d.loc)) return found.errors;
  return found.errors;
}

}  // namespace tfvm
