#include "bytecode/builder.h"

#include <algorithm>

#include "bytecode/defaults.h"
#include "bytecode/hash.h"
#include "bytecode/infer/infer.h"
#include "bytecode/simplify.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMaxFolded = 64;  // elements

// Two equal instructions of these ops are one value. Effects, barriers and clones have an identity of their own.
bool is_numbered(const Tables& t, Op op, AttrId attrs) {
  return op != Op::optimization_barrier && op != Op::clone && op != Op::name && is_pure(t, op, attrs);
}

// A copy of a short list, without an allocation up to four entries.
template <class T>
class Kept {
 public:
  explicit Kept(const std::vector<T>& v) : n_(v.size()) {
    if (n_ > 4)
      long_ = v;
    else
      std::copy(v.begin(), v.end(), short_);
  }
  std::span<const T> span() const { return {n_ > 4 ? long_.data() : short_, n_}; }
  void restore(std::vector<T>& v) const { v.assign(span().begin(), span().end()); }

 private:
  std::size_t n_;
  T short_[4];
  std::vector<T> long_;
};

}  // namespace

Builder::Builder(Tables& tables, BuilderOptions options, std::string_view name)
    : t_(tables),
      options_(options),
      memory_(tables.spare_builders.take()),
      body_(memory_->body),
      debug_(memory_->debug),
      def_(memory_->def),
      operands_(memory_->operands),
      types_(memory_->types),
      operand_types_(memory_->operand_types),
      numbering_(memory_->numbering) {
  body_.operand_begin.push_back(0);
  body_.result_begin.push_back(0);
  if (name.starts_with('@')) name.remove_prefix(1);
  if (!name.empty()) debug_.name = t_.strings.intern(name);
}

Builder::Builder(Tables& tables, BuilderOptions options, FunctionId parent, std::string_view pass)
    : Builder(tables, options) {
  debug_.parent = parent.debug;
  if (!pass.empty()) debug_.pass = t_.strings.intern(pass);
}

Builder::~Builder() { t_.spare_builders.give(std::move(memory_)); }

ValueId Builder::fail(Code code, std::string message) {
  if (failed_) return kNoValue;
  failed_ = true;
  const Loc loc = loc_.line ? loc_ : t_.debugs.find_loc(debug_.parent, origin_);
  error_ = Error(code, std::move(message), loc);
  return kNoValue;
}

ValueId Builder::param(TypeId type, bool mut) {
  if (body_.num_instrs() != 0) return fail(Code::Internal, "a parameter after the first instruction");
  const auto v = static_cast<ValueId>(body_.types.size());
  body_.types.push_back(type);
  def_.push_back(kNone<InstrId>);
  ++body_.num_params;
  body_.result_begin[0] = body_.num_params;
  if (mut)
    body_.mut_params.resize(body_.num_params, 0), body_.mut_params.back() = 1;
  else if (!body_.mut_params.empty())
    body_.mut_params.push_back(0);
  return v;
}

std::string Builder::describe(Op op, std::span<const ValueId> operands) const {
  std::string s = "[" + std::string(tfvm::name(op)) + "] got";
  for (std::size_t k = 0; k < operands.size(); ++k) s += (k ? ", " : " ") + t_.types.text(type(operands[k]));
  return s;
}

