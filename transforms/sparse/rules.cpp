// How the sets of results follow from those of operands.
#include <algorithm>

#include "transforms/sparse/dependence.h"
#include "transforms/sparse/places.h"

namespace tfvm {

void depend_all(DepCtx& c) {
  SetId s = kEmptySet;
  for (const Fact& f : c.x) s = c.d.sets().unite(s, c.d.all(f));
  for (std::uint32_t k = 0; k < c.in.num_results; ++k) c.y[k].sets = c.d.uniform(c.body.type(c.in.result(k)), s).sets;
}

namespace {

using List = std::vector<std::int64_t>;

// Element by element over operands [first, …). `factor`: a zero that is known leaves nothing of the product.
void depend_elementwise(DepCtx& c, std::size_t first, bool factor) {
  const ConstTable& consts = c.t().consts;
  Fact out;
  for (std::size_t k = first; k < c.x.size(); ++k) out = c.d.unite(out, c.x[k]);
  c.y[0].sets = out.sets;
  if (!factor || !out.sets) return;
  std::vector<SetId> v = *out.sets;
  for (const Fact& f : c.x)
    for (std::size_t i = 0; f.is_known() && i < v.size(); ++i)
      if (consts.as_double(f.known, static_cast<std::int64_t>(i)) == 0) v[i] = kEmptySet;
  c.y[0].sets = c.d.of(std::move(v)).sets;
}

void depend_select(DepCtx& c) {
  if (!c.x[0].is_known()) return depend_elementwise(c, 1, false);
  std::vector<SetId> v(c.d.elements(c.body.type(c.in.result())), kEmptySet);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Fact& f = c.x[c.t().consts.as_int(c.x[0].known, static_cast<std::int64_t>(i)) ? 1 : 2];
    if (f.sets) v[i] = (*f.sets)[i];
  }
  c.y[0].sets = c.d.of(std::move(v)).sets;
}

// The union over the dims that `kept` has as 1, in the shape `kept`.
std::vector<SetId> collapse(DepCtx& c, const std::vector<SetId>& x, Dims dims, Dims kept) {
  const std::vector<std::size_t> place = broadcast_places(kept, dims);
  std::vector<std::size_t> begin(element_count(kept) + 1, 0);
  for (std::size_t p : place) ++begin[p + 1];
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<std::size_t> at(begin.begin(), begin.end() - 1);
  std::vector<SetId> grouped(x.size()), out;
  for (std::size_t i = 0; i < x.size(); ++i) grouped[at[place[i]]++] = x[i];
  for (std::size_t i = 0; i + 1 < begin.size(); ++i)
    out.push_back(c.d.sets().unite(std::span(grouped).subspan(begin[i], begin[i + 1] - begin[i])));
  return out;
}

std::vector<SetId> spread(const std::vector<SetId>& x, Dims from, Dims to) {
  std::vector<SetId> out;
  for (std::size_t p : broadcast_places(from, to)) out.push_back(x[p]);
  return out;
}

void depend_reduce(DepCtx& c) {
  List kept(c.dims(0).begin(), c.dims(0).end());
  for (std::int64_t a : c.t().attrs.get_ints(c.in.attrs, Key::axes)) kept[static_cast<std::size_t>(a)] = 1;
  c.y[0].sets = c.d.of(collapse(c, c.sets(0), c.dims(0), kept)).sets;
}

void depend_cumulative(DepCtx& c) {
  const auto axis = static_cast<std::size_t>(c.t().attrs.get_int(c.in.attrs, Key::axis));
  const bool reverse = c.t().attrs.get_bool(c.in.attrs, Key::reverse);
  const Dims dims = c.dims(0);
  const auto n = static_cast<std::size_t>(dims[axis]);
  const std::size_t stride = element_count(dims.subspan(axis + 1));
  List first(dims.begin(), dims.end());
  first[axis] = 1;
  std::vector<SetId> v = c.sets(0);
  for (std::size_t start : strided_places(first, row_major_strides(dims))) {
    SetId s = kEmptySet;
    for (std::size_t i = 0; i < n; ++i) {
      SetId& e = v[start + (reverse ? n - 1 - i : i) * stride];
      e = s = c.d.sets().unite(s, e);
    }
  }
  c.y[0].sets = c.d.of(std::move(v)).sets;
}

// Each result of a sort on the whole lane of its operand.
void depend_lanes(DepCtx& c) {
  const auto axis = static_cast<std::size_t>(c.t().attrs.get_int(c.in.attrs, Key::axis));
  for (std::size_t k = 0; k < c.x.size(); ++k) {
    if (!c.x[k].sets) continue;
    List kept(c.dims(k).begin(), c.dims(k).end());
    kept[axis] = 1;
    const TypeId out = c.body.type(c.in.result(static_cast<std::uint32_t>(k)));
    c.y[k].sets = c.d.of(spread(collapse(c, c.sets(k), c.dims(k), kept), kept, c.t().types.dims(out))).sets;
  }
}

// Ops that only move elements move the ids of their sets: the op itself is run on them, as integers. Filled places read
// 0, the empty set. False where a place is not known.
bool move_sets(DepCtx& c) {
  Tables& t = c.t();
  std::vector<ConstId> operands;
  for (std::size_t k = 0; k < c.x.size(); ++k) {
    if (operand_spec(info(c.in.op), k, c.x.size())->group == 'I') {
      if (!c.x[k].is_known()) return false;
      operands.push_back(c.x[k].known);
      continue;
    }
    std::vector<std::int64_t> ids(c.d.elements(c.type(k)), kEmptySet);
    if (c.x[k].sets) std::ranges::copy(*c.x[k].sets, ids.begin());
    operands.push_back(t.consts.intern(t.types.tensor(DType::I64, c.dims(k)), std::as_bytes(std::span(ids))));
  }
  const TypeId type = t.types.tensor(DType::I64, c.out_dims());
  ConstId moved = kNone<ConstId>;
  if (!c.d.evaluate(c.in.op, c.in.attrs, operands, std::span(&type, 1), std::span(&moved, 1))) return false;
  std::vector<SetId> v(c.d.elements(type));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<SetId>(t.consts.as_int(moved, static_cast<std::int64_t>(i)));
  c.y[0].sets = c.d.of(std::move(v)).sets;
  return true;
}

// The places along some dims are not known: each result has all of them. `kept`, of the rank of the result, is the
// operand's shape with 1 for those dims.
void any_place(DepCtx& c, std::size_t operand, Dims in, Dims kept_in, Dims kept_out) {
  if (!c.x[operand].sets) return;
  const std::vector<SetId> v = spread(collapse(c, c.sets(operand), in, kept_in), kept_out, c.out_dims());
  c.y[0].sets = c.d.unite(Fact{c.y[0].sets, kNone<ConstId>}, c.d.of(v)).sets;
}

void depend_index(DepCtx& c) {
  const bool adds = c.in.op == Op::scatter_along && c.t().attrs.get_str(c.in.attrs, Key::combine) != "set";
  if (!adds && move_sets(c)) return;
  const Dims in = c.dims(0);
  List kept(in.begin(), in.end());
  if (c.in.op == Op::dynamic_slice) {
    for (std::size_t d = 0; d < kept.size(); ++d)
      if (kept[d] != c.out_dims()[d]) kept[d] = 1;
    return any_place(c, 0, in, kept, kept);
  }
  if (c.in.op == Op::dynamic_update_slice) {
    const Dims u = c.dims(1);
    List part(u.begin(), u.end());
    for (std::size_t d = 0; d < part.size(); ++d)
      if (part[d] != in[d]) part[d] = 1;
    any_place(c, 0, in, in, in);
    return any_place(c, 1, u, part, part);
  }
  const auto axis = static_cast<std::size_t>(c.t().attrs.get_int(c.in.attrs, Key::axis));
  kept[axis] = 1;
  if (c.in.op == Op::take) {
    List wide = kept;
    wide.erase(wide.begin() + static_cast<std::ptrdiff_t>(axis));
    wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(axis), c.dims(1).size(), 1);
    return any_place(c, 0, in, kept, wide);
  }
  if (c.in.op == Op::take_along) return any_place(c, 0, in, kept, kept);
  const Dims u = c.dims(2);  // scatter_along
  List part(u.begin(), u.end());
  part[axis] = 1;
  if (std::ranges::equal(part, kept)) {
    any_place(c, 0, in, in, in);
    return any_place(c, 2, u, part, part);
  }
  depend_all(c);
}

}  // namespace

