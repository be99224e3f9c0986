#pragma once
// Which arguments of one call share memory in a way that its functional form must know: a tensor given twice, and
// memory that one of them writes and others see. Reads that overlap cost nothing.

#include <string>

#include "functionalize/input_output.h"

namespace tfvm {

// One argument as it lies in memory; addresses in bytes. Its storage is what as_strided may reach.
struct Argument {
  std::int64_t first = 0;  // of element 0
  std::int64_t size = 1;   // of an element
  DType dtype = DType::F32;
  TypeId type = kNone<TypeId>;
  functional::Strided place;  // shape and strides in elements, of any sign; no offset
  std::int64_t storage_begin = 0, storage_end = 0;
  bool written = false;
};

// Arguments that stand in one base. Own: one argument, whole. Same: one tensor, given again and again. Synthetic: a
// flat base over all of them, made of their elements. Storage: a flat base that is their storage.
struct ArgumentGroup {
  enum class Kind : std::uint8_t { Own, Same, Synthetic, Storage };
  Kind kind = Kind::Own;
  std::vector<std::uint32_t> args;
  std::int64_t begin = 0, elements = 0;  // of a flat base: its address, and how long it is
  bool written = false;
  bool flat() const { return kind == Kind::Synthetic || kind == Kind::Storage; }
};

struct Grouping {
  std::vector<ArgumentGroup> groups;
  // Not empty: why the functional form can't be run on these arguments (negative strides in a flat base, two dtypes in
  // one, a written argument whose elements overlap).
  std::string refused;
};

Grouping group_arguments(std::span<const Argument> args, LayoutUse use);

// Where an argument stands in its flat base.
functional::Strided place_in(const ArgumentGroup& g, const Argument& a);

// The bases and places of the arguments for functionalize.
functional::Pattern pattern_of(Tables& t, std::span<const Argument> args, const Grouping& grouping);

// "input 1 is input 0; inputs 2, 3 overlap and are written: a synthetic base of 12 elements"; empty where each has a
// base of its own.
std::string text(const Grouping& g);

}  // namespace tfvm