// Counts, dtype groups and classes, against the row.
bool Builder::check_operands(Op op) {
  const OpInfo& row = info(op);
  std::size_t least = 0, n = operands_.size();
  bool many = false;
  for (const OperandSpec& s : row.operands) {
    if (s.group == '@') continue;
    least += s.arity == '1';
    many = many || s.arity == '*';
  }
  if (n < least || (!many && n > row.operands.size())) {
    fail(Code::Type, describe(op, operands_) + ": expected " + (many ? "at least " : "") + std::to_string(least) +
                         (least == 1 ? " operand" : " operands"));
    return false;
  }
  std::vector<OperandSpec> const* specs = &row.operands;
  const bool has_callee = !specs->empty() && specs->front().group == '@';
  for (std::size_t k = 0; k < n; ++k) {
    const OperandSpec& s = *operand_spec(row, k + has_callee, n + has_callee);
    const Type& type = t_.types[this->type(operands_[k])];
    if (s.group == '*' && s.cls == DTypeClass::Any) continue;
    if (!type.is_tensor()) {
      fail(Code::Type, describe(op, operands_) + ": operand " + std::to_string(k) + " must be a tensor");
      return false;
    }
    if (!matches(s.cls, type.dtype)) {
      fail(Code::Type, describe(op, operands_) + ": operand '" + std::string(s.name) + "' must have " +
                           std::string(tfvm::name(s.cls)) + "; use cast");
      return false;
    }
    if (s.group == '*') continue;
    for (std::size_t j = 0; j < k; ++j) {
      if (operand_spec(row, j + has_callee, n + has_callee)->group != s.group) continue;
      const TypeId other = this->type(operands_[j]);
      if (t_.types.dtype(other) == type.dtype) break;
      fail(Code::Type, "[" + std::string(row.name) + "] mixes dtypes: " + t_.types.text(other) + " and " +
                           t_.types.text(this->type(operands_[k])) + "; there is no implicit conversion, use cast");
      return false;
    }
  }
  return true;
}

// Elementwise: all operands get the common shape, as numpy broadcasts.
bool Builder::broadcast_operands(Op op) {
  const Dims first = dims(operands_[0]);
  bool equal = true;
  for (ValueId v : operands_) equal = equal && std::ranges::equal(dims(v), first);
  if (equal) return true;
  std::vector<std::int64_t> common(first.begin(), first.end()), next;
  for (ValueId v : operands_) {
    if (!broadcast_dims(common, dims(v), next)) {
      fail(Code::Type, describe(op, operands_) + ": shapes do not broadcast");
      return false;
    }
    common.swap(next);
  }
  std::vector<ValueId> wide(operands_);
  const AttrId shape = t_.attrs.dict({{Key::shape, Ints(common)}});
  for (ValueId& v : wide)
    if (!std::ranges::equal(dims(v), common)) v = emit(Op::broadcast_to, std::span(&v, 1), shape);
  operands_ = std::move(wide);
  return !failed_;
}

bool Builder::inferred_before(Op op, AttrId attrs) {
  const Inferred& known = inferred_[static_cast<std::size_t>(op) % inferred_.size()];
  if (known.op != op || known.count == 0 || known.count != operands_.size() || attrs != t_.attrs.empty()) return false;
  for (ValueId v : operands_)
    if (type(v) != known.operands) return false;
  types_.assign(1, known.result);
  return true;
}

void Builder::note_inferred(Op op, AttrId attrs) {
  if (attrs != t_.attrs.empty() || operands_.empty() || types_.size() != 1 || !is_elementwise(op)) return;
  for (ValueId v : operands_)
    if (type(v) != type(operands_[0])) return;
  inferred_[static_cast<std::size_t>(op) % inferred_.size()] = {type(operands_[0]), types_[0], op,
                                                                static_cast<std::uint16_t>(operands_.size())};
}

bool Builder::prepare(Op op, std::span<const ValueId> operands, AttrId& attrs) {
  if (failed_) return false;
  operands_.assign(operands.begin(), operands.end());
  for (ValueId v : operands_) {
    if (index(v) < body_.types.size()) continue;
    fail(Code::Internal, "[" + std::string(tfvm::name(op)) + "] an operand is missing");
    return false;
  }
  if (inferred_before(op, attrs)) return true;
  const OpInfo& row = info(op);
  if (!check_operands(op)) return false;
  if (op != Op::constant) {
    Result<AttrId> complete = complete_attrs(t_, row.name, row.attrs, attrs);
    if (!complete) {
      fail(complete.error().code, complete.error().message);
      return false;
    }
    attrs = *complete;
  }
  if (is_elementwise(row.kind) && !operands_.empty() && !broadcast_operands(op)) return false;
  operand_types_.clear();
  for (ValueId v : operands_) operand_types_.push_back(type(v));
  types_.clear();
  InferCtx ctx{t_, op, operand_types_, attrs, types_, {}};
  if (!row.infer(ctx)) {
    fail(Code::Type, std::move(ctx.error));
    return false;
  }
  attrs = ctx.attrs;
  note_inferred(op, attrs);
  return true;
}

