#include "jit/x86/shape.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "jit/region/loops.h"
#include "jit/region/time.h"
#include "jit/x86/blocks.h"
#include "jit/x86/halves.h"

namespace tfvm::x86 {

bool has_lanes(DType d) {
  switch (d) {
    case DType::Bool:
    case DType::I32:
    case DType::U32:
    case DType::I64:
    case DType::U64:
    case DType::F32:
    case DType::F64:
      return true;
    default:
      return false;
  }
}

bool has_lanes(const NestNode& n) { return has_lanes(n.dtype) && !(n.dtype == DType::Bool && is_picking(n)); }

Inner inner_of(std::int64_t stride, bool has_no_unit) {
  if (stride == 0) return Inner::Same;
  return stride == 1 && !has_no_unit ? Inner::Unit : Inner::Strided;
}

std::vector<std::uint8_t> find_varying(std::span<const NestNode> nodes, std::span<const AccessCode> accesses,
                                       std::size_t loop) {
  std::vector<std::uint8_t> varies(nodes.size(), 0);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const NestNode& n = nodes[k];
    if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota)
      varies[k] = loop < accesses[n.access].strides.size() && accesses[n.access].strides[loop] != 0;
    for (std::uint32_t in : n.in) varies[k] = varies[k] || (in != kNoNode && varies[in]);
  }
  return varies;
}

bool is_narrow(const AccessCode& iota, std::span<const std::int64_t> extents) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::int64_t most = std::abs(iota.offset);
  for (std::size_t d = 0; d < extents.size() && most <= kMost; ++d) {
    if (std::abs(iota.strides[d]) > kMost || extents[d] > kMost) return false;
    most += std::abs(iota.strides[d]) * extents[d];
  }
  return most <= kMost;
}

bool is_in_reach(std::int64_t stride, int reg_bytes) {
  return std::abs(stride) < std::numeric_limits<std::int32_t>::max() / (8 * reg_bytes);
}

int choose_lanes(const Nest& nest, bool one, int reg_bytes) {
  bool has4 = false, has8 = false;
  for (const NestNode& n : nest.nodes) {
    has4 = has4 || (n.dtype != DType::Bool && size_of(n.dtype) == 4);
    has8 = has8 || size_of(n.dtype) == 8;
  }
  return (one || (has8 && !has4)) ? reg_bytes / 8 : reg_bytes / 4;
}

// The longest loop goes inside where the innermost one fills no register; any order gives the same elements.
void choose_inner(NestCode& loops) {
  auto& e = loops.extents;
  if (e.size() < 2 || e.back() >= 8) return;
  const auto longest = std::ranges::max_element(e);
  if (*longest <= e.back()) return;
  const auto from = longest - e.begin();
  const auto rotate = [&](auto& v) { std::rotate(v.begin() + from, v.begin() + from + 1, v.end()); };
  rotate(e);
  for (AccessCode& a : loops.accesses) rotate(a.strides);
}

std::vector<std::int64_t> nest_arguments(const NestShape& shape, const NestCode& loops,
                                         std::span<const std::uint32_t> sources) {
  const auto& e = loops.extents;
  const std::size_t outer = e.empty() ? 0 : e.size() - 1;
  const std::int64_t inner = e.empty() ? 1 : e.back();
  std::vector<std::int64_t> args{inner / shape.lanes * shape.lanes, inner % shape.lanes};
  args.insert(args.end(), e.begin(), e.begin() + static_cast<std::ptrdiff_t>(outer));
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const AccessCode& a = loops.accesses[sources[k]];
    const std::int64_t size = shape.accesses[k].is_iota ? 1 : a.size;
    args.push_back(a.offset * size);
    args.push_back(e.empty() ? 0 : a.strides.back() * size);
    for (std::size_t d = 0; d < outer; ++d) {
      const std::int64_t back = d + 1 < outer ? e[d + 1] * a.strides[d + 1] : 0;
      args.push_back((a.strides[d] - back) * size);
    }
  }
  return args;
}

NestCut nest_cut(const NestShape& shape, const NestCode& loops, std::span<const std::uint32_t> sources,
                 std::int64_t work) {
  const auto& e = loops.extents;
  NestCut c;
  c.work = work;
  if (e.empty()) return c;
  c.is_inner = e.size() == 1;
  c.lanes = shape.lanes;
  c.units = c.is_inner ? e.front() / c.lanes : e.front();
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const AccessCode& a = loops.accesses[sources[k]];
    const std::int64_t size = shape.accesses[k].is_iota ? 1 : a.size;
    const std::int64_t step = a.strides.front() * size * (c.is_inner ? c.lanes : 1);
    if (step) c.steps.emplace_back(arg_access(shape, k), step);
  }
  return c;
}

