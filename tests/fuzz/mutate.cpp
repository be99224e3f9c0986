#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <span>

namespace tfvm::test {

namespace {

struct Piece {
  std::size_t begin, size;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%' || c == '@';
}

// Words, and single signs.
std::vector<Piece> tokens(std::string_view s) {
  std::vector<Piece> out;
  for (std::size_t k = 0; k < s.size();) {
    const std::size_t begin = k;
    while (k < s.size() && is_word(s[k])) ++k;
    if (k == begin) ++k;
    if (s[begin] != ' ') out.push_back({begin, k - begin});
  }
  return out;
}

std::vector<Piece> numbers(std::string_view s) {
  std::vector<Piece> out;
  for (const Piece& p : tokens(s))
    if (std::isdigit(static_cast<unsigned char>(s[p.begin]))) out.push_back(p);
  return out;
}

std::vector<Piece> lines(std::string_view s) {
  std::vector<Piece> out;
  for (std::size_t begin = 0; begin < s.size();) {
    const std::size_t end = std::min(s.find('\n', begin), s.size() - 1) + 1;
    out.push_back({begin, end - begin});
    begin = end;
  }
  return out;
}

std::string text(std::string_view s, const Piece& p) { return std::string(s.substr(p.begin, p.size)); }

constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "2",
                                         "7",
                                         "-1",
                                         "64",
                                         "257",
                                         "0.5",
                                         "-0.0",
                                         "inf",
                                         "nan",
                                         "1e39",
                                         "1e-320",
                                         "true",
                                         "none",
                                         "2147483648",
                                         "4611686018427387904",
                                         "9223372036854775807",
                                         "18446744073709551616",
                                         "bits(0x7ff)"};

}  // namespace

Mutator::Mutator(std::vector<std::string> texts, std::uint64_t seed) : texts_(std::move(texts)), random_(seed) {}

void Mutator::byte(std::string& s) {
  const std::size_t at = below(s.size());
  switch (below(4)) {
    case 0:
      s[at] = static_cast<char>(s[at] ^ (1 << below(8)));
      break;
    case 1:
      s.erase(at, 1 + below(4));
      break;
    case 2:
      s.insert(at, 1, static_cast<char>(32 + below(95)));
      break;
    default:
      s.resize(at);
  }
}

template <class Pieces>
void Mutator::piece(std::string& s, Pieces pieces, std::size_t own_in, std::string_view behind) {
  const std::vector<Piece> here = pieces(s);
  if (here.empty()) return;
  const Piece at = here[below(here.size())];
  const std::string& other = below(own_in) ? s : any_text();
  const std::vector<Piece> there = pieces(other);
  const std::string what = there.empty() ? "" : text(other, there[below(there.size())]);
  switch (below(3)) {
    case 0:
      s.erase(at.begin, at.size);
      break;
    case 1:
      s.insert(at.begin, what + std::string(behind));
      break;
    default:
      s.replace(at.begin, at.size, what);
  }
}

void Mutator::token(std::string& s) { piece(s, tokens, 2, " "); }
void Mutator::line(std::string& s) { piece(s, lines, 3, ""); }

void Mutator::number(std::string& s) {
  const std::vector<Piece> here = numbers(s);
  if (here.empty()) return;
  const Piece at = here[below(here.size())];
  const std::string other = text(s, here[below(here.size())]);
  s.replace(at.begin, at.size, below(2) ? other : std::string(kNumbers[below(std::size(kNumbers))]));
}

std::string Mutator::next() {
  std::string s = any_text();
  for (std::size_t n = 1 + below(2) * below(4); n > 0 && !s.empty(); --n) switch (below(8)) {
      case 0:
        byte(s);
        break;
      case 1:
      case 2:
        line(s);
        break;
      case 3:
      case 4:
        number(s);
        break;
      default:
        token(s);
    }
  return s;
}

}  // namespace tfvm::test
