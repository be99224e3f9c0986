#pragma once
// Functions of a library's texts, each read when it is named first: a program needs few of them, and its first result
// would wait for the others.

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/module.h"

namespace tfvm {

enum class Space : std::uint8_t { User, Ops, Derivatives };

struct Source {
  Module module;
  Space space;
};

class Library {
 public:
  Library(StringTable& strings, Space space) : strings_(strings), space_(space) {}

  // A text of functions that begin with `func @` at the start of a line and outlives the library. Adding it again, or
  // after an allocation was refused on the way, is as good as once; of two functions of a name the first is kept.
  void add(std::string_view file, std::string_view text);
  bool has(std::string_view name) const { return functions_.contains(name); }  // without @
  std::vector<std::string_view> names() const;

  struct Found {
    const Source* source = nullptr;  // with this function alone; stays where it is
    const Template* function = nullptr;
    explicit operator bool() const { return function != nullptr; }
  };
  // Nothing where there is none of that name; an error where its text is wrong.
  Result<Found> find(std::string_view name);

 private:
  struct Function {
    StrId file;
    std::string_view text;
    std::uint32_t line;
    std::unique_ptr<Source> source;  // null: not read yet
  };
  StringTable& strings_;
  Space space_;
  std::unordered_map<std::string_view, Function> functions_;
};

}  // namespace tfvm
