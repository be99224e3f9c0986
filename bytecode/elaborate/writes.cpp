// Ops of full functions: writes, and ops that change what a name stands for; the other ops where functions are full.
#include <algorithm>

#include "bytecode/aliasing.h"
#include "bytecode/elaborate/elaborator.h"
#include "bytecode/infer/infer.h"

namespace tfvm {

// Broadcasts v to the shape of x, which a write can't change.
bool Elaborator::broadcast_to_first(const Stmt& s, ValueId x, ValueId& v) {
  const std::vector<std::int64_t> shape(b().dims(x).begin(), b().dims(x).end());
  std::vector<std::int64_t> common;
  if (!t_.types[b().type(v)].is_tensor() || !broadcast_dims(shape, b().dims(v), common) || common != shape)
    return fail(Code::Type, what(s) + " expected operands that broadcast to the shape of the first, " +
                                t_.types.text(b().type(x)) + ", got " + t_.types.text(b().type(v)));
  if (!std::ranges::equal(b().dims(v), shape)) v = b().emit(Op::broadcast_to, {v}, {{Key::shape, Ints(shape)}});
  return true;
}

bool Elaborator::write(const Stmt& s, Op op) {
  Values operands;
  AttrId attrs = t_.attrs.empty();
  if (!op_operands(s, s.operands, info(op).operands, true, operands) || !attributes(s, operands, attrs)) return false;
  if (op == Op::uniform_ || op == Op::normal_) return write_random(s, op, operands);
  const bool wide = op == Op::copy_ || op == Op::masked_fill_;
  if (wide && operands.size() > 1 && !broadcast_to_first(s, operands[0], operands[1])) return false;
  const bool fills = op == Op::fill_ || op == Op::masked_fill_;
  if (fills && operands.size() > 1 && b().rank(operands.back()) != 0)
    return fail(Code::Type, what(s) + " expected a scalar value, got " + t_.types.text(b().type(operands.back())));
  return define(s, b().emit_all(op, operands, attrs));
}

// What the op without _ draws from the key, copied.
bool Elaborator::write_random(const Stmt& s, Op op, const Values& operands) {
  if (operands.size() != 2) return fail(Code::Type, what(s) + " takes a tensor and a key");
  const TypeId x = b().type(operands[0]);
  const AttrId attrs = t_.attrs.dict({{Key::shape, t_.attrs.ints(t_.types.dims(x))}, {Key::dtype, t_.types.dtype(x)}});
  const Program::OpRef& draw = p_.find_op(t_.strings.intern(written_op(tfvm::name(op))));
  Stmt plain = s;
  plain.results = plain.types = {};
  plain.has_types = false;
  if (draw.core) {
    if (!core_call(plain, *draw.core, {operands[1]}, attrs)) return false;
  } else {
    if (!draw.function) return fail(Code::Name, what(s) + " needs the standard library");
    Result<TemplateCallee*> callee = p_.instance_of(*draw.function.source, *draw.function.function, attrs);
    if (!callee) return callee_error(Error(callee.error()), what(s), true);
    if (!emit_call(**callee, {operands[1]}, t_.attrs.none(), last_)) return false;
  }
  return define(s, {b().emit(Op::copy_, {operands[0], last_[0]})});
}

// `add_ %x, %y`: what add gives must be of x's type.
bool Elaborator::write_elementwise(const Stmt& s, Op op) {
  Values operands;
  AttrId attrs = t_.attrs.empty();
  if (!op_operands(s, s.operands, info(op).operands, true, operands) || !attributes(s, operands, attrs)) return false;
  if (operands.empty() || !info(op).attrs.empty()) return fail(Code::Type, what(s) + " is no op that writes");
  Builder probe(t_, {});
  Values params;
  for (ValueId v : operands) params.push_back(probe.param(b().type(v)));
  const ValueId result = probe.emit(op, params, t_.attrs.empty());
  if (probe.failed()) return fail(probe.error().code, probe.error().message);
  if (probe.type(result) != b().type(operands[0]))
    return fail(Code::Type, what(s) + " expected a result of the first operand's shape and dtype, " +
                                t_.types.text(b().type(operands[0])) + ", got " + t_.types.text(probe.type(result)));
  for (std::size_t k = 1; k < operands.size(); ++k)
    if (!broadcast_to_first(s, operands[0], operands[k])) return false;
  return define(s, b().emit_all(Op::write, operands,
                                t_.attrs.with(attrs, Key::op,
                                              t_.attrs.of(t_.strings[s.op].substr(0, t_.strings[s.op].size() - 1)))));
}

// `relu_ %x`: relu is a function of the stdlib, so its result is copied.
bool Elaborator::write_result(const Stmt& s, std::string_view base) {
  if (s.operands.empty()) return fail(Code::Type, what(s) + " takes the tensor that it writes into");
  ValueId x = kNoValue;
  if (!value(m_.operands[s.operands.begin], {}, &s, x)) return false;
  Stmt plain = s;
  plain.op = t_.strings.intern(base);
  plain.results = plain.types = {};
  plain.has_types = false;
  if (!op(plain)) return false;
  if (last_.size() != 1 || b().type(last_[0]) != b().type(x))
    return fail(Code::Type,
                what(s) + " expected a result of the first operand's shape and dtype, " + t_.types.text(b().type(x)));
  return define(s, {b().emit(Op::copy_, {x, last_[0]})});
}

// transpose_ and the like: every name of the tensor means the view from now on.
bool Elaborator::metadata(const Stmt& s, Op op) {
  Values operands;
  AttrId attrs = t_.attrs.empty();
  if (!op_operands(s, s.operands, info(op).operands, true, operands) || !attributes(s, operands, attrs)) return false;
  if (operands.size() != 1) return fail(Code::Type, what(s) + " takes one operand");
  const auto tensor = [&](ValueId v) {
    for (;;) {
      const InstrId d = b().definition(v);
      if (d == kNone<InstrId> || !is_write(b().body().ops[index(d)])) return v;
      v = b().body().instr(d).operands[0];
    }
  };
  const ValueId x = tensor(operands[0]);
  const InstrId made = b().definition(x);
  const bool of_test = name_ == "test" && !f_->parent;
  if (made == kNone<InstrId> ? !of_test : b().body().ops[index(made)] == Op::global)
    return fail(
        Code::Unsupported,
        what(s) +
            " changes a tensor that the function doesn't own: a parameter, a captured value, a param or a buffer");
  const Values results = b().emit_all(op, operands, attrs);
  if (b().failed()) return fail(b().error());
  const std::vector<Local> names = f_->values.replace([&](ValueId v) { return tensor(v) == x; }, results[0]);
  if (of_test) rebound_.insert(rebound_.end(), names.begin(), names.end());
  return define(s, results);
}

// In a full function a core op that is no view is a call of its definition: what that shares inside is its own affair.
bool Elaborator::core_call(const Stmt& s, const CoreRow& row, const Values& operands, AttrId attrs) {
  Builder inner(t_, core_options_, row.name);
  inner.set_function_loc(loc_);
  inner.set_loc(loc_);
  Values params;
  for (ValueId v : operands) params.push_back(inner.param(b().type(v)));
  ExpandCtx ctx{inner, params, attrs};
  const Values results = row.expand(ctx);
  if (inner.failed()) return fail(inner.error());
  Result<FunctionId> f = inner.seal(results);
  if (!f) return fail(std::move(f).error());
  return define(s, b().emit_all(Op::call, operands, t_.attrs.dict({{Key::callee, *f}})));
}

// In a core function whether a value shares storage can't be seen: a view is its functional form.
bool Elaborator::core_view(const Stmt& s, Op op, const Values& operands, AttrId attrs) {
  Builder probe(t_, BuilderOptions{nullptr, false});
  Values params;
  for (ValueId v : operands) params.push_back(probe.param(b().type(v)));
  const ValueId result = probe.emit(op, params, attrs);
  if (probe.failed()) return fail(probe.error().code, probe.error().message);
  return define(s, {viewed(b(), op, operands[0], probe.body().attrs[index(probe.definition(result))])});
}

}  // namespace tfvm