namespace {

constexpr std::int64_t kMaxDisplacement = std::int64_t{1} << 20;
constexpr std::int64_t kStreamed = std::int64_t{16} << 20;  // bytes

Error unsupported(const char* what) { return {Code::Unsupported, what}; }

class TakeApart {
 public:
  TakeApart(const Nest& nest, int reg_bytes, bool in_tiles) : nest_(nest), reg_bytes_(reg_bytes), in_tiles_(in_tiles) {}

  Result<ShapedNest> run() {
    for (const NestNode& n : nest_.nodes)
      if (!has_lanes(n)) return unsupported("a nest over 8-bit, 16-bit or complex dtypes has no native code");
    plan_loops(nest_, loops_);
    if (loops_.mode == NestMode::Nothing) {
      out_.is_empty = true;
      return std::move(out_);
    }
    choose_inner(loops_);
    const bool is_across = find_across(loops_);
    NestShape& s = out_.shape;
    s.one = loops_.mode == NestMode::Scalar;
    s.loops = static_cast<int>(loops_.extents.size());
    s.lanes = choose_lanes(nest_, s.one, s.one ? kOneBytes : reg_bytes_);
    s.nodes = nest_.nodes;
    const std::size_t inner = loops_.extents.empty() ? 0 : loops_.extents.size() - 1;
    const std::vector<std::uint8_t> varies = find_varying(s.nodes, loops_.accesses, inner);
    for (NestNode& n : s.nodes) {
      if (n.kind != NestNodeKind::Load && n.kind != NestNodeKind::Iota) continue;
      const Place p = add_access(n.access, loops_.accesses[n.access].dtype, n.kind == NestNodeKind::Iota,
                                 is_picking(n) && n.in[1] != kNoNode && varies[n.in[1]]);
      n.access = p.access;
      n.bits = static_cast<std::uint64_t>(p.displacement);
    }
    std::uint32_t at = static_cast<std::uint32_t>(nest_.accesses.size());
    for (const Store& st : nest_.stores) {
      const Place p = add_access(at++, st.to.dtype, false, false);
      s.stores.push_back({st.node, p.access, static_cast<std::int32_t>(p.displacement)});
    }
    if (!in_reach_) return unsupported("a stride is beyond what vector indices reach");
    find_streamed();
    s.may_repeat = !s.one && !in_tiles_ && !may_be_in_place(s, loops_.accesses, sources_) &&
                   std::ranges::none_of(s.accesses, &ShapeAccess::is_streamed);  // tiles may have no whole trip
    out_.args = nest_arguments(s, loops_, sources_);
    out_.cut = nest_cut(s, loops_, sources_, time_of(nest_));
    if (is_across && out_.args.size() <= NativeNest::kMaxCutArgs) out_.blocks = nest_blocks(s, loops_, sources_);
    if (in_tiles_ && !is_across && !s.one && s.loops <= 2) out_.blocks = nest_tiles(s, loops_, sources_);
    return std::move(out_);
  }

 private:
  struct Place {
    std::uint32_t access;
    std::int64_t displacement;  // bytes
  };
  // A single point reaches all elements of a base by one address.
  Place add_access(std::uint32_t source, DType dtype, bool is_iota, bool is_indexed) {
    const AccessCode& a = loops_.accesses[source];
    const std::int64_t stride = a.strides.empty() ? 0 : a.strides.back();
    ShapeAccess to{is_iota ? 0 : a.base, is_iota ? DType::I64 : dtype, Inner::Same, is_iota};
    to.inner = inner_of(stride, is_iota || is_indexed);
    to.is_narrow = is_iota && !out_.shape.one && out_.shape.lanes * 4 >= reg_bytes_ && is_narrow(a, loops_.extents);
    if (to.inner == Inner::Strided && !is_iota) in_reach_ = in_reach_ && is_in_reach(stride, reg_bytes_);
    auto& list = out_.shape.accesses;
    for (std::uint32_t k = 0; k < list.size(); ++k) {
      const AccessCode& b = loops_.accesses[sources_[k]];
      if (list[k] != to || a.strides != b.strides) continue;
      const std::int64_t apart = (a.offset - b.offset) * a.size;
      const std::int64_t reach = out_.shape.one && !is_iota ? kMaxDisplacement : row_reach(to);
      if (std::abs(apart) <= reach) return {k, apart};
    }
    list.push_back(to);
    sources_.push_back(source);
    return {static_cast<std::uint32_t>(list.size() - 1), 0};
  }

