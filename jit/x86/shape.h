#pragma once
// A nest taken apart: its shape, which code is made for and cached by, and the extents, strides and offsets of one
// instance, which are arguments of the code. Of these only "1 point", and inner strides of 0 and of one element are
// baked in.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bytecode/status.h"
#include "jit/region/code.h"
#include "jit/region/nest.h"

namespace tfvm::x86 {

enum class Inner : std::uint8_t {
  Same,     // the same element along the inner loop
  Unit,     // consecutive elements
  Strided,  // any other stride, an argument
};

struct ShapeAccess {
  std::uint32_t base = 0;
  DType dtype = DType::F32;
  Inner inner = Inner::Same;
  bool is_iota = false;
  friend bool operator==(const ShapeAccess&, const ShapeAccess&) = default;
};

struct ShapeStore {
  std::uint32_t node = 0, access = 0;
};

// A single point, or loops of which the last is the inner one, a vector of `lanes` points at a time.
struct NestShape {
  bool one = false;
  int loops = 0;
  int lanes = 8;
  std::vector<ShapeAccess> accesses;
  std::vector<NestNode> nodes;  // access: index into accesses
  std::vector<ShapeStore> stores;
};

// The arguments, i64 each: points of the inner loop in whole trips; points left; the extents of the other loops from
// the outside; then for each access: offset, inner stride, and what is added after a round of each outer loop. Bytes,
// but elements for an iota.
inline constexpr int kArgWhole = 0, kArgRest = 1, kArgExtents = 2;
constexpr int arg_access(const NestShape& s, std::size_t access) {
  const int outer = s.loops > 0 ? s.loops - 1 : 0;
  return kArgExtents + outer + static_cast<int>(access) * (2 + outer);
}

struct ShapedNest {
  NestShape shape;
  std::vector<std::int64_t> args;
  bool is_empty = false;  // no points: nothing to run
};

// Unsupported: reductions, dtypes without lanes (8- and 16-bit, complex), strides beyond what vector indices reach.
// `reg_bytes`: of a vector register, 32 or 64.
Result<ShapedNest> take_apart(const Nest& nest, int reg_bytes);

// The parts of take_apart that all kinds of loops share.
bool has_lanes(DType d);
Inner inner_of(std::int64_t stride, bool is_iota);
bool is_in_reach(std::int64_t stride, int reg_bytes);
int choose_lanes(const Nest& nest, bool one, int reg_bytes);
void choose_inner(NestCode& loops);
// `sources`: of each access of the shape, the one of `loops`.
std::vector<std::int64_t> nest_arguments(const NestShape& shape, const NestCode& loops,
                                         std::span<const std::uint32_t> sources);

// Equal for nests that one code serves.
std::string key(const NestShape& shape);

}  // namespace tfvm::x86
