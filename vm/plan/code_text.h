#pragma once
// The loop nests and whole loops of a plan as text: their IR and their machine code, or why there is none.

#include <functional>

#include "jit/x86/native.h"
#include "vm/plan/lower.h"
#include "vm/plan/plan.h"

namespace tfvm {

struct StepText {
  std::string title;  // a comment with the line of the program; empty: the step is neither a nest nor a loop
  std::string ir, code;
};

// The text of a line of the program; null: that stays out.
using LineText = std::function<std::string(const CodeLine&)>;

// Of a plan made with PlanOptions::keep_nests. Code stands behind the line that it is made for, as
// "// fit.tfa:12: %y = mul %a, %x"; what is of none, behind "// loops and addresses".
StepText code_text(const Tables& t, const Plan& plan, std::uint32_t step, NestCompiler& compiler,
                   const LineText& line_text = {});

// A loop as one_nest makes it:
//
//   loop of 50 trips over extents [64] reduced [0]
//   n0 = load f32 b0 + 0 [1]                       the nest of a trip
//   n1 = load f32 b1 + 0 [1]
//   n2 = add f32 n0 n1
//   in each trip n1 moves by 64                    elements
//   carry n0: next n2, last -> f32 b2 + 0 [1]
//   while n7                                       of a `while`
std::string text(const LoopNest& loop);

// Why a loop's body is not one nest (loop_body.h).
std::string why_not_one_nest(const FlatBody& flat, const Lowered& low);

}  // namespace tfvm
