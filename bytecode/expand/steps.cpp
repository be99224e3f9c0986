#include "bytecode/expand/steps.h"

#include <algorithm>

namespace tfvm::expand {

Values expected(ExpandCtx& c, std::string_view op, const std::string& what) {
  std::string s = "[" + std::string(op) + "] expected " + what + ", got ";
  for (std::size_t k = 0; k < c.in.size(); ++k) s += (k ? ", " : "") + c.b.tables().types.text(c.b.type(c.in[k]));
  c.b.fail(Code::Type, c.in.empty() ? s + "no operand" : s);
  return {};
}

bool axis_of(ExpandCtx& c, std::string_view op, std::int64_t given, std::int64_t rank, std::int64_t& out) {
  out = given < 0 ? given + rank : given;
  if (out >= 0 && out < rank) return true;
  expected(c, op, "an axis within rank " + std::to_string(rank) + " (it is " + std::to_string(given) + ")");
  return false;
}

bool axes_of(ExpandCtx& c, std::string_view op, Ints given, std::int64_t rank, Shape& out) {
  out.clear();
  for (std::int64_t g : given) {
    std::int64_t a = 0;
    if (!axis_of(c, op, g, rank, a)) return false;
    if (std::ranges::find(out, a) != out.end()) {
      expected(c, op, "distinct axes");
      return false;
    }
    out.push_back(a);
  }
  return true;
}

bool list_of(ExpandCtx& c, std::string_view op, Key key, std::size_t n, std::int64_t fill, Shape& out) {
  out.assign(n, fill);
  if (!has(c, key)) return true;
  const Ints given = get_ints(c, key);
  out.assign(given.begin(), given.end());
  if (out.size() == n) return true;
  expected(c, op, std::string(c.b.tables().strings[key]) + " with " + std::to_string(n) + " entries");
  return false;
}

std::int64_t times(ExpandCtx& c, std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_mul_overflow(a, b, &r) && r <= (std::int64_t{1} << 62)) return r;
  expected(c, op, "a result that fits into memory");
  return 0;
}

ValueId reshape(Builder& b, ValueId x, Ints shape) {
  return x == kNoValue ? x : b.emit(b.body().full ? Op::view : Op::reshape, {x}, {{Key::shape, shape}});
}

ValueId broadcast(Builder& b, ValueId x, Ints shape) {
  return x == kNoValue ? x : b.emit(Op::broadcast_to, {x}, {{Key::shape, shape}});
}

ValueId transpose(Builder& b, ValueId x, Ints perm) {
  return x == kNoValue ? x : b.emit(Op::transpose, {x}, {{Key::perm, perm}});
}

ValueId slice(Builder& b, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride) {
  if (x == kNoValue) return x;
  const Dims d = b.dims(x);
  Shape starts(d.size(), 0), limits(d.begin(), d.end()), strides(d.size(), 1);
  starts[at(axis)] = start;
  limits[at(axis)] = limit;
  strides[at(axis)] = stride;
  return b.emit(Op::slice, {x}, {{Key::start, Ints(starts)}, {Key::limit, Ints(limits)}, {Key::stride, Ints(strides)}});
}

ValueId concat(Builder& b, std::span<const ValueId> xs, std::int64_t axis) {
  if (b.failed()) return kNoValue;
  return b.emit(Op::concat, xs, b.tables().attrs.dict({{Key::axis, axis}}));
}

ValueId reverse(Builder& b, ValueId x, Ints axes) {
  return x == kNoValue ? x : b.emit(Op::reverse, {x}, {{Key::axes, axes}});
}

ValueId iota(Builder& b, DType dtype, Ints shape, std::int64_t axis) {
  return b.emit(Op::iota, {}, {{Key::shape, shape}, {Key::axis, axis}, {Key::dtype, dtype}});
}

ValueId cast(Builder& b, ValueId x, DType dtype) {
  return x == kNoValue ? x : b.emit(Op::cast, {x}, {{Key::dtype, dtype}});
}

Shape moved(std::int64_t rank, Ints from, Ints to) {
  Shape perm(at(rank), -1);
  for (std::size_t k = 0; k < from.size(); ++k) perm[at(to[k])] = from[k];
  std::int64_t next = 0;
  for (std::int64_t& p : perm) {
    if (p >= 0) continue;
    while (std::ranges::find(from, next) != from.end()) ++next;
    p = next++;
  }
  return perm;
}

Shape inverse(Ints perm) {
  Shape out(perm.size());
  for (std::size_t k = 0; k < perm.size(); ++k) out[at(perm[k])] = static_cast<std::int64_t>(k);
  return out;
}

Shape with(Shape d, std::int64_t axis, std::int64_t size) {
  d[at(axis)] = size;
  return d;
}

Shape inserted(Shape d, std::int64_t axis, std::int64_t size) {
  d.insert(d.begin() + axis, size);
  return d;
}

}  // namespace tfvm::expand
