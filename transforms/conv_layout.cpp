#include "transforms/conv_layout.h"

namespace tfvm {

namespace {

using List = std::vector<std::int64_t>;

List list_of(const AttrTable& at, AttrId attrs, Key key) {
  const Ints v = at.get_ints(attrs, key);
  return {v.begin(), v.end()};
}

ValueId reshape(Builder& b, ValueId v, const List& shape) {
  return b.emit(Op::reshape, {v}, {{Key::shape, Ints(shape)}});
}

}  // namespace

Conv conv_of(const AttrTable& at, AttrId attrs, Dims w) {
  Conv c;
  c.last = at.get_str(attrs, Key::layout) == "channels_last";
  c.feature_groups = at.get_int(attrs, Key::feature_groups);
  c.batch_groups = at.get_int(attrs, Key::batch_groups);
  const Dims space = w.subspan(c.last ? 1 : 2, w.size() - 2);
  c.windows.size.assign(space.begin(), space.end());
  c.windows.stride = list_of(at, attrs, Key::strides);
  c.windows.base = list_of(at, attrs, Key::lhs_dilation);
  c.windows.dilation = list_of(at, attrs, Key::rhs_dilation);
  for (std::size_t k = 0; k < space.size(); ++k) {
    c.windows.low.push_back(at.get_ints_at(attrs, Key::padding, k)[0]);
    c.windows.high.push_back(at.get_ints_at(attrs, Key::padding, k)[1]);
  }
  return c;
}

ValueId emit_conv(Builder& b, ValueId x, ValueId w, const Conv& c) {
  return b.emit(Op::conv, {x, w},
                {{Key::strides, Ints(c.windows.stride)},
                 {Key::padding, pairs(b.tables().attrs, c.windows.low, c.windows.high)},
                 {Key::lhs_dilation, Ints(c.windows.base)},
                 {Key::rhs_dilation, Ints(c.windows.dilation)},
                 {Key::feature_groups, c.feature_groups},
                 {Key::batch_groups, c.batch_groups},
                 {Key::layout, c.last ? "channels_last" : "channels_first"}});
}

ValueId move_dim(Builder& b, ValueId v, std::int64_t from, std::int64_t to) {
  if (b.failed() || from == to) return v;
  List perm;
  for (std::int64_t d = 0; d < b.rank(v); ++d)
    if (d != from) perm.push_back(d);
  perm.insert(perm.begin() + to, from);
  return b.emit(Op::transpose, {v}, {{Key::perm, Ints(perm)}});
}

ValueId merge_dims(Builder& b, ValueId v, std::int64_t first, std::int64_t n) {
  if (b.failed()) return kNoValue;
  List shape(b.dims(v).begin(), b.dims(v).end());
  const auto at = shape.begin() + first;
  for (std::int64_t k = 1; k < n; ++k) *at *= at[k];
  shape.erase(at + 1, at + n);
  return reshape(b, v, shape);
}

ValueId split_dim(Builder& b, ValueId v, std::int64_t at, std::initializer_list<std::int64_t> parts) {
  if (b.failed()) return kNoValue;
  List shape(b.dims(v).begin(), b.dims(v).end());
  shape.erase(shape.begin() + at);
  shape.insert(shape.begin() + at, parts.begin(), parts.end());
  return reshape(b, v, shape);
}

}  // namespace tfvm
