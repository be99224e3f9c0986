#pragma once
// Hash-consed constants: a tensor type and its row-major bytes, told apart by their bits.

#include <cstddef>
#include <span>
#include <vector>

#include "bytecode/id_array.h"
#include "bytecode/id_map.h"
#include "bytecode/types.h"

namespace tfvm {

struct Constant {
  TypeId type;
  std::span<const std::byte> bytes;
};

class ConstTable {
 public:
  explicit ConstTable(TypeTable& types) : types_(types) {}
  ConstId intern(TypeId type, std::span<const std::byte> bytes);  // bytes.size() == types.bytes(type)
  ConstId scalar(DType dtype, double value);                      // rounded once to dtype (integers: saturating)
  ConstId scalar_int(DType dtype, std::int64_t value);            // integers wrap; floats round once
  const Constant& operator[](ConstId id) const { return items_[index(id)]; }

  bool is_splat(ConstId id) const;                                  // one element, or all elements of equal bits
  double as_double(ConstId id, std::int64_t element = 0) const;     // value of one element of a real constant
  std::int64_t as_int(ConstId id, std::int64_t element = 0) const;  // bool and integers

  // See IdArray; bytes since the last `keep`, about.
  void keep();
  void forget();
  std::int64_t fresh_bytes() const;

 private:
  TypeTable& types_;
  KeptArena arena_;
  IdArray<Constant> items_;
  IdMap<ConstId> ids_;
};

// Write `value` as one element of `dtype` at `out`; rounds once, integers saturate, NaN gives 0 (bool: true where !=
// 0).
void store_element(DType dtype, double value, std::byte* out);
void store_element(DType dtype, std::int64_t value, std::byte* out);
double load_double(DType dtype, const std::byte* in);
std::int64_t load_int(DType dtype, const std::byte* in);

}  // namespace tfvm
