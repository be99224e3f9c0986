#pragma once
// Which parts of a storage the values of a function stand in, and who reads them later: views in the sense of full
// bodies (bytecode/aliasing.h), a storage being named by the value that it was made with.

#include "functionalize/view.h"

namespace tfvm::functional {

bool may_intersect(const Strided& a, const Strided& b);  // exact up to 2^20 elements, then by first and last place

struct Read {
  std::uint32_t instr = 0;  // kEnd: it is a result
  static constexpr std::uint32_t kEnd = 0xffffffffu;
};

class Regions {
 public:
  explicit Regions(const Tables& t, const Body& body);
  // The storage of v, and where v lies in it; nullopt: somewhere.
  ValueId root(ValueId v) const { return roots_[index(v)]; }
  const std::optional<Strided>& place(ValueId v) const { return places_[index(v)]; }
  void instr(const Instr& in);        // in order: views stand in their operand's storage
  void set(ValueId v, ValueId root);  // v is the whole of a storage
  // The first read behind instruction i, or as a result, of what stood in the storage of `base` before i and meets
  // `written`.
  std::optional<Read> read_behind(std::uint32_t i, ValueId base, std::span<const Strided> written) const;

 private:
  std::optional<Strided> viewed(const Instr& in, const std::optional<Strided>& x) const;
  const Tables& t_;
  const Body& body_;
  std::vector<ValueId> roots_;
  std::vector<std::optional<Strided>> places_;
};

}  // namespace tfvm::functional
