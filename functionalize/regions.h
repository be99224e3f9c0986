#pragma once
// Which parts of a storage the values of a function stand in, and who reads them later: views in the sense of full
// bodies (bytecode/aliasing.h), a storage being named by the value that it was made with.

#include "functionalize/view.h"

namespace tfvm::functional {

bool may_intersect(const Strided& a, const Strided& b);  // exact up to 2^20 elements, then by first and last place

// x as a view of a row-major tensor of v's shape that holds what v does; nullopt where it is none, or where that is not
// found: each stride of x must be a sum of v's, and v's dims must nest.
std::optional<Strided> within(const Strided& v, const Strided& x);

struct Read {
  std::uint32_t instr = 0;  // kEnd: it is a result
  static constexpr std::uint32_t kEnd = 0xffffffffu;
};
struct LaterRead {
  Read by;
  ValueId value;                 // as the reader names it
  std::optional<Strided> place;  // nullopt: somewhere
  bool movable;                  // it is made by views that take any strides
};

class Regions {
 public:
  explicit Regions(const Tables& t, const Body& body);
  // The storage of v, and where v lies in it; nullopt: somewhere.
  ValueId root(ValueId v) const { return roots_[index(v)]; }
  const std::optional<Strided>& place(ValueId v) const { return places_[index(v)]; }
  void instr(const Instr& in);        // in order: views stand in their operand's storage
  void set(ValueId v, ValueId root);  // v is the whole of a storage
  // What is read behind instruction i, or as a result, of the marked values and of views of them; of the latter there
  // may be some that `instr` has not seen.
  std::vector<LaterRead> reads_behind(std::uint32_t i, std::vector<std::uint8_t> marked) const;

 private:
  std::optional<Strided> viewed(const Instr& in, const std::optional<Strided>& x) const;
  const Tables& t_;
  const Body& body_;
  std::vector<ValueId> roots_;
  std::vector<std::optional<Strided>> places_;
};

}  // namespace tfvm::functional
