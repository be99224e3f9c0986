#pragma once
// Makes plans: flatten (inline small calls) -> lower (nests and opaque steps over bases) -> fuse -> emit (steps,
// places).

#include <unordered_map>

#include "bytecode/status.h"
#include "bytecode/tables.h"
#include "jit/region/fuse.h"
#include "vm/plan/plan.h"

namespace tfvm {

class Tiers;
struct LoopRole;

// The same for machine code of single nests and loops.
class PlanGate : public FuseGate {
 public:
  virtual bool may_be_native(StepOrigin at) = 0;
  virtual void made_native(Nest&) {}  // told of what machine code is to be made of; tests change it

 protected:
  ~PlanGate() = default;
};

struct PlanOptions {
  FuseOptions fuse;
  InlineLimits inlining;
  Tiers* tiers = nullptr;             // null: the block interpreter alone
  bool straight = false;              // small functions as one point: for machine code
  bool keep_nests = false;            // for dumps
  bool note_fusion = false;           // for reports
  std::int64_t large_product = 4096;  // elements from which on a product has an epilogue (epilogues.h)
  PlanGate* gate = nullptr;           // see vm/bisect/bisect.h; outlives the plans' making
  std::uint32_t max_depth = 1000;     // of nested calls and control flow: each level of a run uses stack
};

// The defaults; TFVM_NO_FUSION=1 leaves nests apart, for tests.
PlanOptions plan_options_of_environment();

// The plans of one VM. Not locked: who has the tables has the cache.
class PlanCache {
 public:
  explicit PlanCache(PlanOptions options = {}) : options_(options) {}
  // The plan of `f`; it and what it calls are made where they aren't there. Unsupported (with the line): an op without
  // kernel. Type: a full function; an update with {inplace=true} that would copy, where f's inputs are the caller's.
  Result<PlanRef> get(Tables& t, FunctionId f);
  std::size_t size() const { return plans_.size(); }
  void forget() { plans_.clear(); }  // what functions hold stays

 private:
  PlanOptions options_;
  std::unordered_map<FunctionId, PlanRef> plans_;
};

// One plan of a flat body whose callees have plans. `role`: where a loop runs it, else null (loop_body.h).
Result<PlanRef> make_plan(const Tables& t, const FlatBody& flat, FunctionId f, const LoopRole* role,
                          const PlanOptions& options, const std::function<PlanRef(FunctionId)>& lookup);

}  // namespace tfvm
