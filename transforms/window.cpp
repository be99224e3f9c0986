#include "transforms/window.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

List list_of(const AttrTable& at, AttrId attrs, Key key, std::size_t rank) {
  if (!at.has(attrs, key)) return List(rank, 1);
  const Ints v = at.get_ints(attrs, key);
  return {v.begin(), v.end()};
}

// The extent of n elements with holes between them.
std::int64_t dilated(std::int64_t n, std::int64_t by) { return n == 0 ? 0 : (n - 1) * by + 1; }

}  // namespace

AttrId pairs(AttrTable& at, Ints low, Ints high) {
  std::vector<AttrId> items;
  for (std::size_t k = 0; k < low.size(); ++k) items.push_back(at.ints(List{low[k], high[k]}));
  return at.list(items);
}

Windows windows_of(const AttrTable& at, AttrId attrs, std::size_t rank) {
  Windows w{list_of(at, attrs, Key::window, rank),        list_of(at, attrs, Key::strides, rank),        {}, {},
            list_of(at, attrs, Key::base_dilation, rank), list_of(at, attrs, Key::window_dilation, rank)};
  for (std::size_t k = 0; k < rank; ++k) {
    w.low.push_back(at.get_ints_at(attrs, Key::padding, k)[0]);
    w.high.push_back(at.get_ints_at(attrs, Key::padding, k)[1]);
  }
  return w;
}

AttrId reduce_window_attrs(AttrTable& at, std::string_view op, const Windows& w) {
  return at.dict({{Key::op, op},
                  {Key::window, Ints(w.size)},
                  {Key::strides, Ints(w.stride)},
                  {Key::padding, pairs(at, w.low, w.high)},
                  {Key::base_dilation, Ints(w.base)},
                  {Key::window_dilation, Ints(w.dilation)}});
}

AttrId select_attrs(AttrTable& at, const Windows& w) {
  return at.dict(
      {{Key::window, Ints(w.size)}, {Key::strides, Ints(w.stride)}, {Key::padding, pairs(at, w.low, w.high)}});
}

Windows behind_batch(Windows w) {
  for (List* v : {&w.size, &w.stride, &w.base, &w.dilation}) v->insert(v->begin(), 1);
  w.low.insert(w.low.begin(), 0);
  w.high.insert(w.high.begin(), 0);
  return w;
}

// Element i stands at i * base + low and belongs to window o where it is o * stride + k * dilation for some k. So from
// it, backwards by k * dilation, stand the windows, `stride` apart.
Windows transposed_windows(const Windows& w, Dims n, Dims places) {
  Windows t = w;
  t.stride = w.base;
  t.base = w.stride;
  for (std::size_t k = 0; k < n.size(); ++k) {
    t.low[k] = (w.size[k] - 1) * w.dilation[k] - w.low[k];
    t.high[k] = dilated(n[k], w.base[k]) - dilated(places[k], w.stride[k]) + w.low[k];
  }
  return t;
}

ValueId window_places(Builder& b, const Windows& w, Dims dims, Dims places) {
  const std::size_t rank = dims.size();
  List shape(places.begin(), places.end());
  shape.insert(shape.end(), w.size.begin(), w.size.end());
  const auto number = [&](std::int64_t v) { return b.scalar_int(DType::I64, v); };
  const auto along = [&](std::size_t axis, std::int64_t times) {
    const ValueId i = b.emit(Op::iota, {}, {{Key::shape, Ints(shape)}, {Key::axis, static_cast<std::int64_t>(axis)}});
    return b.emit(Op::mul, {i, number(times)});
  };
  ValueId sum = b.splat(b.tables().types.tensor(DType::I64, shape), 0);
  ValueId inside = b.splat(b.tables().types.tensor(DType::Bool, shape), 1);
  const auto require = [&](Op op, ValueId v, std::int64_t limit) {
    inside = b.emit(Op::and_, {inside, b.emit(op, {v, number(limit)})});
  };
  std::int64_t stride = 1;
  for (std::size_t k = rank; k-- > 0; stride *= dims[k]) {
    const ValueId at = b.emit(Op::add, {along(k, w.stride[k]), along(rank + k, w.dilation[k])});
    ValueId i = b.emit(Op::sub, {at, number(w.low[k])});
    require(Op::ge, i, 0);
    if (w.base[k] != 1) {
      require(Op::eq, b.emit(Op::rem, {i, number(w.base[k])}), 0);
      i = b.emit(Op::div, {i, number(w.base[k])});
    }
    require(Op::lt, i, dims[k]);
    sum = b.emit(Op::add, {sum, b.emit(Op::mul, {i, number(stride)})});
  }
  List flat(places.begin(), places.end());
  std::int64_t elements = 1;
  for (std::int64_t s : w.size) elements *= s;
  flat.push_back(elements);
  return b.emit(Op::reshape, {b.emit(Op::select, {inside, sum, number(-1)})}, {{Key::shape, Ints(flat)}});
}

}  // namespace tfvm
