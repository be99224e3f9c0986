#include "functionalize/view.h"

#include <algorithm>

#include "bytecode/expand/core.h"

namespace tfvm::functional {

namespace {

using Shape = std::vector<std::int64_t>;

Op plain(Op op) {
  switch (op) {
    case Op::transpose_:
      return Op::transpose;
    case Op::as_strided_:
      return Op::as_strided;
    case Op::squeeze_:
    case Op::unsqueeze_:
      return Op::view;
    default:
      return op;
  }
}

std::string text(std::span<const std::int64_t> v) {
  std::string s;
  for (std::int64_t i : v) s += (s.empty() ? "" : ", ") + std::to_string(i);
  return '[' + s + ']';
}

Result<Strided> lie_strided(const Tables& t, const View& v, std::int64_t elements) {
  const Ints shape = t.attrs.get_ints(v.attrs, Key::shape), strides = t.attrs.get_ints(v.attrs, Key::strides);
  const Strided s{
      t.attrs.get_int(v.attrs, Key::offset), {shape.begin(), shape.end()}, {strides.begin(), strides.end()}};
  // Sums that could overflow leave the storage anyway.
  bool inside = s.offset >= 0 && s.offset <= elements;
  std::int64_t last = s.offset;
  const bool none = std::ranges::find(shape, 0) != shape.end();
  for (std::size_t k = 0; k < shape.size() && inside && !none; ++k) {
    std::int64_t reach = 0;
    inside = strides[k] >= 0 && !__builtin_mul_overflow(shape[k] - 1, strides[k], &reach) &&
             !__builtin_add_overflow(last, reach, &last) && last < elements;
  }
  if (inside && (none || last < elements)) return s;
  return Error{Code::Type, "[as_strided] shape=" + text(shape) + ", strides=" + text(strides) +
                               ", offset=" + std::to_string(s.offset) + " leaves the storage of " +
                               std::to_string(elements) + " elements"};
}

// The last axis becomes the diagonal's, as in numpy.
Strided lie_diagonal(const Tables& t, const View& v, const Strided& x) {
  const auto a = static_cast<std::size_t>(t.attrs.get_int(v.attrs, Key::axis1)),
             z = static_cast<std::size_t>(t.attrs.get_int(v.attrs, Key::axis2));
  const std::int64_t offset = t.attrs.get_int(v.attrs, Key::offset);
  const Dims to = t.types.dims(v.to);
  Strided out{x.offset, {to.begin(), to.end()}, {}};
  for (std::size_t k = 0; k < x.strides.size(); ++k)
    if (k != a && k != z) out.strides.push_back(x.strides[k]);
  out.strides.push_back(x.strides[a] + x.strides[z]);
  if (to.back() > 0) out.offset += offset >= 0 ? offset * x.strides[z] : -offset * x.strides[a];
  return out;
}

}  // namespace

View view_of(Tables& t, const Instr& in, TypeId from, TypeId to) {
  View v{plain(in.op), in.attrs, from, to};
  if (in.op == Op::squeeze_ || in.op == Op::unsqueeze_)
    v.attrs = t.attrs.dict({{Key::shape, t.attrs.ints(t.types.dims(to))}});
  return v;
}

ValueId forward(Builder& b, const View& v, ValueId x) { return viewed(b, v.op, x, v.attrs); }

Result<Strided> lie(const Tables& t, const View& v, const Strided& x, std::int64_t elements) {
  const Dims to = t.types.dims(v.to);
  const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  Strided out{x.offset, {to.begin(), to.end()}, x.strides};
  switch (v.op) {
    case Op::transpose: {
      const Ints perm = t.attrs.get_ints(v.attrs, Key::perm);
      for (std::size_t k = 0; k < perm.size(); ++k) out.strides[k] = x.strides[at(perm[k])];
      return out;
    }
    case Op::slice: {
      const Ints start = t.attrs.get_ints(v.attrs, Key::start), step = t.attrs.get_ints(v.attrs, Key::stride);
      for (std::size_t k = 0; k < start.size(); ++k) {
        if (to[k] > 0) out.offset += start[k] * x.strides[k];
        out.strides[k] *= step[k];
      }
      return out;
    }
    case Op::broadcast_to: {
      const std::size_t more = to.size() - x.shape.size();
      out.strides.assign(to.size(), 0);
      for (std::size_t k = 0; k < x.shape.size(); ++k)
        if (x.shape[k] == to[k + more]) out.strides[k + more] = x.strides[k];
      return out;
    }
    case Op::view: {
      std::optional<Strided> r = reshaped(x, to);
      if (r) return *std::move(r);
      return Error{Code::Type, "[view] the strides " + text(x.strides) + " of " + t.types.text(v.from) +
                                   " allow no view of shape " + text(to) +
                                   " (view, squeeze and flatten alias; reshape copies)"};
    }
    case Op::diagonal:
      return lie_diagonal(t, v, x);
    case Op::unfold: {
      const std::size_t axis = at(t.attrs.get_int(v.attrs, Key::axis));
      out.strides.push_back(x.strides[axis]);
      out.strides[axis] *= t.attrs.get_int(v.attrs, Key::step);
      return out;
    }
    case Op::as_strided:
      return lie_strided(t, v, elements);
    default:  // alias, detach, view_dtype of equal width, real and imag of reals
      return out;
  }
}

}  // namespace tfvm::functional
