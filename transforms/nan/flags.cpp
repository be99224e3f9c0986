#include "transforms/nan/flags.h"

#include <algorithm>

#include "bytecode/callees.h"
#include "bytecode/rewriter.h"
#include "transforms/functions.h"
#include "transforms/nan/cover.h"

namespace tfvm {

namespace {

using Shapes = std::vector<TypeId>;  // of flags: i32, each once, in order of their numbers

void add(Shapes& to, std::span<const TypeId> more) {
  to.insert(to.end(), more.begin(), more.end());
  std::ranges::sort(to);
  to.erase(std::ranges::unique(to).begin(), to.end());
}

Mask all_of(std::size_t n) { return Mask(n, 1); }

// Where an element is nan, as i32.
ValueId is_nan(Builder& b, ValueId v) {
  const ValueId nan =
      is_complex(b.dtype(v))
          ? b.emit(Op::or_, {b.emit(Op::isnan, {b.emit(Op::real, {v})}), b.emit(Op::isnan, {b.emit(Op::imag, {v})})})
          : b.emit(Op::isnan, {v});
  return b.emit(Op::cast, {nan}, {{Key::dtype, DType::I32}});
}

struct Loop {
  std::size_t cond_consts = 0, consts = 0, carry = 0, results = 0;
  FunctionId body, cond;
  Loop(const AttrTable& at, const Instr& in)
      : results(in.num_results), body(at.get_func(in.attrs, Key::body)), cond(at.get_func(in.attrs, Key::cond)) {
    const auto number = [&](Key key) { return static_cast<std::size_t>(at.get_int(in.attrs, key)); };
    const bool is_while = in.op == Op::while_;
    cond_consts = is_while ? number(Key::cond_consts) : 0;
    consts = is_while ? number(Key::body_consts) : number(Key::consts);
    carry = is_while ? in.num_results - number(Key::tapes) : number(Key::carry);
  }
};

class NanFlags {
 public:
  NanFlags(TransformEnv& env, FunctionId f, Mask results)
      : env_(env),
        t_(env.tables),
        f_(f),
        results_(std::move(results)),
        body_(t_.bodies[f.body]),
        covered_(nan_cover(env, f, results_)) {}

  // Of the flags that `f` makes itself or gets from what it calls.
  Shapes shapes() {
    const std::vector<std::int64_t> key = memo_key({&results_});
    Shapes out;
    if (const PassResult* known = env_.memo.find("nan_shapes", f_, key)) {
      for (std::int64_t n : known->numbers) out.push_back(static_cast<TypeId>(n));
      return out;
    }
    for (std::uint32_t i = 0; i < body_.num_instrs(); ++i) add(out, shapes_of(body_.instr(i)));
    std::vector<std::int64_t> numbers;
    for (TypeId type : out) numbers.push_back(static_cast<std::int64_t>(index(type)));
    env_.memo.add("nan_shapes", f_, key, {f_, {}, {}, numbers});
    return out;
  }

  // `f` with flags of these shapes as last results.
  Result<FunctionId> run(const Shapes& wanted) {
    std::vector<std::int64_t> key = memo_key({&results_});
    for (TypeId type : wanted) key.push_back(static_cast<std::int64_t>(index(type)));
    if (const PassResult* known = env_.memo.find("nan_flags", f_, key)) return known->f;
    Builder b(t_, env_.options, f_, "");
    Rewriter w(b, f_);
    for (std::uint32_t i = 0; i < body_.num_instrs() && !b.failed(); ++i) instr(w, i);
    std::vector<ValueId> results;
    for (ValueId v : body_.results) results.push_back(b.failed() ? kNoValue : w(v));
    for (TypeId type : wanted) results.push_back(flag(b, type));
    Result<FunctionId> made = b.seal(results);
    if (made) env_.memo.add("nan_flags", f_, key, {*made, {}, {}, {}});
    return made;
  }

 private:
  Mask out_of(const Instr& in) const {
    Mask out;
    for (std::uint32_t k = 0; k < in.num_results; ++k) out.push_back(covered_[index(in.result(k))]);
    return out;
  }

  bool is_loop(Op op) const { return op == Op::scan || op == Op::while_ || op == Op::tape_scan; }
  bool is_call(Op op) const { return op == Op::call || op == Op::cond || op == Op::switch_; }

