#include "transforms/values.h"

#include "bytecode/nested_types.h"

namespace tfvm {

std::vector<ValueId> unpack(Builder& b, ValueId pack) {
  if (b.failed()) return {};
  const InstrId made = b.definition(pack);
  if (made != kNone<InstrId> && b.body().ops[index(made)] == Op::pack) {
    const Instr in = b.body().instr(made);
    return {in.operands.begin(), in.operands.end()};
  }
  return b.emit_all(Op::unpack, std::span(&pack, 1), b.tables().attrs.empty());
}

ValueId pack_as(Builder& b, TypeId type, std::span<const ValueId> items) {
  if (b.failed()) return kNoValue;
  const FunctionId origin = b.tables().types[type].origin;
  AttrTable& at = b.tables().attrs;
  return b.emit(Op::pack, items, origin ? at.dict({{Key::callee, origin}}) : at.empty());
}

namespace {

ValueId map_packs(Builder& b, std::span<const ValueId> xs, std::span<const ValueId> consts, const OnTensors& fn) {
  std::vector<std::vector<ValueId>> items;
  for (ValueId x : xs) items.push_back(unpack(b, x));
  std::vector<ValueId> out, column;
  for (std::size_t k = 0; k < items[0].size() && !b.failed(); ++k) {
    column.clear();
    for (const auto& of : items) column.push_back(of[k]);
    out.push_back(map_values(b, column, consts, fn));
  }
  return b.failed() ? kNoValue : pack_as(b, b.type(xs[0]), out);
}

// A tape: a loop over its records. An array of tapes: a scan over it.
ValueId map_tapes(Builder& b, std::span<const ValueId> xs, std::span<const ValueId> consts, const OnTensors& fn) {
  Tables& t = b.tables();
  const bool one = t.types.dims(b.type(xs[0])).empty();
  Builder inner(t, b.options(), "records");
  std::vector<ValueId> fixed, records, operands(consts.begin(), consts.end());
  for (ValueId c : consts) fixed.push_back(inner.param(b.type(c)));
  for (ValueId x : xs)
    records.push_back(inner.param(one ? *record_type(t.types, b.type(x)) : step_type(t.types, b.type(x))));
  const ValueId made = map_values(inner, records, fixed, fn);
  const Result<FunctionId> body = inner.seal({made});
  if (!body) return b.fail(body.error().code, body.error().message);
  operands.insert(operands.end(), xs.begin(), xs.end());
  const auto n = static_cast<std::int64_t>(consts.size());
  if (!one) return b.emit(Op::scan, operands, t.attrs.dict({{Key::body, *body}, {Key::consts, n}}));
  operands.insert(operands.begin(), b.scalar_int(DType::I64, -1));
  return b.emit(Op::tape_scan, operands, t.attrs.dict({{Key::body, *body}, {Key::consts, n}}));
}

}  // namespace

ValueId map_values(Builder& b, std::span<const ValueId> xs, std::span<const ValueId> consts, const OnTensors& fn) {
  if (b.failed()) return kNoValue;
  switch (b.tables().types[b.type(xs[0])].kind) {
    case TypeKind::Tensor:
      return fn(b, consts, xs);
    case TypeKind::Pack:
      return map_packs(b, xs, consts, fn);
    default:
      return map_tapes(b, xs, consts, fn);
  }
}

ValueId add_values(Builder& b, ValueId x, ValueId y) {
  if (b.failed()) return kNoValue;
  if (b.tables().types[b.type(x)].is_tensor()) return b.emit(Op::add, {x, y});
  const ValueId both[] = {x, y};
  return map_values(b, both, {}, [](Builder& in, std::span<const ValueId>, std::span<const ValueId> v) {
    return in.tables().types.is_differentiable(in.type(v[0])) ? in.emit(Op::add, {v[0], v[1]}) : v[0];
  });
}

}  // namespace tfvm
