#include "bytecode/text/print_body.h"

#include <algorithm>
#include <map>

#include "bytecode/defaults.h"
#include "bytecode/literal.h"
#include "bytecode/own_rules.h"
#include "bytecode/text/body_names.h"
#include "bytecode/text/string_text.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMaxListed = 256, kMaxInline = 8;  // elements of a constant

struct Callee {
  FunctionId f;
  AttrId rules[std::size(kOwnRules)];  // as in kOwnRules; none() where there is none: they belong to its head
  std::string name;
};

class BodyPrinter {
 public:
  BodyPrinter(Tables& t, const FunctionText& options) : t_(t), options_(options) {}

  std::string print(std::span<const FunctionId> fs) {
    for (FunctionId f : fs) name_of(f, kNone<AttrId>);
    for (std::size_t k = 0; k < callees_.size(); ++k) {
      if (k > 0) out_ += '\n';
      function(k);
      if (!options_.callees && k + 1 == fs.size()) break;
    }
    return std::move(out_);
  }

 private:
  AttrId rule(AttrId call, Key k) const { return call == kNone<AttrId> ? t_.attrs.none() : t_.attrs.get(call, k); }

  // Names a function, and puts it on the list where it is new. Functions of equal code and rules are one.
  const std::string& name_of(FunctionId f, AttrId call) {
    std::vector<std::uint32_t> id{index(f.body)};
    for (Key k : kOwnRules) id.push_back(index(rule(call, k)));
    const auto [it, fresh] = numbers_.emplace(std::move(id), callees_.size());
    if (fresh) {
      Callee c{f, {}, names_.take(function_base_name(t_, f), "f")};
      for (std::size_t k = 0; k < std::size(kOwnRules); ++k) c.rules[k] = rule(call, kOwnRules[k]);
      callees_.push_back(std::move(c));
    }
    return callees_[it->second].name;
  }

  void function(std::size_t at) {
    f_ = callees_[at].f;
    body_ = &t_.body(f_);
    values_ = value_names(t_, f_);
    find_constants();
    out_ += "func @" + callees_[at].name + '(';
    for (std::uint32_t k = 0; k < body_->num_params; ++k) {
      if (k > 0) out_ += ", ";
      if (k < body_->mut_params.size() && body_->mut_params[k]) out_ += "mut ";
      out_ += '%' + values_[k] + ": " + type(body_->types[k]);
    }
    out_ += ") -> " + types(body_->result_types()) + rules(at) + " {\n";
    for (std::uint32_t i = 0; i < body_->num_instrs(); ++i) instruction(i);
    out_ += "  ret";
    for (std::size_t k = 0; k < body_->results.size(); ++k)
      out_ += (k ? ", %" : " %") + values_[index(body_->results[k])];
    out_ += "\n}\n";
  }

  std::string rules(std::size_t at) {
    const auto present = [&](std::size_t k) { return callees_[at].rules[k] != t_.attrs.none(); };
    const auto name = [&](std::size_t k) { return '@' + name_of(t_.attrs[callees_[at].rules[k]].func, kNone<AttrId>); };
    std::string s;
    if (present(0)) s += ", custom_jvp=" + name(0);
    if (present(1) && present(2)) {
      s += ", custom_vjp=[" + name(1) + ", ";
      s += name(2) + ']';
    }
    if (present(3)) s += ", derivative=" + name(3);
    if (present(4)) s += ", custom_root=" + name(4);
    if (present(5)) s += ", tangent_solve=" + name(5);
    if (present(6)) s += ", custom_linear_solve=" + name(6);
    if (present(7)) s += ", transpose_solve=" + name(7);
    for (std::size_t k : {4, 6})  // the solution is as much as the equation gives
      if (present(k) && results_of(t_.attrs[callees_[at].rules[k]].func) < body_->results.size()) s += ", has_aux=true";
    return s.empty() ? s : " {" + s.substr(2) + '}';
  }

  std::size_t results_of(FunctionId f) const { return t_.body(f).results.size(); }

