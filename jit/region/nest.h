#pragma once
// The loop-nest IR: what elementwise ops, broadcasts, views and reductions become. One nest is a space of loops, a list
// of nodes (an expression DAG in order) evaluated at every point of it, and what is kept of them: stores, and
// reductions over some of the loops. Extents, strides and offsets are arguments of an instance, so that a compiled nest
// is reused for new shapes; all else is its code. The block interpreter (run.h) is tier 0; machine code and CUDA print
// the same IR.
//
//   y = reduce_sum(x * x, axes=[1]), x: f32[8,100]
//     extents [8, 100]   reduced [0, 1]
//     nodes   n0 = load a0 : f32      a0 = {base x, offset 0, strides [100, 1]}
//             n1 = mul n0, n0 : f32
//     reductions  reduce_sum n1 -> {base y, offset 0, strides [1, 0]}

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bytecode/dtype.h"
#include "bytecode/inline_vector.h"
#include "bytecode/ops/op.h"

namespace tfvm {

inline constexpr std::uint32_t kNoNode = 0xffffffffu;

// An affine map from a point of the loops to an element: bases[base] + (offset + sum of strides[d] * i[d]) elements of
// dtype. A stride of 0 broadcasts, a negative one reverses. One stride per loop dim of the nest.
struct Access {
  std::uint32_t base = 0;
  DType dtype = DType::F32;
  std::int64_t offset = 0;
  InlineVector<std::int64_t, 6> strides;
  friend bool operator==(const Access&, const Access&) = default;
};

// What of the program a node is made for: an index from 1 into a list that its plan has (vm/plan/sources.h); 0: not
// known. All are equal, for nodes of two lines may be one.
struct NestSource {
  std::uint32_t index = 0;
  friend constexpr bool operator==(NestSource, NestSource) { return true; }
};

enum class NestNodeKind : std::uint8_t {
  Load,      // the element at an access. in[0], where there is one: a bool node; where it is false nothing is read and
             // the element is all zero bits. in[1]: an i32 node, the elements that the place is moved by
  Constant,  // the same element everywhere
  Iota,      // the affine function of an access itself: offset + sum of strides * i, as dtype; its base is unused
  Op,        // an elementwise op of ops/elementwise.def; rounds to its dtype
};

struct NestNode {
  NestNodeKind kind = NestNodeKind::Op;
  DType dtype = DType::F32;                                    // of the value
  Op op = Op::add;                                             // Op
  std::array<std::uint32_t, 3> in{kNoNode, kNoNode, kNoNode};  // earlier nodes
  std::uint32_t access = 0;                                    // Load, Iota: index into Nest::accesses
  NestSource source;
  std::uint64_t bits = 0;  // Constant: the element, zero-extended
  friend bool operator==(const NestNode&, const NestNode&) = default;
};

static_assert(sizeof(NestNode) == 32);

// A load under a mask, or at a place that an index says: not every point of its access need be memory.
inline bool is_picking(const NestNode& n) {
  return n.kind == NestNodeKind::Load && (n.in[0] != kNoNode || n.in[1] != kNoNode);
}

// A node's value at every point. The dtypes of node and access are equal. Two points never share an element.
struct Store {
  std::uint32_t node = 0;
  Access to;
};

// The value of `node` combined over the reduced loops by reduce_sum, _prod, _max, _min, _and or _or, in the order of
// reduce_order.h; f16 and bf16 accumulate in f32. `to` has stride 0 along reduced loops.
struct Reduction {
  Op op = Op::reduce_sum;
  std::uint32_t node = 0;
  Access to;
  NestSource source = {};
};

// Loads see memory as it was before the nest: where memory of a store is also loaded, the two maps must be equal
// element for element (an op in place), and a reduction's memory must not be loaded at all; nor memory of a store by a
// load that picks.
struct Nest {
  std::vector<std::int64_t> extents;  // of the loops, outermost first
  std::vector<std::uint8_t> reduced;  // one flag per loop; all 0 where there is no reduction
  std::vector<Access> accesses;       // of Load and Iota nodes
  std::vector<NestNode> nodes;
  std::vector<Store> stores;
  std::vector<Reduction> reductions;

  bool has_reduction() const { return !reductions.empty(); }
};

// Evaluations of nodes, at most 2^60.
std::int64_t work_of(const Nest& nest);

// For dumps: one line per node, store and reduction, as in the comment above.
std::string text(const Nest& nest);
std::string text(const Access& a);

}  // namespace tfvm
