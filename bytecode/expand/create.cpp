// Core ops that make values from attributes. They compute in f64 or i64 and round once.
#include <cmath>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

namespace {
double number(ExpandCtx& c, Key k) {
  const Attr a = attrs(c)[attrs(c).get(c.attrs, k)];
  return a.kind == AttrKind::Int ? static_cast<double>(a.i) : a.f();
}

// start + step·i for i < n, in f64 or i64.
ValueId progression(Builder& b, std::int64_t n, ValueId start, ValueId step) {
  if (b.failed()) return kNoValue;
  const Shape shape{n};
  return b.emit(Op::add, {b.emit(Op::mul, {iota(b, b.dtype(start), shape, 0), step}), start});
}

bool is_number(ExpandCtx& c, Key k) {
  const AttrKind kind = attrs(c)[attrs(c).get(c.attrs, k)].kind;
  return kind == AttrKind::Int || kind == AttrKind::Float;
}
}  // namespace

// numpy.linspace: n points from start to stop, both included.
Values expand_linspace(ExpandCtx& c) {
  const double start = number(c, Key::start), stop = number(c, Key::stop);
  const std::int64_t n = get_int(c, Key::n);
  const DType dtype = attrs(c).get_dtype(c.attrs, Key::dtype);
  if (n < 0) return expected(c, "linspace", "n of at least 0");
  const double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0.0;
  const ValueId x = progression(c.b, n, c.b.scalar(DType::F64, start), c.b.scalar(DType::F64, step));
  if (n < 2) return {cast(c.b, x, dtype)};
  const ValueId last = c.b.emit(Op::eq, {iota(c.b, DType::I64, Shape{n}, 0), c.b.scalar_int(DType::I64, n - 1)});
  return {cast(c.b, c.b.emit(Op::select, {last, c.b.scalar(DType::F64, stop), x}), dtype)};
}

namespace {
// ⌈(stop − start) / step⌉, at least 0.
std::int64_t count_steps(std::int64_t start, std::int64_t stop, std::int64_t step) {
  const bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  const auto distance = up ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                           : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const auto size = up ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  return static_cast<std::int64_t>((distance - 1) / size + 1);
}
}  // namespace

// numpy.arange: start, start + step, … before stop; i64 where all three are integers, else f32.
Values expand_arange(ExpandCtx& c) {
  const auto kind = [&](Key k) { return attrs(c)[attrs(c).get(c.attrs, k)].kind; };
  for (Key k : {Key::start, Key::stop, Key::step})
    if (!is_number(c, k)) return expected(c, "arange", "numbers start, stop and step");
  const bool whole =
      kind(Key::start) == AttrKind::Int && kind(Key::stop) == AttrKind::Int && kind(Key::step) == AttrKind::Int;
  const DType dtype = has(c, Key::dtype) ? attrs(c).get_dtype(c.attrs, Key::dtype) : whole ? DType::I64 : DType::F32;
  if (number(c, Key::step) == 0) return expected(c, "arange", "a step other than 0");
  if (whole) {
    const std::int64_t start = get_int(c, Key::start), step = get_int(c, Key::step);
    const std::int64_t n = count_steps(start, get_int(c, Key::stop), step);
    const ValueId x = progression(c.b, n, c.b.scalar_int(DType::I64, start), c.b.scalar_int(DType::I64, step));
    return {cast(c.b, x, dtype)};
  }
  const double start = number(c, Key::start), step = number(c, Key::step);
  const double n = std::ceil((number(c, Key::stop) - start) / step);
  if (!(n < 0x1p62)) return expected(c, "arange", "a finite number of steps");
  const ValueId x = progression(c.b, n > 0 ? static_cast<std::int64_t>(n) : 0, c.b.scalar(DType::F64, start),
                                c.b.scalar(DType::F64, step));
  return {cast(c.b, x, dtype)};
}

// i[..] -> [.., n]: 1 at place i, a row of zeros where i is outside.
Values expand_one_hot(ExpandCtx& c) {
  const std::int64_t n = get_int(c, Key::n), last = rank(c, 0);
  if (n < 0) return expected(c, "one_hot", "n of at least 0");
  const Shape thin = inserted(dims(c, 0), last, 1), wide = with(thin, last, n);
  const ValueId i = cast(c.b, reshape(c.b, c.in[0], thin), DType::I64);
  const ValueId hot = c.b.emit(Op::eq, {i, iota(c.b, DType::I64, wide, last)});
  return {cast(c.b, hot, attrs(c).get_dtype(c.attrs, Key::dtype))};
}

}  // namespace tfvm
