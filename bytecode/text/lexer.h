#pragma once
// Tokens of tfasm (language.md, section 2). Works on demand and copies cheaply: a copy is a look ahead.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tfvm {

enum class Tok : std::uint8_t {
  End,
  Bad,     // Lexer::error says why
  Local,   // %x
  Global,  // @f
  Ident,   // KEY, op, dtype, keyword
  Int,     // -12, 0xff
  Float,   // 0.5, 0x1.8p3, inf, nan
  String,  // quotes included
  LBrace,
  RBrace,
  LParen,
  RParen,
  LBracket,
  RBracket,
  Comma,
  Semicolon,
  Colon,
  Assign,
  Arrow,
  Dots,
  Plus,
  Minus,
  Star,
  Slash,
  Percent,
  Less,
  Greater,
  LessEq,
  GreaterEq,
  EqEq,
  NotEq,
};

struct Token {
  Tok kind = Tok::End;
  bool newline = true;  // a line break stands before it
  std::uint32_t begin = 0, end = 0;
  std::uint32_t line = 1, col = 1;  // col counts bytes
};

struct Comment {
  std::uint32_t begin, end;  // `//` included, line break not
  std::uint32_t line;
  bool own_line;  // nothing stands before it on its line
};

class Lexer {
 public:
  explicit Lexer(std::string_view source, std::uint32_t first_line = 1) : s_(source), line_(first_line) {}
  Token next();
  // Goes on `skip` bytes behind the start of the token just read: a%2 and a-2 inside an expression.
  void rewind_into(const Token& t, std::uint32_t skip) { pos_ = t.begin + skip; }
  std::string_view text(const Token& t) const { return s_.substr(t.begin, t.end - t.begin); }
  const std::string& error() const { return error_; }
  void collect(std::vector<Comment>* comments) { comments_ = comments; }

 private:
  char at(std::uint32_t i) const { return i < s_.size() ? s_[i] : '\0'; }
  bool skip_blank();  // gives whether a line break was passed
  Token make(Token t, Tok kind, std::uint32_t length);
  Token bad(Token t, std::uint32_t at, std::string message);
  Token name(Token t, Tok kind);
  Token ident(Token t);
  Token number(Token t);
  Token hex(Token t, std::uint32_t i);
  Token end_of_number(Token t, Tok kind, std::uint32_t i);
  Token string(Token t);
  Token sign(Token t);

  std::string_view s_;
  std::uint32_t pos_ = 0, line_ = 1, line_begin_ = 0;
  bool start_ = true;
  std::string error_;
  std::vector<Comment>* comments_ = nullptr;
};

// Letters, digits, _ . ' as names of values and functions have them.
bool is_name(std::string_view s);
// KEY: a letter or _, then letters, digits, _ and inner dots.
bool is_key(std::string_view s);

// Offset of the first byte that no text file has (NUL, malformed UTF-8), or npos.
std::size_t find_non_text(std::string_view source);

}  // namespace tfvm