  // Large memory that is written once and not read goes past the caches.
  void find_streamed() {
    NestShape& s = out_.shape;
    std::int64_t points = 1;
    for (std::int64_t e : loops_.extents) points *= e;
    if (s.one || loops_.extents.back() < 2 * s.lanes) return;
    for (const ShapeStore& st : s.stores) {
      ShapeAccess& a = s.accesses[st.access];
      const bool is_loaded = std::ranges::any_of(s.nodes, [&](const NestNode& n) {
        return n.kind == NestNodeKind::Load && s.accesses[n.access].base == a.base;
      });
      const bool fills = s.lanes * size_of(a.dtype) >= reg_bytes_;
      a.is_streamed = a.inner == Inner::Unit && a.dtype != DType::Bool && fills && !is_loaded &&
                      points * size_of(a.dtype) >= kStreamed;
    }
  }

  const Nest& nest_;
  const int reg_bytes_;
  const bool in_tiles_;
  NestCode loops_;
  ShapedNest out_;
  std::vector<std::uint32_t> sources_;  // of each access of the shape: index into loops_.accesses
  bool in_reach_ = true;
};

void put(std::string& s, std::uint64_t v) {
  do {
    s += static_cast<char>((v & 127) | (v > 127 ? 128 : 0));
    v >>= 7;
  } while (v);
}

}  // namespace

Result<ShapedNest> take_apart(const Nest& nest, int reg_bytes, bool in_tiles) {
  const auto take = [&](const Nest& n) {
    return n.has_reduction() ? take_reduction_apart(n, reg_bytes) : TakeApart(n, reg_bytes, in_tiles).run();
  };
  if (!has_halves(nest)) return take(nest);
  const Result<Nest> floats = with_halves_as_floats(nest);
  return floats ? take(*floats) : floats.error();
}

bool may_be_in_place(const NestShape& s, std::span<const AccessCode> accesses, std::span<const std::uint32_t> sources) {
  return std::ranges::any_of(s.stores, [&](const ShapeStore& st) {
    const AccessCode& to = accesses[sources[st.access]];
    return std::ranges::any_of(s.nodes, [&](const NestNode& n) {
      if (n.kind != NestNodeKind::Load || is_picking(n)) return false;
      const AccessCode& from = accesses[sources[n.access]];
      return from.strides == to.strides && from.size == to.size;
    });
  });
}

TripSet trips_of(const NestShape& s, std::span<const std::int64_t> args) {
  const bool has_whole = args[kArgWhole] > 0, has_rest = args[kArgRest] > 0 && !(has_whole && s.may_repeat);
  return static_cast<TripSet>((has_whole ? kWholeTrips : 0) | (has_rest ? kRestTrips : 0));
}

std::string key(const NestShape& s) {
  std::string k;
  for (int v : {int{s.one}, static_cast<int>(s.schedule), s.is_direct | s.may_repeat << 1 | s.is_far << 2, s.loops,
                s.within, s.kept, s.rows, s.lanes})
    put(k, static_cast<std::uint64_t>(v));
  for (std::size_t v : {s.accesses.size(), s.nodes.size(), s.stores.size()}) put(k, v);
  for (const ShapeAccess& a : s.accesses) {
    put(k, a.base);
    put(k, static_cast<std::uint64_t>(a.dtype) << 7 | static_cast<std::uint64_t>(a.inner) << 5 | a.is_narrow << 4 |
               a.is_packed << 3 | a.is_streamed << 2 | a.is_still << 1 | a.is_iota);
  }
  for (const NestNode& n : s.nodes) {
    put(k, static_cast<std::uint64_t>(n.kind) << 8 | static_cast<std::uint64_t>(n.dtype));
    if (n.kind == NestNodeKind::Constant || n.kind == NestNodeKind::Load || n.op == Op::cast) put(k, n.bits);
    if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota) put(k, n.access);
    if (n.kind == NestNodeKind::Op) put(k, static_cast<std::uint64_t>(n.op));
    if (n.kind != NestNodeKind::Op && n.kind != NestNodeKind::Load) continue;
    for (std::uint32_t in : n.in) put(k, std::uint64_t{in} + 1);
  }
  const auto put_end = [&](std::uint32_t node, std::uint32_t access, std::int32_t displacement) {
    for (std::uint32_t v : {node, access, static_cast<std::uint32_t>(displacement)}) put(k, v);
  };
  for (const ShapeStore& st : s.stores) put_end(st.node, st.access, st.displacement);
  for (const ShapeReduction& r : s.reductions) {
    put(k, static_cast<std::uint64_t>(r.op));
    put_end(r.node, r.access, r.displacement);
  }
  return k;
}

}  // namespace tfvm::x86
