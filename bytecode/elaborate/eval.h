#pragma once
// Attributes as written -> attribute values: names are looked up, computed integers are computed. Integers are i64 and
// checked for overflow; `/` and `%` truncate as `div` and `rem` do, and by zero they are an error.

#include <optional>

#include "bytecode/module.h"
#include "bytecode/tables.h"

namespace tfvm {

// What an attribute can refer to where it stands.
class AttrScope {
 public:
  virtual ~AttrScope() = default;
  // An attribute parameter or a named dim of the instance.
  virtual std::optional<AttrId> find(StrId name) const = 0;
  // Of a value in rank(%x), dim(%x, i), size(%x, axes).
  virtual std::optional<TypeId> type_of(Local) const { return std::nullopt; }
  // A function as an attribute of an op.
  virtual Result<AttrId> function(std::uint32_t callee);
};

// A scope of names alone.
struct NamedAttrs final : AttrScope {
  std::vector<std::pair<StrId, AttrId>> names;
  std::optional<AttrId> find(StrId name) const override;
};

// Names that nothing defines are an error, or strings where `free_names` (axis_name=i, argnums=[w]).
Result<AttrId> eval_attr(Tables& t, const Module& m, std::uint32_t node, AttrScope& scope, bool free_names = false);
// KEY = value, …: a Dict in the order written. A key given twice is an error.
Result<AttrId> eval_attrs(Tables& t, const Module& m, Range entries, AttrScope& scope, bool free_names = false);

}  // namespace tfvm
