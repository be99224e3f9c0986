// Statements that name an op: rows of the op table, C++ expansions, functions of the stdlib.
#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/defaults.h"
#include "bytecode/elaborate/elaborator.h"

namespace tfvm {

namespace {

// Made by the library, never written.
bool is_internal(Op op) {
  switch (op) {
    case Op::constant:
    case Op::global:
    case Op::write:
    case Op::pack:
    case Op::unpack:
      return true;
    default:
      return info(op).kind == OpKind::Control;
  }
}

// The result has the dtype of the first group of operands: a written result type decides that of literals.
bool result_is_group(Op op) {
  switch (op) {
    case Op::cast:
    case Op::bitcast:
    case Op::isnan:
    case Op::isinf:
    case Op::isfinite:
    case Op::real:
    case Op::imag:
    case Op::argmax:
    case Op::argmin:
    case Op::argsort:
    case Op::searchsorted:
      return false;
    default:
      return info(op).kind != OpKind::Compare;
  }
}

}  // namespace

bool Elaborator::op(const Stmt& s) {
  const std::string_view name = t_.strings[s.op];
  const Program::OpRef& ref = p_.find_op(s.op);
  if (name.starts_with("expect_")) return fail(Code::Type, std::string(name) + " stands only in a test");
  // `select %x {axis, index}` is a view, `select %p, %x, %y` the prim.
  const bool view_select = ref.prim == Op::select && s.operands.count == 1;
  const bool prefer_core = ref.core && (view_select || (ref.prim == Op::diagonal && !is_full()));
  if (ref.prim && !prefer_core && !is_internal(*ref.prim))
    return *ref.prim == Op::reduce ? reduce_function(s) : prim(s, *ref.prim);
  if (const auto it = m_.op_names.find(s.op); it != m_.op_names.end()) return custom(s, m_.externs[it->second.at]);
  if (ref.core) return core(s, *ref.core);
  if (ref.function) return library(s, ref.function);
  return unknown_op(s);
}

// A statement of a test that aliases.
bool Elaborator::is_view_op(const Stmt& s) {
  if (s.kind != StmtKind::Op) return false;
  const Program::OpRef& ref = p_.find_op(s.op);
  if (ref.core && is_view(*ref.core) && !(ref.prim == Op::select && s.operands.count != 1)) return true;
  return ref.prim && is_view(*ref.prim) && *ref.prim != Op::broadcast_to;
}

bool Elaborator::attributes(const Stmt& s, const Values& operands, AttrId& out) {
  function_types_.clear();
  if (!operands.empty() && t_.types[b().type(operands[0])].is_tensor())
    function_types_.assign(2, t_.types.scalar(b().dtype(operands[0])));
  Result<AttrId> attrs = eval_attrs(t_, m_, s.attrs, *this);
  function_types_.clear();
  if (!attrs) {
    Error e = std::move(attrs).error();
    e.message = what(s) + " " + e.message;
    return fail(std::move(e));
  }
  out = *attrs;
  return true;
}

bool Elaborator::prim(const Stmt& s, Op op) {
  const OpInfo& row = info(op);
  if (is_metadata(op)) return metadata(s, op);
  if (is_write(op)) return write(s, op);
  if (needs_full(op) && !is_full()) return fail(Code::Type, what(s) + " stands only in functions of the user's module");
  Values operands;
  AttrId attrs = t_.attrs.empty();
  if (!op_operands(s, s.operands, row.operands, result_is_group(op), operands) || !attributes(s, operands, attrs))
    return false;
  if (row.kind == OpKind::Collective && !named_axis(s, row, attrs)) return false;
  if (row.effect == OpEffect::Alias && !is_full()) return core_view(s, op, operands, attrs);
  Values results = b().emit_all(op, operands, attrs);
  // What the Builder broadcasts is read once; what is written as broadcast_to is a tensor of its own.
  if (op == Op::broadcast_to && is_full() && !b().failed()) results = {b().emit(Op::clone, {results[0]})};
  return define(s, results);
}

// A collective's axis must be one of a vmap around this; ops whose type depends on its size get it.
bool Elaborator::named_axis(const Stmt& s, const OpInfo& row, AttrId& attrs) {
  const Attr name = t_.attrs[t_.attrs.get(attrs, Key::axis_name)];
  if (name.kind != AttrKind::Str) return fail(Code::Type, what(s) + " needs the attribute 'axis_name', a string");
  const std::optional<std::int64_t> size = p_.axis_size(name.str);
  if (!size)
    return fail(Code::Name, what(s) + " " + std::string(kNoAxis) + '"' + std::string(t_.strings[name.str]) + '"');
  if (!attr_spec(row, Key::axis_size)) return true;
  const AttrId written = t_.attrs.get(attrs, Key::axis_size);
  if (written != t_.attrs.none() && written != t_.attrs.of(*size))
    return fail(Code::Type, what(s) + " axis_size is " + std::to_string(*size) + " here");
  attrs = t_.attrs.with(attrs, Key::axis_size, t_.attrs.of(*size));
  return true;
}

// reduce @f, x…, init… {axes}: @f takes (acc…, x…), scalars of the dtypes of init… and x….
bool Elaborator::reduce_function(const Stmt& s) {
  const auto written = Module::at(m_.operands, s.operands);
  if (written.size() < 3 || written.size() % 2 == 0 || written[0].kind != OperandKind::Callee)
    return fail(Code::Type, "[reduce] takes a function, then as many initial values as inputs");
  const std::size_t n = (written.size() - 1) / 2;
  const auto dtype_of_input = [&](std::span<const TypeId> known, std::size_t k) -> std::optional<DType> {
    return k >= n && known[k - n] != kNone<TypeId> ? std::optional(t_.types.dtype(known[k - n])) : std::nullopt;
  };
  Values operands;
  if (!arguments(Range{s.operands.begin + 1, s.operands.count - 1}, dtype_of_input, s, operands)) return false;
  std::vector<TypeId> scalars;
  for (std::size_t k = 0; k < 2 * n; ++k)
    scalars.push_back(t_.types.scalar(b().dtype(operands[k < n ? n + k : k - n])));
  Callee* f = nullptr;
  FunctionId body;
  AttrId attrs = t_.attrs.empty();
  if (!callee(written[0], f) || !instantiate(*f, scalars, body) || !attributes(s, operands, attrs)) return false;
  attrs = t_.attrs.with(attrs, Key::body, t_.attrs.of(body));
  return define(s, b().emit_all(Op::reduce, operands, attrs));
}

bool Elaborator::core(const Stmt& s, const CoreRow& row) {
  Values operands;
  AttrId given = t_.attrs.empty();
  if (!op_operands(s, s.operands, row.operands, true, operands) || !attributes(s, operands, given)) return false;
  const auto count = [&](char arity) { return std::ranges::count(row.operands, arity, &OperandSpec::arity); };
  const auto least = static_cast<std::size_t>(count('1'));
  if (operands.size() < least || (count('*') == 0 && operands.size() > row.operands.size()))
    return fail(Code::Type, what(s) + " takes " + (least == row.operands.size() ? "" : "at least ") +
                                std::to_string(least) + (least == 1 ? " operand" : " operands") + ", got " +
                                std::to_string(operands.size()));
  Result<AttrId> attrs = complete_attrs(t_, row.name, row.attrs, given);
  if (!attrs) return fail(std::move(attrs).error());
  if (is_full() && !is_view(row)) return core_call(s, row, operands, *attrs);
  ExpandCtx ctx{b(), operands, *attrs};
  const Values results = row.expand(ctx);
  return define(s, results);
}

bool Elaborator::library(const Stmt& s, const Library::Found& found) {
  const Template& f = *found.function;
  AttrId attrs = t_.attrs.empty();
  if (!attributes(s, {}, attrs)) return false;
  Result<TemplateCallee*> callee = p_.instance_of(*found.source, f, attrs);
  if (!callee) return callee_error(Error(callee.error()), what(s), true);
  if (s.operands.count != f.params.size())
    return fail(Code::Type, what(s) + " takes " + std::to_string(f.params.size()) +
                                (f.params.size() == 1 ? " operand" : " operands") + ", got " +
                                std::to_string(s.operands.count));
  Values args, results;
  return arguments(**callee, s.operands, s, args) && emit_call(**callee, args, t_.attrs.none(), results) &&
         define(s, results);
}

bool Elaborator::unknown_op(const Stmt& s) {
  const std::string name(t_.strings[s.op]);
  if (const std::string_view base = written_op(name); !base.empty() && is_full()) {
    const Program::OpRef& ref = p_.find_op(t_.strings.intern(base));
    if (ref.prim && is_elementwise(*ref.prim)) return write_elementwise(s, *ref.prim);
    if (ref.function || ref.core) return write_result(s, base);
  }
  std::vector<std::string_view> known;
  for (std::size_t k = 0; k < kOps; ++k)
    if (!is_internal(static_cast<Op>(k))) known.push_back(info(static_cast<Op>(k)).name);
  for (const CoreRow& row : core_rows()) known.push_back(row.name);
  const std::vector<std::string_view> library = p_.library(Space::Ops).names();
  known.insert(known.end(), library.begin(), library.end());
  std::string message = "unknown op '" + name + "'";
  if (const std::string near = near_miss(name, known); !near.empty()) message += "; did you mean '" + near + "'?";
  return fail(Code::Name, message);
}

}  // namespace tfvm