  Shapes shapes_of(const Instr& in) {
    Shapes out;
    if (is_call(in.op)) {
      for (FunctionId g : callees(t_, in.op, in.attrs)) add(out, NanFlags(env_, g, out_of(in)).shapes());
    } else if (is_loop(in.op)) {
      const Loop loop(t_.attrs, in);
      add(out, NanFlags(env_, loop.body, loop_cover(env_, in, out_of(in))).shapes());
      if (in.op == Op::while_) add(out, NanFlags(env_, loop.cond, all_of(1)).shapes());
    } else {
      for (std::uint32_t k = 0; k < in.num_results; ++k)
        if (const TypeId type = shape_of(in, k); type != kNone<TypeId>) add(out, {&type, 1});
    }
    return out;
  }

  // Of the flag of result k, which nobody else shows; none where it has none.
  TypeId shape_of(const Instr& in, std::uint32_t k) {
    if (covered_[index(in.result(k))] || !has_own_flag(t_, body_, in, k)) return kNone<TypeId>;
    return t_.types.tensor(DType::I32, t_.types[body_.type(in.result(k))].dims);
  }

  ValueId flag(Builder& b, TypeId type) {
    for (const auto& [shape, v] : flags_)
      if (shape == type) return v;
    return b.failed() ? kNoValue : b.zeros(type);
  }

  void raise(Builder& b, TypeId shape, ValueId now) {
    for (auto& [type, v] : flags_) {
      if (type != shape) continue;
      v = b.emit(Op::or_, {v, now});
      return;
    }
    flags_.emplace_back(shape, now);
  }

  void instr(Rewriter& w, std::uint32_t i) {
    const Instr in = body_.instr(i);
    Builder& b = w.builder();
    const Shapes shapes = in.op == Op::constant ? Shapes() : shapes_of(in);
    if (shapes.empty()) return w.copy(static_cast<InstrId>(i));
    w.begin(static_cast<InstrId>(i));
    if (is_call(in.op)) return call(w, in, shapes);
    if (in.op == Op::while_) return while_loop(w, in, shapes);
    if (is_loop(in.op)) return loop(w, in, shapes);
    w.copy(static_cast<InstrId>(i));
    for (std::uint32_t k = 0; k < in.num_results && !b.failed(); ++k)
      if (const TypeId shape = shape_of(in, k); shape != kNone<TypeId>) raise(b, shape, is_nan(b, w(in.result(k))));
  }

  void give(Rewriter& w, const Instr& in, std::span<const ValueId> results) {
    for (std::uint32_t k = 0; k < in.num_results && k < results.size(); ++k) {
      w.map(in.result(k), results[k]);
      w.builder().name_from(results[k], in.result(k));
    }
  }

  // Rules of a call have been used up by the transforms before.
  void call(Rewriter& w, const Instr& in, const Shapes& shapes) {
    Builder& b = w.builder();
    AttrTable& at = t_.attrs;
    const auto flagged = [&](FunctionId g) { return NanFlags(env_, g, out_of(in)).run(shapes); };
    const AttrId plain = in.op == Op::call ? at.dict({{Key::callee, at.get_func(in.attrs, Key::callee)}}) : in.attrs;
    const Result<AttrId> attrs = map_callees(at, plain, flagged);
    if (!attrs) return forward(b, attrs.error());
    const std::vector<ValueId> all = b.emit_all(in.op, w.operands(in), *attrs);
    if (b.failed()) return;
    give(w, in, all);
    for (std::size_t k = 0; k < shapes.size(); ++k) raise(b, shapes[k], all[in.num_results + k]);
  }

  // A function that inlines `f`, flagged, with flags that it takes in and gives, both behind the carries.
  Result<FunctionId> carrying(FunctionId f, const Mask& cover, const Loop& loop, const Shapes& shapes) {
    const Result<FunctionId> flagged = NanFlags(env_, f, cover).run(shapes);
    if (!flagged) return flagged;
    const Body& body = t_.bodies[flagged->body];
    Builder b(t_, env_.options, *flagged, "");
    std::vector<ValueId> args, flags, results;
    for (std::uint32_t k = 0; k < body.num_params; ++k) {
      if (k == loop.consts + loop.carry)
        for (TypeId type : shapes) flags.push_back(b.param(type));
      args.push_back(b.param(body.types[k]));
      b.name_from(args[k], body.param(k));
    }
    if (flags.empty())
      for (TypeId type : shapes) flags.push_back(b.param(type));
    const std::vector<ValueId> all = inline_kin(b, *flagged, args, Kin::Parent);
    for (std::size_t k = 0; k < all.size() && !b.failed(); ++k) {
      if (k == loop.carry) add_flags(b, flags, std::span(all).last(shapes.size()), results);
      if (k < all.size() - shapes.size()) results.push_back(all[k]);
    }
    return b.seal(results);
  }

