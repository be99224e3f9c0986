#include "vm/plan/loop_body.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "vm/plan/unroll.h"

namespace tfvm {

namespace {

// Moves an access from trip to trip; backwards from the last row.
std::int64_t move(Access& a, std::int64_t stride_bytes, const ScanStep& scan) {
  const std::int64_t stride = stride_bytes / size_of(a.dtype);
  if (!scan.reverse) return stride;
  a.offset += stride * (scan.length - 1);
  return -stride;
}

}  // namespace

std::shared_ptr<const Nest> one_nest(const Tables& t, const FlatBody& flat, const Lowered& low, const Plan& plan) {
  Strides dims;  // of the value of the highest rank
  for (const auto* list : {&plan.results, &plan.params})
    for (const ValueType& v : *list)
      if (v.dims.size() > dims.size()) dims = v.dims;
  if (std::ranges::find(dims, 0) != dims.end()) return nullptr;
  for (std::size_t lanes = dims.size() + 1; lanes-- > 0;) {
    Unroller u(t, flat, low, plan, {dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(lanes)});
    if (u.run()) return std::make_shared<const Nest>(u.take());
  }
  return nullptr;
}

std::optional<LoopNest> scan_loop(const Nest& body, const ScanStep& scan, const Plan& plan) {
  const auto consts = static_cast<std::uint32_t>(scan.consts.count);
  const auto carries = static_cast<std::uint32_t>(scan.carries.size());
  const auto params = static_cast<std::uint32_t>(plan.params.size());
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
  std::size_t found = 0;
  const std::size_t loaded = reads.size();
  for (Store s : body.stores) {
    const std::uint32_t result = s.to.base - params;
    if (result >= carries) {
      loop.store_strides.push_back(move(s.to, scan.outputs[result - carries].stride, scan));
      loop.body.stores.push_back(std::move(s));
      continue;
    }
    const auto [it, is_new] = reads.try_emplace({result, s.to.offset, s.to.strides}, 0u);
    found += !is_new;
    if (is_new) {  // never read: it only has a value at the end
      it->second = static_cast<std::uint32_t>(loop.body.accesses.size());
      loop.body.accesses.push_back({consts + result, s.to.dtype, s.to.offset, s.to.strides});
      loop.strides.push_back(0);
      NestNode n;
      n.kind = NestNodeKind::Load;
      n.dtype = s.to.dtype;
      n.access = it->second;
      loop.body.nodes.push_back(n);
    }
    loop.carries.push_back({it->second, s.node, s.to});
  }
  if (found != loaded) return std::nullopt;  // an element is read that no lane of its own writes
  return loop;
}

}  // namespace tfvm
