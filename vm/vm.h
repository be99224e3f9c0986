#pragma once
// A virtual machine: one program with the stdlib and the transforms, and the plans made of it.
//
//   auto vm = VM::create({});                       auto f = vm->entry("main", {});
//   vm->load_text(source, "first.tfa", files);      auto results = vm->call(context, *f, {});
//
// Methods may be called from many threads: what makes code or plans takes one lock, calls take none (but to name the
// line of a failure). A Context belongs to one thread.

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/elaborate/program.h"
#include "transforms/env.h"
#include "vm/context.h"
#include "vm/eager/run.h"
#include "vm/evaluator.h"
#include "vm/plan/planner.h"
#include "vm/tiers.h"

namespace tfvm {

class FunctionWrapper;

struct VmOptions {
  std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max();  // bytes of tensors and working memory
  Allocator allocator;                                                   // of those; default: malloc's
  PlanOptions plan = plan_options_of_environment();
  TierOptions tier = tier_options_of_environment();
  // Full functions run by their functional forms, behind a runtime wrapper (vm/eager/wrapper.h), not as written.
  bool functionalize = false;
  // What passes report, by category; called under the lock of the VM.
  std::function<void(std::string_view category, const std::string& message)> log;
};

// A value outside of programs: a tensor, or a pack as its tensors.
struct Value {
  TypeId type = kNone<TypeId>;
  std::vector<Tensor> leaves;
  const Tensor& tensor() const { return leaves.front(); }
};

// A function ready to be called. Its plan takes the globals first; inputs and results are those of the language. A full
// one has no plan: it runs as written on the tensors given, so writes are seen by the caller, and results may alias.
struct Function {
  PlanRef plan;
  EagerRef eager;
  std::shared_ptr<FunctionWrapper> wrapper;  // with VmOptions::functionalize
  std::vector<std::int64_t> globals;
  std::vector<TypeId> inputs, results;
  std::vector<std::ptrdiff_t> result_leaves;  // tensors of each result
  std::vector<std::uint8_t> kept;             // of tensors of results: those that packs are made of, as Context::call
};

// The bytes of a file that a program names; Code::Io where the host has none or allows none.
using FileLoader = std::function<Result<std::vector<std::byte>>(const std::string& path)>;

class VM {
 public:
  // Loads the stdlib; fails only where memory does, or the stdlib is broken.
  static Result<std::unique_ptr<VM>> create(const VmOptions& options = {});

  // The kernel and rules of an `extern op` of that name, for functions made from then on.
  void register_op(const std::string& name, CustomOp op);

  // Adds a text to the user's program: parses, reads imports, resolves names, gives params and buffers their first
  // values. What fails adds nothing; only a param whose first value failed stays, and can't be used. Not while calls
  // run.
  Status load_text(std::string_view source, std::string_view file, const FileLoader& files = {});
  Status load_binary(std::span<const std::byte> bytes, std::string_view file, const FileLoader& files = {});
  Status load(Module module, const FileLoader& files = {});

  // A function by its name, or by a callee's text ("vmap(grad(@loss), in_dims=[none,0])"), for arguments of these
  // types.
  Result<Function> entry(std::string_view callee, std::span<const TypeId> args);
  // The types of its parameters as they are written. Code::Type where they are not all written in full.
  Result<std::vector<TypeId>> fixed_types(std::string_view callee);
  // The params and buffers that functional_call of it has as leading inputs, in that order.
  Result<std::vector<std::string>> state_of(std::string_view callee);
  Result<Function> prepare(const Step& step);

  // Code::Type for inputs that don't fit; else as Context::call (EagerRun::call where full), with the program's line.
  Result<std::vector<Value>> call(Context& context, const Function& f, std::span<const Value> inputs);
  Result<std::vector<Tensor>> call(Context& context, const Function& f, std::span<const Tensor> inputs);

  // What the code of `f` is called with: the params and buffers that it takes, then the inputs.
  std::vector<Tensor> arguments(const Function& f, std::span<const Tensor> inputs) const;

  TypeId type_of(const Tensor& t);
  Value value(Tensor t) { return {type_of(t), {t}}; }
  bool is_tensor(TypeId type);
  // The tensors that values of these types consist of.
  std::vector<ValueType> tensors_of(std::span<const TypeId> types);
  // An error of a run with the line of the step that failed.
  Error located(Error e, StepOrigin at);
  const BudgetRef& budget() const { return budget_; }
  const WriteSites& write_sites() const { return eager_.sites; }
  // Present values of params and buffers, in order of declaration. Their storages stay where they are.
  std::span<const Tensor> globals() const { return globals_; }
  // Gives every param and buffer its first value again, in the storage that it has.
  void reset_globals();

  // For who makes code itself (tools, tests); under `lock` where threads share the VM.
  std::mutex& lock() { return lock_; }
  Tables& tables() { return tables_; }
  Program& program() { return program_; }
  TransformEnv& transforms() { return env_; }
  PlanCache& plans() { return plans_; }
  Tiers& tiers() { return tiers_; }

 private:
  explicit VM(const VmOptions& options);
  static PlanOptions with_tiers(PlanOptions options, Tiers& tiers);
  Status load_library();
  Status load_locked(Module module, const FileLoader& files);
  Result<Tensor> initial_value(const Initial& initial, const FileLoader& files, Context& context);
  Result<Callee*> find(std::string_view callee);
  Result<Function> prepare_locked(const Step& step);
  Result<std::vector<Tensor>> run(Context& context, const Function& f, std::span<const Tensor> leaves);
  Status keep_first_globals();
  Result<std::shared_ptr<FunctionWrapper>> wrapper_of(FunctionId f, const EagerRef& as_written);
  Error no_value(StrId global) const;
  Error located_locked(Error e, StepOrigin at);

  std::mutex lock_;
  BudgetRef budget_;
  Tables tables_;
  PlanEvaluator evaluator_;
  TransformEnv env_;
  TransformTable table_;
  Program program_;
  Tiers tiers_;
  PlanCache plans_;
  EagerCache eager_;
  const bool functionalize_;
  std::unordered_map<FunctionId, std::shared_ptr<FunctionWrapper>> wrappers_;
  std::vector<Tensor> globals_, first_globals_;  // the second are copies, from when the first may be written
};

}  // namespace tfvm
