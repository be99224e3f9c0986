#include "jit/region/complex.h"

#include <bit>

#include "jit/region/build.h"

namespace tfvm {

namespace {

using Id = std::uint32_t;

struct Z {
  Id re, im;
};

// Appends nodes to a nest.
class Writer {
 public:
  Writer(Dims dims, DType part) : part_(part) {
    nest_.extents.assign(dims.begin(), dims.end());
    nest_.reduced.assign(dims.size(), 0);
  }
  Nest take() { return std::move(nest_); }

  Id load(const Access& a) {
    NestNode n;
    n.kind = NestNodeKind::Load;
    n.dtype = a.dtype;
    n.access = static_cast<std::uint32_t>(nest_.accesses.size());
    nest_.accesses.push_back(a);
    return add(n);
  }
  // A real operand has no imaginary part.
  Z value(const Access& a) {
    if (!is_complex(a.dtype)) return {cast(load(a)), number(0)};
    return {cast(load(part_access(a, 0))), cast(load(part_access(a, 1)))};
  }
  Id number(double v) {
    NestNode n;
    n.kind = NestNodeKind::Constant;
    n.dtype = part_;
    n.bits =
        part_ == DType::F32 ? std::bit_cast<std::uint32_t>(static_cast<float>(v)) : std::bit_cast<std::uint64_t>(v);
    return add(n);
  }
  Id cast(Id a) { return nest_.nodes[a].dtype == part_ ? a : op(Op::cast, a); }
  Id op(Op op, Id a, Id b = kNoNode, Id c = kNoNode) { return typed(part_, op, a, b, c); }
  Id flag(Op op, Id a, Id b = kNoNode) { return typed(DType::Bool, op, a, b); }
  void store(Id node, const Access& to) { nest_.stores.push_back({node, to}); }

