#pragma once
// A plan: one function, specialised and immutable, as a flat array of steps over memory whose places are fixed.
//
// A call of a plan has a frame: first a table of roots (the frame itself, the pool of constants, a pointer per
// parameter, a pointer per result), then slots. Parameters and results are row-major. The frame of a called plan stands
// in a slot of its caller's frame, so the outermost frame_bytes is all that a call needs, nested control flow included.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bytecode/ids.h"
#include "vm/plan/flat.h"
#include "vm/plan/steps.h"
#include "vm/storage.h"

namespace tfvm {

enum class StepKind : std::uint8_t { Nest, Kernel, Call, While, Scan, TapeScan, Reduce, Assert, Print };

struct PlanStep {
  StepKind kind;
  std::uint32_t index;  // in the plan's array of that kind
};

// A result that is a whole parameter: copied at the end, unless the caller gave both the same memory.
struct ResultCopy {
  std::uint32_t param, result;
  std::int64_t bytes;
};

// An update of an array, or the copy that a loop makes of a carry before its first trip: is it in the operand's memory?
struct PlanUpdate {
  StepOrigin origin;
  Op op;
  bool required = false;  // {inplace=true}
  bool done = false;
  std::uint32_t param, result;  // kNoIndex, or: it is where the caller gives both one memory
  std::string why;              // it is not done: "is an input", of the operand
  std::int64_t bytes = 0;
};

// What fusion did: the instructions that are one loop nest, or a value that goes through memory between two steps.
struct PlanFusion {
  struct Part {
    StepOrigin origin;
    Op op;
  };
  std::vector<Part> parts;  // of a group: all; of a miss: what makes the value, what reads it
  std::int64_t bytes = 0;   // of a group: that it writes; of a miss: of the value
  std::string why;          // of a miss
};

struct Plan {
  FunctionId function;
  std::vector<ValueType> params, results;
  std::vector<PlanStep> steps;
  std::vector<StepOrigin> origins;  // of each step: its last instruction
  std::vector<StepOrigin> sources;  // of NestSource, from 1; where nests are kept, or somebody is shown machine code
  std::vector<Address> places;
  std::vector<NestStep> nests;
  std::vector<KernelStep> kernels;
  std::vector<CallStep> calls;
  std::vector<WhileStep> whiles;
  std::vector<ScanStep> scans;
  std::vector<TapeScanStep> tape_scans;
  std::vector<ReduceStep> reduces;
  std::vector<AssertStep> asserts;
  std::vector<PrintStep> prints;
  std::vector<ResultCopy> result_copies;
  StorageRef pool;  // constants
  std::int64_t frame_bytes = 0;
  std::shared_ptr<const Nest> as_nest;  // the whole of it, where a loop runs it and it is one; see loop_body.h
  std::string not_one_nest;             // why there is none; where PlanOptions::keep_nests
  bool is_direct = false;               // one nest that may get machine code, whose bases are the roots in their order
  bool is_all_nests = false;            // each may get machine code, and nothing else is to be done
  std::int64_t work = 0;                // of its nests then
  bool gives_tapes = false;             // among its results
  std::uint32_t depth = 1;              // of nested calls and control flow
  // Steps counted from 1; 0 = none, kNoIndex = at the end. See may_share.
  std::vector<std::uint32_t> param_last_read, result_write;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> in_place;  // (parameter, result) read and written by one step

  std::vector<PlanFusion> fusion;   // where PlanOptions::note_fusion: vm/plan/fusion_report.h
  std::vector<PlanUpdate> updates;  // for reports: vm/plan/update_report.h
  bool wants_in_place = false;      // one of them, or of those in what it calls, is required

  std::uint32_t num_roots() const { return kFirstParam + static_cast<std::uint32_t>(params.size() + results.size()); }
  std::uint32_t first_result() const { return kFirstParam + static_cast<std::uint32_t>(params.size()); }
};

// May parameter and result be given the same memory?
bool may_share(const Plan& plan, std::uint32_t param, std::uint32_t result);

// For dumps: one line per step with its places.
std::string text(const Plan& plan);

}  // namespace tfvm