namespace {

// Where an instruction may stand in the table of numbers: first in the eight places of its newest operand, which lie
// beside those of its neighbours in the program, so that a walk through it stays in the cache; then anywhere, by its
// hash. Nothing is removed, so a free place ends a search.
class Places {
 public:
  Places(std::size_t size, std::uint64_t bits, std::span<const ValueId> operands) : mask_(size - 1) {
    std::uint32_t newest = operands.empty() ? static_cast<std::uint32_t>(bits) : 0;
    for (ValueId v : operands) newest = std::max(newest, index(v));
    at_ = newest / 4 * kNear & mask_;  // the table has two places for an instruction
    far_ = bits & mask_;
    step_ = (bits * 0x9e3779b97f4a7c15u >> 32) | 1;
  }
  std::size_t at() const { return at_; }
  void next() {
    if (++tried_ < kNear) {
      ++at_;
    } else {
      at_ = far_;
      far_ = (far_ + step_) & mask_;
    }
  }

 private:
  static constexpr std::size_t kNear = 8;
  std::size_t mask_, at_, far_, step_, tried_ = 0;
};

}  // namespace

void Builder::grow_numbering() {
  if (numbering_.empty()) return numbering_.assign(64, 0);
  std::vector<std::uint64_t> old(2 * numbering_.size(), 0);
  old.swap(numbering_);
  for (std::uint64_t entry : old) {
    if (entry == 0) continue;
    Places p(numbering_.size(), entry >> 32, body_.instr(static_cast<std::uint32_t>(entry) - 1).operands);
    while (numbering_[p.at()] != 0) p.next();
    numbering_[p.at()] = entry;
  }
}

// The entry of an equal instruction, or a free one with the hash bits filled in.
std::uint64_t* Builder::find_number(Op op, AttrId attrs, std::span<const ValueId> operands) {
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(op), index(attrs));
  for (ValueId v : operands) h = hash_mix(h, index(v));
  const std::uint64_t bits = h & 0xffffffffu;
  for (Places p(numbering_.size(), bits, operands);; p.next()) {
    std::uint64_t& entry = numbering_[p.at()];
    if (entry == 0) {
      entry = bits << 32;
      return &entry;
    }
    if (entry >> 32 != bits) continue;
    const Instr in = body_.instr(static_cast<std::uint32_t>(entry) - 1);
    if (in.op == op && in.attrs == attrs && std::ranges::equal(in.operands, operands)) return &entry;
  }
}

ValueId Builder::append(Op op, AttrId attrs) {
  const std::uint32_t i = body_.num_instrs();
  if (options_.simplify && is_numbered(t_, op, attrs)) {
    if (2 * (numbered_ + 1) > numbering_.size()) grow_numbering();
    std::uint64_t* entry = find_number(op, attrs, operands_);
    if (static_cast<std::uint32_t>(*entry) != 0)
      return body_.instr(static_cast<std::uint32_t>(*entry) - 1).first_result;
    *entry |= i + 1;
    ++numbered_;
  }
  const auto first = static_cast<ValueId>(body_.types.size());
  body_.ops.push_back(op);
  body_.attrs.push_back(attrs);
  body_.operands.insert(body_.operands.end(), operands_.begin(), operands_.end());
  body_.operand_begin.push_back(static_cast<std::uint32_t>(body_.operands.size()));
  body_.types.insert(body_.types.end(), types_.begin(), types_.end());
  body_.result_begin.push_back(static_cast<std::uint32_t>(body_.types.size()));
  def_.resize(body_.types.size(), static_cast<InstrId>(i));
  debug_.origin.push_back(origin_);
  if (loc_.line != 0) {
    debug_.locs.resize(i);  // of instructions without one
    debug_.locs.push_back(loc_);
  }
  return types_.empty() ? kNoValue : first;
}