 private:
  Id typed(DType dtype, Op op, Id a, Id b, Id c = kNoNode) {
    NestNode n;
    n.op = op;
    n.dtype = dtype;
    n.in = {a, b, c};
    return add(n);
  }
  Id add(const NestNode& n) {
    nest_.nodes.push_back(n);
    return static_cast<Id>(nest_.nodes.size() - 1);
  }
  Nest nest_;
  DType part_;
};

Z neg(Writer& w, Z x) { return {w.op(Op::neg, x.re), w.op(Op::neg, x.im)}; }
Z times_i(Writer& w, Z x) { return {w.op(Op::neg, x.im), x.re}; }
Id abs(Writer& w, Z x) { return w.op(Op::hypot, x.re, x.im); }
Id twice(Writer& w, Id x) { return w.op(Op::add, x, x); }
Z select(Writer& w, Id p, Z x, Z y) { return {w.op(Op::select, p, x.re, y.re), w.op(Op::select, p, x.im, y.im)}; }

Z mul(Writer& w, Z x, Z y, Op times = Op::mul) {
  const Id ac = w.op(times, x.re, y.re), bd = w.op(times, x.im, y.im), ad = w.op(times, x.re, y.im),
           bc = w.op(times, x.im, y.re);
  return {w.op(Op::sub, ac, bd), w.op(Op::add, ad, bc)};
}

// (a + ib) / (c + id) by the ratio r of the smaller part of the divisor to the larger one, which is d where `by_im`.
Z quotient(Writer& w, Z x, Z y, bool by_im) {
  const Id big = by_im ? y.im : y.re, small = by_im ? y.re : y.im;
  const Id r = w.op(Op::div, small, big), den = w.op(Op::add, big, w.op(Op::mul, small, r));
  const Id ar = w.op(Op::mul, x.re, r), br = w.op(Op::mul, x.im, r);
  const Id re = by_im ? w.op(Op::add, ar, x.im) : w.op(Op::add, x.re, br);
  const Id im = by_im ? w.op(Op::sub, br, x.re) : w.op(Op::sub, x.im, ar);
  return {w.op(Op::div, re, den), w.op(Op::div, im, den)};
}

Z div(Writer& w, Z x, Z y) {
  const Id by_re = w.flag(Op::ge, w.op(Op::abs, y.re), w.op(Op::abs, y.im));
  return select(w, by_re, quotient(w, x, y, false), quotient(w, x, y, true));
}

Z exp(Writer& w, Z x) {
  const Id e = w.op(Op::exp, x.re);
  return {w.op(Op::mul, e, w.op(Op::cos, x.im)), w.op(Op::mul, e, w.op(Op::sin, x.im))};
}
Z log(Writer& w, Z x) { return {w.op(Op::log, abs(w, x)), w.op(Op::atan2, x.im, x.re)}; }

// The branch with a real part that is not negative, from the larger of the two parts of the root.
Z sqrt(Writer& w, Z x) {
  const Id half = w.number(0.5), zero = w.number(0);
  const Id sum = w.op(Op::add, w.op(Op::mul, abs(w, x), half), w.op(Op::mul, w.op(Op::abs, x.re), half));
  const Id large = w.op(Op::sqrt, sum);
  const Id ratio = w.op(Op::div, w.op(Op::abs, x.im), twice(w, large));
  const Id small = w.op(Op::select, w.flag(Op::eq, large, zero), zero, ratio);
  const Id right = w.flag(Op::ge, x.re, zero);
  const Id re = w.op(Op::select, right, large, small), im = w.op(Op::select, right, small, large);
  return {re, w.op(Op::copysign, im, x.im)};
}

Z sinh(Writer& w, Z x) {
  return {w.op(Op::mul, w.op(Op::sinh, x.re), w.op(Op::cos, x.im)),
          w.op(Op::mul, w.op(Op::cosh, x.re), w.op(Op::sin, x.im))};
}
Z cosh(Writer& w, Z x) {
  return {w.op(Op::mul, w.op(Op::cosh, x.re), w.op(Op::cos, x.im)),
          w.op(Op::mul, w.op(Op::sinh, x.re), w.op(Op::sin, x.im))};
}

// (sinh 2a + i sin 2b) / (cosh 2a + cos 2b); from |a| = 20 on it is ±1 in every dtype.
Z tanh(Writer& w, Z x) {
  const Id a = twice(w, x.re), b = twice(w, x.im), one = w.number(1);
  const Id den = w.op(Op::add, w.op(Op::cosh, a), w.op(Op::cos, b));
  const Z y{w.op(Op::div, w.op(Op::sinh, a), den), w.op(Op::div, w.op(Op::sin, b), den)};
  const Id far = w.flag(Op::gt, w.op(Op::abs, x.re), w.number(20));
  return select(w, far, {w.op(Op::copysign, one, x.re), w.number(0)}, y);
}

// f(x) for the function of ix: sin x = -i sinh ix, tan x = -i tanh ix.
Z over_i(Writer& w, Z y) { return {y.im, w.op(Op::neg, y.re)}; }

Z sign(Writer& w, Z x) {
  const Id r = abs(w, x), zero = w.number(0), none = w.flag(Op::eq, r, zero);
  return select(w, none, {zero, zero}, {w.op(Op::div, x.re, r), w.op(Op::div, x.im, r)});
}

// x^y = exp(y log x), and x^0 = 1.
Z pow(Writer& w, Z x, Z y) {
  const Id zero = w.number(0);
  const Id none = w.flag(Op::and_, w.flag(Op::eq, y.re, zero), w.flag(Op::eq, y.im, zero));
  return select(w, none, {w.number(1), zero}, exp(w, mul(w, y, log(w, x))));
}

std::optional<Z> complex_result(Writer& w, Op op, std::span<const Access> in) {
  if (op == Op::select) {
    const Id p = w.load(in[0]);
    const Z x = w.value(in[1]), y = w.value(in[2]);
    return select(w, p, x, y);
  }
  const Z x = w.value(in[0]);
  switch (op) {
    case Op::clone:
    case Op::cast:
      return x;
    case Op::neg:
      return neg(w, x);
    case Op::conj:
      return Z{x.re, w.op(Op::neg, x.im)};
    case Op::square:
      return mul(w, x, x);
    case Op::reciprocal:
      return div(w, {w.number(1), w.number(0)}, x);
    case Op::sign:
      return sign(w, x);
    case Op::exp:
      return exp(w, x);
    case Op::log:
      return log(w, x);
    case Op::sqrt:
      return sqrt(w, x);
    case Op::sinh:
      return sinh(w, x);
    case Op::cosh:
      return cosh(w, x);
    case Op::tanh:
      return tanh(w, x);
    case Op::sin:
      return over_i(w, sinh(w, times_i(w, x)));
    case Op::cos:
      return cosh(w, times_i(w, x));
    case Op::tan:
      return over_i(w, tanh(w, times_i(w, x)));
    default:
      break;
  }
  if (in.size() < 2) return std::nullopt;
  const Z y = w.value(in[1]);
  switch (op) {
    case Op::add:
    case Op::sub:
      return Z{w.op(op, x.re, y.re), w.op(op, x.im, y.im)};
    case Op::mul:
    case Op::zmul:
      return mul(w, x, y, op);
    case Op::div:
      return div(w, x, y);
    case Op::pow:
      return pow(w, x, y);
    default:
      return std::nullopt;
  }
}

std::optional<Id> real_result(Writer& w, Op op, std::span<const Access> in) {
  const Z x = w.value(in[0]);
  switch (op) {
    case Op::abs:
      return abs(w, x);
    case Op::isnan:
    case Op::isinf:
      return w.flag(Op::or_, w.flag(op, x.re), w.flag(op, x.im));
    case Op::isfinite:
      return w.flag(Op::and_, w.flag(op, x.re), w.flag(op, x.im));
    case Op::eq:
    case Op::ne: {
      const Z y = w.value(in[1]);
      return w.flag(op == Op::eq ? Op::and_ : Op::or_, w.flag(op, x.re, y.re), w.flag(op, x.im, y.im));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

Access part_access(const Access& a, int part) {
  Access p{a.base, part_of(a.dtype), 2 * a.offset + part, a.strides};
  for (std::int64_t& s : p.strides) s *= 2;
  return p;
}

std::optional<Nest> complex_nest(Op op, Dims dims, std::span<const Access> operands, const Access& out) {
  if (is_complex(out.dtype)) {
    Writer w(dims, part_of(out.dtype));
    const std::optional<Z> z = complex_result(w, op, operands);
    if (!z) return std::nullopt;
    w.store(z->re, part_access(out, 0));
    w.store(z->im, part_access(out, 1));
    return w.take();
  }
  Writer w(dims, part_of(operands[0].dtype));
  const std::optional<Id> v = real_result(w, op, operands);
  if (!v) return std::nullopt;
  w.store(*v, out);
  return w.take();
}

Nest complex_sum_nest(Dims dims, std::span<const std::int64_t> axes, const Access& in, const Access& out) {
  Nest n = reduce_nest(Op::reduce_sum, dims, axes, part_access(in, 0), part_access(out, 0));
  Nest im = reduce_nest(Op::reduce_sum, dims, axes, part_access(in, 1), part_access(out, 1));
  NestNode load = im.nodes[0];
  load.access = static_cast<std::uint32_t>(n.accesses.size());
  n.accesses.push_back(im.accesses[im.nodes[0].access]);
  n.nodes.push_back(load);
  Reduction r = im.reductions[0];
  r.node = static_cast<std::uint32_t>(n.nodes.size() - 1);
  n.reductions.push_back(std::move(r));
  return n;
}

}  // namespace tfvm
