#include "functionalize/input_output.h"

#include <algorithm>
#include <unordered_set>

#include "bytecode/aliasing.h"
#include "bytecode/callees.h"
#include "bytecode/elaborate/globals.h"
#include "functionalize/reinplace.h"

namespace tfvm {

using functional::Chain;
using functional::Place;
using functional::View;

Result<FunctionalForm> functional_form(Tables& t, FunctionId f, functional::Pattern pattern,
                                       const FunctionalizeOptions& options) {
  FunctionalForm out;
  const Sharing shares = sharing(t, t.body(f));
  for (std::uint32_t base = 0; base < pattern.bases.size(); ++base)
    for (std::size_t k = 0; k < pattern.args.size(); ++k)
      if (pattern.args[k].base == base && shares.first[k] != Sharing::kNoInstr) {
        out.written.push_back(base);
        break;
      }
  pattern.returned = out.written;
  pattern.returned_at = functional::Pattern::kLast;
  pattern.values = false;
  functional::Pass pass(t, options);
  Result<functional::Outcome> made = pass.function(f, pattern);
  if (!made) return made.error();
  out.f = made->f;
  out.fresh = made->fresh;
  out.results = std::move(made->places);
  const Body& body = t.body(out.f);
  for (std::size_t k = 0; k < out.written.size(); ++k)
    out.changed.push_back(body.results[out.fresh + k] != body.param(out.written[k]));
  return out;
}

namespace {

// The imaginary part of a real value is zeros of its own.
bool can_follow(const Tables& t, const Chain& chain) {
  return std::ranges::none_of(chain,
                              [&](const View& v) { return v.op == Op::imag && !is_complex(t.types.dtype(v.from)); });
}

bool same_but_for_ones(Dims a, Dims b) {
  std::vector<std::int64_t> x, y;
  std::ranges::copy_if(a, std::back_inserter(x), [](std::int64_t d) { return d != 1; });
  std::ranges::copy_if(b, std::back_inserter(y), [](std::int64_t d) { return d != 1; });
  return x == y;
}

void find_layout_use(const Tables& t, FunctionId f, std::unordered_set<BodyId>& seen, LayoutUse& use) {
  const Body& body = t.body(f);
  if (!body.full || !seen.insert(f.body).second) return;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    for (FunctionId g : callees(t, in.op, in.attrs)) find_layout_use(t, g, seen, use);
    if (in.op == Op::as_strided || in.op == Op::as_strided_) use.storage = true;
    if (in.op == Op::view_dtype || in.op == Op::extern_) use.strides = true;
    if (in.op == Op::view &&
        !same_but_for_ones(t.types.dims(body.type(in.operands[0])), t.types.dims(body.type(in.result()))))
      use.strides = true;
  }
}

// How each mut parameter of the full function f is written, by where its new value goes when reinplace has run: to a
// copy_ into the parameter, or nowhere.
Result<std::vector<InputInfo::Change>> changes(Tables& t, FunctionId f, const FunctionalizeOptions& options) {
  using Change = InputInfo::Change;
  const std::vector<std::uint8_t> muts = t.body(f).mut_params;
  std::vector<Change> out(t.body(f).num_params, Change::None);
  std::vector<std::uint32_t> into;
  for (std::uint32_t k = 0; k < muts.size(); ++k)
    if (muts[k]) into.push_back(k);
  const Result<FunctionId> core = functionalize(t, f, options);
  if (!core) return core.error();
  const Body& pure = t.body(*core);
  const std::size_t own = t.body(f).results.size();
  for (std::size_t k = 0; k < into.size(); ++k)
    if (pure.results[own + k] != pure.param(into[k])) out[into[k]] = Change::After;
  if (!written_globals(t, f).empty()) return out;
  const Result<FunctionId> back = reinplace(t, *core, into);
  if (!back) return back.error();
  const Body& body = t.body(*back);
  for (std::uint32_t k : into)
    if (out[k] == Change::After) out[k] = Change::InGraph;
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::copy_ && index(in.operands[0]) < out.size()) out[index(in.operands[0])] = Change::After;
  }
  return out;
}

OutputInfo output_of(const Tables& t, const Place& place, std::span<const std::uint32_t> uses,
                     std::span<const std::uint32_t> numbers) {
  using Kind = OutputInfo::Kind;
  OutputInfo out;
  if (!can_follow(t, place.ref.chain)) return out;
  out.chain = place.ref.chain;
  const bool whole = out.chain.empty();
  if (!place.is_new) {
    out.kind = whole ? Kind::Input : Kind::ViewOfInput;
    out.of = place.ref.base;
  } else if (uses[place.ref.base] > 1) {
    out.kind = whole ? Kind::Intermediate : Kind::ViewOfIntermediate;
    out.of = numbers[place.ref.base];
  }
  return out;
}

std::string attr_text(const Tables& t, AttrId id) {
  const Attr& a = t.attrs[id];
  if (a.kind == AttrKind::DType) return std::string(name(a.dtype()));
  if (a.kind == AttrKind::Int) return std::to_string(a.i);
  std::string s;
  for (std::int64_t i : a.ints) s += (s.empty() ? "" : ", ") + std::to_string(i);
  return '[' + s + ']';
}

