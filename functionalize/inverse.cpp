// The inverses of views: a base with what a view of it holds replaced. Each is a few functional ops, so that it has
// derivatives and batches; places that are known go in as constants, which reinplace reads as regions.
#include <algorithm>

#include "bytecode/expand/steps.h"
#include "functionalize/view.h"

namespace tfvm {
std::vector<ValueId> expand_diagonal_scatter(ExpandCtx&);
}

namespace tfvm::functional {

namespace {

using namespace expand;

struct Put {
  Builder& b;
  const View& v;
  ValueId x, u;
  bool inplace;
  AttrTable& attrs() const { return b.tables().attrs; }
};

ValueId put_transpose(const Put& p) {
  return transpose(p.b, p.u, expand::inverse(p.attrs().get_ints(p.v.attrs, Key::perm)));
}

ValueId put_reshape(const Put& p) { return reshape(p.b, p.u, p.b.tables().types.dims(p.v.from)); }

// Along one axis: places start, start + step, …
ValueId put_axis(const Put& p, ValueId x, ValueId u, std::int64_t axis, std::int64_t start, std::int64_t step) {
  const Dims d = p.b.dims(u);
  const Shape shape(d.begin(), d.end());
  Shape strides(shape.size(), 0);
  strides[at(axis)] = step;
  return p.b.emit(Op::scatter_along, {x, strided_places(p.b, shape, strides, start), u},
                  {{Key::axis, axis}, {Key::mode, "clip"}, {Key::inplace, p.inplace}});
}

// x at start + index·step in each dim. A box is one dynamic_update_slice; steps go axis by axis.
ValueId put_slice(const Put& p) {
  Builder& b = p.b;
  const auto list = [&](Key k) {
    const Ints v = p.attrs().get_ints(p.v.attrs, k);
    return Shape(v.begin(), v.end());
  };
  const Shape start = list(Key::start), limit = list(Key::limit), step = list(Key::stride);
  if (b.tables().types.elements(p.v.to) == 0) return p.x;
  std::vector<ValueId> outer;  // x, and x cut along the first axes with steps
  std::vector<std::int64_t> axes;
  ValueId part = p.x;
  for (std::size_t k = 0; k < step.size(); ++k) {
    if (step[k] == 1 || b.dims(p.u)[k] == 1) continue;
    outer.push_back(part);
    axes.push_back(static_cast<std::int64_t>(k));
    part = slice(b, part, static_cast<std::int64_t>(k), start[k], limit[k], step[k]);
  }
  Values operands{part, p.u};
  for (std::size_t k = 0; k < step.size(); ++k) {
    const bool cut = std::ranges::find(axes, static_cast<std::int64_t>(k)) != axes.end();
    operands.push_back(b.scalar_int(DType::I64, cut ? 0 : start[k]));
  }
  const bool whole = !b.failed() && std::ranges::equal(b.dims(part), b.dims(p.u));
  ValueId now = whole ? p.u : b.emit(Op::dynamic_update_slice, operands, p.attrs().dict({{Key::inplace, p.inplace}}));
  for (std::size_t j = axes.size(); j-- > 0;) {
    const std::size_t k = at(axes[j]);
    now = put_axis(p, outer[j], now, axes[j], start[k], step[k]);
  }
  return now;
}

// Into these places of the base's storage: an update of what is written alone.
ValueId put_at(const Put& p, const Strided& place) {
  Builder& b = p.b;
  const Shape flat{b.tables().types.elements(p.v.from)}, row{b.tables().types.elements(p.v.to)};
  const ValueId places = reshape(b, strided_places(b, place.shape, place.strides, place.offset), row);
  const ValueId now = b.emit(Op::scatter_along, {reshape(b, p.x, flat), places, reshape(b, p.u, row)},
                             {{Key::axis, 0}, {Key::mode, "clip"}, {Key::inplace, p.inplace}});
  return reshape(b, now, b.tables().types.dims(p.v.from));
}

// A select over the whole, which fuses; asked to be in place, the diagonal's elements alone.
ValueId put_diagonal(const Put& p) {
  const Tables& t = p.b.tables();
  if (p.inplace && t.types.elements(p.v.to) > 0)
    if (const Result<Strided> place = lie(t, p.v, row_major(t.types.dims(p.v.from)), t.types.elements(p.v.from)))
      return put_at(p, *place);
  const ValueId in[] = {p.x, p.u};
  ExpandCtx c{p.b, in, p.v.attrs};
  const Values out = expand_diagonal_scatter(c);
  return out.empty() ? kNoValue : out[0];
}

// Windows that don't overlap: their dim goes back beside the axis, and both become one.
ValueId put_unfold(const Put& p) {
  const std::int64_t axis = p.attrs().get_int(p.v.attrs, Key::axis), size = p.attrs().get_int(p.v.attrs, Key::size),
                     step = p.attrs().get_int(p.v.attrs, Key::step);
  Builder& b = p.b;
  const Dims d = b.dims(p.u);
  const std::int64_t rank = static_cast<std::int64_t>(d.size()), windows = d[at(axis)];
  if (b.tables().types.elements(p.v.to) == 0) return p.x;
  const Shape from{rank - 1}, to{axis + 1};
  Shape merged(d.begin(), d.end() - 1);
  merged[at(axis)] = windows * size;
  const ValueId u = reshape(b, transpose(b, p.u, moved(rank, from, to)), merged);
  Shape cells = merged, strides(merged.size() + 1, 0);
  cells[at(axis)] = windows;
  cells.insert(cells.begin() + axis + 1, size);
  strides[at(axis)] = step;
  strides[at(axis) + 1] = 1;
  const ValueId places = reshape(b, strided_places(b, cells, strides, 0), merged);
  return b.emit(Op::scatter_along, {p.x, places, u},
                {{Key::axis, axis}, {Key::mode, "clip"}, {Key::inplace, p.inplace}});
}

ValueId put_strided(const Put& p) {
  if (p.b.tables().types.elements(p.v.to) == 0) return p.x;
  const auto list = [&](Key k) {
    const Ints v = p.attrs().get_ints(p.v.attrs, k);
    return Shape(v.begin(), v.end());
  };
  return put_at(p, {p.attrs().get_int(p.v.attrs, Key::offset), list(Key::shape), list(Key::strides)});
}

}  // namespace

ValueId inverse(Builder& b, const View& v, ValueId x, ValueId u, bool inplace) {
  if (b.failed()) return kNoValue;
  const Put p{b, v, x, u, inplace};
  switch (v.op) {
    case Op::alias:
    case Op::detach:
      return u;
    case Op::transpose:
      return put_transpose(p);
    case Op::view:
    case Op::broadcast_to:  // one that repeats nothing
      return put_reshape(p);
    case Op::slice:
      return put_slice(p);
    case Op::diagonal:
      return put_diagonal(p);
    case Op::unfold:
      return put_unfold(p);
    case Op::as_strided:
      return put_strided(p);
    case Op::view_dtype:
      if (size_of(b.dtype(u)) == size_of(b.dtype(x))) return b.emit(Op::bitcast, {u}, {{Key::dtype, b.dtype(x)}});
      [[fallthrough]];
    default:
      return b.fail(Code::Unsupported, "[" + std::string(name(v.op)) + "] nothing is written through this view");
  }
}

}  // namespace tfvm::functional