// scatter_along that adds, at known places: u goes where its place says.
static bool add_at_places(DepCtx& c) {
  const AttrTable& at = c.t().attrs;
  if (!c.x[1].is_known() || !std::ranges::equal(c.dims(1), c.dims(2))) return false;
  const auto axis = static_cast<std::size_t>(at.get_int(c.in.attrs, Key::axis));
  const Dims dims = c.dims(0), u = c.dims(2);
  std::vector<std::size_t> strides = row_major_strides(dims);
  const std::size_t step = strides[axis];
  strides[axis] = 0;
  const std::vector<std::size_t> lines = strided_places(u, strides);
  std::vector<SetId> v = c.x[0].sets ? c.sets(0) : std::vector<SetId>(element_count(dims), kEmptySet);
  const bool wraps = at.get_str(c.in.attrs, Key::mode) == "error", clips = at.get_str(c.in.attrs, Key::mode) == "clip";
  for (std::size_t i = 0; c.x[2].sets && i < lines.size(); ++i) {
    std::int64_t p = c.t().consts.as_int(c.x[1].known, static_cast<std::int64_t>(i));
    if (wraps && p < 0) p += dims[axis];
    if (clips) p = std::clamp<std::int64_t>(p, 0, dims[axis] - 1);
    if (p < 0 || p >= dims[axis]) continue;
    SetId& e = v[lines[i] + static_cast<std::size_t>(p) * step];
    e = c.d.sets().unite(e, c.sets(2)[i]);
  }
  c.y[0].sets = c.d.of(std::move(v)).sets;
  return true;
}

