// The shapes of nests with reductions: which loops are unrolled, which one is the inner one, what runs inside it.
#include <algorithm>
#include <cstdlib>

#include "jit/region/loops.h"
#include "jit/region/reduce.h"
#include "jit/region/time.h"
#include "jit/x86/blocks.h"
#include "jit/x86/loose.h"

namespace tfvm::x86 {

namespace {

constexpr std::int64_t kMostPoints = std::int64_t{1} << 37;  // so that 32 levels of a tree are enough
constexpr std::int64_t kPacked = 512;                        // elements
constexpr std::int64_t kNear = 64;                           // elements
constexpr std::int64_t kLong = 16;                           // extent of a loop that is worth vectors
constexpr std::size_t kFewNodes = 24;                        // for which two vectors each have registers, or nearly

Status check(const Nest& nest) {
  for (const NestNode& n : nest.nodes)
    if (!has_lanes(n))
      return Error(Code::Unsupported, "a nest over 8-bit, 16-bit or complex dtypes has no native code");
  for (const Reduction& r : nest.reductions) {
    const bool is_logical = r.op == Op::reduce_and || r.op == Op::reduce_or;
    const DType d = nest.nodes[r.node].dtype;
    if (!find_reduction(r.op, d).combine || (d == DType::Bool && !is_logical))
      return Error(Code::Unsupported, "a reduction of this dtype has no native code");
  }
  return ok();
}

// Results of nothing: the identities, stored over the kept loops.
Nest identities(const Nest& nest) {
  Nest n;
  for (std::size_t d = 0; d < nest.extents.size(); ++d) n.extents.push_back(nest.reduced[d] ? 1 : nest.extents[d]);
  n.reduced.assign(n.extents.size(), 0);
  for (const Reduction& r : nest.reductions) {
    NestNode value;
    value.kind = NestNodeKind::Constant;
    value.dtype = nest.nodes[r.node].dtype;
    value.bits = find_reduction(r.op, value.dtype).identity;
    n.stores.push_back({static_cast<std::uint32_t>(n.nodes.size()), r.to});
    n.nodes.push_back(value);
  }
  return n;
}

// Nodes that never call the block interpreter: trips of many registers have none left to call with.
bool never_calls(const NestNode& n, DType from) {
  if (n.kind != NestNodeKind::Op) return n.kind != NestNodeKind::Iota || n.dtype == DType::I64;
  switch (n.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::zmul:
    case Op::neg:
    case Op::square:
    case Op::max:
    case Op::min:
    case Op::abs:
    case Op::and_:
    case Op::or_:
    case Op::select:
    case Op::fma:
    case Op::zfma:
      return true;
    case Op::div:
    case Op::sqrt:
    case Op::reciprocal:
      return is_float(n.dtype);
    case Op::cast:
      return from == n.dtype || (is_float(from) && is_float(n.dtype)) || from == DType::Bool ||
             (is_int(from) && is_int(n.dtype));
    default:
      return n.dtype == DType::Bool && n.in[1] != kNoNode;  // comparisons
  }
}

class ReductionShape {
 public:
  ReductionShape(LooseNest n, std::int64_t work, int reg_bytes)
      : n_(std::move(n)), work_(work), reg_bytes_(reg_bytes) {}

  Result<ShapedNest> run() {
    unroll_small();
    settle(n_);
    order();
    NestShape& s = out_.shape;
    s.one = n_.loops.empty();
    s.loops = static_cast<int>(n_.loops.size());
    varies_ = find_varying(n_.nodes, n_.accesses, s.one ? 0 : inner());
    choose_lanes();
    s.nodes = n_.nodes;
    for (NestNode& n : s.nodes)
      if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota) place(n);
    for (ShapeStore st : n_.stores) s.stores.push_back(with_access(st));
    for (ShapeReduction r : n_.reductions) s.reductions.push_back(with_access(r));
    s.may_repeat = s.schedule == Schedule::Across && !may_be_in_place(s, n_.accesses, sources_);
    if (!in_reach_) return Error(Code::Unsupported, "a stride is beyond what vector indices reach");
    arguments();
    cut();
    return std::move(out_);
  }

