#include "transforms/index_places.h"

namespace tfvm {

ValueId places_inside(Builder& b, ValueId idx, std::int64_t n) {
  if (b.failed()) return kNoValue;
  const DType d = b.dtype(idx);
  const ValueId low = b.emit(Op::ge, {idx, b.scalar_int(d, 0)});
  // Compared in i64, where every n fits.
  const ValueId wide = b.emit(Op::cast, {idx}, {{Key::dtype, DType::I64}});
  const ValueId high = b.emit(Op::lt, {wide, b.scalar_int(DType::I64, n)});
  return b.emit(Op::and_, {low, high});
}

ValueId align_places(Builder& b, ValueId idx, std::int64_t axis, std::int64_t rank) {
  if (b.failed()) return kNoValue;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(axis), 1);
  const Dims d = b.dims(idx);
  shape.insert(shape.end(), d.begin(), d.end());
  shape.insert(shape.end(), static_cast<std::size_t>(rank - axis - 1), 1);
  return b.emit(Op::reshape, {idx}, {{Key::shape, Ints(shape)}});
}

}  // namespace tfvm
