#pragma once
// The steps of a loop's body as one nest over lanes: see loop_body.h. Every other loop of a step is unrolled.

#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "vm/plan/lookup.h"
#include "vm/plan/lower.h"
#include "vm/plan/plan.h"

namespace tfvm {

using Strides = std::vector<std::int64_t>;

// Steps that are unrolled beside nests.
inline bool is_unrolled(Op op) {
  return op == Op::concat || op == Op::pad || op == Op::dot_general || op == Op::dynamic_slice || is_lookup(op);
}

// Dtypes that have lanes in machine code.
inline bool has_lanes(DType d) { return d == DType::Bool || (!is_complex(d) && (size_of(d) == 4 || size_of(d) == 8)); }

// The first of the lanes' dims in what a product gives: those before all others, or before those of its second operand
// alone, which follow the `own` dims of the first.
std::optional<std::size_t> lanes_of_product(Dims to, std::size_t own, Dims lanes);

// A function of an index that outlives the call that it is given to: one copy of the loop for all.
class PointFn {
 public:
  template <class Fn>
  PointFn(const Fn& fn)  // NOLINT(google-explicit-constructor)
      : fn_(&fn), call_([](const void* f, const Strides& at) { return (*static_cast<const Fn*>(f))(at); }) {}
  bool operator()(const Strides& at) const { return call_(fn_, at); }

 private:
  const void* fn_;
  bool (*call_)(const void*, const Strides&);
};

class Unroller {
 public:
  // `lanes`: the extents of the lanes' dims. Bases of the nest: parameters, then results.
  Unroller(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan, Strides lanes);
  // False: not over these lanes. `with_passed`: results that are parameters are stored, too.
  bool run(bool with_passed = true);
  // Of these items only, whose nest has the bases of `low`; stored is what they write to the bases of `kept`.
  bool run(std::span<const std::uint32_t> items, std::vector<std::uint32_t> kept);
  Nest take() { return std::move(out_); }
  // A bool over the lanes, at the base behind the results, of whether an index is outside that mode "error" lets pass;
  // for a body that is run again, step by step, where one is. Places are clamped.
  void store_outside();

 private:
  using Index = std::vector<std::int64_t>;

  // A value of the body: what it steps by from lane to lane, and its elements in the first lane, by their places.
  struct Elements {
    Strides lanes;
    std::map<std::int64_t, std::uint32_t> nodes;
  };

  bool has_lanes(Dims extents) const;
  Strides lane_strides(const Access& a, bool has) const;
  static std::int64_t offset(const Access& a, const Index& at);
  // False: it would be found out on the way that it can't be unrolled. Nodes are counted that each point has of its
  // own.
  bool may_be_small() const;
  std::int64_t times(std::int64_t nodes, Dims extents, bool has) const;
  bool is_small() const;

  bool step(std::uint32_t item);
  bool nest(const Nest& n);
  bool nodes_at(const Nest& n, const Index& at, bool has, std::vector<std::uint32_t>& now);
  std::uint32_t element(const Access& a, const Index& at, bool has);
  std::uint32_t load(std::uint32_t base, DType dtype, std::int64_t offset, Strides strides);
  std::uint32_t picked(NestNode node, const Access& a, const Index& at, bool has);
  std::uint32_t constant(const PlanBase& b, DType dtype, std::int64_t offset, const Strides& strides);
  std::uint32_t iota(NestNode node, const Access& a, const Index& at, bool has);
  void store(const Access& to, const Index& at, bool has, std::uint32_t node);
  void result(std::uint32_t r, DType dtype, std::int64_t offset, Strides strides, std::uint32_t node);
  bool passed(const PassedParam& p);

  // unroll_ops.cpp
  bool reduction(const Nest& n, bool has);
  std::uint32_t reduced(Op op, std::vector<std::uint32_t> values, std::size_t row);
  bool is_known(const ItemSource& s) const;  // false: no step that `opaque` knows
  bool opaque(const ItemSource& s);
  bool concat(const Instr& in, const ItemSource& s);
  bool pad(const Instr& in, const ItemSource& s);
  bool dot(const Instr& in, const ItemSource& s);
  Strides chain(const Instr& dot) const;  // the extents of its contracted dims

  // unroll_lookup.cpp
  bool lookup(const Instr& in, const ItemSource& s);
  std::optional<bool> known_lookup(const Lookup& l, const Instr& in, const ItemSource& s);
  bool check(const Lookup& l, const Instr& in, const ItemSource& s);
  bool slice(const Instr& in, const ItemSource& s);

  Dims dims(ValueId v) const { return t_.types.dims(flat_.body.type(v)); }
  Access result_access(const Instr& in, const ItemSource& s) const;
  std::uint32_t add(NestNode n) {
    if (n.source.index == 0) n.source.index = source_;
    out_.nodes.push_back(n);
    return static_cast<std::uint32_t>(out_.nodes.size() - 1);
  }
  std::uint32_t op(Op op, DType dtype, std::uint32_t a, std::uint32_t b, std::uint32_t c = kNoNode);
  DType dtype(std::uint32_t node) const { return out_.nodes[node].dtype; }
  // Calls fn(index) at every index of the extents behind the lanes, those of lanes being 0, until it gives false.
  bool for_points(Dims extents, bool has, PointFn fn);

  const Tables& t_;
  const FlatBody& flat_;
  const Lowered& low_;
  const Plan& plan_;
  const Strides lanes_;
  std::uint32_t source_ = 0;  // of the step at hand: NestSource
  bool is_part_ = false;      // of some items
  std::vector<std::uint32_t> kept_;
  std::unordered_map<std::uint32_t, Elements> values_;  // by base
  std::map<std::tuple<std::uint32_t, std::int64_t, Strides>, std::uint32_t> loads_;
  std::uint32_t outside_ = kNoNode;
  Nest out_;
};

// Of one nest. Beyond these a loop is no longer one in registers, and code for it not soon made.
inline constexpr std::size_t kMaxUnrolled = 4096, kMaxUnrolledLoads = 512, kMaxUnrolledStores = 512;

}  // namespace tfvm
