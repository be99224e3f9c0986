#include "bytecode/verify.h"

#include <algorithm>
#include <array>

#include "bytecode/defaults.h"
#include "bytecode/infer/infer.h"

namespace tfvm {

namespace {

struct Verifier {
  Tables& t;
  FunctionId f;
  const Body& body;

  Status bad(std::uint32_t i, const std::string& what) const {
    return Error{Code::Internal,
                 "instruction " + std::to_string(i) + " of " + t.debugs.function_name(f.debug, t.strings) + ": " + what,
                 t.debugs.find_loc(f.debug, static_cast<InstrId>(i))};
  }

  // Array lengths and the numbering of values.
  Status structure() const {
    const std::size_t n = body.ops.size();
    const bool lengths = body.attrs.size() == n && body.operand_begin.size() == n + 1 &&
                         body.result_begin.size() == n + 1 && body.num_params <= body.types.size() &&
                         body.result_begin.front() == body.num_params &&
                         body.result_begin.back() == body.types.size() && body.operand_begin.front() == 0 &&
                         body.operand_begin.back() == body.operands.size() &&
                         std::ranges::is_sorted(body.operand_begin) && std::ranges::is_sorted(body.result_begin);
    if (!lengths) return Error{Code::Internal, "the arrays of a body do not fit together"};
    for (ValueId v : body.results)
      if (index(v) >= body.num_values()) return Error{Code::Internal, "a result is no value of its body"};
    return ok();
  }

  Status instr(std::uint32_t i) const {
    const Instr in = body.instr(i);
    if (static_cast<std::size_t>(in.op) >= kOps) return bad(i, "no such op");
    for (ValueId v : in.operands)
      if (index(v) >= index(in.first_result)) return bad(i, "an operand is defined later");
    if (in.op == Op::constant) {
      const Attr& a = t.attrs[in.attrs];
      if (a.kind != AttrKind::Const || in.num_results != 1 || t.consts[a.constant].type != body.type(in.result()))
        return bad(i, "a constant of another type");
      return ok();
    }
    if (!operands_fit(in)) return bad(i, "[" + std::string(name(in.op)) + "] can't take these operands");
    const Result<AttrId> complete = complete_attrs(t, name(in.op), info(in.op).attrs, in.attrs);
    if (!complete || *complete != in.attrs) return bad(i, "attributes are not complete");
    return types(i, in);
  }

  // What inference rules rely on: counts, dtypes and their groups, equal shapes of elementwise ops.
  bool operands_fit(const Instr& in) const {
    const OpInfo& row = info(in.op);
    const std::size_t n = in.operands.size();
    std::size_t least = 0;
    bool many = false;
    for (const OperandSpec& s : row.operands) {
      least += s.group != '@' && s.arity == '1';
      many = many || (s.group != '@' && s.arity == '*');
    }
    if (n < least || (!many && n > row.operands.size())) return false;
    const bool has_callee = !row.operands.empty() && row.operands.front().group == '@';
    std::array<DType, 256> group;
    std::array<bool, 256> seen{};
    for (std::size_t k = 0; k < n; ++k) {
      const OperandSpec& s = *operand_spec(row, k + has_callee, n + has_callee);
      const Type& type = t.types[body.type(in.operands[k])];
      if (s.group == '*' && s.cls == DTypeClass::Any) continue;
      if (!type.is_tensor() || !matches(s.cls, type.dtype)) return false;
      if (is_elementwise(row.kind) && !std::ranges::equal(type.dims, t.types[body.type(in.operands[0])].dims))
        return false;
      const auto g = static_cast<unsigned char>(s.group);
      if (s.group != '*' && seen[g] && group[g] != type.dtype) return false;
      group[g] = type.dtype;
      seen[g] = true;
    }
    return true;
  }

  // The inference rule gives the types that stand there, and leaves normalised attributes as they are.
  Status types(std::uint32_t i, const Instr& in) const {
    std::vector<TypeId> operands, results;
    for (ValueId v : in.operands) operands.push_back(body.type(v));
    InferCtx c{t, in.op, operands, in.attrs, results, {}};
    if (!info(in.op).infer(c)) return bad(i, c.error);
    if (c.attrs != in.attrs) return bad(i, "attributes are not normalised");
    if (results.size() != in.num_results) return bad(i, "wrong number of results");
    for (std::uint32_t k = 0; k < in.num_results; ++k)
      if (results[k] != body.type(in.result(k)))
        return bad(i, "[" + std::string(name(in.op)) + "] expected " + t.types.text(results[k]) + ", found " +
                          t.types.text(body.type(in.result(k))));
    return ok();
  }
};

}  // namespace

Status verify(Tables& tables, FunctionId f) {
  if (!tables.bodies.has(f.body)) return Error{Code::Internal, "no such function"};
  const Verifier v{tables, f, tables.bodies[f.body]};
  if (Status s = v.structure(); !s) return s;
  for (std::uint32_t i = 0; i < v.body.num_instrs(); ++i)
    if (Status s = v.instr(i); !s) return s;
  return ok();
}

}  // namespace tfvm
