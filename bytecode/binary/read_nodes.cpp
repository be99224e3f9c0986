// Attributes, callees, operands and literals of .tfbc.

#include <bit>

#include "bytecode/binary/reader.h"
#include "bytecode/literal.h"
#include "bytecode/text/expr.h"
#include "bytecode/text/lexer.h"
#include "bytecode/text/words.h"

namespace tfvm::tfbc {

bool is_number(std::string_view text, ElemKind kind) {
  if (kind == ElemKind::Bits)
    return !text.empty() && text.size() <= 32 && text.find_first_not_of("0123456789abcdef") == text.npos;
  if (kind == ElemKind::Complex) {
    const std::size_t comma = text.find(", ");
    if (comma == text.npos) return false;
    for (const std::string_view part : {text.substr(0, comma), text.substr(comma + 2)})
      if (!is_number(part, ElemKind::Int) && !is_number(part, ElemKind::Float)) return false;
    return true;
  }
  Lexer lexer(text);
  const Token t = lexer.next();
  if (t.kind != (kind == ElemKind::Int ? Tok::Int : Tok::Float) || t.begin != 0 || t.end != text.size()) return false;
  return kind == ElemKind::Int || text.find('x') == text.npos || is_exact_hex_float(text);
}

std::uint32_t Reader::append(const Node& n) {
  m_.nodes.push_back(n);
  return static_cast<std::uint32_t>(m_.nodes.size() - 1);
}

Range Reader::attrs() {
  const std::size_t mark = entry_stack_.size();
  for (std::uint32_t n = code_.count(257); n > 0 && !failed(); --n) {
    const Key k = key(key_string("name of an attribute"));
    for (std::size_t i = mark; i < entry_stack_.size(); ++i)
      if (entry_stack_[i].key == k) fail("an attribute given twice");
    const Node value = node();
    entry_stack_.push_back({k, append(value)});
  }
  const Range r{static_cast<std::uint32_t>(m_.entries.size()), static_cast<std::uint32_t>(entry_stack_.size() - mark)};
  m_.entries.insert(m_.entries.end(), entry_stack_.begin() + static_cast<std::ptrdiff_t>(mark), entry_stack_.end());
  entry_stack_.resize(mark);
  return r;
}

Range Reader::items(std::uint32_t n, bool as_expr) {
  const std::size_t mark = node_stack_.size();
  for (std::uint32_t k = 0; k < n && !failed(); ++k) {
    const Node item = as_expr ? expr() : node();
    node_stack_.push_back(item);
  }
  const Range r{static_cast<std::uint32_t>(m_.nodes.size()), static_cast<std::uint32_t>(node_stack_.size() - mark)};
  m_.nodes.insert(m_.nodes.end(), node_stack_.begin() + static_cast<std::ptrdiff_t>(mark), node_stack_.end());
  node_stack_.resize(mark);
  return r;
}

// A number whose text counts: hex integers, and all floats.
void Reader::number_text(Node& n, ElemKind kind) {
  n.str = string();
  const std::string_view text = strings_[n.str];
  if (failed()) return;
  if (!is_number(text, kind)) return fail("a malformed number");
  if (kind == ElemKind::Float) {
    n.i = std::bit_cast<std::int64_t>(parse_double(text));
    return;
  }
  const auto v = parse_integer(text);
  if (!v || (!v->negative && v->magnitude >> 63) || text.find('x') == text.npos) return fail("a malformed number");
  n.i = static_cast<std::int64_t>(v->negative ? ~v->magnitude + 1 : v->magnitude);
}

void Reader::local_ref(Node& n) {
  n.at = use();
  if (!failed()) n.str = local_names_[n.at];
}

Node Reader::node() {
  Node n;
  n.place = place_;
  const std::uint8_t tag = code_.byte();
  n.kind = static_cast<NodeKind>(tag & ~kHexInt);
  if (n.kind > NodeKind::Expr || (tag & kHexInt && n.kind != NodeKind::Int)) fail("unknown kind of attribute");
  if (failed() || !enter()) return n;
  switch (n.kind) {
    case NodeKind::None:
      break;
    case NodeKind::Bool:
      n.i = code_.flag();
      break;
    case NodeKind::Int:
      if (tag & kHexInt)
        number_text(n, ElemKind::Int);
      else
        n.i = code_.signed_number();
      break;
    case NodeKind::Float:
      number_text(n, ElemKind::Float);
      break;
    case NodeKind::Str:
      n.str = string();
      break;
    case NodeKind::Name:
    case NodeKind::Call:
      n.str = key_string("name in an attribute");
      if (!failed() && (is_value_word(strings_[n.str]) || (n.kind == NodeKind::Call && is_transform(strings_[n.str]))))
        fail("a name that means something else");
      if (n.kind == NodeKind::Call) n.items = items(code_.count(), false);
      break;
    case NodeKind::List:
      n.items = items(code_.count(), false);
      break;
    case NodeKind::Func:
      n.at = callee();
      break;
    default: {
      const int outer = std::exchange(expr_nodes_, 0);
      n.items = items(1, true);
      m_.nodes[n.items.begin].place = place_;
      expr_nodes_ = outer;
    }
  }
  leave();
  return n;
}

Node Reader::expr() {
  Node n;
  n.place = place_;
  const std::uint8_t tag = code_.byte();
  n.kind = static_cast<NodeKind>(tag & ~kHexInt);
  if (n.kind == NodeKind::Func || n.kind == NodeKind::Expr || n.kind > NodeKind::Or ||
      (tag & kHexInt && n.kind != NodeKind::Int))
    fail("unknown part of an expression");
  if (++expr_nodes_ > kMaxExprNodes) fail("an expression too large");
  if (failed()) return n;
  switch (n.kind) {
    case NodeKind::None:
    case NodeKind::Bool:
    case NodeKind::Int:
    case NodeKind::Float:
    case NodeKind::Str:
    case NodeKind::List:
      break;  // below
    case NodeKind::Name:
    case NodeKind::Call: {
      n.str = key_string("name in an expression");
      const std::string_view s = strings_[n.str];
      const bool of_value = s == "rank" || s == "dim" || s == "size" || s == "min" || s == "max";
      if (s == "and" || s == "or" || s == "not") fail("an operator as a name");
      if (is_value_word(s) || (n.kind == NodeKind::Call && of_value)) fail("a name that means something else");
      if (n.kind == NodeKind::Call) n.items = items(code_.count(256), true);
      return n;
    }
    case NodeKind::Value:
    case NodeKind::Rank:
      local_ref(n);
      return n;
    case NodeKind::DimOf:
    case NodeKind::SizeOf:
      local_ref(n);
      n.items = items(n.kind == NodeKind::DimOf || code_.flag(), true);
      return n;
    case NodeKind::Neg:
    case NodeKind::Not:
      n.items = items(1, true);
      return n;
    default:
      n.items = items(2, true);
      return n;
  }
  // The rest is as in an attribute.
  code_.unread(1);
  return node();
}

std::uint32_t Reader::append(const ReadCallee& c) {
  const auto at = static_cast<std::uint32_t>(m_.callees.size());
  if (c.item != kNoIndex) callee_items_.emplace_back(at, c.item);
  m_.callees.push_back(c.expr);
  return at;
}

Reader::ReadCallee Reader::callee_expr() {
  ReadCallee c;
  c.expr.place = place_;
  if (!enter()) return c;
  switch (static_cast<CalleeTag>(code_.choice(3, "kind of callee"))) {
    case CalleeTag::Item:
      c.item = code_.below(kNoIndex, "item");
      break;
    case CalleeTag::Name:
      c.expr.name = string();
      if (!failed() && !is_name(strings_[c.expr.name])) fail("a malformed name");
      break;
    case CalleeTag::Transform:
      c.expr.name = string();
      if (!failed() && !is_transform(strings_[c.expr.name])) fail("unknown transform");
      c.expr.inner = failed() ? 0 : callee();
      break;
  }
  c.expr.attrs = attrs();
  leave();
  return c;
}

Range Reader::operands() {
  // An operand appends none: its parts lie in other pools.
  Range r{static_cast<std::uint32_t>(m_.operands.size()), code_.count()};
  for (std::uint32_t k = 0; k < r.count && !failed(); ++k) {
    const Operand o = operand();
    m_.operands.push_back(o);
  }
  return r;
}

Operand Reader::operand() {
  Operand o;
  o.place = place_;
  o.kind = static_cast<OperandKind>(code_.choice(5, "kind of operand"));
  switch (o.kind) {
    case OperandKind::Value:
      o.at = use();
      if (!failed()) o.name = local_names_[o.at];
      break;
    case OperandKind::Callee:
      o.at = callee();
      break;
    case OperandKind::Literal:
      o.at = literal();
      break;
    case OperandKind::Computed: {
      const Node n = node();
      if (n.kind != NodeKind::Expr) fail("a computed operand that is no expression");
      o.at = append(n);
      break;
    }
    case OperandKind::CalleeList: {
      std::vector<ReadCallee> list;
      for (std::uint32_t n = code_.count(); n > 0 && !failed(); --n) list.push_back(callee_expr());
      if (list.empty()) fail("an empty list of functions");
      o.at = static_cast<std::uint32_t>(m_.callees.size());
      o.count = static_cast<std::uint32_t>(list.size());
      for (const ReadCallee& c : list) append(c);
    }
  }
  return o;
}

std::uint32_t Reader::literal() {
  Literal l;
  l.dims = {static_cast<std::uint32_t>(m_.literal_dims.size()), code_.count(kMaxLiteralRank)};
  std::vector<std::int64_t> dims;
  std::uint64_t n = 1;
  for (std::uint32_t k = 0; k < l.dims.count && !failed(); ++k) {
    if (n == 0) fail("dims behind an empty list");
    // So a product never overflows: elements, or lists without elements, are fewer than this.
    dims.push_back(code_.below(kNoIndex, "dim"));
    n *= static_cast<std::uint64_t>(dims.back());
    if (n >= kNoIndex) fail("a literal too large");
  }
  if (n == 0 && lists_without_elements(dims) > kMaxEmptyLists) fail("a literal of too many empty lists");
  m_.literal_dims.insert(m_.literal_dims.end(), dims.begin(), dims.end());
  l.elements.begin = static_cast<std::uint32_t>(m_.elements.size());
  if (n > 0 && !failed()) elements(n, l.dims.count);
  l.elements.count = static_cast<std::uint32_t>(m_.elements.size()) - l.elements.begin;
  m_.literals.push_back(l);
  return static_cast<std::uint32_t>(m_.literals.size() - 1);
}

void Reader::elements(std::uint64_t n, std::uint32_t rank) {
  const std::uint8_t tag = code_.byte();
  const bool mixed = tag == kMixedKinds;
  if (!mixed && (tag > static_cast<std::uint8_t>(ElemKind::Blob) ||
                 (tag == static_cast<std::uint8_t>(ElemKind::Blob) && rank != 0)))
    fail("unknown kind of number");
  auto kind = static_cast<ElemKind>(tag);
  bool differ = false;
  for (std::uint64_t k = 0; k < n && !failed(); ++k) {
    if (mixed) {
      const auto own = static_cast<ElemKind>(code_.choice(static_cast<std::size_t>(ElemKind::Blob), "kind of number"));
      differ = differ || (k > 0 && own != kind);
      kind = own;
    }
    element(kind);
  }
  if (mixed && !differ) fail("numbers of one kind that are marked as mixed");
}

void Reader::element(ElemKind kind) {
  std::string digits;
  std::string_view text;
  if (kind == ElemKind::Bool) {
    text = code_.flag() ? "true" : "false";
  } else if (kind == ElemKind::Blob) {
    constexpr char kHex[] = "0123456789abcdef";
    for (const char c : code_.bytes()) {
      digits += kHex[static_cast<unsigned char>(c) >> 4];
      digits += kHex[c & 15];
    }
    text = digits;
    if (text.size() >= 1u << 28) fail("a literal too long");
  } else {
    text = code_.bytes();
    if (!failed() && !is_number(text, kind)) fail("a malformed number");
  }
  if (failed()) return;
  m_.elements.push_back({static_cast<std::uint32_t>(m_.texts.size()),
                         static_cast<std::uint32_t>(text.size()) & 0xfffffff, static_cast<std::uint32_t>(kind) & 15});
  m_.texts.append(text);
}

}  // namespace tfvm::tfbc
