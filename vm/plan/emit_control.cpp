// Steps of opaque items: calls, conditionals, loops, effects.
#include <algorithm>
#include <iterator>

#include "jit/region/edit.h"
#include "jit/region/time.h"
#include "vm/plan/emit.h"
#include "vm/plan/loop_body.h"
#include "vm/plan/planner.h"
#include "vm/plan/sources.h"
#include "vm/tape.h"
#include "vm/tiers.h"

namespace tfvm {

namespace {

std::vector<FunctionId> targets(const Tables& t, const Instr& in) {
  if (in.op == Op::call) return {t.attrs.get_func(in.attrs, Key::callee)};
  if (in.op == Op::cond) return {t.attrs.get_func(in.attrs, Key::then), t.attrs.get_func(in.attrs, Key::else_)};
  return callees(t, in.op, in.attrs);
}

std::uint32_t count(const Tables& t, const Instr& in, Key key) {
  return static_cast<std::uint32_t>(t.attrs.get_int(in.attrs, key));
}

}  // namespace

Status Emitter::emit_opaque(const ItemSource& s) {
  const Instr in = flat_.body.instr(s.instr);
  switch (in.op) {
    case Op::call:
    case Op::cond:
    case Op::switch_:
      emit_call(s, in);
      return ok();
    case Op::while_:
      emit_while(s, in);
      return ok();
    case Op::scan:
      emit_scan(s, in);
      return ok();
    case Op::tape_scan:
      emit_tape_scan(s, in);
      return ok();
    case Op::reduce:
      emit_reduce(s, in);
      return ok();
    case Op::assert_:
      plan_.steps.push_back({StepKind::Assert, static_cast<std::uint32_t>(plan_.asserts.size())});
      plan_.asserts.push_back({place(s.in[0]), std::string(t_.attrs.get_str(in.attrs, Key::message))});
      return ok();
    case Op::print_: {
      const Type& type = t_.types[flat_.body.type(in.operands[0])];
      ValueType v{type.dtype, {type.dims.begin(), type.dims.end()}, t_.types.bytes(flat_.body.type(in.operands[0]))};
      plan_.steps.push_back({StepKind::Print, static_cast<std::uint32_t>(plan_.prints.size())});
      plan_.prints.push_back({place(s.in[0]), std::move(v), std::string(t_.attrs.get_str(in.attrs, Key::label))});
      return ok();
    }
    default:
      emit_kernel(s, in.op);
      return ok();
  }
}

void Emitter::emit_call(const ItemSource& s, const Instr& in) {
  CallStep c;
  std::int64_t frame = 0;
  for (FunctionId f : targets(t_, in)) {
    c.targets.push_back(target(f));
    frame = std::max(frame, c.targets.back()->frame_bytes);
  }
  std::span<const Access> args = s.in;
  if (in.op != Op::call) {
    c.selector = place(args[0]);
    c.selector_dtype = args[0].dtype;
    args = args.subspan(1);
  }
  c.args = places(args);
  c.results = result_places(s);
  c.frame = work(frame);
  plan_.steps.push_back({StepKind::Call, static_cast<std::uint32_t>(plan_.calls.size())});
  plan_.calls.push_back(std::move(c));
}

LoopCarry Emitter::carry(const Plan& body, std::uint32_t param, std::uint32_t result, const Access& init,
                         std::uint32_t out) {
  LoopCarry c;
  c.init = place(init);
  c.result = base_place(out);
  c.bytes = body.params[param].bytes;
  c.kind = carry_kind(body, param, result);
  if (c.kind == LoopCarry::Kind::Alternate) c.temp = work(c.bytes);
  return c;
}

void Emitter::emit_while(const ItemSource& s, const Instr& in) {
  const std::uint32_t nc = count(t_, in, Key::cond_consts), nb = count(t_, in, Key::body_consts);
  const std::span<const Access> args = s.in;
  WhileStep w;
  w.cond = target(t_.attrs.get_func(in.attrs, Key::cond));
  w.body = target(t_.attrs.get_func(in.attrs, Key::body));
  w.cond_consts = places(args.subspan(0, nc));
  w.body_consts = places(args.subspan(nc, nb));
  const auto carries = static_cast<std::uint32_t>(args.size()) - nc - nb;
  for (std::uint32_t k = 0; k < carries; ++k)
    w.carries.push_back(carry(*w.body, nb + k, k, args[nc + nb + k], s.out[k]));
  for (std::uint32_t k = carries; k < s.out.size(); ++k)
    w.tapes.push_back({base_place(s.out[k]), w.body->results[k].bytes});
  w.cond_frame = work(w.cond->frame_bytes);
  w.body_frame = work(w.body->frame_bytes);
  w.predicate = work(1);
  make_native(w, t_.attrs.get_func(in.attrs, Key::cond));
  plan_.steps.push_back({StepKind::While, static_cast<std::uint32_t>(plan_.whiles.size())});
  plan_.whiles.push_back(std::move(w));
}

void Emitter::emit_scan(const ItemSource& s, const Instr& in) {
  const std::uint32_t nc = count(t_, in, Key::consts), carries = count(t_, in, Key::carry);
  const std::span<const Access> args = s.in;
  ScanStep x;
  x.body = target(t_.attrs.get_func(in.attrs, Key::body));
  x.length = t_.attrs.get_int(in.attrs, Key::length);
  x.reverse = t_.attrs.get_bool(in.attrs, Key::reverse);
  x.consts = places(args.subspan(0, nc));
  for (std::uint32_t k = 0; k < carries; ++k) x.carries.push_back(carry(*x.body, nc + k, k, args[nc + k], s.out[k]));
  for (const Access& a : args.subspan(nc + carries)) x.inputs.push_back({place(a), a.strides[0] * size_of(a.dtype)});
  for (std::uint32_t k = carries; k < s.out.size(); ++k)
    x.outputs.push_back({base_place(s.out[k]), x.body->results[k].bytes});
  x.frame = work(x.body->frame_bytes);
  make_native(x);
  plan_.steps.push_back({StepKind::Scan, static_cast<std::uint32_t>(plan_.scans.size())});
  plan_.scans.push_back(std::move(x));
}

void Emitter::add_places(std::vector<Address>& to, Addresses list) const {
  const auto first = plan_.places.begin() + list.begin;
  to.insert(to.end(), first, first + list.count);
}

// The memory of the body's parameters, then of its results.
std::vector<Address> Emitter::bases_of_loop(const ScanStep& x) const {
  std::vector<Address> bases;
  add_places(bases, x.consts);
  for (const LoopCarry& c : x.carries) bases.push_back(c.init);
  for (const ScanRow& r : x.inputs) bases.push_back(r.place);
  for (const LoopCarry& c : x.carries) bases.push_back(c.result);
  for (const ScanRow& r : x.outputs) bases.push_back(r.place);
  return bases;
}

// The whole loop as machine code.
void Emitter::make_native(ScanStep& x) {
  if (!x.body->as_nest || x.length < 1) return;
  std::vector<Address> bases = bases_of_loop(x);
  if (std::optional<LoopNest> made = scan_loop(*x.body->as_nest, x)) {
    add_outside(x.native, *x.body, x.carries, bases);
    set_native(x.native, *std::move(made), bases, plan_.scans.size(), x.body->sources);
  }
}

// The rows of a trip are records of tapes, and those of the next trip stand beside them.
void Emitter::make_native(TapeScanStep& x) {
  const auto& nest = x.body->as_nest;
  if (!nest || finds_outside(*nest, x.body->params.size() + x.body->results.size())) return;
  ScanStep rows;
  rows.length = 1;
  rows.consts = x.consts;
  rows.carries = x.carries;
  const auto row = [&](const TapeRow& r) { return ScanRow{r.place, Tape::stride_of(r.bytes) * (x.reverse ? -1 : 1)}; };
  std::ranges::transform(x.inputs, std::back_inserter(rows.inputs), row);
  std::ranges::transform(x.outputs, std::back_inserter(rows.outputs), row);
  if (std::optional<LoopNest> made = scan_loop(*nest, rows))
    set_native(x.native, *std::move(made), bases_of_loop(rows), plan_.tape_scans.size(), x.body->sources);
}

// Constants that both condition and body are given are one, so that what both compute of them is computed once.
void Emitter::make_native(WhileStep& x, FunctionId condition) {
  if (!x.body->as_nest) return;
  std::vector<Address> bases;
  add_places(bases, x.cond_consts);
  add_places(bases, x.body_consts);
  const auto shared = bases.begin() + x.cond_consts.count;
  LoopCondition c{x.cond->as_nest.get(), {}, any_of(t_, condition), static_cast<std::uint32_t>(x.body->sources.size())};
  for (auto own = bases.begin(); own != shared; ++own)
    c.bases.push_back(static_cast<std::uint32_t>(
        std::find_if(shared, bases.end(),
                     [&](const Address& a) { return a.root == own->root && a.offset == own->offset; }) -
        bases.begin()));
  for (std::uint32_t k = 0; k < c.bases.size(); ++k)
    if (c.bases[k] == bases.size()) c.bases[k] = k;
  for (const LoopCarry& carry : x.carries) {
    c.bases.push_back(static_cast<std::uint32_t>(bases.size()));
    bases.push_back(carry.init);
  }
  for (const LoopCarry& carry : x.carries) bases.push_back(carry.result);
  for (const TapeRow& r : x.tapes) bases.push_back(r.place);
  if (std::optional<LoopNest> made = while_loop(*x.body->as_nest, x, c)) {
    add_outside(x.native, *x.body, x.carries, bases);
    set_native(x.native, *std::move(made), bases, plan_.whiles.size(), sources_of(x));
  }
}

void Emitter::add_outside(NativeLoop& native, const Plan& body, std::span<const LoopCarry> carries,
                          std::vector<Address>& bases) {
  if (!finds_outside(*body.as_nest, body.params.size() + body.results.size())) return;
  native.outside_bytes = points(*body.as_nest);
  bases.push_back(work(native.outside_bytes));
  std::int64_t bytes = kAlignment;
  for (const LoopCarry& c : carries) bytes += align_up(c.bytes);
  native.kept = work(bytes);
}

void Emitter::set_native(NativeLoop& native, LoopNest made, const std::vector<Address>& bases, std::size_t number,
                         std::span<const StepOrigin> sources) {
  if (bases.size() >= NativeLoop::kMaxBases || !may_be_native()) return;
  if (options_.gate) options_.gate->made_native(made.body);
  const auto loop = std::make_shared<const LoopNest>(std::move(made));
  if (options_.keep_nests) native.ir = loop;
  native.code =
      options_.tiers->slot([loop, label = label("loop", number, loop->body, sources)](NestCompiler& compiler) {
        return label ? compiler.compile(*loop, *label) : compiler.compile(*loop);
      });
  native.work = std::min(time_of(loop->body), std::int64_t{1} << 40);
  native.bases = {static_cast<std::uint32_t>(plan_.places.size()), static_cast<std::uint32_t>(bases.size())};
  plan_.places.insert(plan_.places.end(), bases.begin(), bases.end());
}

void Emitter::emit_tape_scan(const ItemSource& s, const Instr& in) {
  const std::uint32_t nc = count(t_, in, Key::consts), carries = count(t_, in, Key::carry);
  const std::span<const Access> args = std::span(s.in).subspan(1);
  TapeScanStep x;
  x.body = target(t_.attrs.get_func(in.attrs, Key::body));
  x.trips = place(s.in[0]);
  x.trips_dtype = s.in[0].dtype;
  x.reverse = t_.attrs.get_bool(in.attrs, Key::reverse);
  x.consts = places(args.subspan(0, nc));
  for (std::uint32_t k = 0; k < carries; ++k) x.carries.push_back(carry(*x.body, nc + k, k, args[nc + k], s.out[k]));
  for (std::uint32_t k = nc + carries; k < args.size(); ++k)
    x.inputs.push_back({place(args[k]), x.body->params[k].bytes});
  for (std::uint32_t k = carries; k < s.out.size(); ++k)
    x.outputs.push_back({base_place(s.out[k]), x.body->results[k].bytes});
  x.frame = work(x.body->frame_bytes);
  make_native(x);
  plan_.steps.push_back({StepKind::TapeScan, static_cast<std::uint32_t>(plan_.tape_scans.size())});
  plan_.tape_scans.push_back(std::move(x));
}

void Emitter::emit_reduce(const ItemSource& s, const Instr& in) {
  const std::size_t n = s.in.size() / 2;
  const Dims dims = t_.types.dims(flat_.body.type(in.operands[0]));
  const Ints axes = t_.attrs.get_ints(in.attrs, Key::axes);
  ReduceStep r;
  r.body = target(t_.attrs.get_func(in.attrs, Key::body));
  for (std::size_t k = 0; k < n; ++k)
    r.operands.push_back({place(s.in[k]), place(s.in[n + k]), base_place(s.out[k]), {}, {}, size_of(s.in[k].dtype)});
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool is_reduced = std::ranges::find(axes, static_cast<std::int64_t>(d)) != axes.end();
    (is_reduced ? r.reduced : r.kept).push_back(dims[d]);
    for (std::size_t k = 0; k < n; ++k) {
      auto& o = r.operands[k];
      (is_reduced ? o.reduced_strides : o.kept_strides).push_back(s.in[k].strides[d] * o.size);
    }
  }
  r.frame = work(r.body->frame_bytes);
  r.temp = work(static_cast<std::int64_t>(8 * (dims.size() + n) + 32 * n));
  plan_.steps.push_back({StepKind::Reduce, static_cast<std::uint32_t>(plan_.reduces.size())});
  plan_.reduces.push_back(std::move(r));
}

}  // namespace tfvm
