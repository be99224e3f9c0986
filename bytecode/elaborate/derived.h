#pragma once
// Functions made of others: transforms, checkpoint, and those that make params and buffers explicit.

#include "bytecode/elaborate/callee.h"

namespace tfvm {

// A row of the table of transforms, applied.
class TransformCallee final : public Callee {
 public:
  TransformCallee(Program& p, const TransformRow& row, Callee& inner, AttrId attrs, std::string text)
      : Callee(p), row_(row), inner_(inner), attrs_(attrs), text_(std::move(text)) {}
  bool is_full() override { return writes_back(); }
  bool writes_back() override { return !row_.takes_full && inner_.writes_back(); }
  Result<std::size_t> arity(std::span<const TypeId> available) override;
  std::span<const StrId> param_names() const override;
  std::string text() const override { return text_; }
  std::optional<DType> hint(std::span<const TypeId> args, std::size_t k) override;
  std::optional<std::vector<TypeId>> fixed_types() override;
  const std::vector<GlobalUse>& globals() const override { return inner_.globals(); }

 protected:
  Result<FunctionId> make(std::span<const TypeId> args) override;

 private:
  TransformEnv& env() const;
  const TransformRow& row_;
  Callee& inner_;
  AttrId attrs_;
  std::string text_;
};

// checkpoint(@f, policy=…): one call that says so.
class CheckpointCallee final : public Callee {
 public:
  CheckpointCallee(Program& p, Callee& inner, AttrId policy) : Callee(p), inner_(inner), policy_(policy) {}
  bool is_full() override { return inner_.is_full(); }
  bool writes_back() override { return inner_.writes_back(); }
  Result<std::size_t> arity(std::span<const TypeId> available) override { return inner_.arity(available); }
  std::span<const StrId> param_names() const override { return inner_.param_names(); }
  std::string text() const override { return "checkpoint(" + inner_.text() + ")"; }
  std::optional<DType> hint(std::span<const TypeId> args, std::size_t k) override { return inner_.hint(args, k); }
  std::optional<std::vector<TypeId>> fixed_types() override { return inner_.fixed_types(); }
  Result<AttrId> call_attrs(std::span<const TypeId> args) override;
  const std::vector<GlobalUse>& globals() const override { return inner_.globals(); }

 protected:
  Result<FunctionId> make(std::span<const TypeId> args) override;

 private:
  Callee& inner_;
  AttrId policy_;
};

// `globals` become leading parameters; `functional`: functional_call(@f), which functionalizes a full @f.
class LiftedCallee final : public Callee {
 public:
  LiftedCallee(Program& p, Callee& inner, std::vector<GlobalUse> globals, bool functional);
  bool is_full() override { return !functional_ && inner_.is_full(); }
  bool writes_back() override { return !functional_ && inner_.writes_back(); }
  Result<std::size_t> arity(std::span<const TypeId> available) override;
  std::span<const StrId> param_names() const override { return names_; }
  std::string text() const override { return "functional_call(" + inner_.text() + ")"; }
  std::optional<DType> hint(std::span<const TypeId> args, std::size_t k) override;
  std::optional<std::vector<TypeId>> fixed_types() override;
  const std::vector<GlobalUse>& globals() const override { return rest_; }

 protected:
  Result<FunctionId> make(std::span<const TypeId> args) override;

 private:
  Callee& inner_;
  bool functional_;
  std::vector<GlobalUse> lifted_, rest_;
  std::vector<StrId> names_;
};

// stack_params(@f): several sets of the globals of @f, set after set, become one set with a new leading dim.
class StackedCallee final : public Callee {
 public:
  StackedCallee(Program& p, Callee& inner, std::optional<std::int64_t> sets) : Callee(p), inner_(inner), sets_(sets) {}
  bool is_full() override { return false; }
  bool writes_back() override { return false; }
  Result<std::size_t> arity(std::span<const TypeId> available) override;
  std::span<const StrId> param_names() const override { return {}; }
  std::string text() const override { return "stack_params(" + inner_.text() + ")"; }
  std::optional<DType> hint(std::span<const TypeId> args, std::size_t k) override;
  const std::vector<GlobalUse>& globals() const override { return none_; }

 protected:
  Result<FunctionId> make(std::span<const TypeId> args) override;

 private:
  Callee& inner_;
  std::optional<std::int64_t> sets_;
  std::vector<GlobalUse> none_;
};

// The opposite, for argnums=[@w]: `inner` has `globals` as leading parameters and is called at their present values.
class BoundCallee final : public Callee {
 public:
  BoundCallee(Program& p, Callee& inner, std::vector<GlobalUse> bound, std::vector<GlobalUse> all, std::string text)
      : Callee(p), inner_(inner), bound_(std::move(bound)), all_(std::move(all)), text_(std::move(text)) {}
  bool is_full() override { return inner_.is_full(); }
  bool writes_back() override { return inner_.writes_back(); }
  Result<std::size_t> arity(std::span<const TypeId> available) override;
  std::span<const StrId> param_names() const override;
  std::string text() const override { return text_; }
  std::optional<DType> hint(std::span<const TypeId> args, std::size_t k) override;
  std::optional<std::vector<TypeId>> fixed_types() override;
  const std::vector<GlobalUse>& globals() const override { return all_; }

 protected:
  Result<FunctionId> make(std::span<const TypeId> args) override;

 private:
  std::vector<TypeId> with_bound(std::span<const TypeId> args) const;
  Callee& inner_;
  std::vector<GlobalUse> bound_, all_;
  std::string text_;
};

}  // namespace tfvm
