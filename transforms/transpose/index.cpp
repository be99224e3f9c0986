// Lookups become sums into zeros, updates become lookups.
#include "transforms/index_places.h"
#include "transforms/transpose/rules.h"

namespace tfvm {

namespace {

AttrId along_attrs(TransposeCtx& c, std::string_view combine) {
  AttrTable& at = c.tables().attrs;
  return at.dict({{Key::axis, at.get_int(c.in.attrs, Key::axis)},
                  {Key::combine, combine},
                  {Key::mode, at.get_str(c.in.attrs, Key::mode)}});
}

// idx with the dims of `like`.
ValueId broadcast_places(Builder& b, ValueId idx, Dims like) {
  return b.emit(Op::broadcast_to, {idx}, {{Key::shape, like}});
}

}  // namespace

void transpose_dynamic_slice(TransposeCtx& c) {
  if (c.b.failed()) return;
  std::vector<ValueId> operands{c.b.zeros(c.type(0)), c.ct()};
  for (std::size_t k = 1; k < c.in.operands.size(); ++k) operands.push_back(c.known(k));
  c.add(0, c.b.emit(Op::dynamic_update_slice, operands, c.attrs().empty()));
}

void transpose_dynamic_update_slice(TransposeCtx& c) {
  if (c.b.failed()) return;
  std::vector<ValueId> places;
  for (std::size_t k = 2; k < c.in.operands.size(); ++k) places.push_back(c.known(k));
  if (c.is_linear(0)) {
    std::vector<ValueId> operands{c.ct(), c.b.zeros(c.type(1))};
    operands.insert(operands.end(), places.begin(), places.end());
    c.add(0, c.b.emit(Op::dynamic_update_slice, operands, c.attrs().empty()));
  }
  if (c.is_linear(1)) {
    std::vector<ValueId> operands{c.ct()};
    operands.insert(operands.end(), places.begin(), places.end());
    c.add(1, c.b.emit(Op::dynamic_slice, operands, c.tables().attrs.dict({{Key::sizes, c.dims(1)}})));
  }
}

// The dims of idx, flattened, stand for the axis: then it is a take_along.
void transpose_take(TransposeCtx& c) {
  if (c.b.failed()) return;
  const std::int64_t axis = c.attrs().get_int(c.in.attrs, Key::axis);
  const Dims x = c.dims(0);
  std::int64_t places = 1;
  for (std::int64_t d : c.dims(1)) places *= d;
  std::vector<std::int64_t> shape(x.begin(), x.end());
  shape[static_cast<std::size_t>(axis)] = places;
  const ValueId ct = c.b.emit(Op::reshape, {c.ct()}, {{Key::shape, Ints(shape)}});
  const ValueId flat = c.b.emit(Op::reshape, {c.known(1)}, {{Key::shape, Ints(&places, 1)}});
  const ValueId idx = broadcast_places(c.b, align_places(c.b, flat, axis, static_cast<std::int64_t>(x.size())), shape);
  c.add(0, c.b.emit(Op::scatter_along, std::vector{c.b.zeros(c.type(0)), idx, ct}, along_attrs(c, "add")));
}

void transpose_take_along(TransposeCtx& c) {
  if (c.b.failed()) return;
  const ValueId idx = broadcast_places(c.b, c.known(1), c.b.dims(c.ct()));
  c.add(0, c.b.emit(Op::scatter_along, std::vector{c.b.zeros(c.type(0)), idx, c.ct()}, along_attrs(c, "add")));
}

// Back to the windows that were read.
void transpose_gather(TransposeCtx& c) {
  if (c.b.failed()) return;
  const AttrId attrs = scatter_attrs(c.tables(), c.in.attrs, "add");
  c.add(0, c.b.emit(Op::scatter, std::vector{c.b.zeros(c.type(0)), c.known(1), c.ct()}, attrs));
}

namespace {

// May two updates have one place? Not where each row has one index, so that a step of an update loop costs the update.
bool may_collide(const Update& up) {
  const AttrTable& at = up.b.tables().attrs;
  if (up.in.op == Op::scatter_along) return up.u[static_cast<std::size_t>(at.get_int(up.in.attrs, Key::axis))] > 1;
  const Dims idx = up.b.dims(up.idx);
  const auto vector = static_cast<std::size_t>(at.get_int(up.in.attrs, Key::index_vector_dim));
  std::int64_t windows = 1;
  for (std::size_t d = 0; d < idx.size(); ++d) windows *= d == vector ? 1 : idx[d];
  return windows > 1;
}

}  // namespace

// scatter, scatter_along. add: the cotangent goes on and is looked up. set: of updates to one place the last wins;
// which one that is, is found by scattering the numbers of the updates the same way.
void transpose_scatter(TransposeCtx& c) {
  if (c.b.failed()) return;
  Builder& b = c.b;
  const Update up{b, c.in, c.known(1), c.dims(0), c.dims(2)};
  const bool set = up.combine() == "set";
  if (!set && up.combine() != "add") return c.refuse();
  if (c.tables().types.elements(c.type(0)) == 0) return;
  if (c.is_linear(0)) c.add(0, set ? up.write(c.ct(), b.zeros(c.type(2)), "set") : c.ct());
  if (!c.is_linear(2) || b.failed()) return;
  // A dropped update reads nothing: "fill" looks up clipped and masks.
  const bool fills = up.mode() == "fill";
  const std::string_view mode = fills ? "clip" : up.mode();
  const ValueId zero = b.scalar(b.dtype(c.ct()), 0);
  ValueId d = up.read(c.ct(), mode);
  if (set && may_collide(up)) {
    const ValueId mine = count_up(b, up.u);
    const ValueId none = b.splat(c.tables().types.tensor(DType::I64, up.x), 0);
    const ValueId last = up.write(none, mine, "set");
    d = b.emit(Op::select, {b.emit(Op::eq, {up.read(last, mode), mine}), d, zero});
  }
  if (fills) d = b.emit(Op::select, {up.is_inside(), d, zero});
  c.add(2, d);
}

}  // namespace tfvm