  // --- constants: inline_ holds the text of those that stand where they are used
  void find_constants() {
    inline_.assign(body_->num_values(), {});
    literal_.assign(body_->num_values(), kNone<ConstId>);
    std::vector<std::uint8_t> banned(body_->num_values(), 0);
    std::vector<std::uint32_t> uses(body_->num_values(), 0);
    for (std::uint32_t i = 0; i < body_->num_instrs(); ++i) note_literal(body_->instr(i));
    for (ValueId v : body_->results) banned[index(v)] = 1;
    for (std::uint32_t i = 0; i < body_->num_instrs(); ++i) {
      const Instr in = body_->instr(i);
      for (std::size_t k = 0; k < in.operands.size(); ++k) {
        if (!is_literal(in.operands[k])) continue;
        const std::uint32_t v = index(in.operands[k]);
        ++uses[v];
        if (!reads_back(in, k)) banned[v] = 1;
      }
    }
    for (std::uint32_t v = 0; v < body_->num_values(); ++v) {
      if (banned[v] || literal_[v] == kNone<ConstId>) continue;
      const std::int64_t n = t_.types.elements(t_.consts[literal_[v]].type);
      const std::int64_t most = uses[v] > 1 ? 1 : kMaxInline;
      if (n >= 1 && n <= most) inline_[v] = constant_text(t_, literal_[v]);
    }
    hide_sources_of_splats();
  }

  // A constant that only broadcasts use which stand as literals themselves need not stand.
  void hide_sources_of_splats() {
    std::vector<std::uint8_t> needed(body_->num_values(), 0);
    for (ValueId v : body_->results) needed[index(v)] = 1;
    for (std::uint32_t i = 0; i < body_->num_instrs(); ++i) {
      const Instr in = body_->instr(i);
      if (in.op == Op::broadcast_to && !inline_[index(in.first_result)].empty()) continue;
      for (ValueId v : in.operands) needed[index(v)] = 1;
    }
    for (std::uint32_t v = 0; v < body_->num_values(); ++v)
      if (!needed[v] && literal_[v] != kNone<ConstId> && inline_[v].empty())
        inline_[v] = constant_text(t_, literal_[v]);
  }

  // A constant; or a scalar one broadcast, which an elementwise op does by itself.
  void note_literal(const Instr& in) {
    if (in.op == Op::constant) literal_[index(in.first_result)] = t_.attrs[in.attrs].constant;
    if (in.op != Op::broadcast_to || !is_literal(in.operands[0])) return;
    if (const ConstId c = literal_[index(in.operands[0])]; t_.types.rank(t_.consts[c].type) == 0)
      literal_[index(in.first_result)] = c;
  }

  bool is_literal(ValueId v) const { return index(v) < literal_.size() && literal_[index(v)] != kNone<ConstId>; }

  // Whether a literal as operand k gets the dtype, and by broadcasting the shape, of what stands there.
  bool reads_back(const Instr& in, std::size_t k) const {
    if (body_->type(in.operands[k]) != t_.consts[literal_[index(in.operands[k])]].type && !is_elementwise(in.op))
      return false;
    const DType dtype = t_.types.dtype(body_->type(in.operands[k]));
    if (in.op == Op::call) return true;  // the parameter's dtype
    const OperandSpec* spec = operand_spec(info(in.op), k, in.operands.size());
    if (!spec) return false;
    if (spec->group == 'I') return dtype == DType::I64;
    if (spec->group == 'P') return dtype == DType::Bool;
    if (in.op == Op::broadcast_to || in.op == Op::full) return options_.types;  // the written result type
    if (spec->group == '*') return false;
    for (std::size_t j = 0; j < in.operands.size(); ++j) {
      const OperandSpec* other = operand_spec(info(in.op), j, in.operands.size());
      if (j != k && other && other->group == spec->group && in.operands[j] != kNoValue && !is_literal(in.operands[j]))
        return true;
    }
    return false;
  }

