#include "random_nest.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "bytecode/consts.h"
#include "jit/region/block_op.h"

namespace tfvm {

namespace {

using Rng = std::mt19937_64;

std::int64_t pick(Rng& rng, std::int64_t below) {
  return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(below));
}
bool chance(Rng& rng, int percent) { return pick(rng, 100) < percent; }

// Few values, so that ties, cancellation, zeros and special values meet.
void fill(Rng& rng, DType d, std::vector<std::byte>& memory) {
  const auto size = static_cast<std::size_t>(size_of(d));
  for (std::size_t at = 0; at + size <= memory.size(); at += size) {
    double v = static_cast<double>(pick(rng, 2001) - 1000) / 128;
    if (is_float(d) && chance(rng, 1)) {
      const double special[] = {-0.0, 0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
      v = special[pick(rng, 5)];
    }
    if (d == DType::Bool) v = static_cast<double>(pick(rng, 2));
    store_element(d, v, memory.data() + at);
  }
}

// An access of the loops: a random order of dims, some broadcast, some reversed, some with gaps. Reduced loops of
// results have stride 0. Gives the elements that its memory holds.
std::int64_t make_access(Rng& rng, const Nest& nest, bool result, bool injective, Access& a) {
  std::vector<std::size_t> order(nest.extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (chance(rng, 30)) std::ranges::shuffle(order, rng);
  a.strides.clear();
  a.strides.resize(order.size());
  a.offset = pick(rng, 3);
  std::int64_t span = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::size_t d = order[k];
    if (result && nest.reduced[d]) continue;
    if (!injective && chance(rng, 20)) continue;
    const std::int64_t gap = chance(rng, 10) ? 2 : 1;
    const std::int64_t extent = std::max<std::int64_t>(nest.extents[d], 1);
    a.strides[d] = span * gap;
    if (chance(rng, 10)) {
      a.offset += a.strides[d] * (extent - 1);
      a.strides[d] = -a.strides[d];
    }
    span *= gap * extent;
  }
  return span + 3;
}

struct Maker {
  Rng& rng;
  RandomNest out;
  DType dtype;
  std::vector<DType> dtypes;
  bool picks, all_ops;

  std::uint32_t memory_for(DType d, std::int64_t elements) {
    std::vector<std::byte> m(static_cast<std::size_t>(elements * size_of(d)));
    fill(rng, d, m);
    out.memory.push_back(std::move(m));
    return static_cast<std::uint32_t>(out.memory.size() - 1);
  }
  std::uint32_t add(NestNode n) {
    out.nest.nodes.push_back(n);
    return static_cast<std::uint32_t>(out.nest.nodes.size() - 1);
  }
  // Elements that a place is moved by: fill gives no more than kIndex.
  std::uint32_t index() {
    NestNode n;
    n.dtype = DType::I32;
    n.kind = NestNodeKind::Load;
    Access a;
    a.dtype = DType::I32;
    const std::int64_t elements = make_access(rng, out.nest, false, false, a);
    a.base = memory_for(DType::I32, elements);
    n.access = static_cast<std::uint32_t>(out.nest.accesses.size());
    out.nest.accesses.push_back(std::move(a));
    return add(n);
  }
  std::uint32_t leaf(DType d) {
    NestNode n;
    n.dtype = d;
    if (chance(rng, 20)) {
      n.kind = NestNodeKind::Constant;
      std::vector<std::byte> one(8);
      fill(rng, d, one);
      std::memcpy(&n.bits, one.data(), static_cast<std::size_t>(size_of(d)));
      return add(n);
    }
    Access a;
    a.dtype = d;
    const std::int64_t elements = make_access(rng, out.nest, false, false, a);
    if (chance(rng, 15))
      n.kind = NestNodeKind::Iota;
    else {
      n.kind = NestNodeKind::Load;
      const bool is_picking = picks && d != DType::Bool && chance(rng, 20);
      if (is_picking && chance(rng, 60)) n.in[0] = value(DType::Bool);
      if (is_picking && (n.in[0] == kNoNode || chance(rng, 50))) n.in[1] = index();
      a.base = memory_for(d, elements + 2 * kIndex);
      a.offset += kIndex;
    }
    n.access = static_cast<std::uint32_t>(out.nest.accesses.size());
    out.nest.accesses.push_back(std::move(a));
    return add(n);
  }
  // A value of dtype d: mostly an earlier node.
  std::uint32_t value(DType d) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t k = 0; k < out.nest.nodes.size(); ++k)
      if (out.nest.nodes[k].dtype == d) found.push_back(k);
    if (found.empty() || chance(rng, 30)) return leaf(d);
    return found[static_cast<std::size_t>(pick(rng, static_cast<std::int64_t>(found.size())))];
  }
  void op(Op o, DType result, DType in, int arity) {
    NestNode n;
    n.op = o;
    n.dtype = result;
    for (int k = 0; k < arity; ++k)
      n.in[static_cast<std::size_t>(k)] = value(o == Op::select && k == 0 ? DType::Bool : in);
    add(n);
  }
  // An op with a kernel for d, of those that take and give d alone or compare.
  void any_op(DType d) {
    std::vector<Op> ops;
    for (std::size_t k = 0; k < kOps; ++k) {
      const Op o = static_cast<Op>(k);
      if (is_elementwise(o) && o != Op::select && find_block_op(o, d)) ops.push_back(o);
    }
    const Op o = ops[static_cast<std::size_t>(pick(rng, static_cast<std::int64_t>(ops.size())))];
    const bool is_predicate = info(o).kind == OpKind::Compare || o == Op::isnan || o == Op::isinf || o == Op::isfinite;
    op(o, is_predicate ? DType::Bool : d, d, static_cast<int>(info(o).operands.size()));
  }
  void random_op() {
    const DType d = dtype;
    const DType other = dtypes[static_cast<std::size_t>(pick(rng, static_cast<std::int64_t>(dtypes.size())))];
    if (all_ops && chance(rng, 60)) return any_op(d);
    switch (pick(rng, d == DType::Bool ? 4 : is_float(d) ? 12 : 10)) {
      case 0:
        return op(Op::cast, other, d, 1);
      case 1:
        return op(Op::cast, d, other, 1);
      case 2:
        return op(Op::select, d, d, 3);
      case 3:
        return op(Op::lt, DType::Bool, d, 2);
      case 4:
        return op(Op::add, d, d, 2);
      case 5:
        return op(Op::mul, d, d, 2);
      case 6:
        return op(Op::max, d, d, 2);
      case 7:
        return op(Op::sub, d, d, 2);
      case 8:
        return op(Op::clamp, d, d, 3);
      case 9:
        return op(Op::neg, d, d, 1);
      case 10:
        return op(Op::sqrt, d, d, 1);
      default:
        return op(Op::nextafter, d, d, 2);
    }
  }
  void store() {
    Store s;
    s.node = static_cast<std::uint32_t>(pick(rng, static_cast<std::int64_t>(out.nest.nodes.size())));
    s.to.dtype = out.nest.nodes[s.node].dtype;
    s.to.base = memory_for(s.to.dtype, make_access(rng, out.nest, false, true, s.to));
    out.nest.stores.push_back(std::move(s));
  }
  void reduction() {
    Reduction r;
    r.node = static_cast<std::uint32_t>(out.nest.nodes.size() - 1);
    const DType d = out.nest.nodes[r.node].dtype;
    const Op num[] = {Op::reduce_sum, Op::reduce_prod, Op::reduce_max, Op::reduce_min};
    r.op = num[pick(rng, 4)];
    if (d == DType::Bool || (is_int(d) && chance(rng, 30))) r.op = chance(rng, 50) ? Op::reduce_and : Op::reduce_or;
    r.to.dtype = d;
    r.to.base = memory_for(d, make_access(rng, out.nest, true, true, r.to));
    out.nest.reductions.push_back(std::move(r));
  }
};

}  // namespace

RandomNest random_nest(Rng& rng, const RandomNestOptions& options) {
  Maker m{rng, {}, options.dtype, options.dtypes, options.picks, options.all_ops};
  if (m.dtypes.empty())
    for (int d = 0; d < static_cast<int>(DType::C64); ++d) m.dtypes.push_back(static_cast<DType>(d));
  Nest& nest = m.out.nest;
  nest.extents = options.extents;
  if (nest.extents.empty()) {
    for (std::int64_t rank = pick(rng, 6); rank > 0; --rank)
      nest.extents.push_back(chance(rng, 5) ? 0 : 1 + pick(rng, 6));
  }
  for (std::size_t k = 0; k < nest.extents.size(); ++k) nest.reduced.push_back(options.reduce && chance(rng, 50));
  m.leaf(options.dtype);
  for (int k = 0; k < options.ops; ++k) m.random_op();
  if (options.reduce) {
    m.reduction();
    if (chance(rng, 30)) m.reduction();
  }
  if (!options.reduce || chance(rng, 40)) m.store();
  if (chance(rng, 40)) m.store();
  return std::move(m.out);
}

}  // namespace tfvm