  static void add_flags(Builder& b, std::span<const ValueId> before, std::span<const ValueId> now,
                        std::vector<ValueId>& to) {
    for (std::size_t k = 0; k < before.size(); ++k) to.push_back(b.emit(Op::or_, {before[k], now[k]}));
  }

  // Results of a loop with flags behind its carries.
  void give_loop(Rewriter& w, const Instr& in, const Loop& loop, std::vector<ValueId> all, std::size_t extra,
                 const Shapes& shapes) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(loop.carry + extra);
    const std::vector<ValueId> flags(at, at + static_cast<std::ptrdiff_t>(shapes.size()));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(loop.carry), at + static_cast<std::ptrdiff_t>(shapes.size()));
    give(w, in, all);
    for (std::size_t k = 0; k < shapes.size(); ++k) raise(w.builder(), shapes[k], flags[k]);
  }

  void loop(Rewriter& w, const Instr& in, const Shapes& shapes) {
    Builder& b = w.builder();
    const Loop loop(t_.attrs, in);
    const Result<FunctionId> body = carrying(loop.body, loop_cover(env_, in, out_of(in)), loop, shapes);
    if (!body) return forward(b, body.error());
    std::vector<ValueId> operands;
    for (ValueId v : w.operands(in)) operands.push_back(v);
    const std::size_t at = (in.op == Op::tape_scan) + loop.consts + loop.carry;
    for (std::size_t k = 0; k < shapes.size(); ++k)
      operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(at + k), b.zeros(shapes[k]));
    AttrId attrs = t_.attrs.with(in.attrs, Key::body, t_.attrs.of(*body));
    attrs = t_.attrs.with(attrs, Key::carry, t_.attrs.of(static_cast<std::int64_t>(loop.carry + shapes.size())));
    const std::vector<ValueId> all = b.emit_all(in.op, operands, attrs);
    if (!b.failed()) give_loop(w, in, loop, all, 0, shapes);
  }

  // while cond, body, carries  ->  while p, (body, cond), carries…, p, flags…: p is what cond says of the carries.
  void while_loop(Rewriter& w, const Instr& in, const Shapes& shapes) {
    Builder& b = w.builder();
    const Loop loop(t_.attrs, in);
    const Result<FunctionId> cond = NanFlags(env_, loop.cond, all_of(1)).run(shapes);
    if (!cond) return forward(b, cond.error());
    const Result<FunctionId> body = body_and_cond(in, loop, *cond, shapes);
    if (!body) return forward(b, body.error());
    std::vector<ValueId> operands;
    for (ValueId v : w.operands(in)) operands.push_back(v);
    std::vector<ValueId> seen(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(loop.cond_consts));
    seen.insert(seen.end(), operands.end() - static_cast<std::ptrdiff_t>(loop.carry), operands.end());
    for (ValueId v : b.emit_all(Op::call, seen, t_.attrs.dict({{Key::callee, *cond}}))) operands.push_back(v);
    const Result<FunctionId> given = predicate_of(std::span(operands).last(loop.carry + 1 + shapes.size()), b, loop);
    if (!given) return forward(b, given.error());
    const AttrId attrs = t_.attrs.dict({{Key::cond, *given},
                                        {Key::body, *body},
                                        {Key::cond_consts, std::int64_t{0}},
                                        {Key::body_consts, static_cast<std::int64_t>(loop.cond_consts + loop.consts)},
                                        {Key::tapes, static_cast<std::int64_t>(loop.results - loop.carry)}});
    const std::vector<ValueId> all = b.emit_all(Op::while_, operands, attrs);
    if (!b.failed()) give_loop(w, in, loop, all, 1, shapes);
  }

  // (carries…, p, flags…) -> p
  Result<FunctionId> predicate_of(std::span<const ValueId> carried, const Builder& outer, const Loop& loop) {
    if (outer.failed()) return outer.error();
    Builder b(t_, env_.options, loop.cond, "");
    std::vector<ValueId> params;
    for (ValueId v : carried) params.push_back(b.param(outer.type(v)));
    return b.seal({params[loop.carry]});
  }

  // (cond consts…, consts…, carries…, p, flags…) -> carries…, p, flags…, what goes on tapes…
  Result<FunctionId> body_and_cond(const Instr& in, const Loop& loop, FunctionId cond, const Shapes& shapes) {
    const Result<FunctionId> f = NanFlags(env_, loop.body, loop_cover(env_, in, out_of(in))).run(shapes);
    if (!f) return f;
    const Body& body = t_.bodies[f->body];
    Builder b(t_, env_.options, *f, "");
    std::vector<ValueId> seen, args, before, results;
    for (std::size_t k = 0; k < loop.cond_consts; ++k) seen.push_back(b.param(t_.bodies[cond.body].types[k]));
    for (std::uint32_t k = 0; k < body.num_params; ++k) {
      args.push_back(b.param(body.types[k]));
      b.name_from(args[k], body.param(k));
    }
    b.param(t_.types.scalar(DType::Bool));
    for (TypeId type : shapes) before.push_back(b.param(type));
    const std::vector<ValueId> all = inline_kin(b, *f, args, Kin::Parent);
    if (b.failed()) return b.error();
    seen.insert(seen.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(loop.carry));
    const std::vector<ValueId> said = inline_body(b, cond, seen);
    if (b.failed()) return b.error();
    results.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(loop.carry));
    results.push_back(said[0]);
    std::vector<ValueId> now;
    add_flags(b, before, std::span(all).last(shapes.size()), now);
    add_flags(b, now, std::span(said).subspan(1), results);
    for (std::size_t k = loop.carry; k < all.size() - shapes.size(); ++k) results.push_back(all[k]);
    return b.seal(results);
  }

  TransformEnv& env_;
  Tables& t_;
  const FunctionId f_;
  const Mask results_;
  const Body& body_;
  const Mask covered_;
  std::vector<std::pair<TypeId, ValueId>> flags_;
};

}  // namespace

