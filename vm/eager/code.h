#pragma once
// A full function ready to run as written: one step per instruction over slots that hold tensors. Core instructions are
// plans of their own; views, writes and calls of full functions work on the tensors themselves. Immutable.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "vm/eager/custom.h"
#include "vm/eager/saved.h"
#include "vm/eager/view.h"
#include "vm/plan/planner.h"

namespace tfvm {

struct EagerCode;
using EagerRef = std::shared_ptr<const EagerCode>;

using Slot = std::uint32_t;  // one tensor of a frame: a value, or one of a pack's
using Slots = std::vector<Slot>;

struct EagerStep {
  enum class Kind : std::uint8_t {
    Constant,  // out[0] = a copy of `value`, or `value` itself where nothing can write into it
    Global,    // out[0] = the tensor of params and buffers
    View,      // out[0] = a view of in[0]
    Plan,      // out = plan(globals…, in…), fresh
    Write,     // in[0] = plan(in…); out[0] is in[0]
    Copy,      // in[0] = in[1], broadcast; out[0] is in[0]
    Update,    // in[0] at the places in[2…] = in[1]; out[0] is in[0]
    Call,      // out = targets[0](in…), which may alias
    Branch,    // out = targets[in[0]](in[1…]), fresh
    While,     // targets: cond, body
    Scan,      // targets: body
    TapeScan,  // targets: body; in[0]: how many trips
    Move,      // out = in: packs put together or taken apart
    Extern,    // a custom op
  };
  Kind kind;
  bool shared = false;    // Constant: `value` itself
  bool snapshot = false;  // Scan: the body writes, perhaps into what is scanned, which is a value
  Slots in, out;
  Slots dead;  // slots that nothing reads behind this step
  StepOrigin origin;
  std::string name;                   // for errors: "add_"
  std::vector<std::int64_t> globals;  // Plan: leading inputs; Global: the one
  PlanRef plan;
  DebugId plan_debug = kNone<DebugId>;  // failures whose origin is there are those of this instruction
  std::vector<std::uint8_t> kept;       // Plan: per result that packs are made of, may it be an input itself?
  std::uint32_t site = 0;               // writes: in WriteSites
  ViewOp view;
  Tensor value;
  std::vector<EagerRef> targets;
  std::uint32_t consts[2] = {0, 0};  // While: tensors of cond_consts, body_consts; Scan, TapeScan: of consts, carries
  std::int64_t length = 0;           // Scan
  bool reverse = false;
  std::vector<ValueType> stacked;             // Scan: the outputs behind the carries; TapeScan: the records read
  std::vector<std::int64_t> records;          // While, TapeScan: bytes of what goes on each tape, the last of `out`
  std::shared_ptr<const EagerCustom> custom;  // Extern
};

struct EagerCode {
  FunctionId function;
  bool full = false;
  bool fresh = false;  // of a core function with custom ops: its results are values
  Slot slots = 0;      // parameters first
  Slot params = 0;
  Slots results;
  std::vector<EagerStep> steps;
  std::uint32_t depth = 1;          // of nested calls and control flow
  bool uses_globals = false;        // as tensors, here or in a target
  std::vector<std::uint8_t> tapes;  // per result: it points to a tape
  bool gives_tapes = false;
};

// Code of full functions and of those with custom ops; other ones are a single step. Made under the lock of the tables.
class EagerCache {
 public:
  // `prepare` is what core code goes through before plans are made of it.
  using Prepare = std::function<Result<FunctionId>(FunctionId)>;
  // `every_step`: what could be one plan, a whole loop or call, runs step by step too, so that each value is seen.
  explicit EagerCache(PlanCache& plans, Prepare prepare = {}, bool every_step = false)
      : plans_(plans), prepare_(std::move(prepare)), every_step_(every_step) {}
  CustomOps ops;  // of the host
  WriteSites sites;
  // As PlanCache::get; what it calls is made too.
  Result<EagerRef> get(Tables& t, FunctionId f, const BudgetRef& budget);
  // Full, or with a custom op in it or in what it calls: no plan can be made of it.
  bool runs_by_steps(const Tables& t, FunctionId f);
  // All that was made of functions which Tables::forget lets go of.
  void forget() { codes_.clear(), instructions_.clear(), by_steps_.clear(); }

 private:
  friend class EagerCompiler;
  struct Core {
    PlanRef plan;
    DebugId debug;
    std::vector<std::int64_t> globals;  // its leading inputs
  };
  Result<Core> core(Tables& t, FunctionId f);
  PlanCache& plans_;
  Prepare prepare_;
  const bool every_step_;
  std::unordered_map<FunctionId, EagerRef> codes_;
  std::unordered_map<BodyId, Core> instructions_;  // core instructions as functions of their own
  std::unordered_map<BodyId, bool> by_steps_;
};

}  // namespace tfvm
