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

namespace tfvm {

struct Plan;
using PlanRef = std::shared_ptr<const Plan>;

inline constexpr std::uint32_t kFrameRoot = 0, kPoolRoot = 1, kFirstParam = 2;

// A place in memory: bytes from a root.
struct Address {
  std::uint32_t root = 0;
  std::int64_t offset = 0;
};

// A span in Plan::places.
struct Addresses {
  std::uint32_t begin = 0, count = 0;
};

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

// One carry of a loop. `temp`: the second buffer that trips alternate with, where they do.
struct LoopCarry {
  Address init, result, temp;
  std::int64_t bytes = 0;
  enum class Kind : std::uint8_t { Alternate, Kept, InPlace } kind = Kind::Alternate;
};

// A tape that a loop reads or writes, one record in each trip.
struct TapeRow {
  Address place;  // of the pointer to it
  std::int64_t bytes = 0;
};

struct WhileStep {
  PlanRef cond, body;
  Addresses cond_consts, body_consts;
  std::vector<LoopCarry> carries;
  std::vector<TapeRow> tapes;  // outputs, behind the carries
  Address cond_frame, body_frame, predicate;
};

// A scanned input or stacked output: trip i has its row at place + i * stride.
struct ScanRow {
  Address place;
  std::int64_t stride = 0;
};

struct ScanStep {
  static constexpr std::size_t kMaxBases = 512;  // of native code
  PlanRef body;
  std::int64_t length = 0;
  bool reverse = false;
  Addresses consts;
  std::vector<LoopCarry> carries;
  std::vector<ScanRow> inputs, outputs;
  Address frame;
  std::shared_ptr<NativeSlot> native;  // the whole loop, over bases of its own; null: trip by trip
  Addresses bases;
  std::int64_t work = 0;  // time_of a trip
};

// A loop over tapes, of as many trips as stand at `trips`; -1: as the longest input has records.
struct TapeScanStep {
  PlanRef body;
  Address trips;
  DType trips_dtype = DType::I64;
  bool reverse = false;
  Addresses consts;
  std::vector<LoopCarry> carries;
  std::vector<TapeRow> inputs, outputs;
  Address frame;
};

// reduce @f: for each element of the result, the accumulators start at inits and take in the operands' elements over
// the reduced axes in row-major order.
struct ReduceStep {
  PlanRef body;                             // (acc…, x…) -> acc…, all scalars
  std::vector<std::int64_t> kept, reduced;  // extents
  struct Operand {
    Address x, init, result;
    std::vector<std::int64_t> kept_strides, reduced_strides;  // bytes
    std::int64_t size = 0;                                    // of an element
  };
  std::vector<Operand> operands;
  Address frame, temp;  // temp: counters, then two accumulators of 16 bytes per operand
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