namespace {

// The inputs of `f` that may hold nan which nobody sees.
Mask hidden_inputs(TransformEnv& env, FunctionId f, const Mask& seen) {
  const TypeTable& types = env.tables.types;
  const Body& body = env.tables.bodies[f.body];
  const Mask cover = nan_cover(env, f, seen);
  Mask hidden;
  for (std::uint32_t k = 0; k < body.num_params; ++k) {
    const Type& type = types[body.types[k]];
    const bool may = type.is_tensor() && (is_float(type.dtype) || is_complex(type.dtype));
    hidden.push_back(may && !cover[k] && types.elements(body.types[k]) > 0);
  }
  return hidden;
}

}  // namespace

Result<FunctionId> nan_flags(TransformEnv& env, FunctionId f) {
  Tables& t = env.tables;
  Mask seen;
  for (TypeId type : t.bodies[f.body].result_types()) seen.push_back(t.types[type].kind != TypeKind::Tape);
  const Shapes shapes = NanFlags(env, f, seen).shapes();
  const Mask hidden = hidden_inputs(env, f, seen);
  if (shapes.empty() && !any(hidden)) return f;
  const Result<FunctionId> flagged = NanFlags(env, f, seen).run(shapes);
  if (!flagged) return flagged;
  Builder b(t, env.options, *flagged, "");
  const Body& body = t.bodies[flagged->body];
  std::vector<ValueId> args, flags;
  for (std::uint32_t k = 0; k < body.num_params; ++k) args.push_back(b.param(body.types[k]));
  std::vector<ValueId> all = inline_kin(b, *flagged, args, Kin::Parent);
  if (b.failed()) return b.error();
  flags.assign(all.begin() + static_cast<std::ptrdiff_t>(seen.size()), all.end());
  for (std::uint32_t k = 0; k < hidden.size(); ++k)
    if (hidden[k]) flags.push_back(is_nan(b, args[k]));
  ValueId raised = kNoValue;
  for (ValueId flag : flags) {
    const ValueId one = b.emit(Op::reduce_max, {flag});
    raised = raised == kNoValue ? one : b.emit(Op::or_, {raised, one});
  }
  all.resize(seen.size());
  all.push_back(raised);
  return b.seal(all);
}

}  // namespace tfvm
