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

// A function as one nest: bases are its parameters, then its results. Null where it isn't one: other steps,
// lanes that mix, more values than a loop in registers is good for. Of steps that are no nests, concat, pad and small
// dots are unrolled, too.
std::shared_ptr<const Nest> one_nest(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan);

// The scan over such a body, with the memory of one base per parameter and per result of the body; nullopt where a
// carry is read other than it is written.
std::optional<LoopNest> scan_loop(const Nest& body, const ScanStep& scan, const Plan& plan);

}  // namespace tfvm
