#include "jit/x86/loop_shape.h"

#include <algorithm>
#include <map>

#include "jit/region/loops.h"
#include "jit/region/time.h"

namespace tfvm::x86 {

namespace {

// Groups of lanes that go through the trips side by side, each hiding the latency of the others.
int side_by_side(std::int64_t points, int lanes, int reg_bytes, bool has_8_bytes, std::size_t carries) {
  const int registers = has_8_bytes ? lanes * 8 / reg_bytes : 1;  // of one value
  const int most = (reg_bytes == 64 ? 4 : 2) / registers;
  if (carries > 8) return 1;
  int n = 1;
  while (n < most && points >= 2 * n * lanes) n *= 2;
  return n;
}

class TakeLoopApart {
 public:
  TakeLoopApart(const LoopNest& loop, int reg_bytes) : loop_(loop), reg_bytes_(reg_bytes) {}

  Result<ShapedLoop> run() {
    const Nest& body = loop_.body;
    if (loop_.trips < 1) return Error(Code::Unsupported, "a loop without trips has no native code");
    if (body.has_reduction()) return Error(Code::Unsupported, "a loop with reductions has no native code");
    for (const NestNode& n : body.nodes)
      if (!has_lanes(n))
        return Error(Code::Unsupported, "a loop over 8-bit, 16-bit or complex dtypes has no native code");
    all_.extents = body.extents;
    all_.reduced = body.reduced;
    all_.accesses = body.accesses;
    all_.nodes = body.nodes;
    all_.stores = body.stores;
    for (const LoopValue& c : loop_.carries) all_.stores.push_back({c.next, c.last});
    plan_loops(all_, loops_);
    if (loops_.mode == NestMode::Nothing) {
      out_.is_empty = true;
      return std::move(out_);
    }
    choose_inner(loops_);
    choose_registers();
    accesses();
    out_.shape.condition = loop_.condition;
    out_.shape.count = loop_.count;
    if (!in_reach_) return Error(Code::Unsupported, "a stride is beyond what vector indices reach");
    arguments();
    return std::move(out_);
  }

 private:
  void choose_registers() {
    LoopShape& s = out_.shape;
    NestShape& n = s.nest;
    n.one = loops_.mode == NestMode::Scalar;
    n.loops = static_cast<int>(loops_.extents.size());
    const std::int64_t points = n.one ? 1 : loops_.extents.back();
    s.reg_bytes = points <= 8 ? 32 : reg_bytes_;
    n.lanes = choose_lanes(all_, n.one, s.reg_bytes);
    const bool has_8_bytes = std::ranges::any_of(all_.nodes, [](const NestNode& m) { return size_of(m.dtype) == 8; });
    if (!n.one) n.lanes *= side_by_side(points, n.lanes, s.reg_bytes, has_8_bytes, loop_.carries.size());
  }

  struct Place {
    std::uint32_t access;
    std::int64_t displacement;  // bytes
  };

  // Accesses are those of `all_`, one each; only equal ones of nodes that are no carries are one, and those of a row of
  // an array of structs. What is picked is picked in each trip.
  Place add(std::uint32_t source, DType dtype, bool is_iota, bool is_own, std::int64_t by_trip, bool is_picked = false,
            bool is_stored = false) {
    const AccessCode& a = loops_.accesses[source];
    const std::int64_t stride = a.strides.empty() ? 0 : a.strides.back();
    ShapeAccess to{is_iota ? 0 : a.base, is_iota ? DType::I64 : dtype, Inner::Same, is_iota};
    to.inner = inner_of(stride, is_iota || is_picked);
    if (to.inner == Inner::Strided && !is_iota) in_reach_ = in_reach_ && is_in_reach(stride, out_.shape.reg_bytes);
    auto& list = out_.shape.nest.accesses;
    const std::int64_t reach = is_picked ? 0 : row_reach(to);
    for (std::uint32_t k = 0; k < list.size() && !is_own; ++k) {
      const AccessCode& b = loops_.accesses[sources_[k]];
      const std::int64_t apart = (a.offset - b.offset) * a.size;
      if (!is_own_[k] && list[k] == to && std::abs(apart) <= reach && a.strides == b.strides &&
          by_trip_[k] == by_trip && is_picked_[k] == is_picked && is_stored_[k] == is_stored)
        return {k, apart};
    }
    list.push_back(to);
    sources_.push_back(source);
    by_trip_.push_back(by_trip);
    is_own_.push_back(is_own);
    is_stored_.push_back(is_stored);
    is_picked_.push_back(is_picked);
    return {static_cast<std::uint32_t>(list.size() - 1), 0};
  }

