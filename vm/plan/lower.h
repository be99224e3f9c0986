#pragma once
// First half of planning: a flat body becomes items (loop nests, and opaque steps) over bases, which fusion then
// merges. Views cost nothing: they are accesses of their operand's base.

#include <vector>

#include "bytecode/status.h"
#include "bytecode/tables.h"
#include "jit/region/fuse.h"
#include "vm/kernels/kernel.h"
#include "vm/plan/flat.h"

namespace tfvm {

// A piece of memory: a parameter, a constant, one made with the plan, a value that is written once (a slot of the
// frame, or a result's memory).
struct PlanBase {
  enum class Kind : std::uint8_t { Param, Const, Made, Slot, Result } kind = Kind::Slot;
  std::uint32_t index = 0;  // of the parameter, the result, in Lowered::made; the ConstId
  std::int64_t bytes = 0;
};

// What an item was before fusion. Of opaque items `in` holds the operands' accesses over their own dims; `out` the
// bases that it writes, one per result.
struct ItemSource {
  StepOrigin origin;
  std::uint32_t instr = 0;
  std::vector<Access> in;
  std::vector<std::uint32_t> out;
  Kernel kernel;
  bool is_check = false;                // of the indices alone; writes nothing
  std::optional<Nest> over_lanes = {};  // over_lanes.h
};

// A result that is a whole parameter needs no step.
struct PassedParam {
  std::uint32_t param, result;
};

struct Lowered {
  std::vector<PlanBase> bases;
  std::vector<FuseItem> items;  // before fusion: one per source
  std::vector<ItemSource> sources;
  std::vector<PassedParam> passed;
  std::vector<std::vector<std::byte>> made;  // constants that the planner adds
};

// `avx512`: of make_kernel.
Result<Lowered> lower(const Tables& t, const FlatBody& flat, bool avx512 = true);

// Operand `side` of a product over the `rank` dims of what it gives, then the contracted ones; 0 along dims that it has
// not. `operand`: over its own dims.
Access factor_access(const AttrTable& attrs, AttrId at, std::size_t side, Access operand, std::size_t rank);

// Row-major, wherever it begins.
bool is_dense(const Access& a, Dims dims);

}  // namespace tfvm
