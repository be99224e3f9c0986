#include "vm/plan/loop_body.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "vm/plan/unroll.h"
#include "vm/tape.h"

namespace tfvm {

namespace {

// Moves an access from trip to trip; backwards from the last row.
std::int64_t move(Access& a, std::int64_t stride_bytes, const ScanStep& scan) {
  const std::int64_t stride = stride_bytes / size_of(a.dtype);
  if (!scan.reverse) return stride;
  a.offset += stride * (scan.length - 1);
  return -stride;
}

// Whether each element of a carry that a lane reads is one that it writes. `results`: the base of the first.
bool writes_what_it_reads(const Nest& n, LoopRole role, std::uint32_t results) {
  return std::ranges::all_of(n.nodes, [&](const NestNode& node) {
    if (node.kind != NestNodeKind::Load) return true;
    const Access& a = n.accesses[node.access];
    if (a.base < role.first || a.base >= role.first + role.carries) return true;
    if (is_picking(node)) return false;  // carries are in registers
    return std::ranges::any_of(n.stores, [&](const Store& s) {
      return s.to.base - results == a.base - role.first && s.to.offset == a.offset && s.to.strides == a.strides;
    });
  });
}

// What the leading dims of values are, so many of them.
std::vector<Strides> leading(std::span<const ValueType> values, std::size_t count) {
  std::vector<Strides> list;
  for (const ValueType& v : values) {
    if (v.dims.size() < count) continue;
    const Strides dims(v.dims.begin(), v.dims.begin() + static_cast<std::ptrdiff_t>(count));
    if (std::ranges::find(list, dims) == list.end()) list.push_back(dims);
  }
  return list;
}

}  // namespace

std::shared_ptr<const Nest> one_nest(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan,
                                     LoopRole role) {
  std::size_t rank = 0;
  for (const auto* list : {&plan.results, &plan.params})
    for (const ValueType& v : *list) {
      if (v.is_tape || std::ranges::find(v.dims, 0) != v.dims.end()) return nullptr;
      if (list == &plan.results) rank = std::max(rank, v.dims.size());
    }
  for (std::size_t lanes = rank + 1; lanes-- > 0;)
    for (const Strides& dims : leading(plan.results, lanes)) {
      Unroller u(t, flat, low, plan, dims);
      if (!u.run()) continue;
      u.store_outside();
      Nest made = u.take();
      if (writes_what_it_reads(made, role, static_cast<std::uint32_t>(plan.params.size())))
        return std::make_shared<const Nest>(std::move(made));
    }
  return nullptr;
}

namespace {

std::uint32_t add(Nest& n, const NestNode& node) {
  n.nodes.push_back(node);
  return static_cast<std::uint32_t>(n.nodes.size() - 1);
}

std::uint32_t add_load(Nest& n, const Access& a) {
  NestNode node;
  node.kind = NestNodeKind::Load;
  node.dtype = a.dtype;
  node.access = static_cast<std::uint32_t>(n.accesses.size());
  n.accesses.push_back(a);
  return add(n, node);
}

std::uint32_t add_or(Nest& n, std::uint32_t a, std::uint32_t b) {
  NestNode both;
  both.op = Op::or_;
  both.dtype = DType::Bool;
  both.in = {a, b, kNoNode};
  return add(n, both);
}

}  // namespace

bool finds_outside(const Nest& body, std::size_t bases) {
  return std::ranges::any_of(body.stores, [&](const Store& s) { return s.to.base == bases; });
}

std::optional<LoopNest> scan_loop(const Nest& body, const ScanStep& scan) {
  const auto consts = static_cast<std::uint32_t>(scan.consts.count);
  const auto carries = static_cast<std::uint32_t>(scan.carries.size());
  const auto params = consts + carries + static_cast<std::uint32_t>(scan.inputs.size());
  const auto results = carries + static_cast<std::uint32_t>(scan.outputs.size());
  if (!writes_what_it_reads(body, {false, consts, carries}, params)) return std::nullopt;
  LoopNest loop{body, scan.length, {}, {}, {}};
  loop.body.stores.clear();
  // The loads of carries, by element.
  std::map<std::tuple<std::uint32_t, std::int64_t, Strides>, std::uint32_t> reads;
  loop.strides.assign(body.accesses.size(), 0);
  for (const NestNode& n : body.nodes) {
    if (n.kind != NestNodeKind::Load) continue;
    Access& a = loop.body.accesses[n.access];
    if (a.base >= consts + carries)
      loop.strides[n.access] = move(a, scan.inputs[a.base - consts - carries].stride, scan);
    else if (a.base >= consts)
      reads[{a.base - consts, a.offset, a.strides}] = n.access;
  }
  for (Store s : body.stores) {
    const std::uint32_t result = s.to.base - params;
    if (result == results) {  // whether any trip was outside
      const std::uint32_t was = add_load(loop.body, s.to);
      loop.strides.push_back(0);
      loop.carries.push_back({loop.body.nodes[was].access, add_or(loop.body, was, s.node), s.to});
      continue;
    }
    if (result >= carries) {
      loop.store_strides.push_back(move(s.to, scan.outputs[result - carries].stride, scan));
      loop.body.stores.push_back(std::move(s));
      continue;
    }
    const auto [it, is_new] = reads.try_emplace({result, s.to.offset, s.to.strides}, 0u);
    if (is_new) {  // never read: it only has a value at the end
      const std::uint32_t first = add_load(loop.body, {consts + result, s.to.dtype, s.to.offset, s.to.strides});
      it->second = loop.body.nodes[first].access;
      loop.strides.push_back(0);
    }
    loop.carries.push_back({it->second, s.node, s.to});
  }
  return loop;
}

std::optional<std::uint32_t> any_of(const Tables& t, FunctionId condition) {
  const Body& b = t.bodies[condition.body];
  if (b.num_instrs() != 1 || b.ops[0] != Op::reduce_or) return std::nullopt;
  const Instr in = b.instr(0);
  const auto x = static_cast<std::uint32_t>(in.operands[0]);
  const std::size_t rank = t.types.dims(b.type(in.operands[0])).size();
  if (x >= b.num_params || b.results[0] != in.result() || t.attrs.get_ints(in.attrs, Key::axes).size() != rank)
    return std::nullopt;
  return x;
}

namespace {

// Whether a trip leaves a lane as it is of which all elements at base `live` are false.
bool keeps_done_lanes(const LoopNest& loop, std::uint32_t live) {
  constexpr std::uint32_t kFalse = kNoNode - 1;
  std::vector<std::uint32_t> is;  // per node: the first node that has its value then, or this
  std::vector<std::uint32_t> read(loop.body.accesses.size(), kNoNode);
  for (std::uint32_t k = 0; k < loop.body.nodes.size(); ++k) {
    const NestNode& n = loop.body.nodes[k];
    const auto in = [&](std::size_t j) { return is[n.in[j]]; };
    std::uint32_t v = k;
    if (n.kind == NestNodeKind::Load) {
      if (loop.body.accesses[n.access].base == live) v = kFalse;
      read[n.access] = v;
    } else if (n.kind == NestNodeKind::Op && n.op == Op::select && in(0) == kFalse) {
      v = in(2);
    } else if (n.kind == NestNodeKind::Op && n.op == Op::and_ && (in(0) == kFalse || in(1) == kFalse)) {
      v = kFalse;
    }
    is.push_back(v);
  }
  return std::ranges::all_of(loop.carries, [&](const LoopValue& c) { return is[c.next] == read[c.access]; });
}

// The nodes of the condition behind those of the body, whose loads it shares; the one that it gives.
std::optional<std::uint32_t> add_condition(Nest& body, const LoopCondition& c) {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> loads;  // of what is one for all lanes
  const auto is_one = [](const Access& a) { return std::ranges::all_of(a.strides, [](auto s) { return s == 0; }); };
  for (std::uint32_t k = 0; k < body.nodes.size(); ++k)
    if (const NestNode& n = body.nodes[k]; n.kind == NestNodeKind::Load && is_one(body.accesses[n.access]))
      loads[{body.accesses[n.access].base, body.accesses[n.access].offset}] = k;
  std::vector<std::uint32_t> now;
  for (NestNode n : c.of->nodes) {
    if (is_picking(n)) return std::nullopt;
    if (n.source.index > 0) n.source.index += c.first_source;
    if (n.kind == NestNodeKind::Load || n.kind == NestNodeKind::Iota) {
      Access a = c.of->accesses[n.access];
      if (!is_one(a)) return std::nullopt;
      a.strides = Strides(body.extents.size(), 0);
      if (n.kind == NestNodeKind::Load) a.base = c.bases[a.base];
      n.access = static_cast<std::uint32_t>(body.accesses.size());
      const auto same = loads.find({a.base, a.offset});
      if (n.kind == NestNodeKind::Load && same != loads.end()) {
        now.push_back(same->second);
        continue;
      }
      body.accesses.push_back(std::move(a));
    }
    for (std::uint32_t& in : n.in)
      if (in != kNoNode) in = now[in];
    now.push_back(add(body, n));
  }
  return now[c.of->stores[0].node];
}

// Whether any of the elements is set that a lane loads of a base.
std::optional<std::uint32_t> add_any(Nest& body, std::uint32_t base, NestSource source) {
  std::optional<std::uint32_t> any;
  const auto loads = static_cast<std::uint32_t>(body.nodes.size());
  for (std::uint32_t k = 0; k < loads; ++k) {
    const NestNode& n = body.nodes[k];
    if (n.kind != NestNodeKind::Load || body.accesses[n.access].base != base) continue;
    if (any) {
      any = add_or(body, *any, k);
      body.nodes[*any].source = source;
    } else {
      any = k;
    }
  }
  return any;
}

}  // namespace

std::optional<LoopNest> while_loop(const Nest& body, const WhileStep& w, const LoopCondition& condition) {
  if (!condition.any && !condition.of) return std::nullopt;
  const auto carries = static_cast<std::uint32_t>(w.carries.size());
  const auto tapes = static_cast<std::uint32_t>(w.tapes.size());
  const bool may_be_outside = finds_outside(body, w.body_consts.count + 2 * carries + tapes);
  if (may_be_outside && (condition.any || tapes > 0)) return std::nullopt;  // lanes that are done may be, too
  if (condition.any && tapes > 0) return std::nullopt;                      // lanes that are done write, too
  Nest all = body;
  const std::uint32_t own = w.cond_consts.count;
  for (const NestNode& n : all.nodes)
    if (n.kind == NestNodeKind::Load) all.accesses[n.access].base += own;
  for (Store& s : all.stores) s.to.base += own;
  ScanStep rows;  // none: but for its condition it is a scan of one trip
  rows.length = 1;
  rows.consts.count = own + w.body_consts.count;
  rows.carries = w.carries;
  for (const TapeRow& r : w.tapes) rows.outputs.push_back({r.place, Tape::stride_of(r.bytes)});
  const std::uint32_t live = rows.consts.count + condition.any.value_or(0);
  const auto asked = condition.any ? add_any(all, live, {condition.first_source + 1}) : add_condition(all, condition);
  if (!asked) return std::nullopt;
  std::optional<LoopNest> loop = scan_loop(all, rows);
  if (!loop) return std::nullopt;
  loop->condition = *asked;
  loop->count = rows.consts.count + 2 * carries + tapes + may_be_outside;
  if (condition.any && !keeps_done_lanes(*loop, live)) return std::nullopt;
  return loop;
}

}  // namespace tfvm