  void accesses() {
    NestShape& s = out_.shape.nest;
    std::vector<std::uint32_t> carry_of(all_.accesses.size(), kNoNode);
    for (std::uint32_t c = 0; c < loop_.carries.size(); ++c) carry_of[loop_.carries[c].access] = c;
    out_.shape.carries.resize(loop_.carries.size());
    s.nodes = all_.nodes;
    for (std::uint32_t k = 0; k < s.nodes.size(); ++k) {
      NestNode& n = s.nodes[k];
      if (n.kind != NestNodeKind::Load && n.kind != NestNodeKind::Iota) continue;
      const std::uint32_t carry = carry_of[n.access];
      if (carry != kNoNode) out_.shape.carries[carry].read = k;
      const Place p = add(n.access, n.dtype, n.kind == NestNodeKind::Iota, carry != kNoNode,
                          carry != kNoNode ? 0 : loop_.strides[n.access], is_picking(n));
      n.access = p.access;
      n.bits = static_cast<std::uint64_t>(p.displacement);
    }
    const auto first = static_cast<std::uint32_t>(all_.accesses.size());
    for (std::uint32_t k = 0; k < loop_.body.stores.size(); ++k) {
      const Store& st = loop_.body.stores[k];
      const Place p = add(first + k, st.to.dtype, false, false, loop_.store_strides[k], false, true);
      s.stores.push_back({st.node, p.access, static_cast<std::int32_t>(p.displacement)});
    }
    for (std::uint32_t c = 0; c < loop_.carries.size(); ++c) {
      out_.shape.carries[c].next = loop_.carries[c].next;
      const auto source = first + static_cast<std::uint32_t>(loop_.body.stores.size()) + c;
      out_.shape.carries[c].last = add(source, loop_.carries[c].last.dtype, false, true, 0).access;
      const auto& list = s.accesses;
      const Inner read = list[s.nodes[out_.shape.carries[c].read].access].inner;
      if (!s.one && read == Inner::Same && list[out_.shape.carries[c].last].inner != Inner::Same) in_reach_ = false;
    }
  }

  // What the index of points moves by in a trip: what most accesses that it is added to move by.
  std::int64_t common_step() const {
    std::map<std::int64_t, int> counts;
    for (std::size_t k = 0; k < by_trip_.size(); ++k)
      if (by_trip_[k] != 0 && index_stride(k) == 1) ++counts[by_trip_[k]];
    std::int64_t best = 0;
    int most = 0;
    for (const auto& [step, n] : counts)
      if (n > most) best = step, most = n;
    return best;
  }
  // Elements that an access moves by with the index.
  std::int64_t index_stride(std::size_t k) const {
    if (out_.shape.nest.accesses[k].is_iota) return 0;
    return out_.shape.nest.one ? 1 : loops_.accesses[sources_[k]].strides.back();
  }

  void arguments() {
    const NestShape& s = out_.shape.nest;
    out_.args = nest_arguments(s, loops_, sources_);
    out_.cut = nest_cut(s, loops_, sources_, std::min(time_of(all_), std::int64_t{1} << 30) * loop_.trips);
    for (const LoopShape::Carry& c : out_.shape.carries)  // of all lanes: its memory is written when all have read it
      if (s.accesses[c.last].inner == Inner::Same) out_.cut.units = 1;
    const std::int64_t step = common_step();
    const auto first = static_cast<std::uint32_t>(out_.args.size());
    out_.trips = {first, {{first + 2, -step}}};
    out_.args.insert(out_.args.end(), {loop_.trips, step, -step * loop_.trips});
    for (std::size_t k = 0; k < s.accesses.size(); ++k) {
      std::int64_t own = by_trip_[k];  // what is left to the pointer
      ByTrip by = ByTrip::Fixed;
      if (own != 0 || is_stored_[k] || (is_picked_[k] && !s.one && index_stride(k) != 0)) {
        const bool is_indexed = index_stride(k) != 0 && (!s.one || (own == step && !is_picked_[k]));
        if (is_indexed) own -= step * index_stride(k);
        by = is_indexed && own == 0 ? ByTrip::Indexed : ByTrip::Stepped;
      }
      out_.shape.by_trip.push_back(by);
      if (by != ByTrip::Stepped) own = 0;
      own *= s.accesses[k].is_iota ? 1 : size_of(s.accesses[k].dtype);
      out_.args.push_back(own);
      if (own) out_.trips.back.emplace_back(static_cast<std::uint32_t>(out_.args.size()), -own);
      out_.args.push_back(-own * loop_.trips);
    }
  }

  const LoopNest& loop_;
  const int reg_bytes_;
  Nest all_;
  NestCode loops_;
  ShapedLoop out_;
  std::vector<std::uint32_t> sources_;
  std::vector<std::int64_t> by_trip_;
  std::vector<std::uint8_t> is_own_, is_stored_, is_picked_;  // is_stored_: in each trip
  bool in_reach_ = true;
};

}  // namespace

Result<ShapedLoop> take_apart(const LoopNest& loop, int reg_bytes) { return TakeLoopApart(loop, reg_bytes).run(); }

std::string key(const LoopShape& s) {
  std::string k = "loop";
  k += static_cast<char>(s.reg_bytes);
  for (ByTrip b : s.by_trip) k += static_cast<char>(b);
  for (const LoopShape::Carry& c : s.carries)
    for (std::uint32_t v : {c.read, c.next, c.last}) k += std::to_string(v) + ' ';
  if (s.condition != kNoNode) k += "while" + std::to_string(s.condition) + ' ' + std::to_string(s.count) + ' ';
  return k + key(s.nest);
}

}  // namespace tfvm::x86
