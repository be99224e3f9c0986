// Operands and literals of the grammar.

#include "bytecode/literal.h"
#include "bytecode/text/parser.h"
#include "bytecode/text/words.h"

namespace tfvm {

bool Parser::operand_ahead() const {
  if (line_ended()) return false;
  switch (tok_.kind) {
    case Tok::Local:
    case Tok::Global:
    case Tok::Int:
    case Tok::Float:
    case Tok::LBracket:
    case Tok::LParen:
      return true;
    case Tok::Ident:
      break;
    default:
      return false;
  }
  const std::string_view word = lexer_.text(tok_);
  if (word == "true" || word == "false") return true;
  if (word == "bits" || word == "complex" || is_transform(word)) return peek().kind == Tok::LParen;
  return word == "hex" && peek().kind == Tok::String;
}

// All on this line; none is fine. What follows the last one is the caller's business.
Range Parser::operands() {
  Range r{static_cast<std::uint32_t>(m_.operands.size()), 0};
  if (!operand_ahead()) return r;
  do {
    const Operand o = operand();
    m_.operands.push_back(o);
    ++r.count;
  } while (accept(Tok::Comma) && !failed_);
  return r;
}

Range Parser::operands_in_parens() {
  Range r{static_cast<std::uint32_t>(m_.operands.size()), 0};
  open(Tok::LParen, "'(' and operands");
  while (!failed_ && tok_.kind != Tok::RParen) {
    const Operand o = operand();
    m_.operands.push_back(o);
    ++r.count;
    if (!more_items(Tok::RParen)) break;
  }
  close(Tok::RParen, "',' or ')'");
  return r;
}

Operand Parser::operand() {
  Operand o;
  o.place = place(tok_);
  if (at(Tok::Local)) return local();
  if (callee_ahead()) {
    o.kind = OperandKind::Callee;
    o.at = callee();
  } else if (at(Tok::LParen)) {
    o.kind = OperandKind::Computed;
    o.at = append(expr_in_parens());
  } else if (at(Tok::LBracket)) {
    if (const Token t = peek(); t.kind == Tok::Global || (t.kind == Tok::Ident && is_transform(lexer_.text(t))))
      return callee_list();
    o.kind = OperandKind::Literal;
    o.at = literal();
  } else if (operand_ahead()) {
    o.kind = OperandKind::Literal;
    o.at = literal();
  } else {
    expected("an operand");
  }
  return o;
}

Operand Parser::local() {
  Operand o;
  o.place = place(tok_);
  o.name = take(1);
  o.at = use(o.name, o.place);
  return o;
}

Operand Parser::callee_list() {
  Operand o;
  o.kind = OperandKind::CalleeList;
  o.place = place(tok_);
  std::vector<CalleeExpr> list;
  open(Tok::LBracket, "[");
  do {
    list.push_back(callee_expr());
  } while (more_items(Tok::RBracket));
  close(Tok::RBracket, "',' or ']'");
  o.at = static_cast<std::uint32_t>(m_.callees.size());
  o.count = static_cast<std::uint32_t>(list.size());
  m_.callees.insert(m_.callees.end(), list.begin(), list.end());
  return o;
}

std::uint32_t Parser::literal() {
  Literal l;
  l.elements.begin = static_cast<std::uint32_t>(m_.elements.size());
  shape_.clear();
  leaf_depth_ = kMaxLiteralRank + 1;
  if (at(Tok::Ident) && lexer_.text(tok_) == "hex")
    blob();
  else if (at(Tok::LBracket))
    literal_list(0);
  else
    literal_leaf(0);
  l.elements.count = static_cast<std::uint32_t>(m_.elements.size()) - l.elements.begin;
  if (l.elements.empty() && !failed_ && lists_without_elements(shape_) > kMaxEmptyLists)
    fail("a literal of many lists without a number: write its shape as a type, as in [] : f32[0,3]");
  l.dims = {static_cast<std::uint32_t>(m_.literal_dims.size()), static_cast<std::uint32_t>(shape_.size())};
  m_.literal_dims.insert(m_.literal_dims.end(), shape_.begin(), shape_.end());
  m_.literals.push_back(l);
  return static_cast<std::uint32_t>(m_.literals.size() - 1);
}

void Parser::literal_list(std::size_t depth) {
  const Place here = place(tok_);
  if (depth >= kMaxLiteralRank) return fail("a literal of more than " + std::to_string(kMaxLiteralRank) + " dims");
  if (depth >= leaf_depth_) return fail("a list beside numbers in a literal");
  if (depth >= shape_.size()) shape_.push_back(-1);
  std::int64_t n = 0;
  open(Tok::LBracket, "[");
  while (!failed_ && tok_.kind != Tok::RBracket) {
    if (tok_.kind == Tok::LBracket)
      literal_list(depth + 1);
    else
      literal_leaf(depth + 1);
    ++n;
    if (!more_items(Tok::RBracket)) break;
  }
  close(Tok::RBracket, "',' or ']'");
  if (shape_[depth] >= 0 && shape_[depth] != n)
    return fail_at(here, "the lists of a literal differ in length: " + std::to_string(n) + " here, " +
                             std::to_string(shape_[depth]) + " in the one before");
  shape_[depth] = n;
}

void Parser::literal_leaf(std::size_t depth) {
  if (depth < shape_.size()) return fail("a number beside lists in a literal");
  leaf_depth_ = depth;
  const std::string_view text = lexer_.text(tok_);
  switch (line_ended() ? Tok::End : tok_.kind) {
    case Tok::Int:
      element(ElemKind::Int, text);
      return advance();
    case Tok::Float:
      if (text.find('x') != text.npos && !is_exact_hex_float(text))
        fail("the hex float " + std::string(text) + " is no f64 exactly");
      element(ElemKind::Float, text);
      return advance();
    case Tok::Ident:
      if (text == "true" || text == "false") {
        element(ElemKind::Bool, text);
        return advance();
      }
      if (text == "bits") return bits();
      if (text == "complex") return complex();
      break;
    default:
      break;
  }
  expected("a number, true, false or a list of them");
}

void Parser::element(ElemKind kind, std::string_view text) {
  if (failed_) return;
  if (text.size() >= 1u << 28) return fail("a literal too long");
  m_.elements.push_back({static_cast<std::uint32_t>(m_.texts.size()),
                         static_cast<std::uint32_t>(text.size()) & 0xfffffff, static_cast<std::uint32_t>(kind) & 15});
  // Hex digits of patterns and blobs are canonical in lower case.
  const bool lower = kind == ElemKind::Bits || kind == ElemKind::Blob;
  for (char c : text) m_.texts += lower && c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
}

void Parser::bits() {
  advance();
  open(Tok::LParen, "'('");
  const std::string_view text = lexer_.text(tok_);
  if (!at(Tok::Int) || !text.starts_with("0x"))
    return expected("the hex digits of a bit pattern, as in bits(0x7fc00001)");
  if (text.size() > 34) return fail("bit patterns have at most 32 hex digits");
  element(ElemKind::Bits, text.substr(2));
  advance();
  close(Tok::RParen, "')'");
}

void Parser::complex() {
  advance();
  open(Tok::LParen, "'('");
  std::string parts;
  for (int k = 0; k < 2 && !failed_; ++k) {
    if (!at(Tok::Int) && !at(Tok::Float)) return expected("a number, as in complex(1, 2)");
    const std::string_view text = lexer_.text(tok_);
    if (at(Tok::Float) && text.find('x') != text.npos && !is_exact_hex_float(text))
      return fail("the hex float " + std::string(text) + " is no f64 exactly");
    parts += text;
    advance();
    if (k == 0) expect(Tok::Comma, "',' and the imaginary part");
    if (k == 0) parts += ", ";
  }
  element(ElemKind::Complex, parts);
  close(Tok::RParen, "')'");
}

void Parser::blob() {
  advance();
  if (!at(Tok::String)) return expected("hex digits in quotes");
  const std::string_view text = lexer_.text(tok_);
  const std::string_view digits = text.substr(1, text.size() - 2);
  if (digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos || digits.size() % 2 != 0)
    return fail("hex\"…\" has two hex digits per byte and nothing else");
  element(ElemKind::Blob, digits);
  advance();
}

}  // namespace tfvm
