#include "jit/x86/halves.h"

#include <algorithm>
#include <bit>

#include "jit/math/convert.h"

namespace tfvm::x86 {

namespace {

Error unsupported() {
  return {Code::Unsupported, "a nest that copies 16-bit floats or works on their bits has no native code"};
}

class Widening {
 public:
  explicit Widening(const Nest& nest) : nest_(nest), out_(nest) { out_.nodes.clear(); }

  Result<Nest> run() {
    if (has_copies()) return unsupported();
    for (const NestNode& n : nest_.nodes)
      if (!node(n)) return unsupported();
    for (Store& s : out_.stores) s.node = at_[s.node];
    for (Reduction& r : out_.reductions) r.node = at_[r.node];
    return std::move(out_);
  }

 private:
  // A value that is loaded and stored keeps its bits, those of a signaling NaN too.
  bool has_copies() const {
    return std::ranges::any_of(nest_.stores, [&](const Store& s) {
      const NestNode& n = nest_.nodes[s.node];
      return is_half(n.dtype) && n.kind != NestNodeKind::Op;
    });
  }

  bool node(const NestNode& n) {
    NestNode m = n;
    for (std::uint32_t& in : m.in)
      if (in != kNoNode) in = at_[in];
    const DType from = n.kind == NestNodeKind::Op ? nest_.nodes[n.in[0]].dtype : n.dtype;
    const bool has_half = is_half(n.dtype) || is_half(from);
    if (n.kind == NestNodeKind::Op && has_half && (n.op == Op::bitcast || n.op == Op::nextafter)) return false;
    if (!is_half(n.dtype)) return add(m);
    m.dtype = DType::F32;
    switch (n.kind) {
      case NestNodeKind::Load:
        return !is_picking(n) && add(m);
      case NestNodeKind::Iota:
        return false;
      case NestNodeKind::Constant:
        m.bits = std::bit_cast<std::uint32_t>(value(n));
        return add(m);
      case NestNodeKind::Op:
        break;
    }
    if (n.op == Op::cast) return cast(m, from, n.dtype);
    add(m);
    return is_exact_in_half(n.op) || round(n.dtype);
  }

  static float value(const NestNode& n) {
    const auto bits = static_cast<std::uint16_t>(n.bits);
    return n.dtype == DType::F16 ? math::f16_to_f32(bits) : math::bf16_to_f32(bits);
  }

  // Others than floats of at most 32 bits would be rounded twice.
  bool cast(NestNode m, DType from, DType to) {
    if (from == DType::Bool) return add(m);
    if (from != DType::F32 && !is_half(from)) return false;
    m.bits = rounds_to(to);
    return add(m);
  }
  // What the last node gives.
  bool round(DType to) {
    NestNode m;
    m.dtype = DType::F32;
    m.op = Op::cast;
    m.in[0] = static_cast<std::uint32_t>(out_.nodes.size() - 1);
    m.bits = rounds_to(to);
    at_.pop_back();
    return add(m);
  }
  bool add(const NestNode& m) {
    at_.push_back(static_cast<std::uint32_t>(out_.nodes.size()));
    out_.nodes.push_back(m);
    return true;
  }

  const Nest& nest_;
  Nest out_;
  std::vector<std::uint32_t> at_;  // of each node: where its value is now
};

}  // namespace

bool has_halves(const Nest& nest) {
  return std::ranges::any_of(nest.nodes, [](const NestNode& n) { return is_half(n.dtype); });
}

Result<Nest> with_halves_as_floats(const Nest& nest) { return Widening(nest).run(); }

}  // namespace tfvm::x86