  // --- instructions
  void instruction(std::uint32_t i) {
    const Instr in = body_->instr(i);
    if (in.num_results == 1 && !inline_[index(in.first_result)].empty()) return;
    out_ += "  ";
    std::vector<TypeId> result_types;
    for (std::uint32_t k = 0; k < in.num_results; ++k) {
      out_ += (k ? ", %" : "%") + values_[index(in.result(k))];
      result_types.push_back(body_->type(in.result(k)));
    }
    if (in.num_results > 0) out_ += " = ";
    if (in.op == Op::constant)
      out_ += "clone " + constant_text(t_, t_.attrs[in.attrs].constant);
    else
      operation(in);
    if (in.num_results > 0 && (options_.types || in.op == Op::constant)) out_ += " : " + types(result_types);
    if (options_.lines) line(i);
    out_ += '\n';
  }

  void line(std::uint32_t i) {
    const Loc loc = t_.debugs.find_loc(f_.debug, static_cast<InstrId>(i));
    if (loc.line == 0) return;
    out_ += "  // ";
    if (loc.file != kNone<StrId>) out_ += std::string(t_.strings[loc.file]) + ':';
    out_ += std::to_string(loc.line);
  }

  std::string callee(AttrId attrs, Key k) { return '@' + name_of(t_.attrs.get_func(attrs, k), kNone<AttrId>); }

  void operation(const Instr& in) {
    const std::string args = operands(in.operands, 0);
    switch (in.op) {
      case Op::call: {
        const bool checkpoint = t_.attrs.has(in.attrs, Key::policy);
        const std::string name = '@' + name_of(t_.attrs.get_func(in.attrs, Key::callee), in.attrs);
        out_ += checkpoint ? "checkpoint " + name + " (" : "call " + name + '(';
        out_ += args + ')';
        return attributes(in, {Key::callee, Key::jvp, Key::fwd, Key::bwd, Key::derivative, Key::root,
                               Key::tangent_solve, Key::matvec, Key::transpose_solve});
      }
      case Op::cond:
        out_ += "cond " + operand(in.operands[0]) + ", " + callee(in.attrs, Key::then) + ", ";
        out_ += callee(in.attrs, Key::else_) + " (" + operands(in.operands, 1) + ')';
        return attributes(in, {Key::then, Key::else_});
      case Op::switch_:
        out_ += "switch " + operand(in.operands[0]) + ", " + attr(t_.attrs.get(in.attrs, Key::branches)) + " (";
        out_ += operands(in.operands, 1) + ')';
        return attributes(in, {Key::branches});
      case Op::while_:
        out_ += "while " + callee(in.attrs, Key::cond) + ", ";
        out_ += callee(in.attrs, Key::body) + " (" + args + ')';
        return attributes(in, {Key::cond, Key::body});
      case Op::scan:
      case Op::tape_scan:
        out_ += std::string(name(in.op)) + ' ' + callee(in.attrs, Key::body) + " (" + args + ')';
        return attributes(in, {Key::body});
      case Op::write:
        out_ += std::string(t_.attrs.get_str(in.attrs, Key::op)) + "_ " + args;
        return attributes(in, {Key::op});
      case Op::extern_:
        out_ += std::string(t_.attrs.get_str(in.attrs, Key::op)) + (args.empty() ? "" : " ") + args;
        return attributes(in, {Key::op});
      default:
        out_ += name(in.op);
        if (!args.empty()) out_ += ' ' + args;
        return attributes(in, {});
    }
  }

  std::string operand(ValueId v) const {
    if (index(v) >= values_.size()) return "%absent";
    return inline_[index(v)].empty() ? '%' + values_[index(v)] : inline_[index(v)];
  }

  std::string operands(std::span<const ValueId> list, std::size_t first) const {
    std::string s;
    for (std::size_t k = first; k < list.size(); ++k) s += (k > first ? ", " : "") + operand(list[k]);
    return s;
  }

  void attributes(const Instr& in, std::initializer_list<Key> shown) {
    std::string s;
    const Attr dict = t_.attrs[in.attrs];
    for (std::size_t k = 0; k < dict.keys.size(); ++k) {
      const Key key = dict.keys[k];
      if (std::ranges::find(shown, key) != shown.end()) continue;
      const AttrSpec* spec = attr_spec(info(in.op), key);
      const bool has_default = spec && !spec->required;
      if (has_default && !options_.defaults && dict.items[k] == parse_default(t_, spec->default_text)) continue;
      s += ", " + std::string(t_.strings[key]) + '=' + attr(dict.items[k]);
    }
    if (!s.empty()) out_ += " {" + s.substr(2) + '}';
  }

