// Calls, branches and loops of random programs.
#include "tests/random/make_program.h"

namespace tfvm::testing {

std::vector<TypeId> ProgramMaker::mixed_types(std::size_t floats) {
  std::vector<TypeId> types = float_types(floats);
  if (below(4) == 0) types.push_back(t_.types.scalar(below(2) ? DType::I64 : DType::Bool));
  return types;
}

// Of a plain function, of a checkpoint, or of a function with a rule of its own.
void ProgramMaker::call(Scope& s) {
  static constexpr std::string_view kPolicies[] = {"nothing_saveable", "everything_saveable", "dots_saveable"};
  const std::vector<TypeId> params = mixed_types(1 + static_cast<std::size_t>(below(2))),
                            results = mixed_types(1 + static_cast<std::size_t>(below(2)));
  const FunctionId f = make(params, results, s.depth - 1);
  AttrId attrs = t_.attrs.dict({{Key::callee, f}});
  if (options_.own_rules && below(3) != 0)
    attrs = with_rule(attrs, f);
  else if (below(3) == 0)
    attrs = t_.attrs.with(attrs, Key::policy, t_.attrs.of(kPolicies[below(3)]));
  for (ValueId v : s.b.emit_all(Op::call, args(s, params), attrs)) push(s, v);
}

void ProgramMaker::branch(Scope& s) {
  const std::vector<TypeId> params = mixed_types(2), results = mixed_types(1 + static_cast<std::size_t>(below(2)));
  const FunctionId f = make(params, results, s.depth - 1), g = make(params, results, s.depth - 1);
  std::vector<ValueId> operands = args(s, params);
  if (below(3) == 0) {
    operands.insert(operands.begin(), as_type(s, t_.types.scalar(DType::I64)));
    const AttrId branches[] = {t_.attrs.of(f), t_.attrs.of(g), t_.attrs.of(make(params, results, s.depth - 1))};
    for (ValueId v : s.b.emit_all(Op::switch_, operands, t_.attrs.dict({{Key::branches, t_.attrs.list(branches)}})))
      push(s, v);
    return;
  }
  operands.insert(operands.begin(), as_type(s, t_.types.scalar(DType::Bool)));
  for (ValueId v : s.b.emit_all(Op::cond, operands, t_.attrs.dict({{Key::then, f}, {Key::else_, g}}))) push(s, v);
}

void ProgramMaker::scan(Scope& s) {
  const std::int64_t length = below(6) ? below(4) : 7;
  std::vector<TypeId> consts = float_types(static_cast<std::size_t>(below(2))),
                      carries = float_types(1 + static_cast<std::size_t>(below(2)));
  std::vector<TypeId> xs = float_types(static_cast<std::size_t>(below(2))),
                      ys = float_types(static_cast<std::size_t>(below(2)));
  if (below(3) == 0) carries.push_back(t_.types.scalar(below(2) ? DType::I64 : DType::Bool));  // beside the floats
  std::vector<TypeId> params = consts, results = carries, operands = consts;
  params.insert(params.end(), carries.begin(), carries.end());
  params.insert(params.end(), xs.begin(), xs.end());
  results.insert(results.end(), ys.begin(), ys.end());
  operands.insert(operands.end(), carries.begin(), carries.end());
  for (TypeId x : xs) {
    const Dims d = t_.types.dims(x);
    std::vector<std::int64_t> stacked{length};
    stacked.insert(stacked.end(), d.begin(), d.end());
    operands.push_back(t_.types.tensor(DType::F64, stacked));
  }
  const FunctionId body = make(params, results, s.depth - 1);
  AttrId attrs = t_.attrs.dict({{Key::body, body},
                                {Key::consts, static_cast<std::int64_t>(consts.size())},
                                {Key::carry, static_cast<std::int64_t>(carries.size())},
                                {Key::length, length},
                                {Key::reverse, below(2) == 0}});
  if (below(4) == 0) attrs = t_.attrs.with(attrs, Key::memory, t_.attrs.of(bound()));
  for (ValueId v : s.b.emit_all(Op::scan, args(s, operands), attrs)) push(s, v);
}

FunctionId ProgramMaker::keeps_going(std::span<const TypeId> carries, bool early) {
  Builder b(t_, build_, "cond");
  const ValueId bound = b.param(carries[0]), i = b.param(carries[0]);
  ValueId first = kNoValue;
  for (TypeId type : carries.subspan(1)) {
    const ValueId v = b.param(type);
    if (first == kNoValue) first = v;
  }
  ValueId p = b.emit(Op::lt, {i, bound});
  if (early) {
    const ValueId size = b.emit(Op::reduce_sum, {b.emit(Op::square, {first})}, {{Key::axes, t_.attrs.none()}});
    p = b.emit(Op::and_, {p, b.emit(Op::lt, {size, b.scalar(DType::F64, 0.5 + below(4))})});
  }
  return *b.seal({p});
}

// From 0 to 4 trips, as an integer or the sign of a float says.
ValueId ProgramMaker::trips(Scope& s) {
  Builder& b = s.b;
  if (below(2)) {
    const ValueId n = as_type(s, t_.types.scalar(DType::I64));
    return b.emit(Op::clamp, {b.scalar_int(DType::I64, 0), n, b.scalar_int(DType::I64, 4)});
  }
  const ValueId positive = b.emit(Op::gt, {as_type(s, t_.types.scalar(DType::F64)), b.scalar(DType::F64, 0)});
  return b.emit(Op::select, {positive, b.scalar_int(DType::I64, 1 + below(4)), b.scalar_int(DType::I64, below(2))});
}

// A counter with a bound that depends on the data, and float carries; perhaps a constant, an integer and a boolean
// carry, and an end that depends on a carry. With depth left the body has loops of its own.
void ProgramMaker::while_loop(Scope& s) {
  const TypeId counter = t_.types.scalar(DType::I64);
  const std::vector<TypeId> consts = float_types(static_cast<std::size_t>(below(2)));
  std::vector<TypeId> carries = float_types(1 + static_cast<std::size_t>(below(2)));
  if (below(3) == 0) carries.push_back(counter);
  if (below(3) == 0) carries.push_back(t_.types.scalar(DType::Bool));
  std::vector<TypeId> inner = consts, params = consts;
  inner.insert(inner.end(), carries.begin(), carries.end());
  const FunctionId step = make(inner, carries, s.depth - 1);
  carries.insert(carries.begin(), counter);
  params.insert(params.end(), carries.begin(), carries.end());
  Builder body(t_, build_, "body");
  std::vector<ValueId> now;
  for (TypeId type : params) now.push_back(body.param(type));
  const auto at = now.begin() + static_cast<std::ptrdiff_t>(consts.size());
  const ValueId i = *at;
  now.erase(at);
  now = body.emit_all(Op::call, now, t_.attrs.dict({{Key::callee, step}}));
  now.insert(now.begin(), body.emit(Op::add, {i, body.scalar_int(DType::I64, 1)}));
  const FunctionId body_f = *body.seal(now), cond_f = keeps_going(carries, below(3) == 0);
  std::vector<ValueId> operands{trips(s)};
  for (ValueId v : args(s, params)) operands.push_back(v);
  operands[1 + consts.size()] = s.b.scalar_int(DType::I64, below(4) ? 0 : 1);
  AttrId attrs = t_.attrs.dict({{Key::cond, cond_f},
                                {Key::body, body_f},
                                {Key::cond_consts, 1},
                                {Key::body_consts, static_cast<std::int64_t>(consts.size())}});
  if (below(4) == 0) attrs = t_.attrs.with(attrs, Key::memory, t_.attrs.of(bound()));
  for (ValueId v : s.b.emit_all(Op::while_, operands, attrs)) push(s, v);
}

}  // namespace tfvm::testing
