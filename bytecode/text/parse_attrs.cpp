// Attributes and callees of the grammar.

#include <bit>

#include "bytecode/defaults.h"
#include "bytecode/literal.h"
#include "bytecode/text/parser.h"
#include "bytecode/text/words.h"

namespace tfvm {

std::uint32_t Parser::append(const Node& n) {
  m_.nodes.push_back(n);
  return static_cast<std::uint32_t>(m_.nodes.size() - 1);
}

Range Parser::append(const Node* nodes, std::size_t n) {
  const Range r{static_cast<std::uint32_t>(m_.nodes.size()), static_cast<std::uint32_t>(n)};
  m_.nodes.insert(m_.nodes.end(), nodes, nodes + n);
  return r;
}

// `{` opens attributes exactly where `KEY =` follows.
bool Parser::attrs_ahead() const {
  if (!at(Tok::LBrace)) return false;
  Lexer ahead = lexer_;
  ahead.collect(nullptr);
  return ahead.next().kind == Tok::Ident && ahead.next().kind == Tok::Assign;
}

Range Parser::optional_attrs() {
  if (!attrs_ahead()) return {};
  open(Tok::LBrace, "{");
  const Range r = entries(Tok::RBrace);
  close(Tok::RBrace, "',' or '}'");
  return r;
}

Range Parser::entries(Tok closing) {
  const std::size_t mark = entry_stack_.size();
  do {
    if (!at(Tok::Ident)) {
      expected("the name of an attribute");
      break;
    }
    const Place here = place(tok_);
    const Key k = key(take());
    for (std::size_t i = mark; i < entry_stack_.size(); ++i)
      if (entry_stack_[i].key == k) fail_at(here, "attribute '" + std::string(strings_[k]) + "' is given twice");
    if (entry_stack_.size() - mark > 256) fail_at(here, "more than 256 attributes");
    if (!expect(Tok::Assign, "'=' and a value")) break;
    const Node value = attr();
    entry_stack_.push_back({k, append(value)});
  } while (more_items(closing));
  const Range r{static_cast<std::uint32_t>(m_.entries.size()), static_cast<std::uint32_t>(entry_stack_.size() - mark)};
  m_.entries.insert(m_.entries.end(), entry_stack_.begin() + static_cast<std::ptrdiff_t>(mark), entry_stack_.end());
  entry_stack_.resize(mark);
  return r;
}

Node Parser::attr() {
  Node n;
  n.place = place(tok_);
  if (at(Tok::Int) || at(Tok::Float)) return number_node();
  if (at(Tok::String)) {
    n.kind = NodeKind::Str;
    n.str = take_string();
    return n;
  }
  if (callee_ahead()) {
    n.kind = NodeKind::Func;
    n.at = callee();
    return n;
  }
  if (at(Tok::LParen)) return expr_in_parens();
  if (at(Tok::LBracket)) return list();
  if (at(Tok::Ident)) return key_or_call();
  expected("the value of an attribute");
  return n;
}

Node Parser::list() {
  Node n;
  n.kind = NodeKind::List;
  n.place = place(tok_);
  if (!enter()) return n;
  const std::size_t mark = node_stack_.size();
  open(Tok::LBracket, "[");
  while (!failed_ && tok_.kind != Tok::RBracket) {
    const Node item = attr();
    node_stack_.push_back(item);
    if (!more_items(Tok::RBracket)) break;
  }
  close(Tok::RBracket, "',' or ']'");
  n.items = append(node_stack_.data() + mark, node_stack_.size() - mark);
  node_stack_.resize(mark);
  leave();
  return n;
}

Node Parser::key_or_call() {
  Node n;
  n.place = place(tok_);
  const std::string_view word = lexer_.text(tok_);
  if (word == "none" || word == "true" || word == "false") {
    n.kind = word == "none" ? NodeKind::None : NodeKind::Bool;
    n.i = word == "true";
    advance();
    return n;
  }
  n.kind = NodeKind::Name;
  n.str = take();
  if (!at(Tok::LParen)) return n;
  n.kind = NodeKind::Call;
  if (!enter()) return n;
  const std::size_t mark = node_stack_.size();
  open(Tok::LParen, "(");
  while (!failed_ && tok_.kind != Tok::RParen) {
    const Node item = attr();
    node_stack_.push_back(item);
    if (!more_items(Tok::RParen)) break;
  }
  close(Tok::RParen, "',' or ')'");
  n.items = append(node_stack_.data() + mark, node_stack_.size() - mark);
  node_stack_.resize(mark);
  leave();
  return n;
}

Node Parser::number_node() {
  Node n;
  n.place = place(tok_);
  const std::string_view text = lexer_.text(tok_);
  if (at(Tok::Int)) {
    n.kind = NodeKind::Int;
    const auto v = parse_integer(text);
    if (!v || (!v->negative && v->magnitude >> 63)) {
      fail("the integer " + std::string(text) + " does not fit 64 bits");
      return n;
    }
    n.i = static_cast<std::int64_t>(v->negative ? ~v->magnitude + 1 : v->magnitude);
    if (text.find('x') != text.npos) n.str = strings_.intern(text);
  } else {
    if (text.find('x') != text.npos && !is_exact_hex_float(text))
      fail("the hex float " + std::string(text) + " is no f64 exactly");
    n.kind = NodeKind::Float;
    n.i = std::bit_cast<std::int64_t>(parse_double(text));
    n.str = strings_.intern(text);
  }
  advance();
  return n;
}

// @f, or the name of a transform in front of a parenthesis.
bool Parser::callee_ahead() const {
  if (at(Tok::Global)) return true;
  return at(Tok::Ident) && is_transform(lexer_.text(tok_)) && peek().kind == Tok::LParen;
}

std::uint32_t Parser::callee() {
  const CalleeExpr c = callee_expr();
  m_.callees.push_back(c);
  return static_cast<std::uint32_t>(m_.callees.size() - 1);
}

CalleeExpr Parser::callee_expr() {
  CalleeExpr c;
  c.place = place(tok_);
  if (at(Tok::Global)) {
    c.name = take(1);
    if (at(Tok::Less)) {
      if (!enter()) return c;
      open(Tok::Less, "<");
      c.attrs = entries(Tok::Greater);
      close(Tok::Greater, "',' or '>'");
      leave();
    }
    return c;
  }
  if (!at(Tok::Ident)) {
    expected("a function: @name, or a transform of one");
    return c;
  }
  if (const std::string_view word = lexer_.text(tok_); !is_transform(word)) {
    const std::string near = near_miss(word, kTransformNames);
    fail("'" + std::string(word) + "' is no transform" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
         Code::Name);
    return c;
  }
  c.name = take();
  if (!enter()) return c;
  open(Tok::LParen, "'('");
  c.inner = callee();
  if (more_items(Tok::RParen)) c.attrs = entries(Tok::RParen);
  close(Tok::RParen, "',' or ')'");
  leave();
  return c;
}

}  // namespace tfvm