 private:
  std::size_t first_of(LoopRole role) const {
    return static_cast<std::size_t>(std::ranges::find(n_.loops, role, &LooseLoop::role) - n_.loops.begin());
  }
  void unroll_role(LoopRole role) {
    const std::size_t first = first_of(role), last = first + n_.count(role);
    if (can_unroll(n_, first, last)) unroll(n_, first, last);
  }

  // Short rows, few rows, and a short last loop of columns where another loop makes better lanes.
  void unroll_small() {
    const bool has_rows = n_.count(LoopRole::Rows) > 0, has_kept = n_.count(LoopRole::Kept) > 0;
    if (n_.count(LoopRole::Row) > 0 && (has_kept || !has_rows)) unroll_role(LoopRole::Row);
    if (n_.count(LoopRole::Row) > 0) return;
    unroll_role(LoopRole::Rows);
    const std::size_t last = n_.loops.size() - 1;
    if (n_.loops.empty() || n_.loops[last].role != LoopRole::Kept || n_.loops[last].extent >= kLong) return;
    const bool has_longer = std::ranges::any_of(
        n_.loops, [&](const LooseLoop& l) { return l.role == LoopRole::Kept && l.extent > n_.loops[last].extent; });
    if (has_longer && can_unroll(n_, last, last + 1)) unroll(n_, last, last + 1);
  }

  void move_loop(std::size_t from, std::size_t to) {
    const auto move = [&](auto& v) {
      const auto x = v[from];
      v.erase(v.begin() + static_cast<std::ptrdiff_t>(from));
      v.insert(v.begin() + static_cast<std::ptrdiff_t>(to), x);
    };
    move(n_.loops);
    for (AccessCode& a : n_.accesses) move(a.strides);
  }

  // Kept loops that are not the inner one go outside.
  void order() {
    NestShape& s = out_.shape;
    if (n_.count(LoopRole::Row) > 0) {
      s.schedule = Schedule::Along;
      s.kept = static_cast<int>(n_.count(LoopRole::Kept));
      s.rows = static_cast<int>(n_.count(LoopRole::Rows));
      return;
    }
    std::size_t kept = 0;
    for (std::size_t d = 0; d < n_.loops.size(); ++d)
      if (n_.loops[d].role == LoopRole::Kept) move_loop(d, kept++);
    if (kept == 0 && !n_.loops.empty()) {  // one result
      n_.loops.insert(n_.loops.begin(), LooseLoop{});
      for (AccessCode& a : n_.accesses) a.strides.insert(a.strides.begin(), 0);
      kept = 1;
    }
    if (kept > 0) move_loop(inner_loop(kept), kept - 1);
    s.within = static_cast<int>(n_.loops.size() - kept);
    s.schedule = n_.reductions.empty() ? Schedule::Plain : Schedule::Across;
  }

  std::size_t inner_loop(std::size_t kept) const {
    for (std::size_t d = kept; d-- > 0;)
      if (n_.loops[d].extent >= kLong) return d;
    const auto end = n_.loops.begin() + static_cast<std::ptrdiff_t>(kept);
    return static_cast<std::size_t>(std::ranges::max_element(n_.loops.begin(), end, {}, &LooseLoop::extent) -
                                    n_.loops.begin());
  }

  std::size_t inner() const { return n_.loops.size() - 1 - static_cast<std::size_t>(out_.shape.within); }

  void choose_lanes() {
    bool has4 = false, has8 = false;
    for (const NestNode& n : n_.nodes) {
      has4 = has4 || (n.dtype != DType::Bool && size_of(n.dtype) == 4);
      has8 = has8 || size_of(n.dtype) == 8;
    }
    NestShape& s = out_.shape;
    s.lanes = s.one ? kOneBytes / 8 : has8 && !has4 ? reg_bytes_ / 8 : reg_bytes_ / 4;
    const bool is_far = s.schedule == Schedule::Across && goes_far();
    widen(has4, has8, is_far);
    s.is_far = is_far && has_long_rounds();
  }

