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
#include <unordered_map>
#include <vector>

#include "bytecode/elaborate/program.h"
#include "transforms/env.h"
#include "vm/cache/disk.h"
#include "vm/context.h"
#include "vm/eager/run.h"
#include "vm/evaluator.h"
#include "vm/function.h"
#include "vm/options.h"
#include "vm/plan/planner.h"
#include "vm/tiers.h"

namespace tfvm {

// The bytes of a file that a program names; Code::Io where the host has none or allows none.
using FileLoader = std::function<Result<std::vector<std::byte>>(const std::string& path)>;

class VM {
 public:
  // The stdlib is loaded when a function is made first.
  static Result<std::unique_ptr<VM>> create(const VmOptions& options = {});

  // The kernel and rules of an `extern op` of that name, for functions made from then on.
  void register_op(const std::string& name, CustomOp op);

  // Adds a text to the user's program: parses, reads imports, gives params and buffers their first values. What fails
  // adds nothing; only a param whose first value failed stays, and can't be used. Not while calls run.
  Status load_text(std::string_view source, std::string_view file, const FileLoader& files = {});
  Status load_binary(std::span<const std::byte> bytes, std::string_view file, const FileLoader& files = {});
  Status load(Module module, const FileLoader& files = {});

  // A function by its name, or by a callee's text ("vmap(grad(@loss), in_dims=[none,0])"), for arguments of these
  // types, or for those that are written in full. One that was made before costs a lookup. May `forget` first, so that
  // TypeIds of tensors from before are stale. Code::Sealed: it would have to be made, and the VM is sealed.
  Result<Function> entry(std::string_view callee, std::span<const TypeId> args);
  Result<Function> entry_for(std::string_view callee, std::vector<ArgType> args);
  Result<Function> entry_as_written(std::string_view callee);
  Result<std::vector<ArgType>> parse_args(std::string_view types);  // "f32[3], i64"
  // The types of its parameters as they are written. Code::Type where they are not all written in full.
  Result<std::vector<TypeId>> fixed_types(std::string_view callee);
  // The params and buffers that functional_call of it has as leading inputs, in that order.
  Result<std::vector<std::string>> state_of(std::string_view callee);
  Result<Function> prepare(const Step& step);
  // From now on nothing is made any more: neither functions, nor forms of wrappers, nor machine code.
  void seal();
  // Lets go of all that functions were made of since the last load, so that other functions start afresh; those that
  // there are, and Values, stay usable. False, and nothing: somebody has a pack, or a function with packs or a wrapper.
  bool forget();
  CacheStats cache_stats();

  // Code::Type for inputs that don't fit; else as Context::call (EagerRun::call where full), with the program's line.
  Result<std::vector<Value>> call(Context& context, const Function& f, std::span<const Value> inputs);
  Result<std::vector<Tensor>> call(Context& context, const Function& f, std::span<const Tensor> inputs);
  // With a NaN trap, behind a call by the plan that gave nan: the call once more, by steps, which fails where it is.
  Status name_nan(Context& context, const Function& f, std::vector<Tensor> in);
  // What the code of `f` is called with: the params and buffers that it takes, then the inputs.
  std::vector<Tensor> arguments(const Function& f, std::span<const Tensor> inputs) const;

  TypeId type_of(const Tensor& t);
  Value value(Tensor t) { return {type_of(t), {t}, {}}; }
  // An error of a run with the line of the step that failed.
  Error located(Error e, StepOrigin at);
  const BudgetRef& budget() const { return budget_; }
  const WriteSites& write_sites() const { return eager_.sites; }
  // Present values of params and buffers, in order of declaration. Their storages stay where they are.
  std::span<const Tensor> globals() const { return globals_; }
  // Gives every param and buffer its first value again, in the storage that it has.
  void reset_globals();

  std::mutex& lock() { return lock_; }  // of what follows, which is for who makes code itself (tools, tests)
  Tables& tables() { return tables_; }
  const Module& module() const { return program_.module(); }  // what was loaded
  Program& program() { return add_library(), program_; }
  TransformEnv& transforms() { return add_library(), env_; }
  PlanCache& plans() { return plans_; }
  Tiers& tiers() { return tiers_; }

 private:
  explicit VM(const VmOptions& options);
  static PlanOptions plan_options(const VmOptions& options, Tiers& tiers);
  void add_library();  // when it is needed first
  Status load_locked(Module module, const FileLoader& files);
  Status add_module(Module module, const FileLoader& files);
  Result<Tensor> initial_value(const Initial& initial, const FileLoader& files, Context& context);
  Result<Callee*> find(std::string_view callee);
  Result<std::vector<TypeId>> fixed_locked(std::string_view callee);
  Result<std::vector<ArgType>> arg_types(std::span<const TypeId> types) const;
  Result<Function> entry_locked(FunctionKey key);
  Result<Function> prepare_locked(const Step& step);
  Status make_code(const Step& step, Function& f);
  Result<Function> finish(Function f, const Body& body, std::vector<std::int64_t> globals);
  // Of the disk (vm/stored.cpp): the key, empty where the function is not one to store; and a function from there.
  std::vector<std::byte> disk_key(const FunctionKey& key);
  std::optional<Function> load_stored(std::span<const std::byte> disk_key, const FunctionKey& key);
  Result<Function> make_entry(const FunctionKey& key, std::vector<StrId>& names);
  void report(const FunctionKey& key, std::span<const StrId> names, const Miss& miss, const Function& f);
  std::int64_t made_bytes();
  bool forget_locked();
  void keep() noexcept;
  Result<std::vector<Tensor>> run(Context& context, const Function& f, std::span<const Tensor> leaves);
  Status prepare_trap(Function& f, FunctionId lean);
  Result<std::vector<Tensor>> run_trapped(Context& context, const Function& f, std::vector<Tensor> in);
  Result<std::vector<Tensor>> find_nan(Context& context, const Function& f, std::vector<Tensor> in);
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
  const NanTrap nan_trap_;
  const std::string debug_dir_;
  bool sealed_ = false, has_library_ = false, must_keep_ = false;  // the last: see keep
  std::unordered_map<FunctionId, std::shared_ptr<FunctionWrapper>> wrappers_;
  FunctionCache functions_;
  std::unique_ptr<DiskCache> disk_;       // null: none
  std::vector<std::byte> program_bytes_;  // of the user's module, where they are known; for keys of the disk
  std::int64_t disk_hits_ = 0, disk_misses_ = 0, disk_stores_ = 0;
  std::shared_ptr<const void> holders_ = std::make_shared<int>();  // see Function::hold
  std::vector<std::weak_ptr<FunctionLines>> lines_;                // of functions that are in use
  std::int64_t plan_bytes_ = 0, forget_at_ = 0, forgets_ = 0;      // of plans made; from where on to try to forget
  std::vector<Tensor> globals_, first_globals_;  // the second are copies, from when the first may be written
};

}  // namespace tfvm
