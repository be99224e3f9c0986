// Calls, branches and loops of random programs.
#include "tests/random/make_program.h"

namespace tfvm::testing {

void ProgramMaker::call(Scope& s) {
  const std::vector<TypeId> params = float_types(1 + static_cast<std::size_t>(below(2))),
                            results = float_types(1 + static_cast<std::size_t>(below(2)));
  const FunctionId f = make(params, results, s.depth - 1);
  for (ValueId v : s.b.emit_all(Op::call, args(s, params), t_.attrs.dict({{Key::callee, f}}))) push(s, v);
}

void ProgramMaker::branch(Scope& s) {
  const std::vector<TypeId> params = float_types(2), results = float_types(1 + static_cast<std::size_t>(below(2)));
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
  const std::int64_t length = below(4);
  std::vector<TypeId> consts = float_types(static_cast<std::size_t>(below(2))),
                      carries = float_types(1 + static_cast<std::size_t>(below(2)));
  std::vector<TypeId> xs = float_types(static_cast<std::size_t>(below(2))),
                      ys = float_types(static_cast<std::size_t>(below(2)));
  if (below(3) == 0) carries.push_back(t_.types.scalar(DType::I64));  // an integer beside the float carries
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
  const AttrId attrs = t_.attrs.dict({{Key::body, body},
                                      {Key::consts, static_cast<std::int64_t>(consts.size())},
                                      {Key::carry, static_cast<std::int64_t>(carries.size())},
                                      {Key::length, length},
                                      {Key::reverse, below(2) == 0}});
  for (ValueId v : s.b.emit_all(Op::scan, args(s, operands), attrs)) push(s, v);
}

// A counter with a bound that depends on the data, and float carries.
void ProgramMaker::while_loop(Scope& s) {
  const TypeId counter = t_.types.scalar(DType::I64);
  std::vector<TypeId> carries = float_types(1 + static_cast<std::size_t>(below(2)));
  carries.insert(carries.begin(), counter);
  std::vector<TypeId> params(carries.begin() + 1, carries.end());
  const FunctionId inner = make(params, params, s.depth - 1);
  Builder body(t_, build_, "body"), cond(t_, build_, "cond");
  std::vector<ValueId> now;
  const ValueId i = body.param(counter);
  for (TypeId type : params) now.push_back(body.param(type));
  now = body.emit_all(Op::call, now, t_.attrs.dict({{Key::callee, inner}}));
  now.insert(now.begin(), body.emit(Op::add, {i, body.scalar_int(DType::I64, 1)}));
  const ValueId bound = cond.param(counter), j = cond.param(counter);
  for (TypeId type : params) cond.param(type);
  const FunctionId body_f = *body.seal(now), cond_f = *cond.seal({cond.emit(Op::lt, {j, bound})});
  std::vector<ValueId> operands = args(s, carries);
  operands[0] = s.b.scalar_int(DType::I64, 0);
  const ValueId x = as_type(s, t_.types.scalar(DType::F64));
  const ValueId positive = s.b.emit(Op::gt, {x, s.b.scalar(DType::F64, 0)});
  const ValueId trips =
      s.b.emit(Op::select, {positive, s.b.scalar_int(DType::I64, 3), s.b.scalar_int(DType::I64, below(2))});
  operands.insert(operands.begin(), trips);
  const AttrId attrs = t_.attrs.dict({{Key::cond, cond_f}, {Key::body, body_f}, {Key::cond_consts, 1}});
  for (ValueId v : s.b.emit_all(Op::while_, operands, attrs)) push(s, v);
}

}  // namespace tfvm::testing