  void widen(bool has4, bool has8, bool is_far) {
    NestShape& s = out_.shape;
    const bool can_be_wide = std::ranges::all_of(
        n_.nodes, [&](const NestNode& n) { return never_calls(n, n_.nodes[n.in[0] == kNoNode ? 0 : n.in[0]].dtype); });
    if (!can_be_wide) return;
    if (s.schedule == Schedule::Along) {  // the lanes of a row's sum, where it leaves registers for the nodes
      const std::size_t registers = n_.reductions.size() * static_cast<std::size_t>(32 * (has8 ? 8 : 4) / reg_bytes_);
      const std::size_t few = reg_bytes_ == 64 ? 16 : 8;
      s.is_direct = n_.count(LoopRole::Row) == 1 && registers <= few && n_.nodes.size() <= few;
      if (s.is_direct) s.lanes = kReduceLanes;
    }
    if (s.schedule != Schedule::Across) return;
    // Few nodes wait for their accumulators: several vectors at once. What is the same in all lanes is one in any case.
    const int most = 4 * s.lanes;
    const auto vectors = static_cast<std::size_t>(std::ranges::count(varies_, std::uint8_t{1}));
    const int line = is_far && vectors <= kFewNodes ? static_cast<int>(kLine) / (has4 ? 4 : 8) : 0;
    for (std::size_t nodes = std::max<std::size_t>(vectors, 1);
         (nodes <= 8 || s.lanes < line) && s.lanes < most && n_.loops[inner()].extent >= 2 * s.lanes; nodes *= 2)
      s.lanes *= 2;
  }

  // Whether rounds go from line to line through more memory than the first cache holds: a trip that takes half a line
  // would have it brought again for the other half.
  bool goes_far() const {
    std::int64_t lines = 0;
    for (const AccessCode& a : n_.accesses) {
      std::int64_t rounds = 1;
      for (std::size_t d = inner() + 1; d < n_.loops.size(); ++d)
        if (std::abs(a.strides[d]) * a.size >= kLine) rounds *= n_.loops[d].extent;
      if (std::abs(a.strides[inner()]) == 1) lines += rounds;
    }
    return lines > kSets * kWays;
  }

  // Short ones are many at a time in the machine, which waits for the memory of all of them at once.
  bool has_long_rounds() const {
    constexpr int kExtreme = 8, kLongRound = 12;  // vector operations: of a maximum beside another; of a round
    auto work = static_cast<int>(std::ranges::count(varies_, std::uint8_t{1}));
    for (const ShapeReduction& r : n_.reductions)
      work += r.op == Op::reduce_max || r.op == Op::reduce_min ? kExtreme : 1;
    return work * out_.shape.lanes * 4 / reg_bytes_ >= kLongRound;
  }

  // Along several loops of a row, of which all but the inner one come back to the same elements, and these are few.
  bool is_repeated(const AccessCode& a) const {
    const NestShape& s = out_.shape;
    const std::size_t first = static_cast<std::size_t>(s.kept + s.rows);
    if (s.schedule != Schedule::Along || first >= inner() || n_.loops[inner()].extent > kPacked) return false;
    for (std::size_t d = first; d < inner(); ++d)
      if (a.strides[d] != 0) return false;
    return true;
  }

  struct Placed {
    std::uint32_t access = 0;
    std::int64_t displacement = 0;  // bytes
  };

  std::vector<std::int64_t> extents() const {
    std::vector<std::int64_t> e;
    for (const LooseLoop& l : n_.loops) e.push_back(l.extent);
    return e;
  }

  // Accesses that go along together at a small distance share a pointer.
  Placed add_access(std::uint32_t source, const NestNode& n) {
    const DType dtype = n_.accesses[source].dtype;
    const bool is_iota = n.kind == NestNodeKind::Iota;
    const bool has_index = is_picking(n) && n.in[1] != kNoNode && varies_[n.in[1]];
    const AccessCode& a = n_.accesses[source];
    const std::int64_t stride = a.strides.empty() ? 0 : a.strides[inner()];
    const auto within = a.strides.end() - out_.shape.within;
    ShapeAccess to{is_iota ? 0 : a.base, is_iota ? DType::I64 : dtype, inner_of(stride, is_iota || has_index), is_iota};
    to.is_still = out_.shape.within > 0 && std::all_of(within, a.strides.end(), [](std::int64_t s) { return s == 0; });
    if (to.inner == Inner::Strided && !is_iota) in_reach_ = in_reach_ && is_in_reach(stride, reg_bytes_);
    to.is_narrow = is_iota && !out_.shape.one && out_.shape.lanes * 4 >= reg_bytes_ && is_narrow(a, extents());
    to.is_packed = !is_iota && !is_picking(n) && size_of(dtype) >= 4 && to.inner == Inner::Strided && is_repeated(a);
    auto& list = out_.shape.accesses;
    for (std::uint32_t k = 0; k < list.size(); ++k) {
      const AccessCode& b = n_.accesses[sources_[k]];
      const std::int64_t distance = a.offset - b.offset;
      if (list[k] == to && a.strides == b.strides && std::abs(distance) <= (is_iota ? 0 : kNear))
        return {k, distance * a.size};
    }
    list.push_back(to);
    sources_.push_back(source);
    return {static_cast<std::uint32_t>(list.size() - 1)};
  }

