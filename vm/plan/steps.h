#pragma once
// The steps of a plan: each kind's record holds what a run needs, and places instead of pointers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/ops/op.h"
#include "jit/region/run.h"
#include "vm/kernels/kernel.h"
#include "vm/plan/loop_steps.h"
#include "vm/plan/place.h"

namespace tfvm {

struct ValueType {
  DType dtype = DType::F32;
  std::vector<std::int64_t> dims;
  std::int64_t bytes = 0;
  bool is_tape = false;  // its elements are pointers to tapes, seen as i64
};

class NativeSlot;

struct NestStep {
  static constexpr std::size_t kMaxBases = 160;
  NestCodePtr code;
  std::shared_ptr<NativeSlot> native;  // null: interpreted for good
  std::int64_t work = 0;               // time_of it
  std::shared_ptr<const Nest> ir;      // where PlanOptions::keep_nests
  Addresses bases;
  Address scratch;
};

struct KernelStep {
  Kernel kernel;
  Op op;
  bool is_check = false;  // of the op's indices alone
  std::uint32_t inputs = 0;
  std::vector<View> views;          // inputs, then results, without data
  std::vector<std::int64_t> shape;  // dims and strides of the views
  Addresses places;                 // of the views
  Address scratch;                  // of the kernel, then room for the views
  std::int64_t work = 1;            // about how many blocks of elements it touches
  bool has_epilogue = false;        // the nest behind it may be run on blocks of the result as they are done
};

// A call that was not inlined, or a conditional: one of `targets` is called with args.
struct CallStep {
  std::vector<PlanRef> targets;
  Addresses args, results;
  Address frame;
  Address selector;  // of more than one target; bool: targets are {then, else}; else the index, clamped
  DType selector_dtype = DType::Bool;
};

struct AssertStep {
  Address predicate;  // a scalar
  std::string message;
};

struct PrintStep {
  Address value;  // row-major
  ValueType type;
  std::string label;
};

}  // namespace tfvm
