// Operands: values, params and buffers, and literals, whose dtype comes from what stands around them (language.md,
// section 2): the other operands of their group, the parameter, the written result type, then what they look like.
#include "bytecode/elaborate/elaborator.h"
#include "bytecode/literal.h"

namespace tfvm {

bool Elaborator::value(const Operand& o, std::optional<DType> dtype, const Stmt* s, ValueId& out) {
  switch (o.kind) {
    case OperandKind::Value:
      out = f_->values.get(o.at);
      return out != kNoValue ||
             fail(Code::Name, "%" + std::string(t_.strings[o.name]) +
                                  " has no value here: it is not defined, or what " + "defines it failed");
    case OperandKind::Callee: {
      const CalleeExpr& c = m_.callees[o.at];
      const Item* item = c.is_transform() ? nullptr : m_.find(c.name);
      if (!item || item->kind != ItemKind::Global) return fail(Code::Type, "a function can't stand here as a value");
      out = emit_global(b(), p_.global(source_, item->at));
      return true;
    }
    case OperandKind::Literal: {
      const bool shaped = s && s->has_types && s->types.count > 0;
      return literal(o, dtype, shaped ? concrete_type(t_, m_, m_.types[s->types.begin]) : std::nullopt, out);
    }
    case OperandKind::Computed:
      return computed(o, dtype, out);
    case OperandKind::CalleeList:
      break;
  }
  return fail(Code::Type, "a list of functions can't stand here");
}

// `shaped` gives the shape where the elements can't: a blob, or no elements at all.
bool Elaborator::literal(const Operand& o, std::optional<DType> dtype, std::optional<TypeId> shaped, ValueId& out) {
  const Literal& lit = m_.literals[o.at];
  const bool blob = lit.elements.count == 1 && m_.elements[lit.elements.begin].kind() == ElemKind::Blob;
  if (blob && !shaped) return fail(Code::Type, "hex\"…\" needs its type written: `: f32[2,3]`");
  const DType d = dtype ? *dtype : blob ? t_.types.dtype(*shaped) : natural_dtype(m_, lit);
  std::vector<std::byte> bytes;
  if (Status st = literal_bytes(m_, lit, d, bytes); !st) return fail(st.error());
  Dims dims = Module::at(m_.literal_dims, lit.dims);
  if (blob || (bytes.empty() && shaped && t_.types.elements(*shaped) == 0)) dims = t_.types.dims(*shaped);
  if (!checked_elements(dims)) return fail(Code::Type, "a literal's sizes overflow");
  const TypeId type = t_.types.tensor(d, dims);
  if (static_cast<std::int64_t>(bytes.size()) != t_.types.bytes(type))
    return fail(Code::Type, "hex\"…\" has " + std::to_string(bytes.size()) + " bytes, " + t_.types.text(type) +
                                " has " + std::to_string(t_.types.bytes(type)));
  out = b().constant(t_.consts.intern(type, bytes));
  return true;
}

bool Elaborator::computed(const Operand& o, std::optional<DType> dtype, ValueId& out) {
  Result<AttrId> computed = eval_attr(t_, m_, o.at, *this);
  if (!computed) return fail(computed.error());
  const Attr a = t_.attrs[*computed];
  const bool is_float_attr = a.kind == AttrKind::Float;
  const DType d = dtype ? *dtype : is_float_attr ? DType::F32 : a.kind == AttrKind::Bool ? DType::Bool : DType::I64;
  if (a.kind != AttrKind::Int && a.kind != AttrKind::Bool && !is_float_attr)
    return fail(Code::Type, "a computed literal must be a number, true or false");
  if ((a.kind == AttrKind::Bool) != (d == DType::Bool) || (is_float_attr && is_int(d)))
    return fail(Code::Type, "this computed literal can't be a " + std::string(name(d)));
  const ConstId c = is_float_attr ? t_.consts.scalar(d, a.f()) : t_.consts.scalar_int(d, a.i);
  if (is_int(d) && (t_.consts.as_int(c) != a.i || (d == DType::U64 && a.i < 0)))
    return fail(Code::Type, std::to_string(a.i) + " does not fit into " + std::string(name(d)));
  out = b().constant(c);
  return true;
}

bool Elaborator::values(Range operands, Hints hints, Values& out) {
  for (std::uint32_t k = 0; k < operands.count; ++k) {
    ValueId v = kNoValue;
    if (!value(m_.operands[operands.begin + k], k < hints.size() ? hints[k] : std::nullopt, nullptr, v)) return false;
    out.push_back(v);
  }
  return true;
}

std::optional<DType> Elaborator::written_dtype(const Stmt& s, std::size_t k) const {
  if (!s.has_types || k >= s.types.count) return std::nullopt;
  return dtype_of(m_.types[s.types.begin + k], bind_);
}

namespace {

// The spec of operand k of n, where one spec may be a run.
const OperandSpec* spec_at(std::span<const OperandSpec> specs, std::size_t k, std::size_t n) {
  for (std::size_t s = 0; s < specs.size() && s <= k; ++s) {
    if (specs[s].arity != '*') continue;
    const std::size_t after = specs.size() - s - 1;
    return n >= after && k >= n - after ? &specs[specs.size() - (n - k)] : &specs[s];
  }
  return k < specs.size() ? &specs[k] : nullptr;
}

}  // namespace

DType Elaborator::look_of(const Operand& o) const {
  if (o.kind == OperandKind::Literal) return natural_dtype(m_, m_.literals[o.at]);
  return DType::I64;
}

bool Elaborator::op_operands(const Stmt& s, Range range, std::span<const OperandSpec> specs, bool result_is_group,
                             Values& out) {
  const auto operands = Module::at(m_.operands, range);
  out.assign(operands.size(), kNoValue);
  struct Group {
    char letter;
    DType dtype;
  };
  std::vector<Group> groups;
  const auto group_of = [&](char letter) -> std::optional<DType> {
    for (const Group& g : groups)
      if (g.letter == letter && letter != '*') return g.dtype;
    return std::nullopt;
  };
  bool literals = false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (is_literal(operands[k])) {
      literals = true;
      continue;
    }
    if (!value(operands[k], {}, &s, out[k])) return false;
    if (const OperandSpec* spec = spec_at(specs, k, operands.size()))
      if (!group_of(spec->group)) groups.push_back({spec->group, b().dtype(out[k])});
  }
  if (!literals) return true;
  // Of a group of literals alone, one that looks like a float makes all of them floats.
  const auto look_of_group = [&](char letter) {
    DType look = DType::I64;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const OperandSpec* spec = spec_at(specs, k, operands.size());
      if (spec && spec->group == letter && is_literal(operands[k]) && look == DType::I64) look = look_of(operands[k]);
    }
    return look;
  };
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!is_literal(operands[k])) continue;
    const OperandSpec* spec = spec_at(specs, k, operands.size());
    const char letter = spec ? spec->group : '*';
    std::optional<DType> dtype = group_of(letter);
    const bool free = letter != 'I' && letter != 'P' && letter != 'K';
    if (!dtype && free && result_is_group) dtype = written_dtype(s, letter == '*' ? k : 0);
    if (!dtype && letter == 'I') dtype = DType::I64;
    if (!dtype && letter == 'P') dtype = DType::Bool;
    if (!dtype && letter == 'K') dtype = DType::U32;
    if (!dtype && letter != '*' && operands[k].kind == OperandKind::Literal) dtype = look_of_group(letter);
    if (!value(operands[k], dtype, &s, out[k])) return false;
    if (!group_of(letter)) groups.push_back({letter, b().dtype(out[k])});
  }
  return true;
}

bool Elaborator::arguments(Range range, const ArgumentHint& hint, const Stmt& s, Values& out) {
  const auto operands = Module::at(m_.operands, range);
  out.assign(operands.size(), kNoValue);
  std::vector<TypeId> known(operands.size(), kNone<TypeId>);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (is_literal(operands[k])) continue;
    if (!value(operands[k], {}, nullptr, out[k])) return false;
    known[k] = b().type(out[k]);
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!is_literal(operands[k])) continue;
    if (!value(operands[k], hint(known, k), &s, out[k])) return false;
    known[k] = b().type(out[k]);
  }
  return true;
}

bool Elaborator::arguments(Callee& callee, Range range, const Stmt& s, Values& out) {
  const TemplateCallee* f = callee.as_template();
  const std::optional<DType> written = written_dtype(s, 0);
  return arguments(
      range,
      [&](std::span<const TypeId> known, std::size_t k) {
        return f ? f->literal_dtype(known, k, written) : callee.hint(known, k);
      },
      s, out);
}

}  // namespace tfvm