// Runs the instruction now where all operands are small constants; an elementwise op of splats is run on scalars.
ValueId Builder::fold(Op op, AttrId attrs) {
  if (!options_.evaluator || operands_.empty() || types_.size() != 1 || info(op).kind == OpKind::Control)
    return kNoValue;
  // What a draw means is up to the vmaps around it (language.md, section 6), so it stays a draw.
  if (op == Op::broadcast_to || op == Op::rng_bits || !is_numbered(t_, op, attrs) || !t_.types[types_[0]].is_tensor())
    return kNoValue;
  const bool splats = is_elementwise(op) && t_.types.rank(types_[0]) > 0;
  TypeId type = splats ? t_.types.scalar(t_.types.dtype(types_[0])) : types_[0];
  if (t_.types.elements(type) > kMaxFolded) return kNoValue;
  std::vector<ConstId> in;
  for (ValueId v : operands_) {
    const auto c = splats ? splat_of(v) : const_of(v);
    if (!c) return kNoValue;
    in.push_back(*c);
  }
  const TypeId wanted = types_[0];
  ConstId out;
  if (!options_.evaluator->eval(t_, op, attrs, in, {&type, 1}, {&out, 1})) return kNoValue;
  const ValueId v = constant(out);
  return splats ? emit(Op::broadcast_to, {v}, {{Key::shape, t_.types.dims(wanted)}}) : v;
}

void Builder::reserve(std::size_t instrs, std::size_t values) {
  const auto more = [](auto& v, std::size_t n) {
    if (v.capacity() - v.size() < n) v.reserve(std::max(v.size() + n, 2 * v.capacity()));
  };
  more(body_.ops, instrs), more(body_.attrs, instrs), more(debug_.origin, instrs);
  more(body_.operand_begin, instrs), more(body_.result_begin, instrs), more(body_.operands, 2 * instrs);
  more(body_.types, values), more(def_, values), more(debug_.values, values);
}

ValueId Builder::emit(Op op, std::span<const ValueId> operands, AttrId attrs) {
  return prepare(op, operands, attrs) ? simplify_or_append(op, attrs) : kNoValue;
}

ValueId Builder::copy(const Body& from, const Instr& in, std::span<const ValueId> operands) {
  if (failed_) return kNoValue;
  if (in.op == Op::constant) return constant(t_.attrs[in.attrs].constant);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::uint32_t v = index(operands[k]);
    if (v >= body_.types.size() || body_.types[v] != from.type(in.operands[k])) return emit(in.op, operands, in.attrs);
  }
  operands_.assign(operands.begin(), operands.end());
  const auto first = from.types.begin() + index(in.first_result);
  types_.assign(first, first + in.num_results);
  return simplify_or_append(in.op, in.attrs);
}

ValueId Builder::simplify_or_append(Op op, AttrId attrs) {
  if (options_.simplify && op != Op::constant) {
    // Both may append on their own and so use the scratch: they work on copies.
    const Kept<ValueId> kept(operands_);
    const Kept<TypeId> types(types_);
    ValueId v = simplify(*this, op, kept.span(), attrs, types.span());
    if (v == kNoValue && !failed_) {
      kept.restore(operands_);
      types.restore(types_);
      v = fold(op, attrs);
    }
    if (v != kNoValue || failed_) return v;
    kept.restore(operands_);
    types.restore(types_);
  }
  return append(op, attrs);
}

