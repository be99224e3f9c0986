#pragma once
// Functions by name and derived functions, before their argument types are known. `instantiate` gives typed code, once
// for equal argument types; cycles and too deep chains of calls are errors.

#include <memory>
#include <unordered_map>

#include "bytecode/elaborate/globals.h"
#include "bytecode/elaborate/pattern.h"
#include "bytecode/transform_table.h"

namespace tfvm {

class Program;
struct Source;  // a module and its namespace

// What an instance is made for: argument types, and the named axes of the vmaps around it.
struct InstanceKey {
  std::vector<TypeId> args;
  std::vector<NamedAxis> axes;
  friend bool operator==(const InstanceKey&, const InstanceKey&) = default;
};
struct InstanceHash {
  std::size_t operator()(const InstanceKey& k) const;
};

class Callee : public CalleeRef {
 public:
  explicit Callee(Program& p) : p_(p) {}
  Result<FunctionId> instantiate(std::span<const TypeId> args) final;
  std::vector<NamedAxis>& axes() final;
  bool has_made(FunctionId f) const final;
  // What the instruction `call` has for these arguments: {callee}, and own rules where the function has some.
  virtual Result<AttrId> call_attrs(std::span<const TypeId> args);
  // The params and buffers that it reads, by the text, in order of declaration.
  virtual const std::vector<GlobalUse>& globals() const = 0;
  virtual bool is_library() const { return false; }
  // Has it something to write back to its caller: mut parameters, or globals of a full function?
  virtual bool writes_back() = 0;
  // What has been made of it so far, in order of their bodies.
  std::vector<FunctionId> instances() const;
  void forget_failures() { failed_.clear(); }
  // Written by name, with the names of its parameters and attributes; null for a transform.
  virtual const class TemplateCallee* as_template() const { return nullptr; }

 protected:
  virtual Result<FunctionId> make(std::span<const TypeId> args) = 0;
  InstanceKey key(std::span<const TypeId> args);
  Program& p_;

 private:
  std::unordered_map<InstanceKey, FunctionId, InstanceHash> made_;
  std::unordered_map<InstanceKey, Error, InstanceHash> failed_;  // where it can\'t be made, whoever asks
};

// @f, @f<axis=0>, or a function of the stdlib.
class TemplateCallee final : public Callee {
 public:
  TemplateCallee(Program& p, const Source& source, const Template& f, AttrId attrs);
  Result<std::size_t> arity(std::span<const TypeId>) override { return f_.params.size(); }
  std::span<const StrId> param_names() const override { return names_; }
  std::string text() const override;
  std::optional<DType> hint(std::span<const TypeId> args, std::size_t k) override;
  std::optional<std::vector<TypeId>> fixed_types() override;
  // As `hint`; where nothing binds the parameter's class, the dtype of the written result, if the class takes it.
  std::optional<DType> literal_dtype(std::span<const TypeId> args, std::size_t k, std::optional<DType> written) const;
  Result<AttrId> call_attrs(std::span<const TypeId> args) override;
  const std::vector<GlobalUse>& globals() const override;
  bool is_library() const override;
  bool is_full() override;
  bool writes_back() override;
  const TemplateCallee* as_template() const override { return this; }
  const Template& written() const { return f_; }

 protected:
  Result<FunctionId> make(std::span<const TypeId> args) override;

 private:
  Result<FunctionId> code(std::span<const TypeId> args);  // the body as written, without its own rules
  Result<Unit> bind(std::span<const TypeId> args, Bindings& b) const;
  Result<Callee*> rule(std::uint32_t node);
  Status add_rules(std::span<const TypeId> args, FunctionId code, AttrId& attrs);
  // The rules custom_root and custom_linear_solve (implicit.cpp).
  Status add_implicit(std::span<const TypeId> args, std::span<const TypeId> outputs, AttrId& attrs);
  Status fail_implicit(std::span<const TypeId> args, std::span<const TypeId> outputs, Key kind, const std::string& rule,
                       const Error& e, AttrId& attrs);
  Result<FunctionId> rule_or_failure(Key kind, Callee& rule, std::span<const TypeId> args,
                                     std::span<const TypeId> results, bool prefix);
  // A function of that signature that fails with the message of `e` when it runs.
  Result<FunctionId> failing_rule(Key kind, const std::string& rule, std::span<const TypeId> args,
                                  std::span<const TypeId> results, const Error& e);

  const Source& source_;
  const Template& f_;
  AttrId attrs_;
  std::vector<StrId> names_;
  std::unordered_map<InstanceKey, AttrId, InstanceHash> calls_;
};

}  // namespace tfvm
