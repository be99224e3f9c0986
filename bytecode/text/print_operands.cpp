// Attributes, expressions, callees, operands and literals as text.

#include <bit>

#include "bytecode/literal.h"
#include "bytecode/text/expr.h"
#include "bytecode/text/printer.h"
#include "bytecode/text/string_text.h"

namespace tfvm {

void Printer::attrs(Range r) {
  if (r.empty()) return;
  put("{");
  entries(r);
  put("}");
}

void Printer::entries(Range r) {
  bool first = true;
  for (const Entry& e : Module::at(m_.entries, r)) {
    comma(first);
    first = false;
    put(strings_[e.key]).put("=");
    node(m_.nodes[e.node]);
  }
}

void Printer::node(const Node& n) {
  switch (n.kind) {
    case NodeKind::None:
      put("none");
      break;
    case NodeKind::Bool:
      put(n.i ? "true" : "false");
      break;
    case NodeKind::Int:
      put(n.str != kNone<StrId> ? std::string(strings_[n.str]) : std::to_string(n.i));
      break;
    case NodeKind::Float:
      put(n.str != kNone<StrId> ? std::string(strings_[n.str]) : double_text(std::bit_cast<double>(n.i)));
      break;
    case NodeKind::Str:
      put(quoted(strings_[n.str]));
      break;
    case NodeKind::Name:
      put(n.str);
      break;
    case NodeKind::List:
      put("[");
      node_list(n.items, false);
      put("]");
      break;
    case NodeKind::Call:
      put(n.str).put("(");
      node_list(n.items, false);
      put(")");
      break;
    case NodeKind::Func:
      callee(m_.callees[n.at]);
      break;
    case NodeKind::Expr:
      put("(");
      expr(m_.nodes[n.items.begin], kOrLevel);
      put(")");
      break;
    default:
      expr(n, kPrimaryLevel);
  }
}

void Printer::node_list(Range r, bool as_expr) {
  bool first = true;
  for (const Node& n : Module::at(m_.nodes, r)) {
    comma(first);
    first = false;
    as_expr ? expr(n, kOrLevel) : node(n);
  }
}

void Printer::of_value(const Node& n, std::string_view name) {
  put(name).put("(%").put(n.str);
  if (!n.items.empty()) put(", ");
  node_list(n.items, true);
  put(")");
}

// `level`: operators looser than this stand in parentheses.
void Printer::expr(const Node& n, int level) {
  constexpr std::string_view kOperators[] = {
      " + ", " - ", " * ", " / ", " % ", "", "", " == ", " != ", " < ", " <= ", " > ", " >= ", " and ", " or "};
  static_assert(std::size(kOperators) ==
                static_cast<std::size_t>(NodeKind::Or) - static_cast<std::size_t>(NodeKind::Add) + 1);
  const int own = level_of(n.kind);
  const bool parens = own < level;
  if (parens) put("(");
  if (is_binary(n.kind)) {
    expr(m_.nodes[n.items.begin], own + (own == kCompareLevel));
    put(kOperators[static_cast<std::size_t>(n.kind) - static_cast<std::size_t>(NodeKind::Add)]);
    expr(m_.nodes[n.items.begin + 1], own + 1);
  } else if (n.kind == NodeKind::Not) {
    put("not ");
    expr(m_.nodes[n.items.begin], kCompareLevel);
  } else if (n.kind == NodeKind::Neg) {
    // -(2) is not the number -2, and - -x not a comment sign.
    const Node& item = m_.nodes[n.items.begin];
    const bool number = item.kind == NodeKind::Int || item.kind == NodeKind::Float || item.kind == NodeKind::Neg;
    put(number ? "-(" : "-");
    expr(item, number ? kOrLevel : kNegLevel);
    if (number) put(")");
  } else if (n.kind == NodeKind::Min || n.kind == NodeKind::Max || n.kind == NodeKind::Call) {
    put(n.kind == NodeKind::Min ? "min" : n.kind == NodeKind::Max ? "max" : strings_[n.str]).put("(");
    node_list(n.items, true);
    put(")");
  } else if (n.kind == NodeKind::Value) {
    put("%").put(n.str);
  } else if (n.kind == NodeKind::Rank || n.kind == NodeKind::DimOf || n.kind == NodeKind::SizeOf) {
    of_value(n, n.kind == NodeKind::Rank ? "rank" : n.kind == NodeKind::DimOf ? "dim" : "size");
  } else {
    node(n);
  }
  if (parens) put(")");
}

void Printer::callee(const CalleeExpr& c) {
  if (!c.is_transform()) {
    put("@").put(c.name);
    if (c.attrs.empty()) return;
    put("<");
    entries(c.attrs);
    put(">");
    return;
  }
  put(c.name).put("(");
  callee(m_.callees[c.inner]);
  if (!c.attrs.empty()) put(", ");
  entries(c.attrs);
  put(")");
}

void Printer::operands(Range r) {
  bool first = true;
  for (const Operand& o : Module::at(m_.operands, r)) {
    comma(first);
    first = false;
    operand(o);
  }
}

void Printer::operand(const Operand& o) {
  switch (o.kind) {
    case OperandKind::Value:
      put("%").put(o.name);
      break;
    case OperandKind::Callee:
      callee(m_.callees[o.at]);
      break;
    case OperandKind::Literal:
      literal(m_.literals[o.at]);
      break;
    case OperandKind::Computed:
      node(m_.nodes[o.at]);
      break;
    case OperandKind::CalleeList:
      put("[");
      for (std::uint32_t k = 0; k < o.count; ++k) {
        comma(k == 0);
        callee(m_.callees[o.at + k]);
      }
      put("]");
      break;
  }
}

void Printer::literal(const Literal& l) {
  std::uint32_t element = l.elements.begin;
  literal_list(l, 0, element);
}

void Printer::literal_list(const Literal& l, std::size_t depth, std::uint32_t& at) {
  if (depth == l.dims.count) return element(m_.elements[at++]);
  put("[");
  const std::int64_t n = m_.literal_dims[l.dims.begin + depth];
  for (std::int64_t k = 0; k < n; ++k) {
    comma(k == 0);
    literal_list(l, depth + 1, at);
  }
  put("]");
}

void Printer::element(const Element& e) {
  const std::string_view text = m_.text(e);
  switch (e.kind()) {
    case ElemKind::Bits:
      put("bits(0x").put(text).put(")");
      break;
    case ElemKind::Complex:
      put("complex(").put(text).put(")");
      break;
    case ElemKind::Blob:
      put("hex\"").put(text).put("\"");
      break;
    default:
      put(text);
  }
}

}  // namespace tfvm
