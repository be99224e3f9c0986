#include "bytecode/elaborate/eval.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "bytecode/defaults.h"

namespace tfvm {

namespace {

class Eval {
 public:
  Eval(Tables& t, const Module& m, AttrScope& scope, bool free_names)
      : t_(t), m_(m), scope_(scope), free_names_(free_names) {}
  Result<AttrId> attr(const Node& n);

 private:
  Result<AttrId> list(const Node& n);
  Result<AttrId> name(const Node& n);
  Result<AttrId> of_value(const Node& n);
  Result<AttrId> logic(const Node& n);
  Result<AttrId> compare(NodeKind kind, AttrId a, AttrId b);
  Result<AttrId> arithmetic(NodeKind kind, AttrId a, AttrId b);
  Result<AttrId> integer(NodeKind kind, std::int64_t a, std::int64_t b);
  const Node& item(const Node& n, std::uint32_t k) const { return m_.nodes[n.items.begin + k]; }
  bool is_number(AttrId a) const { return t_.attrs[a].kind == AttrKind::Int || t_.attrs[a].kind == AttrKind::Float; }
  double number(AttrId a) const {
    const Attr& v = t_.attrs[a];
    return v.kind == AttrKind::Int ? static_cast<double>(v.i) : v.f();
  }
  static Error error(std::string message) { return {Code::Type, std::move(message)}; }

