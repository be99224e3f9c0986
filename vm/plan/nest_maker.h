#pragma once
// Makes a nest with one store, node by node.

#include <cstdlib>
#include <limits>

#include "jit/region/edit.h"

namespace tfvm {

class NestMaker {
 public:
  NestMaker(std::span<const std::int64_t> extents, const Access& out) : out_(out) {
    n_.extents.assign(extents.begin(), extents.end());
    n_.reduced.assign(extents.size(), 0);
  }

  std::uint32_t load(const Access& a, std::uint32_t mask = kNoNode, std::uint32_t index = kNoNode) {
    NestNode n;
    n.kind = NestNodeKind::Load;
    n.dtype = a.dtype;
    n.in = {mask, index, kNoNode};
    n.access = add_access(n_, a);
    return add_node(n_, n);
  }
  std::uint32_t op(Op op, DType dtype, std::uint32_t a, std::uint32_t b, std::uint32_t c = kNoNode) {
    NestNode n;
    n.op = op;
    n.dtype = dtype;
    n.in = {a, b, c};
    return add_node(n_, n);
  }
  // `a` and `b`, of which `a` may not be there.
  std::uint32_t both(Op with, DType dtype, std::uint32_t a, std::uint32_t b) {
    return a == kNoNode ? b : op(with, dtype, a, b);
  }
  std::uint32_t constant(DType dtype, std::uint64_t bits) {
    NestNode n;
    n.kind = NestNodeKind::Constant;
    n.dtype = dtype;
    n.bits = bits;
    return add_node(n_, n);
  }
  // Of an integer dtype of 4 or 8 bytes.
  std::uint32_t number(DType dtype, std::int64_t v) {
    return constant(dtype, size_of(dtype) == 4 ? static_cast<std::uint32_t>(v) : static_cast<std::uint64_t>(v));
  }
  // Where we are along a loop, compared with a place.
  std::uint32_t compare(Op with, std::size_t loop, std::int64_t place) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const DType d = n_.extents[loop] <= kMost && std::abs(place) <= kMost ? DType::I32 : DType::I64;
    Access a{0, d, 0, std::vector<std::int64_t>(n_.extents.size(), 0)};
    a.strides[loop] = 1;
    NestNode at;
    at.kind = NestNodeKind::Iota;
    at.dtype = d;
    at.access = add_access(n_, a);
    return op(with, DType::Bool, add_node(n_, at), number(d, place));
  }
  Nest finish(std::uint32_t value) {
    n_.stores.push_back({value, out_});
    return std::move(n_);
  }

 private:
  Nest n_;
  const Access out_;
};

}  // namespace tfvm
