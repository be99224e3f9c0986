// Custom ops. v2 gets each base that is written whole, once, and the views to rebuild: whatever lies in such a base is
// a view of its clone, so overlapping arguments stay overlapping. v1 gets the arguments and clones those it writes.
#include <algorithm>

#include "bytecode/expand/writes.h"
#include "bytecode/externs.h"
#include "functionalize/pass.h"

namespace tfvm::functional {

namespace {

AttrId call(Walk& w, std::string_view name, std::initializer_list<std::int64_t> args) {
  std::vector<AttrId> items;
  for (std::int64_t i : args) items.push_back(w.t.attrs.of(i));
  return w.t.attrs.call(w.t.strings.intern(name), items);
}

// slice(dim, start, end, step) where the link cuts one dim alone.
std::optional<AttrId> slice_entry(Walk& w, const View& v) {
  const Ints start = w.t.attrs.get_ints(v.attrs, Key::start), limit = w.t.attrs.get_ints(v.attrs, Key::limit),
             step = w.t.attrs.get_ints(v.attrs, Key::stride);
  const Dims d = w.t.types.dims(v.from);
  std::optional<std::size_t> cut;
  for (std::size_t k = 0; k < start.size(); ++k) {
    if (start[k] == 0 && limit[k] == d[k] && step[k] == 1) continue;
    if (cut) return std::nullopt;
    cut = k;
  }
  if (!cut) return call(w, "alias", {});
  return call(w, "slice", {static_cast<std::int64_t>(*cut), start[*cut], limit[*cut], step[*cut]});
}

// select(dim, index): a slice of one place, and the view that drops its dim.
std::optional<AttrId> select_entry(Walk& w, const View& cut, const View& drop) {
  if (cut.op != Op::slice || drop.op != Op::view) return std::nullopt;
  const Dims whole = w.t.types.dims(cut.from), part = w.t.types.dims(cut.to), to = w.t.types.dims(drop.to);
  for (std::size_t k = 0; k < whole.size(); ++k) {
    std::vector<std::int64_t> rest(part.begin(), part.end()), others(whole.begin(), whole.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    if (part[k] == 1 && std::ranges::equal(rest, to) && rest == others)
      return call(w, "select", {static_cast<std::int64_t>(k), w.t.attrs.get_ints(cut.attrs, Key::start)[k]});
  }
  return std::nullopt;
}

// The chain as slices and selects; nullopt where it needs more.
std::optional<std::vector<AttrId>> steps_of(Walk& w, const Chain& chain) {
  std::vector<AttrId> out;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    if (chain[k].op == Op::alias || chain[k].op == Op::detach) continue;
    if (chain[k].op != Op::slice) return std::nullopt;
    std::optional<AttrId> entry = k + 1 < chain.size() ? select_entry(w, chain[k], chain[k + 1]) : std::nullopt;
    if (entry)
      ++k;
    else
      entry = slice_entry(w, chain[k]);
    if (!entry) return std::nullopt;
    if (!w.t.attrs[*entry].items.empty()) out.push_back(*entry);
  }
  return out;
}

// How an argument lies in its base, in the format of `views`: one step, or a list of them.
AttrId view_entry(Walk& w, const Ref& r) {
  if (const auto steps = steps_of(w, r.chain)) {
    if (steps->empty()) return call(w, "alias", {});
    return steps->size() == 1 ? (*steps)[0] : w.t.attrs.list(*steps);
  }
  std::optional<Strided> s = w.bases.lie(r);
  if (!s) return w.t.attrs.none();
  if (elements(*s) == 0) s->offset = 0;  // a view of nothing may begin behind the end of its base
  const AttrId items[] = {w.t.attrs.ints(s->shape), w.t.attrs.ints(s->strides), w.t.attrs.of(s->offset)};
  return w.t.attrs.call(w.t.strings.intern("as_strided"), items);
}

struct Arguments {
  std::vector<std::uint8_t> mut;     // per operand
  std::vector<std::uint32_t> bases;  // that are written, in order
};

bool shares(const Walk& w, const Instr& in, const Arguments& a) {
  std::size_t in_bases = 0;
  for (ValueId v : in.operands) in_bases += std::ranges::count(a.bases, w.ref(v).base) > 0;
  return in_bases > a.bases.size();
}

bool same_width(const Walk& w, const Ref& r) {
  return std::ranges::none_of(r.chain, [&](const View& v) {
    return v.op == Op::view_dtype || w.t.types.dtype(v.from) != w.t.types.dtype(v.to);
  });
}

AttrId with(Walk& w, AttrId attrs, Key k, AttrId v) { return w.t.attrs.with(attrs, k, v); }

void walk_v1(Walk& w, const Instr& in, const Arguments& a) {
  const std::vector<ValueId> operands = w.read(in.operands);
  const std::vector<ValueId> results = w.b.emit_all(Op::auto_functionalized, operands, in.attrs);
  if (w.b.failed()) return;
  for (std::uint32_t k = 0; k < in.num_results; ++k) w.define(in.result(k), results[k]);
  std::size_t next = in.num_results;
  for (std::size_t k = 0; k < in.operands.size(); ++k)
    if (a.mut[k])
      w.bases.write(w.ref(in.operands[k]), results[next++], w.t.attrs.get_bool(in.attrs, Key::inplace),
                    w.t.attrs.get_str(in.attrs, Key::op));
}

void walk_v2(Walk& w, const Instr& in, const Arguments& a) {
  std::vector<ValueId> operands;
  std::vector<AttrId> numbers, views;
  for (ValueId v : in.operands) {
    const Ref& r = w.ref(v);
    const auto at = std::ranges::find(a.bases, r.base);
    if (at == a.bases.end()) {
      numbers.push_back(w.t.attrs.none());
      operands.push_back(w.read(v));
    } else {
      numbers.push_back(w.t.attrs.of(static_cast<std::int64_t>(at - a.bases.begin())));
      views.push_back(view_entry(w, r));
    }
  }
  for (std::uint32_t base : a.bases) operands.push_back(w.bases.now(base));
  AttrId attrs = with(w, in.attrs, Key::arg_base, w.t.attrs.list(numbers));
  attrs = with(w, attrs, Key::views, w.t.attrs.list(views));
  const std::vector<ValueId> results = w.b.emit_all(Op::auto_functionalized_v2, operands, attrs);
  if (w.b.failed()) return;
  for (std::uint32_t k = 0; k < in.num_results; ++k) w.define(in.result(k), results[k]);
  for (std::size_t k = 0; k < a.bases.size(); ++k) w.bases.set(a.bases[k], results[in.num_results + k]);
}

}  // namespace

void walk_extern(Walk& w, const Instr& in) {
  const Result<ExternArgs> args = extern_args(w.t, in.attrs, in.operands.size());
  if (!args) return void(w.fail(args.error()));
  Arguments a{args->mut, {}};
  bool whole = true;  // every argument that lies in a written base can be rebuilt from it
  for (std::size_t k = 0; k < in.operands.size(); ++k) {
    if (!a.mut[k]) continue;
    const Ref& r = w.ref(in.operands[k]);
    const std::optional<Strided> place = w.bases.lie(r);
    if (!place) return;
    if (overlaps_itself(*place))
      return void(w.b.fail(Code::Type, "[" + std::string(w.t.attrs.get_str(in.attrs, Key::op)) +
                                           "] writes into a view whose elements overlap"));
    if (std::ranges::find(a.bases, r.base) == a.bases.end()) a.bases.push_back(r.base);
  }
  for (ValueId v : in.operands)
    whole = whole && (std::ranges::count(a.bases, w.ref(v).base) == 0 || same_width(w, w.ref(v)));
  if (w.pass().options().v1 ? !shares(w, in, a) : !whole) return walk_v1(w, in, a);
  walk_v2(w, in, a);
}

}  // namespace tfvm::functional