  std::string attr(AttrId id) {
    const Attr a = t_.attrs[id];
    switch (a.kind) {
      case AttrKind::None:
        return "none";
      case AttrKind::Bool:
        return a.i ? "true" : "false";
      case AttrKind::Int:
        return std::to_string(a.i);
      case AttrKind::Float:
        return double_text(a.f());
      case AttrKind::Str:
        return quoted(t_.strings[a.str]);
      case AttrKind::DType:
        return std::string(name(a.dtype()));
      case AttrKind::Ints: {
        std::string s;
        for (std::int64_t i : a.ints) s += (s.empty() ? "" : ", ") + std::to_string(i);
        return '[' + s + ']';
      }
      case AttrKind::List:
        return '[' + attrs(a.items) + ']';
      case AttrKind::Func:
        return '@' + name_of(a.func, kNone<AttrId>);
      case AttrKind::Call:
        return std::string(t_.strings[a.str]) + '(' + attrs(a.items) + ')';
      case AttrKind::Dict:
        return "dict(" + attrs(a.items) + ')';
      case AttrKind::Const:
        return "constant(" + quoted(constant_text(t_, a.constant)) + ')';
    }
    return "none";
  }

  std::string attrs(std::span<const AttrId> items) {
    std::string s;
    for (AttrId i : items) s += (s.empty() ? "" : ", ") + attr(i);
    return s;
  }

  // Packs and tapes have no form in the text but their kind.
  std::string type(TypeId id) const {
    const Type& t = t_.types[id];
    if (t.is_tensor()) return t_.types.text(id);
    return t.kind == TypeKind::Pack ? "pack" : "tape";
  }

  std::string types(const std::vector<TypeId>& list) const {
    if (list.size() == 1) return type(list[0]);
    std::string s;
    for (TypeId t : list) s += (s.empty() ? "" : ", ") + type(t);
    return '(' + s + ')';
  }

  Tables& t_;
  const FunctionText& options_;
  std::string out_;
  std::vector<Callee> callees_;  // in order of first use
  std::map<std::vector<std::uint32_t>, std::size_t> numbers_;
  UniqueNames names_;
  FunctionId f_;  // the one being printed
  const Body* body_ = nullptr;
  std::vector<std::string> values_, inline_;  // per value: its name; its text, where it stands at its uses
  std::vector<ConstId> literal_;              // per value: the constant that a literal for it would have
};

void nested(const Tables& t, const Constant& c, std::size_t axis, const std::byte*& at, std::string& out) {
  const Dims dims = t.types.dims(c.type);
  const DType dtype = t.types.dtype(c.type);
  if (axis == dims.size()) {
    out += element_text(dtype, at);
    at += size_of(dtype);
    return;
  }
  out += '[';
  for (std::int64_t k = 0; k < dims[axis]; ++k) {
    if (k > 0) out += ", ";
    nested(t, c, axis + 1, at, out);
  }
  out += ']';
}

}  // namespace

std::string constant_text(const Tables& t, ConstId id) {
  const Constant& c = t.consts[id];
  const std::int64_t n = t.types.elements(c.type);
  if (n == 0) return "[]";  // the written type has the shape
  std::string out;
  if (n <= kMaxListed) {
    const std::byte* at = c.bytes.data();
    nested(t, c, 0, at, out);
    return out;
  }
  out = "hex\"";
  for (std::byte b : c.bytes)
    for (const int shift : {4, 0}) out += "0123456789abcdef"[static_cast<int>(b) >> shift & 15];
  return out + '"';
}

std::string print_functions(Tables& tables, std::span<const FunctionId> fs, const FunctionText& options) {
  return BodyPrinter(tables, options).print(fs);
}

std::string print_function(Tables& tables, FunctionId f, const FunctionText& options) {
  return print_functions(tables, {&f, 1}, options);
}

}  // namespace tfvm
