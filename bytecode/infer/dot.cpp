// Contractions.
#include "bytecode/infer/steps.h"

namespace tfvm {

using infer::at;
using infer::Shape;

namespace {
AttrId two(Tables& t, Ints a, Ints b) {
  const AttrId items[] = {t.attrs.ints(a), t.attrs.ints(b)};
  return t.attrs.list(items);
}

// Normalises a pair of lists of dims, of x and of y, whose sizes must agree.
bool match_dims(InferCtx& c, Key key, Shape& xs, Shape& ys) {
  if (!infer::two_lists(c, key, xs, ys) || !infer::normalise_places(c, c.t.strings[key], xs, infer::ssize(c.dims(0))) ||
      !infer::normalise_places(c, c.t.strings[key], ys, infer::ssize(c.dims(1))))
    return false;
  for (std::size_t k = 0; k < xs.size(); ++k)
    if (c.dims(0)[at(xs[k])] != c.dims(1)[at(ys[k])])
      return infer::expect(c, "equal sizes of the dims " + std::string(c.t.strings[key]) + "=[" + infer::text(xs) +
                                  "," + infer::text(ys) + "]");
  const bool written = infer::same_dims(xs, c.t.attrs.get_ints_at(c.attrs, key, 0)) &&
                       infer::same_dims(ys, c.t.attrs.get_ints_at(c.attrs, key, 1));
  if (!written) c.attrs = c.t.attrs.with(c.attrs, key, two(c.t, xs, ys));
  return true;
}

Shape joined(Shape a, const Shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
}  // namespace

// StableHLO, dot_general: batch dims, then x's other dims, then y's.
bool infer_dot_general(InferCtx& c) {
  Shape xb, yb, xc, yc;
  if (!match_dims(c, Key::batch, xb, yb) || !match_dims(c, Key::contract, xc, yc)) return false;
  Shape xs = joined(xb, xc), ys = joined(yb, yc);
  if (!infer::normalise_places(c, "batch and contract dims", xs, infer::ssize(c.dims(0))) ||
      !infer::normalise_places(c, "batch and contract dims", ys, infer::ssize(c.dims(1))))
    return false;
  if (c.has(Key::accum)) {
    const DType accum = c.t.attrs.get_dtype(c.attrs, Key::accum);
    if (is_float(accum) != is_float(c.dtype(0)) || is_complex(accum) != is_complex(c.dtype(0)) ||
        size_of(accum) < size_of(c.dtype(0)))
      return c.fail("expected accum as a dtype at least as wide as the operands', got " + std::string(name(accum)) +
                    " for " + infer::types(c));
  }
  Shape out;
  for (std::int64_t k : xb) out.push_back(c.dims(0)[at(k)]);
  return c.push(c.dtype(0), joined(joined(out, infer::without(c.dims(0), xs)), infer::without(c.dims(1), ys)));
}

namespace {
struct ConvShape {
  std::int64_t batch, channels;
  Dims space;
};

// x[N,C,space…] or, channels last, x[N,space…,C]; of w: N is its outputs O, C its inputs per group.
ConvShape conv_shape(Dims d, bool last) {
  return last ? ConvShape{d.front(), d.back(), d.subspan(1, d.size() - 2)} : ConvShape{d[0], d[1], d.subspan(2)};
}

bool check_groups(InferCtx& c, const ConvShape& x, const ConvShape& w) {
  const std::int64_t groups = c.get_int(Key::feature_groups), batches = c.get_int(Key::batch_groups);
  if (groups < 1 || batches < 1 || (groups > 1 && batches > 1))
    return c.fail("expected feature_groups and batch_groups of at least 1, one of them 1");
  if (x.channels % groups != 0 || x.channels / groups != w.channels)
    return infer::expect(c, "channels of x = channels of w times feature_groups " + std::to_string(groups));
  if (w.batch % groups != 0 || w.batch % batches != 0 || x.batch % batches != 0)
    return infer::expect(c, "outputs of w and batch of x that the groups divide");
  return true;
}
}  // namespace

bool infer_conv(InferCtx& c) {
  const std::size_t rank = c.dims(0).size();
  if (rank < 2 || c.dims(1).size() != rank) return infer::expect(c, "x[N,C,…] and w[O,C/groups,…] of one rank");
  if (!c.has(Key::layout))
    c.attrs = c.t.attrs.with(c.attrs, Key::layout, c.t.attrs.of(std::string_view("channels_first")));
  if (c.t.attrs[c.t.attrs.get(c.attrs, Key::layout)].kind != AttrKind::Str)
    return c.fail("expected layout \"channels_first\" or \"channels_last\"");
  if (!infer::one_of(c, Key::layout, {"channels_first", "channels_last"})) return false;
  const bool last = c.t.attrs.get_str(c.attrs, Key::layout) == "channels_last";
  const ConvShape x = conv_shape(c.dims(0), last), w = conv_shape(c.dims(1), last);
  Shape strides, base, dilation, space(rank - 2);
  std::vector<infer::Pair> padding;
  if (!infer::list_of(c, Key::strides, rank - 2, 1, 1, strides) ||
      !infer::pairs_of(c, Key::padding, rank - 2, padding) ||
      !infer::list_of(c, Key::lhs_dilation, rank - 2, 1, 1, base) ||
      !infer::list_of(c, Key::rhs_dilation, rank - 2, 1, 1, dilation) || !check_groups(c, x, w))
    return false;
  for (std::size_t k = 0; k < rank - 2; ++k)
    if (!infer::window_places(
            x.space[k], {w.space[k], strides[k], padding[k].first, padding[k].second, base[k], dilation[k]}, space[k]))
      return infer::expect(c, "windows whose extent fits into 64 bits");
  Shape out = last ? joined(joined({x.batch / c.get_int(Key::batch_groups)}, space), {w.batch})
                   : joined({x.batch / c.get_int(Key::batch_groups), w.batch}, space);
  return c.push(c.dtype(0), out);
}

}  // namespace tfvm
