// Computed attributes: (dim(%x, 0) * 2). From loose to tight: or, and, not, comparisons, + -, * / %, unary minus.

#include <utility>

#include "bytecode/text/expr.h"
#include "bytecode/text/parser.h"
#include "bytecode/text/words.h"

namespace tfvm {

Node Parser::expr_in_parens() {
  Node n;
  n.kind = NodeKind::Expr;
  n.place = place(tok_);
  open(Tok::LParen, "'('");
  const int outer = std::exchange(expr_nodes_, 0);
  const Node inner = expr(kOrLevel);
  expr_nodes_ = outer;
  n.items = append(&inner, 1);
  close(Tok::RParen, "an operator or ')'");
  return n;
}

// The binary operator at the current token, or kind None. An operator may stand against its right side: a%2, a-2.
NodeKind Parser::binary_operator() {
  if (tok_.kind == Tok::Local || ((tok_.kind == Tok::Int || tok_.kind == Tok::Float) && lexer_.text(tok_)[0] == '-')) {
    tok_.kind = tok_.kind == Tok::Local ? Tok::Percent : Tok::Minus;
    tok_.end = tok_.begin + 1;
    lexer_.rewind_into(tok_, 1);
  }
  switch (tok_.kind) {
    case Tok::Plus:
      return NodeKind::Add;
    case Tok::Minus:
      return NodeKind::Sub;
    case Tok::Star:
      return NodeKind::Mul;
    case Tok::Slash:
      return NodeKind::Div;
    case Tok::Percent:
      return NodeKind::Rem;
    case Tok::EqEq:
      return NodeKind::Eq;
    case Tok::NotEq:
      return NodeKind::Ne;
    case Tok::Less:
      return NodeKind::Lt;
    case Tok::LessEq:
      return NodeKind::Le;
    case Tok::Greater:
      return NodeKind::Gt;
    case Tok::GreaterEq:
      return NodeKind::Ge;
    case Tok::Ident:
      return at_word("and") ? NodeKind::And : at_word("or") ? NodeKind::Or : NodeKind::None;
    default:
      return NodeKind::None;
  }
}

void Parser::count_part() {
  if (++expr_nodes_ > kMaxExprNodes) fail("an expression of more than " + std::to_string(kMaxExprNodes) + " parts");
}

Node Parser::expr(int level) {
  if (!enter()) return {};
  Node left = unary();
  for (;;) {
    const NodeKind kind = binary_operator();
    const int l = level_of(kind);
    if (failed_ || kind == NodeKind::None || l < level) break;
    const Place here = place(tok_);
    advance();
    const Node sides[] = {left, expr(l + 1)};
    left = {};
    left.kind = kind;
    left.place = here;
    left.items = append(sides, 2);
    count_part();
    if (l == kCompareLevel && level_of(binary_operator()) == kCompareLevel) fail("comparisons do not chain: use and");
  }
  leave();
  return left;
}

Node Parser::unary() {
  const Place here = place(tok_);
  const bool is_not = at_word("not");
  if (!is_not && !at(Tok::Minus)) return primary();
  if (!enter()) return {};
  advance();
  const Node item = is_not ? expr(kCompareLevel) : unary();
  leave();
  Node n;
  n.kind = is_not ? NodeKind::Not : NodeKind::Neg;
  n.place = here;
  n.items = append(&item, 1);
  count_part();
  return n;
}

Node Parser::primary() {
  if (at(Tok::LParen)) {
    open(Tok::LParen, "(");
    const Node n = expr(kOrLevel);
    close(Tok::RParen, "an operator or ')'");
    return n;
  }
  count_part();
  if (at_word("and") || at_word("or")) return expected("a value in front of the operator"), Node{};
  if (at(Tok::Ident) && !is_value_word(lexer_.text(tok_)) && peek().kind == Tok::LParen) return named_primary();
  if (at(Tok::Local)) return local_node(NodeKind::Value, place(tok_));
  if (at(Tok::Int) || at(Tok::Float) || at(Tok::String) || at(Tok::LBracket) || at(Tok::Ident)) return attr();
  expected("a part of an expression: a number, a name, rank(%x), dim(%x, i), size(%x, axes), min, max");
  return {};
}

Node Parser::local_node(NodeKind kind, Place here) {
  Node n;
  n.kind = kind;
  n.place = here;
  if (!at(Tok::Local)) {
    expected("a value, as in %x");
    return n;
  }
  const Place name = place(tok_);
  n.str = take(1);
  n.at = use(n.str, name);
  return n;
}

Range Parser::expr_items(std::size_t min, std::size_t max) {
  const std::size_t mark = node_stack_.size();
  while (!failed_ && tok_.kind != Tok::RParen) {
    const Node item = expr(kOrLevel);
    node_stack_.push_back(item);
    if (!more_items(Tok::RParen)) break;
  }
  const std::size_t n = node_stack_.size() - mark;
  if (n < min || n > max) fail((n < min ? "too few arguments: " : "too many arguments: ") + std::to_string(n));
  const Range r = append(node_stack_.data() + mark, n);
  node_stack_.resize(mark);
  return r;
}

Node Parser::named_primary() {
  const Place here = place(tok_);
  const std::string_view word = lexer_.text(tok_);
  const NodeKind of_value = word == "rank"   ? NodeKind::Rank
                            : word == "dim"  ? NodeKind::DimOf
                            : word == "size" ? NodeKind::SizeOf
                                             : NodeKind::None;
  Node n;
  n.place = here;
  n.str = take();
  open(Tok::LParen, "(");
  if (of_value != NodeKind::None) {
    n = local_node(of_value, here);
    const std::size_t min = of_value == NodeKind::DimOf, max = of_value != NodeKind::Rank;
    if (tok_.kind == Tok::Comma) accept(Tok::Comma);
    n.items = expr_items(min, max);
  } else {
    const bool pair = strings_[n.str] == "min" || strings_[n.str] == "max";
    n.kind = !pair ? NodeKind::Call : strings_[n.str] == "min" ? NodeKind::Min : NodeKind::Max;
    if (pair) n.str = kNone<StrId>;
    n.items = pair ? expr_items(2, 2) : expr_items(0, 256);
  }
  close(Tok::RParen, "',' or ')'");
  return n;
}

}  // namespace tfvm
