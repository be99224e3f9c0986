#include "bytecode/text/lexer.h"

#include <cstring>

namespace tfvm {

namespace {

constexpr std::uint32_t kMaxToken = 4096;  // of names and numbers

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
constexpr bool is_name_char(char c) { return is_word(c) || c == '.' || c == '\''; }

std::string printable(std::string_view s, std::uint32_t i) {
  const auto c = static_cast<unsigned char>(s[i]);
  if (c >= 0x80) {
    std::size_t n = 1;
    while (i + n < s.size() && (static_cast<unsigned char>(s[i + n]) & 0xc0) == 0x80) ++n;
    return "'" + std::string(s.substr(i, n)) + "'";
  }
  if (c >= 0x20 && c < 0x7f) return std::string("'") + s[i] + "'";
  constexpr char kHex[] = "0123456789abcdef";
  return std::string("0x") + kHex[c >> 4] + kHex[c & 15];
}

}  // namespace

bool is_name(std::string_view s) {
  if (s.empty() || s.size() > kMaxToken || !is_word(s[0])) return false;
  for (char c : s)
    if (!is_name_char(c)) return false;
  return true;
}

bool is_key(std::string_view s) {
  if (s.empty() || s.size() > kMaxToken || !is_letter(s[0]) || s.back() == '.') return false;
  for (std::size_t i = 1; i < s.size(); ++i)
    if (!is_word(s[i]) && (s[i] != '.' || s[i - 1] == '.')) return false;
  return true;
}

std::size_t find_non_text(std::string_view s) {
  std::size_t i = 0;
  while (i < s.size()) {
    std::uint64_t w = 0;
    if (i + 8 <= s.size()) {  // eight ASCII bytes other than NUL at once
      std::memcpy(&w, s.data() + i, 8);
      if (((w | (w - 0x0101010101010101ull)) & 0x8080808080808080ull) == 0) {
        i += 8;
        continue;
      }
    }
    const auto c = static_cast<unsigned char>(s[i]);
    if (c == 0) return i;
    if (c < 0x80) {
      ++i;
      continue;
    }
    // Unicode, table 3-7: well-formed sequences.
    const std::size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || i + n > s.size()) return i;
    const auto second = static_cast<unsigned char>(s[i + 1]);
    const unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (second < low || second > high) return i;
    for (std::size_t k = 2; k < n; ++k)
      if ((static_cast<unsigned char>(s[i + k]) & 0xc0) != 0x80) return i;
    i += n;
  }
  return s.npos;
}

bool Lexer::skip_blank() {
  bool newline = start_;
  start_ = false;
  for (;;) {
    const char c = at(pos_);
    if (c == '\n') {
      newline = true;
      ++line_;
      line_begin_ = ++pos_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++pos_;
    } else if (c == '/' && at(pos_ + 1) == '/') {
      const std::size_t end = s_.find('\n', pos_);
      std::uint32_t stop = static_cast<std::uint32_t>(end == s_.npos ? s_.size() : end);
      const std::uint32_t begin = pos_;
      pos_ = stop;
      while (stop > begin && (s_[stop - 1] == '\r' || s_[stop - 1] == ' ' || s_[stop - 1] == '\t')) --stop;
      if (comments_) comments_->push_back({begin, stop, line_, newline});
    } else {
      return newline;
    }
  }
}

Token Lexer::make(Token t, Tok kind, std::uint32_t length) {
  t.kind = kind;
  t.end = t.begin + length;
  pos_ = t.end;
  return t;
}

Token Lexer::bad(Token t, std::uint32_t at, std::string message) {
  error_ = std::move(message);
  t.kind = Tok::Bad;
  t.col += at - t.begin;
  t.begin = t.end = at;
  pos_ = static_cast<std::uint32_t>(s_.size());
  return t;
}

Token Lexer::name(Token t, Tok kind) {
  std::uint32_t i = t.begin + 1;
  while (is_name_char(at(i))) ++i;
  if (i - t.begin > kMaxToken) return bad(t, t.begin, "a name of more than 4096 characters");
  return make(t, kind, i - t.begin);
}

Token Lexer::ident(Token t) {
  std::uint32_t i = t.begin + 1;
  while (is_word(at(i)) || (at(i) == '.' && is_word(at(i + 1)))) ++i;
  if (i - t.begin > kMaxToken) return bad(t, t.begin, "a name of more than 4096 characters");
  const std::string_view word = s_.substr(t.begin, i - t.begin);
  return make(t, word == "inf" || word == "nan" ? Tok::Float : Tok::Ident, i - t.begin);
}

