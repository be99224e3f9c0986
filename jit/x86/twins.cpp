#include "jit/x86/twins.h"

namespace tfvm::x86 {

namespace {

constexpr int kMostSteps = 200;  // of one comparison

// How two values are related: 1 the same, -1 negatives, 0 neither that is known; all up to signs of zeros.
class Relation {
 public:
  explicit Relation(const std::vector<NestNode>& nodes) : nodes_(nodes) {}

  int of(std::uint32_t a, std::uint32_t b) {
    if (a == b) return 1;
    if (++steps_ > kMostSteps) return 0;
    const NestNode &x = nodes_[a], &y = nodes_[b];
    if (x.kind != NestNodeKind::Op || y.kind != NestNodeKind::Op) return 0;
    if (x.op == Op::neg) return -of(x.in[0], b);
    if (y.op == Op::neg) return -of(a, y.in[0]);
    if (x.op != y.op) return 0;
    switch (x.op) {
      case Op::mul:
      case Op::zmul:
        return products(x, y);
      case Op::fma:
      case Op::zfma: {
        const int r = products(x, y);
        return r != 0 && of(x.in[2], y.in[2]) == r ? r : 0;
      }
      case Op::div:
        return x.in[1] == y.in[1] ? of(x.in[0], y.in[0]) : 0;
      case Op::add: {
        const int straight = both(x.in[0], y.in[0], x.in[1], y.in[1]);
        return straight ? straight : both(x.in[0], y.in[1], x.in[1], y.in[0]);
      }
      case Op::sub: {
        const int straight = both(x.in[0], y.in[0], x.in[1], y.in[1]);
        return straight ? straight : -both(x.in[0], y.in[1], x.in[1], y.in[0]);
      }
      default:
        return 0;
    }
  }

 private:
  int products(const NestNode& x, const NestNode& y) {
    const int straight = product(x.in[0], y.in[0], x.in[1], y.in[1]);
    return straight ? straight : product(x.in[0], y.in[1], x.in[1], y.in[0]);
  }
  int product(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    const int r = of(a, b);
    return r ? r * of(c, d) : 0;
  }
  int both(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    const int r = of(a, b);
    return r != 0 && of(c, d) == r ? r : 0;
  }

  const std::vector<NestNode>& nodes_;
  int steps_ = 0;
};

}  // namespace

std::vector<Twin> find_twins(const NestShape& shape) {
  const auto& list = shape.reductions;
  std::vector<Twin> twins(list.size());
  for (std::uint32_t k = 0; k < list.size(); ++k) {
    const DType d = shape.nodes[list[k].node].dtype;
    if (list[k].op != Op::reduce_sum || !is_float(d)) continue;
    for (std::uint32_t of = 0; of < k && twins[k].of == kNoTwin; ++of) {
      if (list[of].op != Op::reduce_sum || shape.nodes[list[of].node].dtype != d || twins[of].of != kNoTwin) continue;
      const int r = Relation(shape.nodes).of(list[k].node, list[of].node);
      if (r != 0) twins[k] = {of, r < 0};
    }
  }
  return twins;
}

}  // namespace tfvm::x86
