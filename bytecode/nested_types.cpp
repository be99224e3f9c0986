#include "bytecode/nested_types.h"

namespace tfvm {

namespace {

// The pack with each item mapped; nullopt where one can't be.
template <class Fn>
std::optional<TypeId> map_items(TypeTable& t, const Type& pack, Fn fn) {
  std::vector<TypeId> items;
  for (TypeId item : pack.items) {
    const std::optional<TypeId> now = fn(item);
    if (!now) return std::nullopt;
    items.push_back(*now);
  }
  return t.pack(items, pack.origin);
}

// The same tensor or array of tapes with other dims.
std::optional<TypeId> with_dims(TypeTable& t, const Type& type, Dims dims) {
  const auto n = checked_elements(dims);
  if (!n || *n > (std::int64_t{1} << 62) / size_of(type.dtype)) return std::nullopt;
  return type.is_tensor() ? t.tensor(type.dtype, dims) : t.tape(type.items[0], dims);
}

std::optional<TypeId> add_dim(TypeTable& t, const Type& type, std::int64_t size) {
  std::vector<std::int64_t> dims{size};
  dims.insert(dims.end(), type.dims.begin(), type.dims.end());
  return with_dims(t, type, dims);
}

}  // namespace

std::optional<std::int64_t> leading_size(const TypeTable& t, TypeId id) {
  const Type type = t[id];
  if (type.kind == TypeKind::Pack) return type.items.empty() ? std::nullopt : leading_size(t, type.items[0]);
  return type.dims.empty() ? std::nullopt : std::optional(type.dims[0]);
}

TypeId step_type(TypeTable& t, TypeId stacked) {
  const Type type = t[stacked];
  if (type.kind == TypeKind::Pack) return *map_items(t, type, [&](TypeId i) { return std::optional(step_type(t, i)); });
  return *with_dims(t, type, type.dims.subspan(1));
}

std::optional<TypeId> stacked_type(TypeTable& t, TypeId step, std::int64_t length) {
  const Type type = t[step];
  if (type.kind == TypeKind::Pack) return map_items(t, type, [&](TypeId i) { return stacked_type(t, i, length); });
  return add_dim(t, type, length);
}

TypeId recorded_type(TypeTable& t, TypeId record) {
  const Type type = t[record];
  if (type.kind != TypeKind::Pack) return t.tape(record);
  return *map_items(t, type, [&](TypeId i) { return std::optional(recorded_type(t, i)); });
}

std::optional<TypeId> record_type(TypeTable& t, TypeId tape) {
  const Type type = t[tape];
  if (type.kind == TypeKind::Pack) return map_items(t, type, [&](TypeId i) { return record_type(t, i); });
  if (type.kind != TypeKind::Tape || !type.dims.empty()) return std::nullopt;
  return type.items[0];
}

std::optional<TypeId> batched_type(TypeTable& t, TypeId lane, std::int64_t size) {
  const Type type = t[lane];
  if (type.is_tensor()) return add_dim(t, type, size);
  if (type.kind == TypeKind::Pack) return map_items(t, type, [&](TypeId i) { return batched_type(t, i, size); });
  const std::optional<TypeId> record = batched_type(t, type.items[0], size);
  return record ? std::optional(t.tape(*record, type.dims)) : std::nullopt;
}

std::optional<TypeId> lane_type(TypeTable& t, TypeId batched) {
  const Type type = t[batched];
  if (type.kind == TypeKind::Pack) return map_items(t, type, [&](TypeId i) { return lane_type(t, i); });
  if (type.is_tensor())
    return type.dims.empty() ? std::nullopt : std::optional(t.tensor(type.dtype, type.dims.subspan(1)));
  const std::optional<TypeId> record = lane_type(t, type.items[0]);
  return record ? std::optional(t.tape(*record, type.dims)) : std::nullopt;
}

std::optional<std::int64_t> batch_size(const TypeTable& t, TypeId batched) {
  const Type type = t[batched];
  if (type.is_tensor()) return type.dims.empty() ? std::nullopt : std::optional(type.dims[0]);
  return type.items.empty() ? std::nullopt : batch_size(t, type.items[0]);
}

}  // namespace tfvm
