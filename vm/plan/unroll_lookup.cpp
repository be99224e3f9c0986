// What is unrolled of lookups: at known places an element each, else loads that pick from parameters.
#include <algorithm>
#include <cstring>
#include <limits>

#include "jit/region/build.h"
#include "vm/plan/nest_maker.h"
#include "vm/plan/unroll.h"

namespace tfvm {

namespace {
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
}

bool Unroller::lookup(const Instr& in, const ItemSource& s) {
  if (low_.bases[s.in[0].base].bytes > kMost) return false;
  const Lookup l = lookup_of(t_.attrs, in, s, dims(in.operands[0]), dims(in.operands[1]), dims(in.result()));
  if (std::ranges::any_of(l.vectors.entries, [](const auto& e) { return e.bound < 1 || e.bound > kMost; }))
    return false;
  if (const std::optional<bool> known = known_lookup(l, in, s)) return *known;
  const std::optional<Nest> made = computed_nest(l, result_access(in, s));
  return made && nest(*made) && (l.mode != "error" || check(l, in, s));
}

// nullopt: the places are not known.
std::optional<bool> Unroller::known_lookup(const Lookup& l, const Instr& in, const ItemSource& s) {
  const PlanBase& b = low_.bases[s.in[1].base];
  if (b.kind != PlanBase::Kind::Const) return std::nullopt;
  const Constant& c = t_.consts[static_cast<ConstId>(b.index)];
  const auto bytes = places_of(l, c.bytes.data());
  const bool has = has_lanes(l.loops);
  if (!bytes ||
      (has && std::any_of(l.is_batch.begin(), l.is_batch.begin() + std::ssize(lanes_), [](auto v) { return v; })))
    return std::nullopt;
  const Access out = result_access(in, s);
  return for_points(l.loops, has, [&](const Index& at) {
    std::int64_t row = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      if (l.is_batch[d]) row = row * l.loops[d] + at[d];
    Access x = l.element;
    std::int32_t place = 0;
    std::memcpy(&place, bytes->data() + 4 * row, sizeof place);
    x.offset += place;
    const std::uint32_t v = element(x, at, has);
    if (v != kNoNode) store(out, at, has, v);
    return v != kNoNode;
  });
}

bool Unroller::check(const Lookup& l, const Instr& in, const ItemSource& s) {
  const Dims extents = dims(in.operands[1]);
  const bool has = has_lanes(extents) && static_cast<std::size_t>(l.vectors.vector_dim) >= lanes_.size();
  const DType d = s.in[1].dtype;
  const auto number = [&](std::int64_t v) {
    NestNode n;
    n.kind = NestNodeKind::Constant;
    n.dtype = d;
    n.bits = d == DType::I32 ? static_cast<std::uint32_t>(v) : static_cast<std::uint64_t>(v);
    return add(n);
  };
  return for_points(extents, has, [&](const Index& at) {
    const auto dim = static_cast<std::size_t>(l.vectors.vector_dim);
    const std::int64_t bound = l.vectors.entries[dim < at.size() ? static_cast<std::size_t>(at[dim]) : 0].bound;
    const std::uint32_t i = element(s.in[1], at, has);
    if (i == kNoNode) return false;
    for (const std::uint32_t beyond :
         {op(Op::lt, DType::Bool, i, number(l.vectors.wraps ? -bound : 0)), op(Op::ge, DType::Bool, i, number(bound))})
      outside_ = outside_ == kNoNode ? beyond : op(Op::or_, DType::Bool, outside_, beyond);
    return true;
  });
}

void Unroller::store_outside() {
  if (outside_ == kNoNode) return;
  const auto base = static_cast<std::uint32_t>(plan_.params.size() + plan_.results.size());
  out_.stores.push_back({outside_, row_major(base, DType::Bool, lanes_)});
}

// Starts are clamped, so that the slice is inside.
bool Unroller::slice(const Instr& in, const ItemSource& s) {
  const Dims from = dims(in.operands[0]), to = dims(in.result());
  if (low_.bases[s.in[0].base].bytes > kMost) return false;
  NestMaker b(to, result_access(in, s));
  Access x = s.in[0];
  std::uint32_t place = kNoNode;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] == from[d]) continue;
    Access start = s.in[1 + d];
    if (start.dtype != DType::I32 && start.dtype != DType::I64) return false;
    start.strides = Strides(to.size(), 0);
    const DType type = start.dtype;
    std::uint32_t i = b.op(Op::max, type, b.load(start), b.number(type, 0));
    i = b.op(Op::min, type, i, b.number(type, from[d] - to[d]));
    if (type != DType::I32) i = b.op(Op::cast, DType::I32, i, kNoNode);
    place = b.both(Op::add, DType::I32, place, b.op(Op::mul, DType::I32, i, b.number(DType::I32, x.strides[d])));
  }
  return nest(b.finish(b.load(x, kNoNode, place)));
}

}  // namespace tfvm
