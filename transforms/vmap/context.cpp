#include <algorithm>

#include "transforms/values.h"
#include "transforms/vmap/batch.h"

namespace tfvm {

bool BatchCtx::any_batched() const {
  return std::ranges::any_of(batched, [](auto f) { return f != 0; });
}

Dims BatchCtx::lane_dims(std::size_t k) const {
  const Dims d = b.dims(x[k]);
  return batched[k] ? d.subspan(1) : d;
}

ValueId add_batch_dim(Builder& b, ValueId v, std::int64_t size) {
  return map_values(b, std::span(&v, 1), {}, [size](Builder& in, std::span<const ValueId>, std::span<const ValueId> x) {
    const Dims d = in.dims(x[0]);
    std::vector<std::int64_t> shape{size};
    shape.insert(shape.end(), d.begin(), d.end());
    return in.emit(Op::broadcast_to, {x[0]}, {{Key::shape, Ints(shape)}});
  });
}

ValueId BatchCtx::add_batch(ValueId v) { return add_batch_dim(b, v, axis.size); }

ValueId BatchCtx::align(ValueId v, std::size_t lane_rank) {
  if (b.failed()) return kNoValue;
  const Dims d = b.dims(v);
  std::vector<std::int64_t> shape{d[0]};
  shape.insert(shape.end(), lane_rank + 1 - d.size(), 1);
  shape.insert(shape.end(), d.begin() + 1, d.end());
  return b.emit(Op::reshape, {v}, {{Key::shape, Ints(shape)}});
}

ValueId BatchCtx::lane_index() {
  const std::int64_t lanes[] = {axis.size};
  const ValueId i = b.emit(Op::iota, {}, {{Key::shape, Ints(lanes)}, {Key::axis, 0}, {Key::dtype, DType::I64}});
  return axis.chunk ? b.emit(Op::add, {i, emit_global(b, chunk_start(t()))}) : i;
}

void BatchCtx::push_no_lanes() {
  const Body& body = t().bodies[source.body];
  for (std::uint32_t k = 0; k < in.num_results; ++k) {
    const TypeId lane = body.type(in.result(k));
    std::vector<std::int64_t> none{0};
    none.insert(none.end(), t().types.dims(lane).begin(), t().types.dims(lane).end());
    push(b.failed() ? kNoValue : b.zeros(t().types.tensor(t().types.dtype(lane), none)));
  }
}

void BatchCtx::push(ValueId v, bool is_batched) {
  out.push_back(v);
  out_batched.push_back(is_batched);
}

void BatchCtx::emit(std::span<const ValueId> operands, AttrId attrs_of_op) {
  for (ValueId v : b.emit_all(in.op, operands, attrs_of_op)) push(v);
}

AttrId BatchCtx::shift_axes(Key key) const {
  std::vector<std::int64_t> axes;
  for (std::int64_t a : attrs().get_ints(in.attrs, key)) axes.push_back(a + 1);
  AttrTable& at = t().attrs;
  return at.with(in.attrs, key, at.ints(axes));
}

AttrId BatchCtx::shift_axis(Key key) const {
  AttrTable& at = t().attrs;
  return at.with(in.attrs, key, at.of(at.get_int(in.attrs, key) + 1));
}

}  // namespace tfvm
