#include "bytecode/expand/writes.h"

#include <algorithm>

#include "bytecode/expand/steps.h"
#include "bytecode/infer/infer.h"

namespace tfvm {

using namespace expand;

namespace {

struct Write {
  Builder& b;
  Op op;
  std::span<const ValueId> in;
  AttrId attrs;

  ValueId x() const { return in[0]; }
  TypeTable& types() const { return b.tables().types; }
  AttrTable& table() const { return b.tables().attrs; }
  ValueId fail(const std::string& what) const {
    std::string got;
    for (ValueId v : in) got += (got.empty() ? "" : ", ") + types().text(b.type(v));
    return b.fail(Code::Type, "[" + write_name(b.tables(), op, attrs) + "] " + what + ", got " + got);
  }
  // Of an update of the target.
  AttrId update() const { return table().dict({{Key::inplace, table().get_bool(attrs, Key::inplace)}}); }
  ValueId add(ValueId a, ValueId z) const { return b.emit(Op::add, {a, z}); }
  ValueId number(std::int64_t n) const { return b.scalar_int(DType::I64, n); }
};

// The value in the target's shape.
ValueId fitted(const Write& w, ValueId v) {
  std::vector<std::int64_t> common;
  if (!broadcast_dims(w.b.dims(w.x()), w.b.dims(v), common) || !std::ranges::equal(common, w.b.dims(w.x())))
    return w.fail("expected a value that broadcasts to the shape of the target");
  return broadcast(w.b, v, common);
}

ValueId elementwise(const Write& w) {
  const auto op = find_op(w.table().get_str(w.attrs, Key::op));
  if (!op || !is_elementwise(*op)) return w.fail("expected an elementwise op");
  const ValueId v = w.b.emit(*op, w.in, w.table().empty());
  if (w.b.failed()) return kNoValue;
  return w.b.type(v) == w.b.type(w.x()) ? v : w.fail("expected a result of the shape and dtype of the target");
}

ValueId masked_fill(const Write& w) {
  const ValueId v = w.b.emit(Op::select, {w.in[1], w.in[2], w.x()});
  if (w.b.failed() || w.b.type(v) == w.b.type(w.x())) return v;
  return w.fail("expected a mask and a value that broadcast to the shape of the target");
}

// torch.scatter: idx may be smaller than the target in every dim, u at least as large as idx.
ValueId scatter(const Write& w, std::string_view combine) {
  Builder& b = w.b;
  const auto rank = b.rank(w.x());
  std::int64_t axis = w.table().get_int(w.attrs, Key::axis);
  if (axis < 0) axis += rank;
  const Dims idx = b.dims(w.in[1]), x = b.dims(w.x()), u = b.dims(w.in[2]);
  bool fits = axis >= 0 && axis < rank && idx.size() == x.size() && u.size() == x.size();
  for (std::size_t k = 0; fits && k < x.size(); ++k) fits = (at(axis) == k || idx[k] <= x[k]) && idx[k] <= u[k];
  if (!fits) return w.fail("expected indices that fit into the target but for the axis, and updates of their shape");
  const Shape wanted(idx.begin(), idx.end()), whole(x.begin(), x.end());
  Shape part = wanted;
  part[at(axis)] = whole[at(axis)];
  ValueId target = w.x(), update = w.in[2];
  for (std::int64_t k = 0; k < rank; ++k) {
    if (part[at(k)] != whole[at(k)]) target = slice(b, target, k, 0, part[at(k)]);
    if (wanted[at(k)] != b.dims(update)[at(k)]) update = slice(b, update, k, 0, wanted[at(k)]);
  }
  const ValueId now =
      b.emit(Op::scatter_along, {target, w.in[1], update},
             {{Key::axis, axis}, {Key::combine, combine}, {Key::inplace, w.table().get_bool(w.attrs, Key::inplace)}});
  if (part == whole) return now;
  Values operands{w.x(), now};
  operands.insert(operands.end(), whole.size(), w.number(0));
  return b.emit(Op::dynamic_update_slice, operands, w.update());
}

// One place in the leading dims n, flattened, from an index for each: `outside` where one of them is, or clipped.
ValueId flat_place(const Write& w, std::span<const ValueId> idx, Ints n, std::string_view mode) {
  Builder& b = w.b;
  std::int64_t total = 1;
  for (std::int64_t d : n) total *= d;
  ValueId place = w.number(0), outside = b.constant(b.tables().consts.scalar_int(DType::Bool, 0));
  for (std::size_t k = 0; k < idx.size(); ++k) {
    ValueId i = cast(b, idx[k], DType::I64);
    const ValueId size = w.number(n[k]), zero = w.number(0);
    if (mode == "error") i = b.emit(Op::select, {b.emit(Op::lt, {i, zero}), w.add(i, size), i});
    if (mode == "clip") i = b.emit(Op::clamp, {zero, i, w.number(std::max<std::int64_t>(n[k] - 1, 0))});
    outside = b.emit(Op::or_, {outside, b.emit(Op::or_, {b.emit(Op::lt, {i, zero}), b.emit(Op::ge, {i, size})})});
    place = w.add(b.emit(Op::mul, {place, size}), i);
  }
  return mode == "clip" ? place : b.emit(Op::select, {outside, w.number(total), place});
}

// x[i…] = v, or += where `accumulate`: indices broadcast together to S, v to S and the dims of x behind the indices.
ValueId index_put(const Write& w) {
  Builder& b = w.b;
  const std::size_t k = w.in.size() - 2;
  const Shape x(b.dims(w.x()).begin(), b.dims(w.x()).end());
  if (k == 0 || k > x.size()) return w.fail("expected between one index and one for each dim of the target");
  Shape s, next;
  for (std::size_t j = 1; j <= k; ++j) {
    if (!broadcast_dims(s, b.dims(w.in[j]), next)) return w.fail("expected indices whose shapes broadcast together");
    s.swap(next);
  }
  const auto behind = x.begin() + static_cast<std::ptrdiff_t>(k);
  Shape full = s, common;
  full.insert(full.end(), behind, x.end());
  if (!broadcast_dims(full, b.dims(w.in.back()), common) || common != full)
    return w.fail("expected a value that broadcasts to the shape of what is indexed");
  std::int64_t count = 1, places = 1;
  for (std::int64_t d : s) count *= d;
  for (std::size_t j = 0; j < k; ++j) places *= x[j];
  Shape rows{count}, flat{places};
  rows.insert(rows.end(), behind, x.end());
  flat.insert(flat.end(), behind, x.end());
  const std::string mode(w.table().get_str(w.attrs, Key::mode));
  ValueId place = k == 1 ? w.in[1] : flat_place(w, w.in.subspan(1, k), Ints(x).first(k), mode);
  if (b.failed()) return kNoValue;
  Shape column(rows.size(), 1);
  column[0] = count;
  place = broadcast(b, reshape(b, broadcast(b, place, s), column), rows);
  const ValueId u = reshape(b, broadcast(b, w.in.back(), full), rows);
  const std::string_view combine = w.table().get_bool(w.attrs, Key::accumulate) ? "add" : "set";
  const ValueId out = b.emit(Op::scatter_along, {reshape(b, w.x(), flat), place, u},
                             {{Key::axis, 0},
                              {Key::combine, combine},
                              {Key::mode, std::string_view(mode)},
                              {Key::inplace, w.table().get_bool(w.attrs, Key::inplace)}});
  return reshape(b, out, x);
}

}  // namespace

std::string write_name(const Tables& t, Op op, AttrId attrs) {
  return op == Op::write ? std::string(t.attrs.get_str(attrs, Key::op)) + "_" : std::string(name(op));
}

ValueId written_value(Builder& b, Op op, std::span<const ValueId> operands, AttrId attrs) {
  const Write w{b, op, operands, attrs};
  switch (op) {
    case Op::write:
      return elementwise(w);
    case Op::copy_:
    case Op::fill_:
      return fitted(w, operands[1]);
    case Op::zero_:
      return b.zeros(b.type(operands[0]));
    case Op::masked_fill_:
      return masked_fill(w);
    case Op::index_put_:
      return index_put(w);
    case Op::scatter_:
      return scatter(w, "set");
    case Op::scatter_add_:
      return scatter(w, "add");
    case Op::dynamic_update_slice_:
      return b.emit(Op::dynamic_update_slice, operands, w.update());
    default:
      return w.fail("is no write of elements");
  }
}

}  // namespace tfvm