ValueId Builder::emit(Op op, std::initializer_list<ValueId> operands, std::initializer_list<AttrArg> attrs) {
  if (failed_) return kNoValue;
  return emit(op, std::span(operands.begin(), operands.size()), attrs.size() ? t_.attrs.dict(attrs) : t_.attrs.empty());
}

std::vector<ValueId> Builder::emit_all(Op op, std::span<const ValueId> operands, AttrId attrs) {
  const ValueId first = emit(op, operands, attrs);
  if (first == kNoValue) return {};
  if (types_.size() <= 1) return {first};
  // Ops of several results are never simplified away, only numbered.
  const InstrId def = def_[index(first)];
  const Instr in = body_.instr(def);
  std::vector<ValueId> out(in.num_results);
  for (std::uint32_t k = 0; k < in.num_results; ++k) out[k] = in.result(k);
  return out;
}

ValueId Builder::constant(ConstId c) {
  if (failed_) return kNoValue;
  operands_.clear();
  types_.assign(1, t_.consts[c].type);
  return append(Op::constant, t_.attrs.of(c));
}

ValueId Builder::scalar(DType dtype, double v) { return constant(t_.consts.scalar(dtype, v)); }
ValueId Builder::scalar_int(DType dtype, std::int64_t v) { return constant(t_.consts.scalar_int(dtype, v)); }

// Of packs and tapes only zeros exist: a tape of zeros is the empty one.
ValueId Builder::zeros_of_items(TypeId id) {
  const Type type = t_.types[id];
  if (type.kind == TypeKind::Tape) {
    const std::vector<std::byte> none(static_cast<std::size_t>(t_.types.bytes(id)), std::byte{0});
    return constant(t_.consts.intern(id, none));
  }
  std::vector<ValueId> items;
  for (TypeId item : type.items) items.push_back(zeros(item));
  return emit(Op::pack, items, type.origin ? t_.attrs.dict({{Key::callee, type.origin}}) : t_.attrs.empty());
}

ValueId Builder::splat(TypeId type, double v) {
  if (failed_) return kNoValue;
  if (!t_.types[type].is_tensor()) return zeros_of_items(type);
  const ValueId s = scalar(t_.types.dtype(type), v);
  return t_.types.rank(type) == 0 ? s : emit(Op::broadcast_to, {s}, {{Key::shape, t_.types.dims(type)}});
}

std::optional<ConstId> Builder::const_of(ValueId v) const {
  const InstrId d = def_[index(v)];
  if (d == kNone<InstrId> || body_.ops[index(d)] != Op::constant) return std::nullopt;
  return t_.attrs[body_.attrs[index(d)]].constant;
}

std::optional<ConstId> Builder::splat_of(ValueId v) const {
  for (;;) {
    const InstrId d = def_[index(v)];
    if (d == kNone<InstrId>) return std::nullopt;
    const Op op = body_.ops[index(d)];
    if (op != Op::broadcast_to && op != Op::full && op != Op::reshape && op != Op::transpose) break;
    v = body_.instr(d).operands[0];
  }
  const auto c = const_of(v);
  return c && t_.types.rank(t_.consts[*c].type) == 0 ? c : std::nullopt;
}

void Builder::name(ValueId v, StrId text) {
  if (v == kNoValue || failed_) return;
  if (debug_.values.size() <= index(v)) debug_.values.resize(body_.types.size());
  ValueName& n = debug_.values[index(v)];
  if (n.text == kNone<StrId> && n.origin == kNoValue) n.text = text;
}

void Builder::name_from(ValueId v, ValueId in_parent, std::string_view suffix) {
  if (v == kNoValue || failed_) return;
  if (debug_.values.size() <= index(v)) debug_.values.resize(body_.types.size());
  ValueName& n = debug_.values[index(v)];
  if (n.text != kNone<StrId> || n.origin != kNoValue) return;
  n.origin = in_parent;
  if (!suffix.empty()) n.text = t_.strings.intern(suffix);
}

}  // namespace tfvm
