#include "jit/region/nest.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tfvm {

namespace {

std::string text(const Access& a) {
  return fmt::format("{} b{} + {} [{}]", name(a.dtype), a.base, a.offset, fmt::join(a.strides, ", "));
}

std::string text(const Nest& n, const NestNode& node) {
  switch (node.kind) {
    case NestNodeKind::Load:
      return "load " + text(n.accesses[node.access]);
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

// About how many additions an op takes.
double weight(Op op) {
  switch (op) {
    case Op::div:
    case Op::rem:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::reciprocal:
    case Op::cast:
      return 4;
    case Op::pow:
    case Op::lgamma:
    case Op::digamma:
    case Op::erfinv:
      return 64;
    case Op::erf:
    case Op::erfc:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::atan2:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::hypot:
      return 32;
    case Op::exp:
    case Op::exp2:
    case Op::expm1:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::sin:
    case Op::cos:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::logistic:
    case Op::cbrt:
      return 16;
    default:
      return 1;
  }
}

double weight(const NestNode& n) {
  constexpr double kLoad = 4;  // from beyond the nearest cache
  if (n.kind == NestNodeKind::Constant) return 0;
  return n.kind == NestNodeKind::Op ? weight(n.op) : kLoad;
}

}  // namespace

std::int64_t work_of(const Nest& nest) {
  constexpr double kLanes = 16;  // fewer points take as long
  double points = 1, work = static_cast<double>(nest.stores.size() + nest.reductions.size());
  for (std::int64_t extent : nest.extents) points *= static_cast<double>(extent);
  for (const NestNode& n : nest.nodes) work += weight(n);
  if (points > 0) work *= std::max(points, kLanes);
  return static_cast<std::int64_t>(points == 0 ? 0 : std::min(work, 0x1p60));
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
