#pragma once
// The runtime wrapper: runs a full function by its functional form, a core function with a plan, and then does to the
// caller's tensors what the function does to them (functionalize/input_output.h). Outputs that are inputs, or views of
// them, stand in the caller's storage with the strides and the offset that the program gives them, outputs of one
// storage share it, and each written input gets its new value once, when all else is done.
//
// A functional form is made for each way in which arguments share memory (functionalize/arguments.h). Where there is
// none (a view that the strides of an argument don't allow, elements of a written one that overlap), the function runs
// as written.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "functionalize/arguments.h"
#include "vm/eager/run.h"

namespace tfvm {

class FunctionWrapper {
 public:
  struct Env {
    Tables& t;
    EagerCache& code;
    std::mutex& lock;    // of the tables
    const bool& sealed;  // under the lock: no form is made any more
    BuilderOptions builder;
    BudgetRef budget;
    std::function<void(const std::string&)> log;  // under the lock: each form that is made, and why there is none
  };
  // Of a full function, under the lock; null where it takes or gives what is no tensor. `as_written` is its code.
  static Result<std::shared_ptr<FunctionWrapper>> make(Env env, FunctionId f, EagerRef as_written);

  // As EagerRun::call of the function as written, on the tensors of all globals and of its inputs.
  Result<std::vector<Tensor>> call(EagerRun& run, std::span<const Tensor> globals, std::vector<Tensor> inputs);

 private:
  struct Form {
    std::vector<std::int64_t> key;
    FunctionalForm form;
    EagerRef code;                           // null: as written
    std::vector<std::vector<ViewOp>> views;  // per result: its chain
  };
  using FormRef = std::shared_ptr<const Form>;
  struct Call {
    std::vector<Tensor> tensors;  // of globals, then of inputs
    std::vector<Argument> args;   // as they lie in memory
    Grouping grouping;
    FormRef form;
  };

  explicit FunctionWrapper(Env env) : env_(std::move(env)) {}
  std::vector<Argument> arguments(std::span<const Tensor> tensors) const;
  Status find_form(Call& c);
  Result<FormRef> make_form(const Call& c, std::vector<std::int64_t> key);
  Result<std::vector<Tensor>> bases_of(const Call& c) const;
  Result<Tensor> result(const Call& c, std::size_t k, std::span<const Tensor> fresh) const;
  void write_back(const Call& c, std::span<const Tensor> news) const;

  Env env_;
  FunctionId lifted_;  // its globals are leading parameters
  EagerRef as_written_;
  std::vector<std::int64_t> globals_;  // their numbers
  std::vector<TypeId> types_;          // of parameters of lifted_
  std::vector<std::uint32_t> sites_;   // per such parameter: the place of its first write, 0: it is not written
  std::vector<std::uint8_t> written_;
  LayoutUse use_;
  std::mutex forms_lock_;
  std::vector<FormRef> forms_;
};

}  // namespace tfvm