// A pack or tape counts as one element, whatever it holds.
static bool any_opaque(DepCtx& c) {
  const auto opaque = [&](ValueId v) { return !c.t().types[c.body.type(v)].is_tensor(); };
  return std::ranges::any_of(c.in.operands, opaque) || opaque(c.in.result());
}

void depend(DepCtx& c) {
  const OpKind kind = info(c.in.op).kind;
  if (kind == OpKind::Control) return depend_control(c);
  if (any_opaque(c)) return depend_all(c);
  if (c.in.op == Op::select) return depend_select(c);
  if (is_elementwise(kind)) return depend_elementwise(c, 0, c.in.op == Op::mul || c.in.op == Op::zmul);
  switch (c.in.op) {
    case Op::reshape:
    case Op::clone:
    case Op::name:
    case Op::print_:
    case Op::optimization_barrier:
      for (std::uint32_t k = 0; k < c.in.num_results; ++k) c.y[k].sets = c.x[k].sets;
      return;
    case Op::broadcast_to:
    case Op::full:
    case Op::transpose:
    case Op::slice:
    case Op::pad:
    case Op::concat:
    case Op::reverse:
      return move_sets(c) ? void() : depend_all(c);
    case Op::scatter_along:
      if (c.t().attrs.get_str(c.in.attrs, Key::combine) != "set" && add_at_places(c)) return;
      return depend_index(c);
    case Op::gather:
      return move_sets(c) ? void() : depend_all(c);
    case Op::scatter:
      return c.t().attrs.get_str(c.in.attrs, Key::combine) == "set" && move_sets(c) ? void() : depend_all(c);
    case Op::take:
    case Op::take_along:
    case Op::dynamic_slice:
    case Op::dynamic_update_slice:
      return depend_index(c);
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min:
      return depend_reduce(c);
    case Op::cumsum:
    case Op::cumprod:
    case Op::cummax:
    case Op::cummin:
    case Op::cumlogsumexp:
      return depend_cumulative(c);
    case Op::sort:
    case Op::topk:
      return depend_lanes(c);
    case Op::dot_general:
      return depend_dot(c);
    case Op::reduce_window:
      return depend_reduce_window(c);
    case Op::conv:
      return depend_conv(c);
    default:
      return depend_all(c);
  }
}

}  // namespace tfvm
