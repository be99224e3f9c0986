// The end of a Builder: dead code elimination, renumbering, interning; and inlining, which is a copy into another one.
#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/builder.h"
#include "bytecode/expand/writes.h"

namespace tfvm {

namespace {

// What is needed: roots (asserts, io, writes) and, backwards, all that they and the results use.
std::vector<std::uint8_t> live_instrs(const Tables& t, const Body& body, std::span<const ValueId> results) {
  std::vector<std::uint8_t> live(body.num_instrs(), body.full), used(body.num_values(), 0);
  for (ValueId v : results) used[index(v)] = 1;
  for (std::uint32_t i = body.num_instrs(); i-- > 0;) {
    bool keep = live[i] || !is_pure(t, body.ops[i], body.attrs[i]);
    for (std::uint32_t v = body.result_begin[i]; !keep && v < body.result_begin[i + 1]; ++v) keep = used[v];
    if (!keep) continue;
    live[i] = 1;
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
    loc_ = debug_.locs[i];
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
  const std::vector<std::uint8_t> live = live_instrs(t_, body_, results);
  Body out;
  out.num_params = body_.num_params;
  out.full = body_.full;
  out.mut_params = body_.mut_params;
  out.types.assign(body_.types.begin(), body_.types.begin() + body_.num_params);
  out.operand_begin.push_back(0);
  out.result_begin.push_back(out.num_params);
  DebugInfo debug = debug_;
  debug.origin.clear();
  debug.locs.clear();
  debug.values.resize(body_.num_params);
  const bool has_locs = std::ranges::any_of(debug_.locs, [](const Loc& l) { return l.line != 0; });
  std::vector<ValueId> now(body_.num_values(), kNoValue);
  for (std::uint32_t v = 0; v < out.num_params; ++v) now[v] = static_cast<ValueId>(v);
  for (std::uint32_t i = 0; i < body_.num_instrs(); ++i) {
    if (!live[i]) continue;
    const Instr in = body_.instr(i);
    out.ops.push_back(in.op);
    out.attrs.push_back(in.attrs);
    out.effects = out.effects || !is_pure(t_, in.op, in.attrs);
    for (ValueId v : in.operands) out.operands.push_back(now[index(v)]);
    out.operand_begin.push_back(static_cast<std::uint32_t>(out.operands.size()));
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      const std::uint32_t old = index(in.result(k));
      now[old] = static_cast<ValueId>(out.types.size());
      out.types.push_back(body_.types[old]);
      debug.values.push_back(old < debug_.values.size() ? debug_.values[old] : ValueName{});
    }
    out.result_begin.push_back(static_cast<std::uint32_t>(out.types.size()));
    debug.origin.push_back(debug_.origin[i]);
    if (has_locs) debug.locs.push_back(debug_.locs[i]);
  }
  for (ValueId v : results) out.results.push_back(now[index(v)]);
  const BodyId body = t_.bodies.intern(std::move(out));
  return FunctionId{body, t_.debugs.add(std::move(debug))};
}

std::vector<ValueId> inline_body(Builder& b, FunctionId f, std::span<const ValueId> args) {
  const Body& body = b.tables().bodies[f.body];
  std::vector<ValueId> map(body.num_values(), kNoValue), operands;
  if (args.size() != body.num_params) {
    b.fail(Code::Internal, "inlining with a wrong number of arguments");
    return std::vector<ValueId>(body.results.size(), kNoValue);
  }
  std::copy(args.begin(), args.end(), map.begin());
  for (std::uint32_t i = 0; i < body.num_instrs() && !b.failed(); ++i) {
    const Instr in = body.instr(i);
    operands.clear();
    for (ValueId v : in.operands) operands.push_back(map[index(v)]);
    if (in.op == Op::constant) {
      map[index(in.first_result)] = b.constant(b.tables().attrs[in.attrs].constant);
      continue;
    }
    const std::vector<ValueId> results = b.emit_all(in.op, operands, in.attrs);
    for (std::size_t k = 0; k < results.size(); ++k) map[index(in.first_result) + k] = results[k];
  }
  std::vector<ValueId> out;
  for (ValueId v : body.results) out.push_back(b.failed() ? kNoValue : map[index(v)]);
  return out;
}

}  // namespace tfvm
