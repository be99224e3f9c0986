#include "transforms/split/memory.h"

#include <algorithm>
#include <cmath>

#include "bytecode/nested_types.h"

namespace tfvm {

namespace {

// Constants that carry tangents are carried along, so that their cotangents are summed step by step as without
// segments.
struct Segments {
  SplitCtx& c;
  const Loop& loop;
  Mask moved;  // of the constants
  FunctionId step;
  std::vector<TypeId> kept, carries, xs;  // of `step`
  std::int64_t size = 0;                  // steps of a segment

  Tables& t() { return c.tables(); }
  std::int64_t n(std::size_t k) const { return static_cast<std::int64_t>(k); }
};

std::int64_t bytes_of(const TypeTable& t, TypeId id) {
  if (t[id].kind != TypeKind::Pack) return t.bytes(id);
  std::int64_t sum = 0;
  for (TypeId item : t[id].items) sum += bytes_of(t, item);
  return sum;
}

// (kept…, moved…, carries…, xs…) -> (moved…, carries…, ys…). The clone gathers the cotangents of one step.
bool make_step(Segments& g) {
  const Body& body = g.t().bodies[g.loop.body.body];
  Builder b(g.t(), g.c.env.options, g.loop.body, "");
  std::vector<ValueId> args(body.num_params, kNoValue), out;
  for (std::uint32_t k : positions(g.moved, false)) {
    args[k] = b.param(body.types[k]);
    g.kept.push_back(body.types[k]);
  }
  const std::vector<std::uint32_t> moved = positions(g.moved);
  for (std::uint32_t k : moved) {
    args[k] = b.param(body.types[k]);
    g.carries.push_back(body.types[k]);
    out.push_back(args[k]);
  }
  for (std::size_t k = g.loop.consts; k < body.num_params; ++k) {
    args[k] = b.param(body.types[k]);
    (k < g.loop.consts + g.loop.carries ? g.carries : g.xs).push_back(body.types[k]);
  }
  for (std::uint32_t k : moved) args[k] = b.emit(Op::clone, {args[k]});
  const std::vector<ValueId> results = inline_kin(b, g.loop.body, args, Kin::Parent);
  out.insert(out.end(), results.begin(), results.end());
  const Result<FunctionId> f = b.seal(out);
  if (!f) return forward(g.c.b, f.error()), false;
  g.step = *f;
  return true;
}

// Operands of the loop in the order of `step`.
std::vector<ValueId> in_order(const Segments& g, std::span<const ValueId> operands) {
  std::vector<ValueId> out;
  for (bool moved : {false, true})
    for (std::uint32_t k : positions(g.moved, moved)) out.push_back(operands[k]);
  out.insert(out.end(), operands.begin() + g.n(g.loop.consts), operands.end());
  return out;
}

AttrId checkpoint_of(Segments& g, FunctionId f) {
  return g.t().attrs.dict({{Key::callee, f}, {Key::policy, "nothing_saveable"}});
}

AttrId scan_of(Segments& g, FunctionId body, std::int64_t length) {
  AttrTable& at = g.t().attrs;
  AttrId a = at.with(g.c.in.attrs, Key::memory, at.none());
  a = at.with(at.with(a, Key::body, at.of(body)), Key::length, at.of(length));
  return at.with(at.with(a, Key::consts, at.of(g.n(g.kept.size()))), Key::carry, at.of(g.n(g.carries.size())));
}

// One segment as a function, and that as a checkpoint.
Result<FunctionId> scan_segment(Segments& g, std::int64_t memory) {
  Builder inner(g.t(), g.c.env.options, "segment"), outer(g.t(), g.c.env.options, "segments");
  std::vector<ValueId> in, out;
  const auto add = [&](TypeId type) { in.push_back(inner.param(type)), out.push_back(outer.param(type)); };
  for (TypeId type : g.kept) add(type);
  for (TypeId type : g.carries) add(type);
  for (TypeId type : g.xs) add(*stacked_type(g.t().types, type, g.size));
  AttrId attrs = scan_of(g, g.step, g.size);
  if (memory > 0) attrs = g.t().attrs.with(attrs, Key::memory, g.t().attrs.of(memory));
  const Result<FunctionId> f = inner.seal(inner.emit_all(Op::scan, in, attrs));
  if (!f) return f;
  return outer.seal(outer.emit_all(Op::call, out, checkpoint_of(g, *f)));
}

ValueId rows(Builder& b, ValueId x, std::int64_t from, std::int64_t to) {
  if (b.failed()) return kNoValue;
  const Dims d = b.dims(x);
  std::vector<std::int64_t> start(d.size(), 0), limit(d.begin(), d.end()), stride(d.size(), 1);
  start[0] = from, limit[0] = to;
  return b.emit(Op::slice, {x}, {{Key::start, Ints(start)}, {Key::limit, Ints(limit)}, {Key::stride, Ints(stride)}});
}

// Leading dims `lead` in place of the first `drop`.
ValueId regrouped(Builder& b, ValueId x, std::initializer_list<std::int64_t> lead, std::ptrdiff_t drop) {
  if (b.failed()) return kNoValue;
  std::vector<std::int64_t> shape(lead);
  shape.insert(shape.end(), b.dims(x).begin() + drop, b.dims(x).end());
  return b.emit(Op::reshape, {x}, {{Key::shape, Ints(shape)}});
}

FunctionId nested_scan(Segments& g, std::int64_t length, std::int64_t memory) {
  const Result<FunctionId> segment = scan_segment(g, memory);
  if (!segment) return forward(g.c.b, segment.error()), FunctionId{};
  const std::int64_t segments = length / g.size, whole = segments * g.size, rest = length - whole;
  const bool reverse = g.t().attrs.get_bool(g.c.in.attrs, Key::reverse);
  const std::int64_t at = reverse ? rest : 0;  // the segments' rows; the rest runs last
  Builder b(g.t(), g.c.env.options, "segmented");
  std::vector<ValueId> operands;
  const Body& body = g.t().bodies[g.loop.body.body];
  for (std::size_t k = 0; k < body.num_params; ++k)
    operands.push_back(b.param(k < g.loop.consts + g.loop.carries ? body.types[k]
                                                                  : *stacked_type(g.t().types, body.types[k], length)));
  const std::vector<ValueId> all = in_order(g, operands);
  std::vector<ValueId> first(all), last(all);
  const std::size_t fixed = g.kept.size() + g.carries.size();
  for (std::size_t k = fixed; k < all.size(); ++k) {
    first[k] = regrouped(b, rows(b, all[k], at, at + whole), {segments, g.size}, 1);
    last[k] = rest ? rows(b, all[k], reverse ? 0 : whole, reverse ? rest : length) : kNoValue;
  }
  std::vector<ValueId> out = b.emit_all(Op::scan, first, scan_of(g, *segment, segments));
  for (std::size_t k = g.carries.size(); k < out.size(); ++k) out[k] = regrouped(b, out[k], {whole}, 2);
  if (rest && !b.failed()) {
    std::copy_n(out.begin(), g.carries.size(), last.begin() + g.n(g.kept.size()));
    std::vector<ValueId> more = b.emit_all(Op::scan, last, scan_of(g, g.step, rest));
    for (std::size_t k = g.carries.size(); k < more.size() && !b.failed(); ++k) {
      const ValueId parts[] = {reverse ? more[k] : out[k], reverse ? out[k] : more[k]};
      more[k] = b.emit(Op::concat, parts, g.t().attrs.dict({{Key::axis, 0}}));
    }
    out = std::move(more);
  }
  if (b.failed()) return forward(g.c.b, b.error()), FunctionId{};
  const Result<FunctionId> f = b.seal(std::span(out).subspan(count(g.moved)));
  if (!f) forward(g.c.b, f.error());
  return f ? *f : FunctionId{};
}

// cond with the carried constants as further parameters; `trips`: and only for that many trips.
Result<FunctionId> while_cond(Segments& g, FunctionId cond, std::int64_t trips) {
  const Body& body = g.t().bodies[cond.body];
  Builder b(g.t(), g.c.env.options, cond, "");
  std::vector<ValueId> args;
  for (std::size_t k = 0; k < g.loop.first; ++k) args.push_back(b.param(body.types[k]));
  for (std::size_t k = 0; k < count(g.moved); ++k) b.param(g.carries[k]);
  for (std::size_t k = g.loop.first; k < body.num_params; ++k) args.push_back(b.param(body.types[k]));
  const ValueId i = trips ? b.param(g.t().types.scalar(DType::I64)) : kNoValue;
  const std::vector<ValueId> more = inline_kin(b, cond, args, Kin::Parent);
  if (!trips) return b.seal(more);
  return b.seal({b.emit(Op::and_, {b.emit(Op::lt, {i, b.scalar_int(DType::I64, trips)}), more[0]})});
}

AttrId while_of(Segments& g, FunctionId cond, FunctionId body, std::size_t body_consts) {
  return g.t().attrs.dict({{Key::cond, cond},
                           {Key::body, body},
                           {Key::cond_consts, g.n(g.loop.first)},
                           {Key::body_consts, g.n(body_consts)}});
}

// The body of the inner loop, with a counter behind the carries.
Result<FunctionId> counted_step(Segments& g) {
  Builder b(g.t(), g.c.env.options, g.step, "");
  std::vector<ValueId> args;
  for (TypeId type : g.t().bodies[g.step.body].param_types()) args.push_back(b.param(type));
  const ValueId i = b.param(g.t().types.scalar(DType::I64));
  std::vector<ValueId> out = inline_kin(b, g.step, args, Kin::Parent);
  out.push_back(b.emit(Op::add, {i, b.scalar_int(DType::I64, 1)}));
  return b.seal(out);
}

FunctionId nested_while(Segments& g) {
  const FunctionId cond = g.c.func(Key::cond);
  const Result<FunctionId> outer_cond = while_cond(g, cond, 0), inner_cond = while_cond(g, cond, g.size),
                           step = counted_step(g);
  if (!outer_cond || !inner_cond || !step) return FunctionId{};
  std::vector<TypeId> types;
  for (std::size_t k = 0; k < g.loop.first; ++k) types.push_back(g.t().bodies[cond.body].types[k]);
  types.insert(types.end(), g.kept.begin(), g.kept.end());
  types.insert(types.end(), g.carries.begin(), g.carries.end());
  Builder inner(g.t(), g.c.env.options, "segment"), outer(g.t(), g.c.env.options, "segments");
  std::vector<ValueId> in, out;
  for (TypeId type : types) in.push_back(inner.param(type)), out.push_back(outer.param(type));
  in.push_back(inner.scalar_int(DType::I64, 0));
  std::vector<ValueId> ran = inner.emit_all(Op::while_, in, while_of(g, *inner_cond, *step, g.kept.size()));
  if (!inner.failed()) ran.pop_back();
  const Result<FunctionId> f = inner.seal(ran);
  if (!f) return forward(g.c.b, f.error()), FunctionId{};
  const Result<FunctionId> segment = outer.seal(outer.emit_all(Op::call, out, checkpoint_of(g, *f)));
  if (!segment) return forward(g.c.b, segment.error()), FunctionId{};
  Builder b(g.t(), g.c.env.options, "segmented");
  const Body& body = g.t().bodies[g.loop.body.body];
  std::vector<ValueId> conds, operands;
  for (std::size_t k = 0; k < g.loop.first; ++k) conds.push_back(b.param(types[k]));
  for (TypeId type : body.param_types()) operands.push_back(b.param(type));
  operands = in_order(g, operands);
  operands.insert(operands.begin(), conds.begin(), conds.end());
  operands.insert(operands.begin(), conds.begin(), conds.end());
  const std::vector<ValueId> results =
      b.emit_all(Op::while_, operands, while_of(g, *outer_cond, *segment, g.loop.first + g.kept.size()));
  if (b.failed()) return forward(g.c.b, b.error()), FunctionId{};
  const Result<FunctionId> whole = b.seal(std::span(results).subspan(count(g.moved)));
  if (!whole) forward(g.c.b, whole.error());
  return whole ? *whole : FunctionId{};
}

// A size within a tenth of `size` that leaves the fewest steps over: those keep all of their residuals.
std::int64_t even_size(std::int64_t length, std::int64_t size) {
  std::int64_t best = size;
  for (std::int64_t s = size - size / 10; s <= size + size / 10; ++s)
    if (length % s < length % best) best = s;
  return best;
}

bool only_tensors(const Tables& t, FunctionId f) {
  const Body& body = t.bodies[f.body];
  return std::ranges::all_of(body.param_types(), [&](TypeId id) { return t.types[id].is_tensor(); }) &&
         std::ranges::all_of(body.results, [&](ValueId v) { return t.types[body.type(v)].is_tensor(); });
}

}  // namespace

FunctionId within_memory(SplitCtx& c, const Loop& loop, const Mask& unknown, const Split& s) {
  const AttrTable& at = c.tables().attrs;
  const TypeTable& types = c.tables().types;
  if (c.in.op == Op::tape_scan || !at.has(c.in.attrs, Key::memory) || !only_tensors(c.tables(), loop.body)) return {};
  const bool is_while = c.in.op == Op::while_;
  if (is_while && loop.ys) return {};
  const auto budget = static_cast<double>(at.get_int(c.in.attrs, Key::memory));
  const Body& body = c.tables().bodies[loop.body.body];
  double state = 1, residuals = 1;  // bytes of a step
  for (std::size_t k = loop.consts; k < loop.consts + loop.carries; ++k)
    if (!unknown[k]) state += static_cast<double>(types.bytes(body.types[k]));
  const std::vector<TypeId> made = c.tables().bodies[s.known.body].result_types();
  for (std::size_t k = s.unknown.size() - count(s.unknown); k < made.size(); ++k)
    residuals += static_cast<double>(bytes_of(types, made[k]));
  Segments g{c, loop, slice(unknown, 0, loop.consts), {}, {}, {}, {}};
  if (is_while) {
    // Half for one segment, half for the starts of segments: enough for budget^2 / (4 state · residuals) trips.
    g.size = std::max<std::int64_t>(2, static_cast<std::int64_t>(budget / 2 / residuals));
    return make_step(g) ? nested_while(g) : FunctionId{};
  }
  const auto length = static_cast<double>(at.get_int(c.in.attrs, Key::length));
  if (length * residuals <= budget || length < 4) return {};
  // With d levels each takes the d-th part: (length · residuals · state^(d-1))^(1/d) bytes at least.
  int levels = 2;
  while (levels < 16 && levels * std::pow(length * residuals / state, 1.0 / levels) * state > budget) ++levels;
  const double segments = std::clamp(std::round(std::pow(length * residuals / state, 1.0 / levels)), 2.0, length / 2);
  g.size = even_size(static_cast<std::int64_t>(length), static_cast<std::int64_t>(length / segments));
  const double rest = levels > 2 ? std::max(1.0, budget - segments * state) : 0;
  return make_step(g) ? nested_scan(g, static_cast<std::int64_t>(length), static_cast<std::int64_t>(rest))
                      : FunctionId{};
}

}  // namespace tfvm
