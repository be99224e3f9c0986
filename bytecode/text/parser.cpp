// Tokens, errors and the entry points of the parser.

#include "bytecode/text/parser.h"

#include <limits>

#include "bytecode/text/words.h"

namespace tfvm {

Parser::Parser(StringTable& strings, std::string_view source, std::string_view file, SourceNotes* notes,
               std::uint32_t first_line)
    : strings_(strings), lexer_(source, first_line), notes_(notes) {
  m_.file = strings.intern(file);
  if (source.size() >= std::numeric_limits<std::uint32_t>::max()) {
    fail_at({}, "a text of 4 GiB or more");
    return;
  }
  if (const std::size_t bad = find_non_text(source); bad != source.npos) {
    const std::string_view before = source.substr(0, bad);
    const auto line = static_cast<std::uint32_t>(std::ranges::count(before, '\n') + 1);
    const auto col = static_cast<std::uint32_t>(bad - (before.rfind('\n') + 1) + 1);
    fail_at({line, col}, "not a text file: it has a byte that no UTF-8 text has, at offset " + std::to_string(bad));
    return;
  }
  if (notes_) lexer_.collect(&notes_->comments);
  advance();
}

void Parser::advance() {
  prev_line_ = tok_.line;
  prev_end_col_ = tok_.col + (tok_.end - tok_.begin);
  if (failed_) return;
  tok_ = lexer_.next();
  if (tok_.kind == Tok::Bad) fail(lexer_.error());
}

bool Parser::accept(Tok kind) {
  if (!at(kind)) return false;
  advance();
  if (kind == Tok::Comma) tok_.newline = false;  // a line that ends with a comma goes on
  return true;
}

bool Parser::expect(Tok kind, std::string_view what) {
  if (accept(kind)) return true;
  expected(what);
  return false;
}

void Parser::open(Tok kind, std::string_view what) {
  if (expect(kind, what)) ++depth_;
}

void Parser::close(Tok kind, std::string_view what) {
  if (tok_.kind != kind) return expected(what);
  --depth_;
  advance();
}

bool Parser::more_items(Tok closing) { return accept(Tok::Comma) && tok_.kind != closing && !failed_; }

Token Parser::peek() const {
  Lexer ahead = lexer_;
  ahead.collect(nullptr);
  return ahead.next();
}

StrId Parser::take(std::uint32_t drop) {
  const StrId id = strings_.intern(lexer_.text(tok_).substr(drop));
  advance();
  return id;
}

bool Parser::enter() {
  if (++nesting_ <= kMaxNesting) return true;
  fail("nested more than " + std::to_string(kMaxNesting) + " deep");
  return false;
}

void Parser::fail_at(Place place, std::string message, Code code) {
  if (!failed_) error_ = Error{code, std::move(message), {m_.file, place.line, place.col}};
  failed_ = true;
  tok_.kind = Tok::End;
}

void Parser::expected(std::string_view what) {
  std::string message = "expected ";
  message += what;
  if (failed_) return;
  if (tok_.newline && depth_ == 0 && tok_.kind != Tok::End)
    return fail_at({prev_line_, prev_end_col_}, message + " before the end of the line");
  fail(message + ", got " + describe(tok_));
}

std::string Parser::describe(const Token& t) const {
  if (t.kind == Tok::End) return "the end of the text";
  constexpr std::size_t kShown = 40;
  const std::string_view text = lexer_.text(t);
  if (t.kind == Tok::String) return text.size() > kShown ? "a string" : std::string(text);
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "…'" : "'");
}

Result<Module> Parser::module() {
  while (tok_.kind != Tok::End) item();
  if (failed_) return std::move(error_);
  return std::move(m_);
}

Result<ParsedCallee> Parser::only_callee() {
  ++depth_;
  ParsedCallee out;
  out.callee = callee();
  if (tok_.kind != Tok::End) expected("the end of the text");
  if (failed_) return std::move(error_);
  out.pools = std::move(m_);
  return out;
}

Result<Module> Parser::only_literal() {
  ++depth_;
  literal();
  if (tok_.kind != Tok::End) expected("the end of the text");
  if (failed_) return std::move(error_);
  return std::move(m_);
}

Result<Module> parse_module(StringTable& strings, std::string_view source, std::string_view file,
                            std::uint32_t first_line) {
  return Parser(strings, source, file, nullptr, first_line).module();
}

Result<Module> parse_module(StringTable& strings, std::string_view source, std::string_view file, SourceNotes& notes) {
  return Parser(strings, source, file, &notes).module();
}

Result<ParsedCallee> parse_callee(StringTable& strings, std::string_view text) {
  return Parser(strings, text, "", nullptr).only_callee();
}

Result<Module> parse_literal(StringTable& strings, std::string_view text) {
  return Parser(strings, text, "", nullptr).only_literal();
}

}  // namespace tfvm