  void place(NestNode& n) {
    const Placed p = add_access(n.access, n);
    n.access = p.access;
    n.bits += static_cast<std::uint64_t>(p.displacement);
  }

  template <class End>
  End with_access(End e) {
    const Placed p = add_access(e.access, NestNode{});
    e.access = p.access;
    e.displacement += static_cast<std::int32_t>(p.displacement);
    return e;
  }

  void arguments() {
    const NestShape& s = out_.shape;
    const auto outside = static_cast<std::size_t>(s.outside()), all = n_.loops.size();
    const auto extent = [&](std::size_t d) { return n_.loops[d].extent; };
    const std::int64_t inner_extent = s.one ? 1 : extent(inner());
    auto& args = out_.args;
    args = {inner_extent / s.lanes * s.lanes, inner_extent % s.lanes};
    for (std::size_t d = 0; d < all; ++d)
      if (d != outside) args.push_back(extent(d));
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      const AccessCode& a = n_.accesses[sources_[k]];
      const std::int64_t size = s.accesses[k].is_iota ? 1 : a.size;
      args.push_back(a.offset * size);
      args.push_back(s.one ? 0 : a.strides[inner()] * size);
      for (std::size_t d = 0; d < all; ++d) {
        if (d == outside) continue;
        const bool is_last = d + 1 == all || d + 1 == outside;  // of the loops outside, or of those within
        args.push_back((a.strides[d] - (is_last ? 0 : extent(d + 1) * a.strides[d + 1])) * size);
      }
      if (s.within > 0) args.push_back(-extent(outside + 1) * a.strides[outside + 1] * size);
    }
  }

  // Results are apart from each other: by the outermost loop of them, or by the vectors of the only one.
  void cut() {
    const NestShape& s = out_.shape;
    NestCut& c = out_.cut;
    c.work = work_;
    if (s.one || n_.loops[0].role != LoopRole::Kept) return;
    c.is_inner = s.outside() == 0;
    c.lanes = s.lanes;
    c.units = c.is_inner ? n_.loops[0].extent / c.lanes : n_.loops[0].extent;
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      const AccessCode& a = n_.accesses[sources_[k]];
      const std::int64_t size = s.accesses[k].is_iota ? 1 : a.size;
      const std::int64_t step = a.strides[0] * size * (c.is_inner ? c.lanes : 1);
      if (step) c.steps.emplace_back(arg_access(s, k), step);
    }
  }

  LooseNest n_;
  const std::int64_t work_;
  const int reg_bytes_;
  ShapedNest out_;
  std::vector<std::uint32_t> sources_;  // of each access of the shape: index into n_.accesses
  std::vector<std::uint8_t> varies_;    // per node: along the inner loop
  bool in_reach_ = true;
};

}  // namespace

Result<ShapedNest> take_reduction_apart(const Nest& nest, int reg_bytes) {
  if (Status s = check(nest); !s) return std::move(s).error();
  NestCode planned;
  plan_loops(nest, planned);
  if (planned.row > kMostPoints || planned.rows > kMostPoints)
    return Error(Code::Unsupported, "a reduction over so many points has no native code");
  if (planned.mode == NestMode::Nothing) return take_apart(identities(nest), reg_bytes);
  return ReductionShape(loosen(nest, planned), time_of(nest), reg_bytes).run();
}

}  // namespace tfvm::x86
