#include "transforms/index_places.h"

#include <algorithm>

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

namespace {

std::int64_t product(Dims dims) {
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  return n;
}

// StableHLO's names on both sides: offset_dims = update_window_dims, collapsed_slice_dims = inserted_window_dims,
// start_index_map = scatter_dims_to_operand_dims.
AttrId gather_attrs(const Update& up, std::string_view mode) {
  AttrTable& at = up.b.tables().attrs;
  const AttrId in = up.in.attrs;
  const Ints window = at.get_ints(in, Key::update_window_dims), inserted = at.get_ints(in, Key::inserted_window_dims);
  std::vector<std::int64_t> sizes(up.x.size(), 1);
  for (std::size_t d = 0, k = 0; d < sizes.size(); ++d)
    if (std::ranges::find(inserted, static_cast<std::int64_t>(d)) == inserted.end())
      sizes[d] = up.u[static_cast<std::size_t>(window[k++])];
  return at.dict({{Key::offset_dims, window},
                  {Key::collapsed_slice_dims, inserted},
                  {Key::start_index_map, at.get_ints(in, Key::scatter_dims_to_operand_dims)},
                  {Key::index_vector_dim, at.get_int(in, Key::index_vector_dim)},
                  {Key::slice_sizes, Ints(sizes)},
                  {Key::mode, mode}});
}

}  // namespace

AttrId scatter_attrs(Tables& t, AttrId gather, std::string_view combine) {
  AttrTable& at = t.attrs;
  return at.dict({{Key::update_window_dims, at.get_ints(gather, Key::offset_dims)},
                  {Key::inserted_window_dims, at.get_ints(gather, Key::collapsed_slice_dims)},
                  {Key::scatter_dims_to_operand_dims, at.get_ints(gather, Key::start_index_map)},
                  {Key::index_vector_dim, at.get_int(gather, Key::index_vector_dim)},
                  {Key::combine, combine},
                  {Key::mode, at.get_str(gather, Key::mode)}});
}

std::string_view Update::mode() const { return b.tables().attrs.get_str(in.attrs, Key::mode); }
std::string_view Update::combine() const { return b.tables().attrs.get_str(in.attrs, Key::combine); }

ValueId Update::write(ValueId to, ValueId from, std::string_view how) const {
  AttrTable& at = b.tables().attrs;
  return b.emit(in.op, std::vector{to, idx, from}, at.with(in.attrs, Key::combine, at.of(how)));
}

ValueId Update::read(ValueId from, std::string_view mode) const {
  if (b.failed()) return kNoValue;
  if (in.op == Op::scatter) return b.emit(Op::gather, std::vector{from, idx}, gather_attrs(*this, mode));
  const std::int64_t axis = b.tables().attrs.get_int(in.attrs, Key::axis);
  return b.emit(Op::take_along, {from, idx}, {{Key::axis, axis}, {Key::mode, mode}});
}

ValueId Update::is_inside() const {
  if (b.failed()) return kNoValue;
  return read(b.splat(b.tables().types.tensor(DType::Bool, x), 1), "fill");
}

ValueId Update::numbers() const { return read(count_up(b, x)); }

ValueId count_up(Builder& b, Dims dims) {
  const std::int64_t n = product(dims);
  const ValueId flat = b.emit(Op::iota, {}, {{Key::shape, Ints(&n, 1)}});
  const ValueId from = b.emit(Op::add, {flat, b.scalar_int(DType::I64, 1)});
  return b.emit(Op::reshape, {from}, {{Key::shape, dims}});
}

}  // namespace tfvm
