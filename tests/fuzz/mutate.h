#pragma once
// Programs that somebody mistyped: a text with bytes, tokens, numbers and lines changed, by a seed.

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tfvm::test {

class Mutator {
 public:
  Mutator(std::vector<std::string> texts, std::uint64_t seed);
  // One of the texts, changed in one to four places, mostly one.
  std::string next();

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  const std::string& any_text() { return texts_[below(texts_.size())]; }
  void byte(std::string& s);
  // Deletes a piece of the text, or puts one of this or another text before it or in its place.
  template <class Pieces>
  void piece(std::string& s, Pieces pieces, std::size_t own_in, std::string_view behind);
  void token(std::string& s);
  void number(std::string& s);
  void line(std::string& s);

  std::vector<std::string> texts_;
  std::mt19937_64 random_;
};

}  // namespace tfvm::test
