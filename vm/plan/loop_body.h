#pragma once
// Loops for machine code: the body of a loop as one elementwise nest over lanes, and the loop over it.
//
// Lanes are the leading dims that all of the body's values have; the dims behind them are unrolled, so that each
// element of a lane is a value of its own, and memory between the body's steps goes away:
//
//   (x: f32[64,2]) -> f32[64,2] { %a = slice %x …[:,0:1]; %b = slice %x …[:,1:2]; concat %b, (neg %a) }
//   lanes [64]: n0 = load x + 0, n1 = load x + 1, n2 = neg n0; store n1 -> result + 0, n2 -> result + 1

#include <memory>
#include <optional>

#include "jit/x86/loop.h"
#include "vm/plan/lower.h"
#include "vm/plan/plan.h"

namespace tfvm {

// What a function is in the loop that runs it: the parameters from `first` on are carries, and so are as many results.
struct LoopRole {
  bool is_scan = false;
  std::uint32_t first = 0, carries = 0;
};

// A function as one nest: bases are its parameters, then its results. Null where it isn't one: other steps,
// lanes that mix, more values than a loop in registers is good for, a carry that is read other than it is written. Of
// steps that are no nests, concat, pad and small dots are unrolled, too.
std::shared_ptr<const Nest> one_nest(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan,
                                     LoopRole role);

// The scan over such a body, with the memory of one base per parameter and per result of the body.
LoopNest scan_loop(const Nest& body, const ScanStep& scan);

// The carry of which a condition asks whether any element is set, and that is all that it does.
std::optional<std::uint32_t> any_of(const Tables& t, FunctionId condition);

// When a `while` goes on: `of`, one bool that is the same for all lanes, over `bases` in place of its parameters; or,
// where any element of the carry `any` is set, and a trip leaves the lanes as they are that have none.
struct LoopCondition {
  const Nest* of = nullptr;
  std::vector<std::uint32_t> bases;
  std::optional<std::uint32_t> any;
  std::uint32_t first_source = 0;  // its instructions stand behind so many in the list of NestSource
};

// The `while` over such a body: bases are `own` constants of the condition, then as of scan_loop, then that of the
// count. nullopt: its condition is no such one.
std::optional<LoopNest> while_loop(const Nest& body, const WhileStep& w, const LoopCondition& condition);

}  // namespace tfvm