// The digits of an exponent, where one has begun (others are read by then), and what may stand behind a number.
Token Lexer::end_of_number(Token t, Tok kind, std::uint32_t i) {
  while (is_digit(at(i))) ++i;
  if (is_word(at(i))) return bad(t, i, "unexpected " + printable(s_, i) + " in a number");
  if (i - t.begin > kMaxToken) return bad(t, t.begin, "a number of more than 4096 characters");
  return make(t, kind, i - t.begin);
}

Token Lexer::hex(Token t, std::uint32_t i) {
  Tok kind = Tok::Int;
  const std::uint32_t first = i;
  while (is_hex_digit(at(i))) ++i;
  if (i == first) return bad(t, i, "a hex digit must follow 0x");
  if (at(i) == '.') {
    kind = Tok::Float;
    ++i;
    while (is_hex_digit(at(i))) ++i;
  }
  if (at(i) == 'p') {
    kind = Tok::Float;
    ++i;
    if (at(i) == '-' || at(i) == '+') ++i;
    if (!is_digit(at(i))) return bad(t, i, "a digit must follow in an exponent");
  }
  return end_of_number(t, kind, i);
}

Token Lexer::number(Token t) {
  std::uint32_t i = t.begin + (at(t.begin) == '-');
  if (at(i) == '0' && at(i + 1) == 'x') return hex(t, i + 2);
  Tok kind = Tok::Int;
  while (is_digit(at(i))) ++i;
  if (at(i) == '.' && at(i + 1) != '.') {
    kind = Tok::Float;
    if (!is_digit(at(++i))) return bad(t, i - 1, "a digit must follow the point of a number");
    while (is_digit(at(i))) ++i;
  }
  if (at(i) == 'e' || at(i) == 'E') {
    kind = Tok::Float;
    ++i;
    if (at(i) == '-' || at(i) == '+') ++i;
    if (!is_digit(at(i))) return bad(t, i, "a digit must follow in an exponent");
  }
  return end_of_number(t, kind, i);
}

Token Lexer::string(Token t) {
  std::uint32_t i = t.begin + 1;
  for (;; ++i) {
    if (i >= s_.size() || s_[i] == '\n') return bad(t, t.begin, "a string does not end on its line");
    if (s_[i] == '"') return make(t, Tok::String, i + 1 - t.begin);
    if (s_[i] == '\\') ++i;
  }
}

Token Lexer::sign(Token t) {
  const char n = at(t.begin + 1);
  if (n == '>') return make(t, Tok::Arrow, 2);
  if (is_digit(n)) return number(t);
  if (s_.substr(t.begin + 1, 3) == "inf" && !is_word(at(t.begin + 4))) return make(t, Tok::Float, 4);
  return make(t, Tok::Minus, 1);
}

Token Lexer::next() {
  Token t;
  t.newline = skip_blank();
  t.begin = t.end = pos_;
  t.line = line_;
  t.col = pos_ - line_begin_ + 1;
  if (pos_ >= s_.size()) return t;
  const char c = s_[pos_];
  if (is_letter(c)) return ident(t);
  if (is_digit(c)) return number(t);
  const char n = at(pos_ + 1);
  switch (c) {
    case '%':
      return is_word(n) ? name(t, Tok::Local) : make(t, Tok::Percent, 1);
    case '@':
      return is_word(n) ? name(t, Tok::Global) : bad(t, pos_, "a name must follow @");
    case '"':
      return string(t);
    case '-':
      return sign(t);
    case '{':
      return make(t, Tok::LBrace, 1);
    case '}':
      return make(t, Tok::RBrace, 1);
    case '(':
      return make(t, Tok::LParen, 1);
    case ')':
      return make(t, Tok::RParen, 1);
    case '[':
      return make(t, Tok::LBracket, 1);
    case ']':
      return make(t, Tok::RBracket, 1);
    case ',':
      return make(t, Tok::Comma, 1);
    case ';':
      return make(t, Tok::Semicolon, 1);
    case ':':
      return make(t, Tok::Colon, 1);
    case '+':
      return make(t, Tok::Plus, 1);
    case '*':
      return make(t, Tok::Star, 1);
    case '/':
      return make(t, Tok::Slash, 1);
    case '=':
      return n == '=' ? make(t, Tok::EqEq, 2) : make(t, Tok::Assign, 1);
    case '<':
      return n == '=' ? make(t, Tok::LessEq, 2) : make(t, Tok::Less, 1);
    case '>':
      return n == '=' ? make(t, Tok::GreaterEq, 2) : make(t, Tok::Greater, 1);
    case '!':
      if (n == '=') return make(t, Tok::NotEq, 2);
      break;
    case '.':
      if (n == '.') return make(t, Tok::Dots, 2);
      break;
    default:
      break;
  }
  return bad(t, pos_, "unexpected character " + printable(s_, pos_));
}

}  // namespace tfvm
