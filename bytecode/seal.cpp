// The end of a Builder: dead code elimination, renumbering, interning; and inlining, which is a copy into another one.
#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/builder.h"
#include "bytecode/expand/writes.h"
#include "bytecode/rewriter.h"

namespace tfvm {

namespace {

// What is needed: roots (asserts, io, writes) and, backwards, all that they and the results use.
struct Live {
  std::vector<std::uint8_t> instrs;
  std::uint32_t count = 0;
  bool effects = false;  // among them
};

Live live_instrs(const Tables& t, const Body& body, std::span<const ValueId> results) {
  Live live{std::vector<std::uint8_t>(body.num_instrs(), 0)};
  std::vector<std::uint8_t> used(body.num_values(), 0);
  for (ValueId v : results) used[index(v)] = 1;
  for (std::uint32_t i = body.num_instrs(); i-- > 0;) {
    const bool effect = !is_pure(t, body.ops[i], body.attrs[i]);
    bool keep = body.full || effect;
    for (std::uint32_t v = body.result_begin[i]; !keep && v < body.result_begin[i + 1]; ++v) keep = used[v];
    if (!keep) continue;
    live.instrs[i] = 1;
    ++live.count;
    live.effects = live.effects || effect;
    for (ValueId v : body.instr(i).operands) used[index(v)] = 1;
  }
  return live;
}

bool is_pure_attr(const Tables& t, AttrId a) {
  const Attr& attr = t.attrs[a];
  if (attr.kind == AttrKind::Func) return !t.bodies[attr.func.body].effects;
  return std::ranges::all_of(attr.items, [&](AttrId item) { return is_pure_attr(t, item); });
}

}  // namespace

bool is_pure(const Tables& t, Op op, AttrId attrs) {
  const OpInfo& row = info(op);
  if (const ExternInfo* custom = op == Op::extern_ ? find_extern(t, attrs) : nullptr) return !custom->has_mut();
  if (row.effect != OpEffect::Pure) return false;
  return row.kind != OpKind::Control || is_pure_attr(t, attrs);
}

void Builder::set_full(bool declared) {
  body_.full = true;
  declared_ = declared;
  options_.simplify = false;
  options_.evaluator = nullptr;
}

void Builder::mark_written() {
  const Sharing s = sharing(t_, body_);
  body_.mut_params.resize(body_.num_params, 0);
  for (std::uint32_t k = 0; k < body_.num_params; ++k) {
    const std::uint32_t i = s.first[k];
    if (i == Sharing::kNoInstr || body_.mut_params[k]) continue;
    body_.mut_params[k] = 1;
    if (!declared_) continue;
    const Instr in = body_.instr(i);
    const std::string op =
        in.op == Op::extern_ ? std::string(t_.attrs.get_str(in.attrs, Key::op)) : write_name(t_, in.op, in.attrs);
    const StrId text = k < debug_.values.size() ? debug_.values[k].text : kNone<StrId>;
    if (i < debug_.locs.size()) loc_ = debug_.locs[i];
    fail(Code::Type,
         "[" + op + "] writes into " +
             (text == kNone<StrId> ? "parameter " + std::to_string(k) : '%' + std::string(t_.strings[text])) +
             ", which is not declared mut");
    return;
  }
}

Result<FunctionId> Builder::seal(std::span<const ValueId> results) {
  if (body_.full && !failed_) mark_written();
  for (ValueId v : results)
    if (!failed_ && index(v) >= body_.types.size()) fail(Code::Internal, "a result is missing");
  if (failed_) return error_;
  const Live live = live_instrs(t_, body_, results);
  const bool has_locs = std::ranges::any_of(debug_.locs, [](const Loc& l) { return l.line != 0; });
  debug_.locs.resize(has_locs ? body_.num_instrs() : 0);
  if (live.count < body_.num_instrs()) {
    drop_dead(live.instrs, results);
  } else {
    debug_.values.resize(body_.num_values());
    body_.results.assign(results.begin(), results.end());
  }
  body_.effects = live.effects;
  // Copied, so without room to grow that nothing will use, where no equal one is there.
  const BodyId body = t_.bodies.intern(body_);
  return FunctionId{body, t_.debugs.add(DebugInfo(debug_))};
}

// Takes what isn't live out of the body, in place.
void Builder::drop_dead(std::span<const std::uint8_t> live, std::span<const ValueId> results) {
  std::vector<ValueId> now(body_.num_values(), kNoValue);
  for (std::uint32_t v = 0; v < body_.num_params; ++v) now[v] = static_cast<ValueId>(v);
  debug_.values.resize(body_.num_values());
  std::uint32_t n = 0, values = body_.num_params, operands = 0;
  for (std::uint32_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    const Instr in = body_.instr(i);
    body_.ops[n] = in.op;
    body_.attrs[n] = in.attrs;
    debug_.origin[n] = debug_.origin[i];
    if (!debug_.locs.empty()) debug_.locs[n] = debug_.locs[i];
    for (ValueId v : in.operands) body_.operands[operands++] = now[index(v)];
    const std::uint32_t first = index(in.first_result);
    for (std::uint32_t k = 0; k < in.num_results; ++k, ++values) {
      now[first + k] = static_cast<ValueId>(values);
      body_.types[values] = body_.types[first + k];
      debug_.values[values] = debug_.values[first + k];
    }
    ++n;
    // The bounds of what comes later are read still: these lie before them.
    body_.operand_begin[n] = operands;
    body_.result_begin[n] = values;
  }
  body_.ops.resize(n), body_.attrs.resize(n), debug_.origin.resize(n);
  body_.operand_begin.resize(n + 1), body_.result_begin.resize(n + 1), body_.operands.resize(operands);
  body_.types.resize(values), debug_.values.resize(values);
  if (!debug_.locs.empty()) debug_.locs.resize(n);
  body_.results.clear();
  for (ValueId v : results) body_.results.push_back(now[index(v)]);
}

std::vector<ValueId> inline_body(Builder& b, FunctionId f, std::span<const ValueId> args) {
  const Body& body = b.tables().bodies[f.body];
  std::vector<ValueId> map(body.num_values(), kNoValue);
  if (args.size() != body.num_params) {
    b.fail(Code::Internal, "inlining with a wrong number of arguments");
    return std::vector<ValueId>(body.results.size(), kNoValue);
  }
  std::copy(args.begin(), args.end(), map.begin());
  for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
    copy_mapped(b, body, body.instr(i), map);
  }
  std::vector<ValueId> out;
  for (ValueId v : body.results) out.push_back(b.failed() ? kNoValue : map[index(v)]);
  return out;
}

}  // namespace tfvm
