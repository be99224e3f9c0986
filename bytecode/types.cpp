#include "bytecode/types.h"

#include <algorithm>

#include "bytecode/hash.h"

namespace tfvm {

namespace {
bool same(const Type& a, const Type& b) {
  return a.kind == b.kind && a.dtype == b.dtype && std::ranges::equal(a.dims, b.dims) &&
         std::ranges::equal(a.items, b.items) && a.origin == b.origin;
}
}  // namespace

std::optional<std::int64_t> checked_elements(Dims dims) {
  constexpr std::int64_t kMax = std::int64_t{1} << 62;
  std::int64_t n = 1;
  bool zero = false;
  for (std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    if (d == 0) {
      zero = true;
    } else if (n > kMax / d) {
      return std::nullopt;
    } else {
      n *= d;
    }
  }
  return zero ? 0 : n;
}

TypeId TypeTable::intern(const Type& t) {
  std::uint64_t h = hash_span(t.dims, static_cast<std::uint64_t>(t.kind) << 8 | static_cast<std::uint64_t>(t.dtype));
  h = hash_mix(h, hash_span(t.items, index(t.origin.body)));
  const TypeId known = ids_.find(h, [&](TypeId id) { return same((*this)[id], t); });
  if (known != kNone<TypeId>) return known;
  Type kept = t;
  kept.dims = arena_.copy(t.dims);
  kept.items = arena_.copy(t.items);
  const auto id = static_cast<TypeId>(types_.add(kept));
  ids_.add(h, id);
  return id;
}

void TypeTable::keep() {
  types_.keep();
  arena_.keep();
}

void TypeTable::forget() {
  ids_.forget(types_.kept());
  types_.forget();
  arena_.forget();
}

std::int64_t TypeTable::fresh_bytes() const {
  return types_.fresh() * static_cast<std::int64_t>(sizeof(Type) + kMapEntry) + arena_.fresh();
}

TypeId TypeTable::tensor(DType dtype, Dims dims) {
  return intern({.kind = TypeKind::Tensor, .dtype = dtype, .dims = dims, .items = {}, .origin = {}});
}

TypeId TypeTable::pack(std::span<const TypeId> items, FunctionId origin) {
  return intern({.kind = TypeKind::Pack, .dtype = DType::Bool, .dims = {}, .items = items, .origin = origin});
}

TypeId TypeTable::tape(TypeId record, Dims dims) {
  return intern({.kind = TypeKind::Tape, .dtype = DType::I64, .dims = dims, .items = {&record, 1}, .origin = {}});
}

bool TypeTable::is_differentiable(TypeId id) const {
  const Type& t = (*this)[id];
  if (t.is_tensor()) return tfvm::is_differentiable(t.dtype);
  return std::ranges::any_of(t.items, [&](TypeId item) { return is_differentiable(item); });
}

std::int64_t TypeTable::elements(TypeId id) const {
  std::int64_t n = 1;
  for (std::int64_t d : dims(id)) n *= d;
  return n;
}

std::string type_text(DType dtype, Dims dims) {
  std::string s(name(dtype));
  if (dims.empty()) return s;
  char sep = '[';
  for (std::int64_t d : dims) {
    s += sep;
    s += std::to_string(d);
    sep = ',';
  }
  return s + ']';
}

std::string TypeTable::text(TypeId id) const {
  const Type& t = (*this)[id];
  if (t.is_tensor()) return type_text(t.dtype, t.dims);
  std::string s = t.kind == TypeKind::Pack ? "pack(" : "tape(";
  for (std::size_t i = 0; i < t.items.size(); ++i) s += (i ? ", " : "") + text(t.items[i]);
  s += ")";
  for (std::size_t d = 0; d < t.dims.size(); ++d) s += (d ? "," : "[") + std::to_string(t.dims[d]);
  return t.dims.empty() ? s : s + "]";
}

}  // namespace tfvm
