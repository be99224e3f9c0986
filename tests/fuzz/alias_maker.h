#pragma once
// The statements of one random program. The layout of each value is followed, so that views are ones that the strides
// allow and no write has a target whose elements share a place.

#include <random>
#include <string>
#include <vector>

#include "vm/layout.h"

namespace tfvm::test {

struct AliasValue {
  std::string name;
  Layout layout;
  std::int64_t room;  // elements of its storage
  bool writable;      // not of the input that isn't mut
};

class AliasMaker {
 public:
  // `smooth`: only what can be differentiated.
  AliasMaker(std::mt19937_64& rng, bool smooth) : rng_(rng), smooth_(smooth) {}
  std::vector<AliasValue> values;  // that the next statement may name
  std::string text;

  void statement(int depth);  // blocks nest so deep at most
  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(rng_);
  }
  std::vector<const AliasValue*> some(std::size_t most);  // 1 to `most` of them

 private:
  using Dimensions = std::vector<std::int64_t>;

  const AliasValue& any();
  const AliasValue* target();                      // that may be written; null where few are
  const AliasValue* like(const Dimensions& dims);  // null where few are
  std::string fresh_name();
  void line(const std::string& s) { text += indent_ + s + "\n"; }
  void add(const std::string& name, Layout layout, std::int64_t room, bool writable);
  void add_view(const AliasValue& of, Layout layout, const std::string& op);
  void add_fresh(const Dimensions& dims, const std::string& op);

  void view();
  void fresh();
  void write();
  std::string update(const AliasValue& x);
  std::string put(const AliasValue& x);
  void call();

  void block(int depth);
  std::string inner_like(const Dimensions& dims, const std::string& otherwise);
  void branch(int depth);
  void loop(int depth);
  void repeat(int depth);

  std::mt19937_64& rng_;
  const bool smooth_;
  std::string indent_ = "  ";
  std::vector<AliasValue> inner_;  // of the last block
  int names_ = 0;
};

}  // namespace tfvm::test
