// gather, scatter. Places that all lanes share: the batch dim is one more dim of each window, at its front. Places of
// their own: it is one more dim of the indices, whose vectors get the number of the lane as their first entry where the
// operand has lanes too.
#include "transforms/vmap/batch.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

// The dims of a list, moved behind the batch dim; with it at the front where `lead`.
List behind(Ints dims, bool lead) {
  List v;
  if (lead) v.push_back(0);
  for (std::int64_t d : dims) v.push_back(d + 1);
  return v;
}

List sizes_behind(std::int64_t first, Ints sizes) {
  List v{first};
  v.insert(v.end(), sizes.begin(), sizes.end());
  return v;
}

// Vectors [lane, entries…] as i64, along the dim behind the source's index_vector_dim.
ValueId with_lanes(BatchCtx& c, ValueId idx) {
  Builder& b = c.b;
  const auto dim = static_cast<std::size_t>(c.attrs().get_int(c.in.attrs, Key::index_vector_dim)) + 1;
  if (b.failed()) return kNoValue;
  // A number that i64 can't hold stays outside.
  if (b.dtype(idx) == DType::U64)
    idx = b.emit(Op::min, {idx, b.scalar_int(DType::U64, std::numeric_limits<std::int64_t>::max())});
  idx = b.emit(Op::cast, {idx}, {{Key::dtype, DType::I64}});
  if (b.failed()) return kNoValue;
  List shape(b.dims(idx).begin(), b.dims(idx).end());
  if (dim == shape.size()) {
    shape.push_back(1);
    idx = b.emit(Op::reshape, {idx}, {{Key::shape, Ints(shape)}});
  }
  shape[dim] = 1;
  const ValueId lanes = b.emit(Op::iota, {}, {{Key::shape, Ints(shape)}, {Key::axis, 0}, {Key::dtype, DType::I64}});
  return b.emit(Op::concat, {lanes, idx}, {{Key::axis, static_cast<std::int64_t>(dim)}});
}

}  // namespace

void batch_gather(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const AttrId in = c.in.attrs;
  const bool bx = c.batched[0] != 0, bi = c.batched[1] != 0;
  if (bx && bi && c.axis.size == 0) return c.push_no_lanes();  // not even one fits into windows of one lane
  const Ints sizes = at.get_ints(in, Key::slice_sizes);
  const List offset = behind(at.get_ints(in, Key::offset_dims), !bi);
  const List collapsed =
      bx ? behind(at.get_ints(in, Key::collapsed_slice_dims), bi)
         : List(at.get_ints(in, Key::collapsed_slice_dims).begin(), at.get_ints(in, Key::collapsed_slice_dims).end());
  const Ints old_map = at.get_ints(in, Key::start_index_map);
  const List map = bx ? behind(old_map, bi) : List(old_map.begin(), old_map.end());
  const List all = bx ? sizes_behind(bi ? 1 : c.axis.size, sizes) : List(sizes.begin(), sizes.end());
  const ValueId idx = bx && bi ? with_lanes(c, c.x[1]) : c.x[1];
  const AttrId attrs = at.dict({{Key::offset_dims, Ints(offset)},
                                {Key::collapsed_slice_dims, Ints(collapsed)},
                                {Key::start_index_map, Ints(map)},
                                {Key::index_vector_dim, at.get_int(in, Key::index_vector_dim) + bi},
                                {Key::slice_sizes, Ints(all)},
                                {Key::mode, at.get_str(in, Key::mode)}});
  c.emit(std::vector{c.x[0], idx}, attrs);
}

void batch_scatter(BatchCtx& c) {
  AttrTable& at = c.t().attrs;
  const AttrId in = c.in.attrs;
  const bool bi = c.batched[1] != 0;
  const List window = behind(at.get_ints(in, Key::update_window_dims), !bi);
  const List inserted = behind(at.get_ints(in, Key::inserted_window_dims), bi);
  const List map = behind(at.get_ints(in, Key::scatter_dims_to_operand_dims), bi);
  const ValueId idx = bi ? with_lanes(c, c.x[1]) : c.x[1];
  const AttrId attrs = at.dict({{Key::update_window_dims, Ints(window)},
                                {Key::inserted_window_dims, Ints(inserted)},
                                {Key::scatter_dims_to_operand_dims, Ints(map)},
                                {Key::index_vector_dim, at.get_int(in, Key::index_vector_dim) + bi},
                                {Key::combine, at.get_str(in, Key::combine)},
                                {Key::mode, at.get_str(in, Key::mode)}});
  c.emit(std::vector{c.with_batch(0), idx, c.with_batch(2)}, attrs);
}

}  // namespace tfvm
