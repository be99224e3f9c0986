#include "bytecode/text/string_text.h"

#include <cstdint>

#include "bytecode/text/parser.h"

namespace tfvm {

namespace {

// Four hex digits at s[i]; -1 where they are not there.
int hex4(std::string_view s, std::size_t i) {
  if (i + 4 > s.size()) return -1;
  int v = 0;
  for (std::size_t k = i; k < i + 4; ++k) {
    const char c = s[k];
    const int d = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
    if (d < 0) return -1;
    v = v << 4 | d;
  }
  return v;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 63));
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  }
}

// \uXXXX at s[i] ('u'), perhaps of a surrogate pair; gives the bytes read, 0 where it is malformed.
std::size_t unicode(std::string_view s, std::size_t i, std::string& out) {
  const int high = hex4(s, i + 1);
  if (high < 0 || (high >= 0xdc00 && high < 0xe000)) return 0;
  if (high < 0xd800 || high >= 0xe000) return append_utf8(out, static_cast<std::uint32_t>(high)), 5;
  if (s.substr(i + 5, 2) != "\\u") return 0;
  const int low = hex4(s, i + 7);
  if (low < 0xdc00 || low >= 0xe000) return 0;
  append_utf8(out, static_cast<std::uint32_t>(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
  return 11;
}

constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";

}  // namespace

std::size_t unescape(std::string_view s, std::string& out) {
  for (std::size_t i = 0; i < s.size();) {
    if (static_cast<unsigned char>(s[i]) < 0x20) return i;
    if (s[i] != '\\') {
      out += s[i++];
      continue;
    }
    if (i + 1 >= s.size()) return i;
    if (const std::size_t e = kEscapes.find(s[i + 1]); e != kEscapes.npos) {
      out += kEscaped[e];
      i += 2;
      continue;
    }
    const std::size_t n = s[i + 1] == 'u' ? unicode(s, i + 1, out) : 0;
    if (n == 0) return i;
    i += 1 + n;
  }
  return s.npos;
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    const std::size_t e = c == '/' ? kEscaped.npos : kEscaped.find(c);
    if (e != kEscaped.npos) {
      out += '\\';
      out += kEscapes[e];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

StrId Parser::take_string() {
  const std::string_view text = lexer_.text(tok_);
  std::string decoded;
  if (const std::size_t bad = unescape(text.substr(1, text.size() - 2), decoded); bad != text.npos) {
    const Place p{tok_.line, tok_.col + 1 + static_cast<std::uint32_t>(bad)};
    fail_at(p, text[bad + 1] == '\\' ? "an escape that JSON does not have" : "a control character in a string");
    return kNone<StrId>;
  }
  const StrId id = strings_.intern(decoded);
  advance();
  return id;
}

}  // namespace tfvm
