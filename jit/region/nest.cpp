#include "jit/region/nest.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tfvm {

std::string text(const Access& a) {
  return fmt::format("{} b{} + {} [{}]", name(a.dtype), a.base, a.offset, fmt::join(a.strides, ", "));
}

namespace {

std::string text(const Nest& n, const NestNode& node) {
  switch (node.kind) {
    case NestNodeKind::Load:
      return "load " + text(n.accesses[node.access]) +
             (node.in[0] == kNoNode ? std::string() : fmt::format(" if n{}", node.in[0])) +
             (node.in[1] == kNoNode ? std::string() : fmt::format(" at n{}", node.in[1]));
    case NestNodeKind::Constant:
      return fmt::format("constant {} {:#x}", name(node.dtype), node.bits);
    case NestNodeKind::Iota: {
      const Access& a = n.accesses[node.access];
      return fmt::format("iota {} {} [{}]", name(a.dtype), a.offset, fmt::join(a.strides, ", "));
    }
    case NestNodeKind::Op:
      break;
  }
  std::string s = fmt::format("{} {}", name(node.op), name(node.dtype));
  for (std::uint32_t in : node.in)
    if (in != kNoNode) s += fmt::format(" n{}", in);
  return s;
}

}  // namespace

std::int64_t work_of(const Nest& nest) {
  double work = static_cast<double>(nest.nodes.size());
  for (std::int64_t extent : nest.extents) work *= static_cast<double>(extent);
  return static_cast<std::int64_t>(std::min(work, 0x1p60));
}

std::string text(const Nest& nest) {
  std::string s =
      fmt::format("extents [{}] reduced [{}]\n", fmt::join(nest.extents, ", "), fmt::join(nest.reduced, ", "));
  for (std::size_t k = 0; k < nest.nodes.size(); ++k) s += fmt::format("n{} = {}\n", k, text(nest, nest.nodes[k]));
  for (const Store& t : nest.stores) s += fmt::format("store n{} -> {}\n", t.node, text(t.to));
  for (const Reduction& r : nest.reductions) s += fmt::format("{} n{} -> {}\n", name(r.op), r.node, text(r.to));
  return s;
}

}  // namespace tfvm
