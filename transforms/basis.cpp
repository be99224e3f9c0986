#include "transforms/basis.h"

namespace tfvm {

namespace {
using List = std::vector<std::int64_t>;
}

std::vector<std::int64_t> joined_dims(Dims a, Dims b) {
  List out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

ValueId basis(Builder& b, TypeId type) {
  const TypeTable& types = b.tables().types;
  const std::int64_t n = types.elements(type);
  const std::int64_t square[] = {n, n};
  const auto numbers = [&](std::int64_t axis) {
    return b.emit(Op::iota, {}, {{Key::shape, Ints(square)}, {Key::axis, axis}});
  };
  const ValueId same = b.emit(Op::eq, {numbers(0), numbers(1)});
  const ValueId eye = b.emit(Op::cast, {same}, {{Key::dtype, types.dtype(type)}});
  return b.emit(Op::reshape, {eye}, {{Key::shape, Ints(joined_dims({&n, 1}, types.dims(type)))}});
}

ValueId in_last(Builder& b, ValueId v, Dims in) {
  if (b.failed()) return kNoValue;
  List perm;
  for (std::int64_t d = 1; d < b.rank(v); ++d) perm.push_back(d);
  perm.push_back(0);
  const List shape = joined_dims(b.dims(v).subspan(1), in);
  return b.emit(Op::reshape, {b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}})}, {{Key::shape, Ints(shape)}});
}

}  // namespace tfvm
