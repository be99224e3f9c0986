#pragma once
// Shared by the batching rules of control flow.

#include "transforms/vmap/batch.h"

namespace tfvm {

// Branches batched for the same arguments until they agree on which results are batched.
struct Branches {
  std::vector<FunctionId> functions;
  Mask out;
  bool add(BatchCtx& c, FunctionId f, const Mask& in);
};

void forward_error(Builder& b, const Error& e);

// `f` batched; `out` asks for results that must be batched and gets the flags. With `exact` no others may be.
FunctionId batched_function(BatchCtx& c, FunctionId f, const Mask& in, Mask& out, bool exact);

// A call with an own rule `root` or `matvec`.
void batch_implicit(BatchCtx& c);

// All branches batched with equal result flags.
bool batch_branches(BatchCtx& c, std::span<const FunctionId> branches, const Mask& in, Branches& result);

// Lanes outside `mask` (bool[B], at least one lane inside) get the value of the first lane inside: whatever runs on the
// result sees only values that the program would have given it.
ValueId repeat_first(BatchCtx& c, ValueId mask, ValueId v);

// bool[B] as bool[B, 1…] of v's rank, to select between lanes of v.
ValueId select_lanes(BatchCtx& c, ValueId mask, ValueId yes, ValueId no);

// The function only computes, with elementwise, shape and reduction ops: running it on a lane that did not ask for it
// can't be seen.
bool is_harmless(const Tables& t, FunctionId f);
// The same with products of matrices, and with calls of such functions: of what runs anyhow, as a loop's body does.
bool is_harmless_body(const Tables& t, FunctionId f);

// Code that some lanes don't enter may run on all of them as they are: it is harmless, or it has a collective, which
// takes all lanes wherever they are; such code must not fail (an error). `f` is `source`, batched.
bool runs_on_all(BatchCtx& c, FunctionId f, FunctionId source);

}  // namespace tfvm
