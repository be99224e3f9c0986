#include "random_loop.h"

#include <algorithm>
#include <array>
#include <functional>

#include "jit/region/build.h"
#include "jit/region/edit.h"

namespace tfvm {

namespace {

using Rng = std::mt19937_64;

bool chance(Rng& rng, int percent) { return static_cast<int>(rng() % 100) < percent; }

// `count` copies of the memory, each with its elements moved round by one more.
std::vector<std::byte> stacked(const std::vector<std::byte>& m, std::int64_t count, std::size_t size) {
  std::vector<std::byte> out;
  const std::size_t n = m.size() / size;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
    for (std::size_t e = 0; e < n; ++e) {
      const auto from = m.begin() + static_cast<std::ptrdiff_t>((e + k) % n * size);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(size));
    }
  return out;
}

// The access moves from trip to trip, forwards or backwards.
std::int64_t stack(Rng& rng, RandomLoop& out, Access& a) {
  auto& m = out.memory[a.base];
  const auto size = static_cast<std::size_t>(size_of(a.dtype));
  const auto rows = static_cast<std::int64_t>(m.size() / size);
  m = stacked(m, out.loop.trips, size);
  if (chance(rng, 60)) return rows;
  a.offset += rows * (out.loop.trips - 1);
  return -rows;
}

}  // namespace

RandomLoop random_loop(Rng& rng, const RandomNestOptions& options, std::int64_t trips) {
  RandomNest made = random_nest(rng, options);
  RandomLoop out;
  out.loop.body = std::move(made.nest);
  out.loop.trips = trips;
  out.memory = std::move(made.memory);
  Nest& body = out.loop.body;
  const std::int64_t n = points(body);
  out.loop.strides.assign(body.accesses.size(), 0);
  std::vector<std::uint8_t> is_index(body.nodes.size(), 0);  // which stays small only as it is in memory
  for (const NestNode& node : body.nodes)
    if (is_picking(node) && node.in[1] != kNoNode) is_index[node.in[1]] = 1;
  for (std::uint32_t at = 0; at < body.nodes.size(); ++at) {
    const NestNode& node = body.nodes[at];
    if (node.kind != NestNodeKind::Load) continue;
    Access& a = body.accesses[node.access];
    const auto size = static_cast<std::size_t>(size_of(a.dtype));
    if (n > 0 && !is_picking(node) && !is_index[at] && chance(rng, 60)) {
      std::vector<std::uint32_t> nexts;
      for (std::uint32_t k = 0; k < body.nodes.size(); ++k)
        if (body.nodes[k].dtype == node.dtype) nexts.push_back(k);
      std::vector<std::byte> m = stacked(out.memory[a.base], n, size);
      m.resize(static_cast<std::size_t>(n) * size);
      out.memory[a.base] = m;
      a = row_major(a.base, a.dtype, body.extents);
      Access last = a;
      if (chance(rng, 70)) {
        last.base = static_cast<std::uint32_t>(out.memory.size());
        out.memory.push_back(m);
      }
      out.loop.carries.push_back({node.access, nexts[rng() % nexts.size()], last});
    } else if (chance(rng, 50)) {
      out.loop.strides[node.access] = stack(rng, out, a);
    }
  }
  for (Store& s : body.stores) out.loop.store_strides.push_back(chance(rng, 80) ? stack(rng, out, s.to) : 0);
  out.dtypes.assign(out.memory.size(), DType::U8);
  for (const Store& s : body.stores) out.dtypes[s.to.base] = s.to.dtype;
  for (const LoopValue& c : out.loop.carries) out.dtypes[c.last.base] = c.last.dtype;
  return out;
}

namespace {

std::uint32_t add_node(Nest& n, NestNodeKind kind, DType dtype, Op op, std::array<std::uint32_t, 3> in) {
  NestNode node;
  node.kind = kind;
  node.dtype = dtype;
  node.op = op;
  node.in = in;
  n.nodes.push_back(node);
  return static_cast<std::uint32_t>(n.nodes.size() - 1);
}

// A load of i32 elements that stand in memory of their own, one per point, or one for all.
std::uint32_t add_ints(RandomLoop& out, bool is_one, std::function<std::int32_t()> value) {
  Nest& body = out.loop.body;
  Access a = row_major(static_cast<std::uint32_t>(out.memory.size()), DType::I32, body.extents);
  if (is_one) std::ranges::fill(a.strides, 0);
  std::vector<std::byte> m;
  for (std::int64_t k = is_one ? 1 : points(body); k > 0; --k) {
    const std::int32_t v = value();
    const auto* from = reinterpret_cast<const std::byte*>(&v);
    m.insert(m.end(), from, from + 4);
  }
  out.memory.push_back(m);
  const std::uint32_t n = add_node(body, NestNodeKind::Load, DType::I32, Op::add, {kNoNode, kNoNode, kNoNode});
  body.nodes[n].access = static_cast<std::uint32_t>(body.accesses.size());
  body.accesses.push_back(a);
  out.loop.strides.push_back(0);
  return n;
}

}  // namespace

constexpr std::int64_t kMostTrips = 8;

RandomLoop random_while(Rng& rng, const RandomNestOptions& options) {
  const bool is_one = chance(rng, 25);
  RandomLoop out = random_loop(rng, options, is_one ? kMostTrips : 1);
  out.loop.trips = 1;
  Nest& body = out.loop.body;
  if (!is_one) {  // lanes that are done would store, too
    body.stores.clear();
    out.loop.store_strides.clear();
    std::ranges::fill(out.loop.strides, 0);  // there is one row
  }
  std::vector<std::uint32_t> bools;
  for (std::uint32_t k = 0; k < body.nodes.size(); ++k)
    if (body.nodes[k].dtype == DType::Bool) bools.push_back(k);
  const int most = static_cast<int>(rng() % 8);
  const std::uint32_t i = add_ints(out, is_one, [] { return 0; });
  const std::uint32_t limit =
      add_ints(out, is_one, [&] { return static_cast<std::int32_t>(rng() % kMostTrips) - most; });
  const std::uint32_t one = add_node(body, NestNodeKind::Constant, DType::I32, Op::add, {kNoNode, kNoNode, kNoNode});
  body.nodes[one].bits = 1;
  const std::uint32_t j = add_node(body, NestNodeKind::Op, DType::I32, Op::add, {i, one, kNoNode});
  std::uint32_t more = add_node(body, NestNodeKind::Op, DType::Bool, Op::lt, {i, limit, kNoNode});
  if (!is_one && !bools.empty() && chance(rng, 50))
    more = add_node(body, NestNodeKind::Op, DType::Bool, chance(rng, 70) ? Op::and_ : Op::or_,
                    {more, bools[rng() % bools.size()], kNoNode});
  out.loop.carries.push_back({body.nodes[i].access, j, body.accesses[body.nodes[i].access]});
  for (LoopValue& c : out.loop.carries) {
    if (is_one) break;
    std::uint32_t read = 0;
    while (body.nodes[read].kind != NestNodeKind::Load || body.nodes[read].access != c.access) ++read;
    c.next = add_node(body, NestNodeKind::Op, body.nodes[read].dtype, Op::select, {more, c.next, read});
  }
  out.loop.condition = more;
  out.loop.count = static_cast<std::uint32_t>(out.memory.size());
  out.memory.emplace_back(8, std::byte{0});
  out.memory.back()[0] = static_cast<std::byte>(1 + rng() % 6);
  out.dtypes.resize(out.memory.size(), DType::U8);
  return out;
}

}  // namespace tfvm
