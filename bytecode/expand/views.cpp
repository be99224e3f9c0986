// Views: which core ops are some in full functions, and the functional forms of the view ops.
#include <algorithm>

#include "bytecode/expand/steps.h"

namespace tfvm {

using namespace expand;

bool is_view(const CoreRow& row) {
  constexpr std::string_view kViews[] = {"split",   "chunk",     "narrow", "select",  "squeeze",
                                         "flatten", "unsqueeze", "expand", "permute", "t"};
  return std::ranges::find(kViews, row.name) != std::end(kViews);
}

namespace {

// The elements of row-major x at offset + Σ index·stride.
ValueId take_strided(Builder& b, ValueId x, Ints shape, Ints strides, std::int64_t offset) {
  const std::int64_t n = b.tables().types.elements(b.type(x));
  std::int64_t last = offset, count = 1;
  bool inside = offset >= 0;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    std::int64_t reach = 0;
    inside = inside && strides[k] >= 0 &&
             !__builtin_mul_overflow(std::max<std::int64_t>(shape[k] - 1, 0), strides[k], &reach) &&
             !__builtin_add_overflow(last, reach, &last) && !__builtin_mul_overflow(count, shape[k], &count);
  }
  if (!inside || (count > 0 && last >= n)) {
    b.fail(Code::Type, "[as_strided] expected places within the storage of " + std::to_string(n) + " elements");
    return kNoValue;
  }
  const Shape flat{n};
  return b.emit(Op::take, {reshape(b, x, flat), strided_places(b, shape, strides, offset)},
                {{Key::axis, 0}, {Key::mode, "clip"}});
}

// Windows of `size` that begin every `step` places of dim `axis`; the window's dim stands last.
ValueId unfolded(Builder& b, ValueId x, std::int64_t axis, std::int64_t size, std::int64_t step) {
  const Dims d = b.dims(x);
  const auto rank = static_cast<std::int64_t>(d.size());
  const Shape shape{(d[at(axis)] - size) / step + 1, size}, strides{step, 1};
  const ValueId windows =
      b.emit(Op::take, {x, strided_places(b, shape, strides, 0)}, {{Key::axis, axis}, {Key::mode, "clip"}});
  const Shape from{axis + 1}, to{rank};
  return transpose(b, windows, moved(rank + 1, from, to));
}

}  // namespace

ValueId expand::strided_places(Builder& b, Ints shape, Ints strides, std::int64_t offset) {
  ValueId places = broadcast(b, b.scalar_int(DType::I64, offset), shape);
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (strides[k] == 0) continue;
    const ValueId step = iota(b, DType::I64, shape, static_cast<std::int64_t>(k));
    places = b.emit(Op::add, {places, b.emit(Op::mul, {step, b.scalar_int(DType::I64, strides[k])})});
  }
  return places;
}

ValueId viewed(Builder& b, Op op, ValueId x, AttrId given) {
  if (b.failed()) return kNoValue;
  Tables& t = b.tables();
  switch (op) {
    case Op::alias:
      return x;
    case Op::detach:
      return b.emit(Op::stop_gradient, {x});
    case Op::view:
      return reshape(b, x, t.attrs.get_ints(given, Key::shape));
    case Op::view_dtype: {
      const DType to = t.attrs.get_dtype(given, Key::dtype);
      if (size_of(to) == size_of(b.dtype(x))) return b.emit(Op::bitcast, {x}, {{Key::dtype, to}});
      return b.fail(Code::Unsupported, "[view_dtype] of another width is known only in full functions as written");
    }
    case Op::unfold:
      return unfolded(b, x, t.attrs.get_int(given, Key::axis), t.attrs.get_int(given, Key::size),
                      t.attrs.get_int(given, Key::step));
    case Op::as_strided:
      return take_strided(b, x, t.attrs.get_ints(given, Key::shape), t.attrs.get_ints(given, Key::strides),
                          t.attrs.get_int(given, Key::offset));
    case Op::diagonal: {
      ExpandCtx c{b, {&x, 1}, given};
      const Values out = expand_diagonal(c);
      return out.empty() ? kNoValue : out[0];
    }
    default:
      return b.emit(op, std::span(&x, 1), given);
  }
}

}  // namespace tfvm
