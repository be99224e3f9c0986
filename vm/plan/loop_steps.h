#pragma once
// The steps that are loops; see steps.h.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bytecode/dtype.h"
#include "vm/plan/place.h"

namespace tfvm {

class NativeSlot;
struct LoopNest;

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

// A whole loop as machine code.
struct NativeLoop {
  static constexpr std::size_t kMaxBases = 512;
  std::shared_ptr<NativeSlot> code;  // null: trip by trip
  Addresses bases;
  std::int64_t work = 0;               // time_of a trip
  std::shared_ptr<const LoopNest> ir;  // where PlanOptions::keep_nests
  // Where a trip may find an index outside: bytes of the last base, one for each lane; and where it is kept from which
  // trip on it is then made trip by trip, and with which carries: an i64, then each carry, aligned to kAlignment.
  std::int64_t outside_bytes = 0;
  Address kept;
};

struct WhileStep {
  PlanRef cond, body;
  Addresses cond_consts, body_consts;
  std::vector<LoopCarry> carries;
  std::vector<TapeRow> tapes;  // outputs, behind the carries
  Address cond_frame, body_frame, predicate;
  NativeLoop native;  // bases: of LoopNest, but for the count; of tapes, the places of pointers to them
};

// A scanned input or stacked output: trip i has its row at place + i * stride.
struct ScanRow {
  Address place;
  std::int64_t stride = 0;
};

struct ScanStep {
  PlanRef body;
  std::int64_t length = 0;
  bool reverse = false;
  Addresses consts;
  std::vector<LoopCarry> carries;
  std::vector<ScanRow> inputs, outputs;
  Address frame;
  NativeLoop native;
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
  NativeLoop native;  // of records side by side; bases as of ScanStep
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

}  // namespace tfvm