  Tables& t_;
  const Module& m_;
  AttrScope& scope_;
  bool free_names_;
};

Result<AttrId> Eval::name(const Node& n) {
  if (const auto a = scope_.find(n.str)) return *a;
  const std::string_view text = t_.strings[n.str];
  if (const auto d = parse_dtype(text)) return t_.attrs.of(*d);
  if (free_names_) return t_.attrs.of(text);
  return Error{Code::Name,
               "'" + std::string(text) + "' is no dtype, attribute parameter or named dim of this function"};
}

// A name of a list of integers (a parameter of type ints, a `..b`) stands for its items.
Result<AttrId> Eval::list(const Node& n) {
  std::vector<AttrId> items;
  for (std::uint32_t k = 0; k < n.items.count; ++k) {
    Result<AttrId> a = attr(item(n, k));
    if (!a) return a;
    const Attr value = t_.attrs[*a];
    if (item(n, k).kind == NodeKind::Name && value.kind == AttrKind::Ints)
      for (std::int64_t i : value.ints) items.push_back(t_.attrs.of(i));
    else
      items.push_back(*a);
  }
  return t_.attrs.list(items);
}

Result<AttrId> Eval::of_value(const Node& n) {
  const auto id = scope_.type_of(n.at);
  if (!id) return Error{Code::Name, "%" + std::string(t_.strings[n.str]) + " is not known where this is computed"};
  const Type type = t_.types[*id];
  if (!type.is_tensor()) return error("%" + std::string(t_.strings[n.str]) + " is a pack: it has no shape");
  if (n.kind == NodeKind::Rank) return t_.attrs.of(type.rank());
  AttrId given = t_.attrs.none();
  if (n.items.count > 0) {
    Result<AttrId> a = attr(item(n, 0));
    if (!a) return a;
    given = *a;
  }
  const Attr axes = t_.attrs[given];
  std::vector<std::int64_t> places(axes.ints.begin(), axes.ints.end());
  if (axes.kind == AttrKind::Int) places = {axes.i};
  if (axes.kind == AttrKind::None)
    for (std::int64_t k = 0; k < type.rank(); ++k) places.push_back(k);
  else if (axes.kind != AttrKind::Int && axes.kind != AttrKind::Ints && axes.kind != AttrKind::List)
    return error("an axis must be an integer");
  std::int64_t size = 1;
  for (std::int64_t k : places) {
    if (k < -type.rank() || k >= type.rank())
      return error("axis " + std::to_string(k) + " is out of range for " + t_.types.text(*id));
    size *= type.dims[static_cast<std::size_t>(k < 0 ? k + type.rank() : k)];
  }
  return t_.attrs.of(size);
}

Result<AttrId> Eval::logic(const Node& n) {
  Result<AttrId> a = attr(item(n, 0));
  if (!a) return a;
  if (t_.attrs[*a].kind != AttrKind::Bool) return error("'and', 'or' and 'not' take true or false");
  const bool left = t_.attrs[*a].i != 0;
  if (n.kind == NodeKind::Not) return t_.attrs.of(!left);
  if (left == (n.kind == NodeKind::Or)) return a;  // the right side isn't looked at
  Result<AttrId> b = attr(item(n, 1));
  if (b && t_.attrs[*b].kind != AttrKind::Bool) return error("'and', 'or' and 'not' take true or false");
  return b;
}

Result<AttrId> Eval::compare(NodeKind kind, AttrId a, AttrId b) {
  const bool numbers = is_number(a) && is_number(b);
  if (kind == NodeKind::Eq || kind == NodeKind::Ne) {
    const bool equal = numbers && t_.attrs[a].kind != t_.attrs[b].kind ? number(a) == number(b) : a == b;
    return t_.attrs.of(equal == (kind == NodeKind::Eq));
  }
  if (!numbers) return error("'<', '<=', '>' and '>=' take numbers");
  const bool ints = t_.attrs[a].kind == AttrKind::Int && t_.attrs[b].kind == AttrKind::Int;
  const auto order = ints ? std::partial_ordering(t_.attrs[a].i <=> t_.attrs[b].i) : number(a) <=> number(b);
  switch (kind) {
    case NodeKind::Lt:
      return t_.attrs.of(order < 0);
    case NodeKind::Le:
      return t_.attrs.of(order <= 0);
    case NodeKind::Gt:
      return t_.attrs.of(order > 0);
    default:
      return t_.attrs.of(order >= 0);
  }
}

Result<AttrId> Eval::integer(NodeKind kind, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  bool overflow = false;
  switch (kind) {
    case NodeKind::Neg:
      overflow = __builtin_sub_overflow(std::int64_t{0}, a, &r);
      break;
    case NodeKind::Add:
      overflow = __builtin_add_overflow(a, b, &r);
      break;
    case NodeKind::Sub:
      overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case NodeKind::Mul:
      overflow = __builtin_mul_overflow(a, b, &r);
      break;
    case NodeKind::Div:
    case NodeKind::Rem:
      if (b == 0) return error("a computed integer divides by zero");
      overflow = b == -1 && __builtin_sub_overflow(std::int64_t{0}, a, &r);
      if (b != -1) r = kind == NodeKind::Div ? a / b : a % b;
      if (b == -1 && kind == NodeKind::Rem) overflow = false, r = 0;
      break;
    case NodeKind::Min:
      r = std::min(a, b);
      break;
    default:
      r = std::max(a, b);
  }
  if (overflow) return error("a computed integer does not fit into 64 bits");
  return t_.attrs.of(r);
}

Result<AttrId> Eval::arithmetic(NodeKind kind, AttrId a, AttrId b) {
  if (!is_number(a) || !is_number(b)) return error("arithmetic in an attribute takes numbers");
  if (t_.attrs[a].kind == AttrKind::Int && t_.attrs[b].kind == AttrKind::Int)
    return integer(kind, t_.attrs[a].i, t_.attrs[b].i);
  const double x = number(a), y = number(b);
  switch (kind) {
    case NodeKind::Neg:
      return t_.attrs.of(-x);
    case NodeKind::Add:
      return t_.attrs.of(x + y);
    case NodeKind::Sub:
      return t_.attrs.of(x - y);
    case NodeKind::Mul:
      return t_.attrs.of(x * y);
    case NodeKind::Div:
      return t_.attrs.of(x / y);
    case NodeKind::Rem:
      return t_.attrs.of(std::fmod(x, y));
    case NodeKind::Min:
      return t_.attrs.of(std::min(x, y));
    default:
      return t_.attrs.of(std::max(x, y));
  }
}

Result<AttrId> Eval::attr(const Node& n) {
  switch (n.kind) {
    case NodeKind::None:
      return t_.attrs.none();
    case NodeKind::Bool:
      return t_.attrs.of(n.i != 0);
    case NodeKind::Int:
      return t_.attrs.of(n.i);
    case NodeKind::Float:
      return t_.attrs.of(std::bit_cast<double>(n.i));
    case NodeKind::Str:
      return t_.attrs.of(t_.strings[n.str]);
    case NodeKind::Name:
      return name(n);
    case NodeKind::List:
      return list(n);
    case NodeKind::Func:
      return scope_.function(n.at);
    case NodeKind::Expr:
      return attr(item(n, 0));
    case NodeKind::Value:
      return error("a value can't stand here: attributes are known before the program runs");
    case NodeKind::Rank:
    case NodeKind::DimOf:
    case NodeKind::SizeOf:
      return of_value(n);
    case NodeKind::Not:
    case NodeKind::And:
    case NodeKind::Or:
      return logic(n);
    case NodeKind::Call: {
      Result<AttrId> items = list(n);
      if (!items) return items;
      std::vector<AttrId> args;
      const Attr a = t_.attrs[*items];
      for (std::int64_t i : a.ints) args.push_back(t_.attrs.of(i));
      args.insert(args.end(), a.items.begin(), a.items.end());
      return t_.attrs.call(n.str, args);
    }
    default:
      break;
  }
  Result<AttrId> a = attr(item(n, 0));
  if (!a) return a;
  Result<AttrId> b = n.items.count > 1 ? attr(item(n, 1)) : a;
  if (!b) return b;
  return n.kind >= NodeKind::Eq ? compare(n.kind, *a, *b) : arithmetic(n.kind, *a, *b);
}

}  // namespace

Result<AttrId> AttrScope::function(std::uint32_t) { return Error{Code::Type, "a function can't stand here"}; }

std::optional<AttrId> NamedAttrs::find(StrId name) const {
  const auto it = std::ranges::find(names, name, [](const auto& n) { return n.first; });
  return it == names.end() ? std::nullopt : std::optional(it->second);
}

Result<AttrId> eval_attr(Tables& t, const Module& m, std::uint32_t node, AttrScope& scope, bool free_names) {
  return Eval(t, m, scope, free_names).attr(m.nodes[node]);
}

Result<AttrId> eval_attrs(Tables& t, const Module& m, Range entries, AttrScope& scope, bool free_names) {
  if (entries.empty()) return t.attrs.empty();
  std::vector<Key> keys;
  std::vector<AttrId> values;
  for (const Entry& e : Module::at(m.entries, entries)) {
    if (std::ranges::find(keys, e.key) != keys.end())
      return Error{Code::Type, "the attribute '" + std::string(t.strings[e.key]) + "' is given twice"};
    Result<AttrId> v = eval_attr(t, m, e.node, scope, free_names);
    if (!v) return v;
    keys.push_back(e.key);
    values.push_back(*v);
  }
  return t.attrs.dict(keys, values);
}

}  // namespace tfvm
