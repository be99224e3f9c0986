#include "bytecode/text/print_function.h"

#include <algorithm>
#include <map>

#include "bytecode/defaults.h"
#include "bytecode/literal.h"

namespace tfvm {

namespace {

class FunctionPrinter {
 public:
  FunctionPrinter(Tables& t, ListingOptions options) : t_(t), options_(options) {}

  std::string run(FunctionId f) {
    name_of(f);
    for (std::size_t k = 0; k < queue_.size() && (k == 0 || options_.callees); ++k) {
      if (k) out_ += '\n';
      function(queue_[k]);
    }
    return std::move(out_);
  }

 private:
  // A name of its own for each body: that of the function without signs that a name can't have.
  const std::string& name_of(FunctionId f) {
    if (const auto known = names_.find(f.body); known != names_.end()) return known->second;
    std::string name;
    for (char c : t_.debugs.function_name(f.debug, t_.strings)) {
      if (c == '(') name += '.';
      if (c != '@' && c != '(' && c != ')' && c != '?') name += c;
    }
    const int n = used_[name]++;
    queue_.push_back(f);
    return names_[f.body] = "@" + (n ? name + "." + std::to_string(n) : name);
  }

  void function(FunctionId f) {
    const Body& body = t_.bodies[f.body];
    name_values(f, body);
    out_ += "func " + name_of(f) + "(";
    for (std::uint32_t k = 0; k < body.num_params; ++k) {
      out_ += (k ? ", " : "") + values_[k] + ": " + t_.types.text(body.types[k]);
    }
    out_ += ") {\n";
    for (std::uint32_t i = 0; i < body.num_instrs(); ++i) instr(body.instr(i), body);
    out_ += "  ret";
    list(body.results, " ");
    out_ += "\n}\n";
  }

  // Values by their names in the program; a second value of a name and one without get a number.
  void name_values(FunctionId f, const Body& body) {
    values_.assign(body.num_values(), {});
    for (std::uint32_t i = 0; i < body.num_instrs(); ++i)
      if (body.ops[i] == Op::constant) values_[body.result_begin[i]] = literal(t_.attrs[body.attrs[i]].constant);
    std::map<std::string, int> used;
    int unnamed = 0;
    for (std::uint32_t v = 0; v < body.num_values(); ++v) {
      if (!values_[v].empty()) continue;
      std::string name = t_.debugs.value_name(f.debug, static_cast<ValueId>(v), t_.strings);
      if (name.empty() || name.front() == '.') {
        values_[v] = "%" + std::to_string(unnamed++);
        continue;
      }
      const int n = used[name]++;
      values_[v] = "%" + (n ? name + "'" + std::to_string(n) : name);
    }
  }

  void instr(const Instr& in, const Body&) {
    if (in.op == Op::constant) return;
    out_ += "  ";
    for (std::uint32_t k = 0; k < in.num_results; ++k) out_ += (k ? ", " : "") + values_[index(in.result(k))];
    out_ += (in.num_results ? " = " : "") + std::string(name(in.op));
    std::vector<Key> skip;
    if (info(in.op).kind == OpKind::Control)
      control(in, skip);
    else
      list(in.operands, " ");
    attrs(in, skip);
    out_ += '\n';
  }

  // cond and switch: the operand that decides, then the functions; then arguments in brackets.
  void control(const Instr& in, std::vector<Key>& skip) {
    std::span<const ValueId> args = in.operands;
    bool first = true;
    const auto put = [&](const std::string& s) {
      out_ += (first ? " " : ", ") + s;
      first = false;
    };
    if (in.op == Op::cond || in.op == Op::switch_) {
      put(values_[index(args[0])]);
      args = args.subspan(1);
    }
    for (Key k : {Key::callee, Key::then, Key::else_, Key::branches, Key::cond, Key::body}) {
      if (!t_.attrs.has(in.attrs, k)) continue;
      put(attr(t_.attrs.get(in.attrs, k)));
      skip.push_back(k);
    }
    out_ += in.op == Op::call ? "(" : " (";
    list(args, "");
    out_ += ')';
  }

  void list(std::span<const ValueId> values, std::string_view before) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      out_ += k ? ", " : before;
      out_ += values_[index(values[k])];
    }
  }

  void attrs(const Instr& in, const std::vector<Key>& skip) {
    const Attr& dict = t_.attrs[in.attrs];
    const OpInfo& row = info(in.op);
    bool first = true;
    for (std::size_t k = 0; k < dict.keys.size(); ++k) {
      if (std::ranges::find(skip, dict.keys[k]) != skip.end()) continue;
      const AttrSpec* spec = attr_spec(row, dict.keys[k]);
      if (spec && !spec->required && parse_default(t_, spec->default_text) == dict.items[k]) continue;
      out_ += (first ? " {" : ", ") + std::string(t_.strings[dict.keys[k]]) + "=" + attr(dict.items[k]);
      first = false;
    }
    if (!first) out_ += '}';
  }

  std::string attr(AttrId id) {
    const Attr& a = t_.attrs[id];
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
        return '"' + std::string(t_.strings[a.str]) + '"';
      case AttrKind::DType:
        return std::string(name(a.dtype()));
      case AttrKind::Func:
        return name_of(a.func);
      case AttrKind::Const:
        return literal(a.constant);
      case AttrKind::Ints: {
        std::string s;
        for (std::int64_t i : a.ints) s += (s.empty() ? "" : ", ") + std::to_string(i);
        return "[" + s + "]";
      }
      default: {
        std::string s;
        for (AttrId item : a.items) s += (s.empty() ? "" : ", ") + attr(item);
        return "[" + s + "]";
      }
    }
  }

  std::string literal(ConstId id) {
    const Constant& c = t_.consts[id];
    const Type& type = t_.types[c.type];
    std::int64_t at = 0;
    return literal_part(c, type, 0, at);
  }

  std::string literal_part(const Constant& c, const Type& type, std::size_t dim, std::int64_t& at) {
    if (dim == type.dims.size()) {
      const std::byte* element = c.bytes.data() + size_of(type.dtype) * at;
      return ++at > options_.max_elements ? "…" : element_text(type.dtype, element);
    }
    std::string s = "[";
    for (std::int64_t k = 0; k < type.dims[dim] && at <= options_.max_elements; ++k)
      s += (k ? ", " : "") + literal_part(c, type, dim + 1, at);
    return s + "]";
  }

  Tables& t_;
  ListingOptions options_;
  std::vector<FunctionId> queue_;
  std::unordered_map<BodyId, std::string> names_;
  std::map<std::string, int> used_;
  std::vector<std::string> values_;
  std::string out_;
};

}  // namespace

std::string print_function(Tables& tables, FunctionId f, ListingOptions options) {
  return FunctionPrinter(tables, options).run(f);
}

}  // namespace tfvm
