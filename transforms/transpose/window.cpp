// Sums over windows go back as sums over the windows that hold an element.
#include "transforms/window.h"

#include "transforms/transpose/rules.h"

namespace tfvm {

void transpose_reduce_window(TransposeCtx& c) {
  if (c.attrs().get_str(c.in.attrs, Key::op) != "add") return c.refuse();
  if (c.b.failed()) return;
  const Dims n = c.dims(0);
  const Windows w = transposed_windows(windows_of(c.attrs(), c.in.attrs, n.size()), n, c.b.dims(c.ct()));
  c.add(0, c.b.emit(Op::reduce_window, std::vector{c.ct()}, reduce_window_attrs(c.tables().attrs, "add", w)));
}

// Each element of the source has the cotangent of the place that its window chose: the first NaN of the window, else
// the first of its largest elements.
void transpose_select_and_scatter_add(TransposeCtx& c) {
  Builder& b = c.b;
  if (c.is_linear(0)) return c.refuse();
  if (b.failed()) return;
  const ValueId x = c.known(0);
  const Windows w = windows_of(c.attrs(), c.in.attrs, c.dims(0).size());
  const std::int64_t all[] = {-1}, last[] = {-1};
  const auto flat = [&](ValueId v) { return b.emit(Op::reshape, {v}, {{Key::shape, Ints(all)}}); };
  const ValueId places = window_places(b, w, c.dims(0), c.dims(1));
  if (b.failed()) return;
  const ValueId real = b.emit(Op::ge, {places, b.scalar_int(DType::I64, 0)});
  const ValueId v = b.emit(Op::take, {flat(x), places}, {{Key::axis, 0}, {Key::mode, "clip"}});
  if (b.failed()) return;
  const ValueId low = b.scalar(b.dtype(x), -std::numeric_limits<double>::infinity());
  const ValueId most =
      b.emit(Op::reduce_max, {b.emit(Op::select, {real, v, low})}, {{Key::axes, Ints(last)}, {Key::keepdims, true}});
  const ValueId best = b.emit(Op::or_, {b.emit(Op::eq, {v, most}), b.emit(Op::isnan, {v})});
  const ValueId hit = b.emit(Op::cast, {b.emit(Op::and_, {real, best})}, {{Key::dtype, DType::I32}});
  const ValueId first = b.emit(Op::argmax, {hit}, {{Key::axis, -1}});
  std::vector<std::int64_t> column(c.dims(1).begin(), c.dims(1).end());
  column.push_back(1);
  const ValueId which = b.emit(Op::reshape, {first}, {{Key::shape, Ints(column)}});
  const ValueId chosen = b.emit(Op::take_along, {places, which}, {{Key::axis, -1}, {Key::mode, "clip"}});
  const ValueId at = b.emit(Op::reshape, {chosen}, {{Key::shape, c.dims(1)}});
  const ValueId d = b.emit(Op::take, {flat(c.ct()), at}, {{Key::axis, 0}, {Key::mode, "clip"}});
  if (b.failed()) return;
  // A window of padding alone has no place.
  const ValueId some = b.emit(Op::ge, {at, b.scalar_int(DType::I64, 0)});
  c.add(1, b.emit(Op::select, {some, d, b.scalar(b.dtype(c.ct()), 0)}));
}

}  // namespace tfvm
