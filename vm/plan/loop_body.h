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
// steps that are no nests, concat, pad, small dots, and lookups and slices of parameters that are no carries are
// unrolled, too. Where an index may be outside in mode "error", places are clamped, and one more store, behind the
// results, says of each lane whether it was; the loop is then to be run again, trip by trip.
std::shared_ptr<const Nest> one_nest(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan,
                                     LoopRole role);

// Whether a body, of so many parameters and results, has that store.
bool finds_outside(const Nest& body, std::size_t bases);

// The scan over such a body, with the memory of one base per parameter and per result of the body; then one of a byte
// for each lane, 0 at first, which becomes 1 where a trip of it was outside. nullopt: the body was made for another
// loop, with other carries.
std::optional<LoopNest> scan_loop(const Nest& body, const ScanStep& scan);

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
// count; tapes are results behind the carries. nullopt: its condition is no such one, lanes that are done may be
// outside or write, or trips that write may be outside.
std::optional<LoopNest> while_loop(const Nest& body, const WhileStep& w, const LoopCondition& condition);

}  // namespace tfvm
