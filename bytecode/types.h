#pragma once
// Hash-consed value types. Spans handed out stay valid as long as the type.

#include <span>
#include <string>
#include <vector>

#include "bytecode/dtype.h"
#include "bytecode/id_array.h"
#include "bytecode/id_map.h"
#include "bytecode/ids.h"

namespace tfvm {

using Dims = std::span<const std::int64_t>;

enum class TypeKind : std::uint8_t { Tensor, Pack, Tape };

// Tensor: dtype and dims. Pack: the residuals of one call; `items` are their types and `origin` is the instance that
// made it. Tape: what a loop wrote in each of its trips, as many as it ran; `items` is the type of one record, `dims`
// are those of an array of tapes (from a scan over a loop).
struct Type {
  TypeKind kind = TypeKind::Tensor;
  DType dtype = DType::F32;
  Dims dims;
  std::span<const TypeId> items;
  FunctionId origin;
  bool is_tensor() const { return kind == TypeKind::Tensor; }
  std::int64_t rank() const { return static_cast<std::int64_t>(dims.size()); }
};

// Product of dims; nullopt where it exceeds 2^62.
std::optional<std::int64_t> checked_elements(Dims dims);

class TypeTable {
 public:
  TypeId tensor(DType dtype, Dims dims);
  TypeId tensor(DType dtype, std::initializer_list<std::int64_t> dims) {
    return tensor(dtype, Dims(dims.begin(), dims.size()));
  }
  TypeId scalar(DType dtype) { return tensor(dtype, Dims{}); }
  TypeId pack(std::span<const TypeId> items, FunctionId origin);
  // A handle of 8 bytes in memory; all zero bits: no records, and whatever is read is zero.
  TypeId tape(TypeId record, Dims dims = {});
  const Type& operator[](TypeId id) const { return types_[index(id)]; }
  bool has(TypeId id) const { return types_.has(index(id)); }

  DType dtype(TypeId id) const { return types_[index(id)].dtype; }
  Dims dims(TypeId id) const { return types_[index(id)].dims; }
  std::int64_t rank(TypeId id) const { return types_[index(id)].rank(); }
  std::int64_t elements(TypeId id) const;  // of a tensor; types in the table never overflow
  std::int64_t bytes(TypeId id) const { return elements(id) * size_of(dtype(id)); }
  // Has tangents: of a pack or tape, where some item has.
  bool is_differentiable(TypeId id) const;
  std::string text(TypeId id) const;  // f32[2,3]; f32 for a scalar

  // See IdArray; bytes since the last `keep`, about.
  void keep();
  void forget();
  std::int64_t fresh_bytes() const;

 private:
  TypeId intern(const Type& t);
  KeptArena arena_;
  IdArray<Type> types_;
  IdMap<TypeId> ids_;
};

std::string type_text(DType dtype, Dims dims);

}  // namespace tfvm
