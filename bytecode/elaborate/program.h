#pragma once
// A program as loaded: the user's module with its imports, and the libraries of ops and of derivative rules, each in a
// namespace of its own. Makes typed, hash-consed functions of them on demand; what is wrong with a body is found when
// it is made.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "bytecode/builder.h"
#include "bytecode/elaborate/callee.h"
#include "bytecode/elaborate/library.h"
#include "bytecode/elaborate/step.h"
#include "bytecode/expand/core.h"
#include "bytecode/externs.h"

namespace tfvm {

// Gives the module at a path, which is relative to the importing file where it isn't absolute.
using ModuleLoader = std::function<Result<Module>(const std::string& path)>;

// Reads, with `load`, what `main` imports, and what that imports, each file once; imported items come first. A file
// that imports itself and a name that is defined twice are errors.
Result<Module> merge_imports(Tables& t, Module main, const ModuleLoader& load);

struct ProgramOptions {
  BuilderOptions builder;
  const TransformTable* transforms = nullptr;
  std::uint32_t max_depth = 256;  // of calls and blocks within each other
};

inline constexpr std::string_view kNoAxis = "no vmap around this has axis_name=";

class Program final : public DerivativeRules {
 public:
  Program(Tables& t, ProgramOptions options)
      : t_(t), options_(options), ops_library_(t.strings, Space::Ops), rules_(t.strings, Space::Derivatives) {}
  Program(const Program&) = delete;

  // A user's modules have their imports merged in; the items of each join those that are there, so names are unique,
  // and a load that fails adds nothing.
  Status load(Module module);
  const Module& module() const { return user_.module; }
  // Of Ops or Derivatives: texts are added before the first use.
  Library& library(Space space) { return space == Space::Ops ? ops_library_ : rules_; }

  // @name or a derived function of the user's module; with types, ready to run.
  Result<Callee*> function(std::string_view name);
  // A callee of a text of its own (parse_callee): it names items of the user's module.
  Result<Callee*> callee(const Module& pools, std::uint32_t at);
  Result<Step> entry(Callee& f, std::span<const TypeId> args);
  Result<Initial> initial(std::uint32_t global);

  // One statement of a test, on values of these types by local. Results are those of the statement, in order.
  using LocalTypes = std::function<std::optional<TypeId>(Local)>;
  Result<Step> step(const Test& test, const Stmt& stmt, const LocalTypes& types);
  Result<Expectation> expectation(const Test& test, const Stmt& stmt, const LocalTypes& types);

  // Makes every function of the user's module whose parameter types are concrete, then resolves its derived functions;
  // each mistake once, in order of the text. A limit that is reached is the last of them.
  std::vector<Error> check();

  // DerivativeRules: functions of the namespace Derivatives.
  bool has(std::string_view name) const override;
  Result<FunctionId> instantiate(std::string_view name, std::span<const TypeId> args) override;

  // --- for the parts of elaboration
  struct OpRef {
    std::optional<Op> prim;
    const CoreRow* core = nullptr;
    Library::Found function;
    bool known() const { return prim || core || function; }
  };
  const OpRef& find_op(StrId name);
  Tables& tables() { return t_; }
  const ProgramOptions& options() const { return options_; }
  Result<Callee*> callee(const Source& source, std::uint32_t expr, AttrScope& scope);
  // `given` is a Dict with some of the function's attribute parameters.
  Result<TemplateCallee*> instance_of(const Source& source, const Template& f, AttrId given);
  GlobalUse global(const Source& source, std::uint32_t at) const;
  const std::vector<GlobalUse>& globals_of(const Source& source, const Template& f);
  // Rules of custom ops (extern_rules.cpp): those of the declaration before the host's, of one kind.
  void set_host_rules(StrId op, ExternRules rules) { host_rules_[op] = std::move(rules); }
  Result<FunctionId> extern_rule(StrId op, Key kind, std::span<const TypeId> args);  // no function: there is none
  bool has_extern_rule(StrId op, Key kind) const;
  // What could not be made is tried again: the host has registered something.
  void forget_failures();
  // Nothing is made of the program any more, and no Callee is in use: what is to be had again is made again.
  void forget();
  bool is_full(const Source& source, const Template& f);
  bool is_full(const Source& source, const Stmt& s);  // one statement: of a test
  bool is_full_block(const Source& source, std::uint32_t block);
  Status check_depth(FunctionId f);
  // Named axes of the vmaps around what is being made, outermost first.
  std::vector<NamedAxis>& axes() { return axes_; }
  // The size of the innermost axis of that name; nullopt where there is none, of which errors say kNoAxis.
  std::optional<std::int64_t> axis_size(StrId name) const;
  // Entered while a body is made: notices cycles and depth.
  class Visit;

 private:
  Result<Callee*> callee(const Source& source, const Module& pools, std::uint32_t at, AttrScope& scope);
  Result<Callee*> transform(const Source& source, const Module& pools, const CalleeExpr& e, Callee& inner,
                            AttrScope& scope);
  Result<Callee*> instance_by_name(const Source& source, const Template& f, const Module& m, const CalleeExpr& e,
                                   AttrScope& scope);
  // `bound`: the globals that argnums names.
  Result<AttrId> transform_attrs(const Source& source, const Module& pools, const CalleeExpr& e,
                                 std::span<const AttrSpec> specs, AttrScope& scope, Callee& inner,
                                 std::vector<GlobalUse>& bound);
  Result<FunctionId> op_as_function(StrId op, std::span<const TypeId> args);
  const TransformRow* find_transform(std::string_view name, std::string& message) const;
  std::uint32_t depth_of(FunctionId f);
  Result<bool> check_function(const Template& f);  // false: not all types are concrete
  Result<Step> finish(FunctionId f, std::vector<Local> inputs, std::vector<StrId> names);

  Tables& t_;
  ProgramOptions options_;
  Source user_{{}, Space::User};
  Library ops_library_, rules_;
  std::vector<TypeId> global_types_;
  std::map<std::pair<const Template*, AttrId>, std::unique_ptr<TemplateCallee>> templates_;
  std::map<std::tuple<StrId, const Callee*, AttrId, std::vector<std::int64_t>>, std::unique_ptr<Callee>> derived_;
  std::unordered_map<StrId, OpRef> ops_;
  std::unordered_map<const Template*, std::vector<GlobalUse>> globals_of_;
  std::unordered_map<const Template*, bool> full_;
  std::vector<std::pair<const void*, std::string>> active_;  // what is being made, outermost first
  std::uint32_t depth_ = 0;
  std::vector<NamedAxis> axes_;
  std::unordered_map<StrId, ExternRules> host_rules_;
  std::unordered_map<BodyId, std::uint32_t> depths_;
};

}  // namespace tfvm