std::string view_text(const Tables& t, const View& v) {
  std::string s(name(v.op));
  const Attr& dict = t.attrs[v.attrs];
  for (std::size_t k = 0; k < dict.keys.size(); ++k)
    s += (k ? ", " : " {") + std::string(t.strings[dict.keys[k]]) + '=' + attr_text(t, dict.items[k]);
  return dict.keys.empty() ? s : s + '}';
}

std::string view_text(const Tables& t, const Chain& chain) {
  std::string s;
  for (const View& v : chain) s += (s.empty() ? " by " : ", ") + view_text(t, v);
  return s;
}

}  // namespace

bool can_follow(const Tables& t, const FunctionalForm& form) {
  return std::ranges::all_of(form.results, [&](const Place& p) { return can_follow(t, p.ref.chain); });
}

LayoutUse layout_use(const Tables& t, FunctionId f) {
  LayoutUse use;
  std::unordered_set<BodyId> seen;
  find_layout_use(t, f, seen, use);
  return use;
}

Result<InputOutput> input_output(Tables& t, FunctionId f, const FunctionalizeOptions& options) {
  InputOutput io;
  const std::vector<GlobalUse> globals = globals_used(t, f);
  for (const GlobalUse& g : globals) io.inputs.push_back({'@' + std::string(t.strings[g.name]), g.type});
  io.globals = static_cast<std::uint32_t>(globals.size());
  for (std::uint32_t k = 0; k < t.body(f).num_params; ++k) {
    const std::string name = t.debugs.value_name(f.debug, t.body(f).param(k), t.strings);
    io.inputs.push_back({'%' + (name.empty() ? std::to_string(k) : name), t.body(f).types[k]});
  }
  if (!t.body(f).full) {
    for (TypeId type : t.body(f).result_types()) io.outputs.push_back({OutputInfo::Kind::Fresh, type, 0, {}});
    return io;
  }
  const Result<FunctionId> lifted = lift_globals(t, f, globals);
  if (!lifted) return lifted.error();
  const Result<FunctionalForm> form =
      functional_form(t, *lifted, functional::plain_pattern(t.body(*lifted).param_types()), options);
  if (!form) return Error(form.error()).note("in functionalize of " + t.debugs.function_name(f.debug, t.strings));
  const Result<std::vector<InputInfo::Change>> of_inputs = changes(t, f, options);
  if (!of_inputs) return of_inputs.error();
  for (std::uint32_t base : form->written)
    if (base < io.globals) io.inputs[base].change = InputInfo::Change::After;
  for (std::size_t k = 0; k < of_inputs->size(); ++k) io.inputs[io.globals + k].change = (*of_inputs)[k];
  std::vector<std::uint32_t> uses(form->fresh, 0), numbers(form->fresh, 0);
  for (const Place& p : form->results)
    if (p.is_new) ++uses[p.ref.base];
  for (std::size_t k = 0; k < uses.size(); ++k)
    if (uses[k] > 1) numbers[k] = io.intermediates++;
  const std::vector<TypeId> types = t.body(f).result_types();
  for (std::size_t k = 0; k < types.size(); ++k) {
    io.outputs.push_back(output_of(t, form->results[k], uses, numbers));
    io.outputs.back().type = types[k];
  }
  return io;
}

std::string text(InputInfo::Change change) {
  switch (change) {
    case InputInfo::Change::None:
      return "not written";
    case InputInfo::Change::InGraph:
      return "written in the graph";
    case InputInfo::Change::After:
      break;
  }
  return "written back after";
}

std::string text(const Tables& t, const InputOutput& io, const OutputInfo& o) {
  switch (o.kind) {
    case OutputInfo::Kind::Fresh:
      return "fresh";
    case OutputInfo::Kind::Input:
      return "is " + io.inputs[o.of].name;
    case OutputInfo::Kind::ViewOfInput:
      return "view of " + io.inputs[o.of].name + view_text(t, o.chain);
    case OutputInfo::Kind::Intermediate:
      return "is intermediate " + std::to_string(o.of);
    case OutputInfo::Kind::ViewOfIntermediate:
      break;
  }
  return "view of intermediate " + std::to_string(o.of) + view_text(t, o.chain);
}

std::string text(const Tables& t, const InputOutput& io) {
  std::string s;
  for (std::size_t k = 0; k < io.inputs.size(); ++k) {
    const InputInfo& in = io.inputs[k];
    s += (k < io.globals ? "" : "input " + std::to_string(k - io.globals) + ' ') + in.name + ' ' +
         t.types.text(in.type) + ": " + text(in.change) + '\n';
  }
  for (std::size_t k = 0; k < io.outputs.size(); ++k)
    s += "output " + std::to_string(k) + ' ' + t.types.text(io.outputs[k].type) + ": " + text(t, io, io.outputs[k]) +
         '\n';
  return s;
}

}  // namespace tfvm
