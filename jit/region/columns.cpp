#include "jit/region/columns.h"

#include <optional>
#include <utility>

#include "jit/region/build.h"
#include "jit/region/edit.h"

namespace tfvm {

namespace {

constexpr std::int64_t kLeastRounds = 64;       // of the other loops
constexpr std::int64_t kLeastPoints = 1 << 14;  // of all loops: a step more costs as much as some thousand
constexpr std::int64_t kMostBytes = 1 << 18;    // of a copy

struct Column {
  Access from;  // over the column's own loop
  std::int64_t elements = 0;
  std::uint32_t copy = 0;  // base
};

class Columns {
 public:
  explicit Columns(std::uint32_t bases) : first_base_(bases) {}

  std::vector<std::int64_t> run(std::vector<FuseItem>& items) {
    std::vector<FuseItem> out;
    for (FuseItem& item : items) {
      if (std::optional<FuseItem> copies = take(item)) out.push_back(*std::move(copies));
      out.push_back(std::move(item));
    }
    items = std::move(out);
    return std::move(bytes_);
  }

 private:
  // The copies that the item needs and that no earlier one has made, as one nest.
  std::optional<FuseItem> take(FuseItem& item) {
    if (!item.nest || item.nest->extents.size() < 2) return std::nullopt;
    Nest& n = *item.nest;
    const std::size_t last = n.extents.size() - 1;
    if (n.has_reduction() && !n.reduced[last]) return std::nullopt;  // what lanes are of is taken once for all rounds
    std::int64_t rounds = 1;
    for (std::size_t d = 0; d < last; ++d) rounds *= n.extents[d];
    if (rounds < kLeastRounds || rounds * n.extents[last] < kLeastPoints) return std::nullopt;
    Nest copies;
    copies.extents = {n.extents[last]};
    copies.reduced = {0};
    bool any = false;
    for (NestNode& node : n.nodes) {
      if (node.kind != NestNodeKind::Load || is_picking(node) || !is_column(n, n.accesses[node.access])) continue;
      const Access& a = n.accesses[node.access];
      Access copy{column(a, n.extents[last], copies), a.dtype, 0, a.strides};
      copy.strides[last] = 1;
      node.access = add_access(n, copy);
      any = true;
    }
    if (!any) return std::nullopt;
    compact(n);
    if (copies.stores.empty()) return std::nullopt;
    FuseItem made;
    made.nest = std::move(copies);
    made.origins = {item.origins.front()};
    return made;
  }

  // It goes along the last loop alone, by more than an element.
  static bool is_column(const Nest& n, const Access& a) {
    const std::size_t last = n.extents.size() - 1;
    for (std::size_t d = 0; d < last; ++d)
      if (n.extents[d] != 1 && a.strides[d] != 0) return false;
    const bool is_strided = a.strides[last] != 0 && a.strides[last] != 1;
    return is_strided && a.dtype != DType::Bool && n.extents[last] * size_of(a.dtype) <= kMostBytes;
  }

  std::uint32_t column(const Access& a, std::int64_t elements, Nest& copies) {
    const Access from{a.base, a.dtype, a.offset, {a.strides.back()}};
    for (const Column& c : columns_)
      if (c.from == from && c.elements == elements) return c.copy;
    const auto base = first_base_ + static_cast<std::uint32_t>(bytes_.size());
    bytes_.push_back(elements * size_of(a.dtype));
    columns_.push_back({from, elements, base});
    NestNode load;
    load.kind = NestNodeKind::Load;
    load.dtype = a.dtype;
    load.access = add_access(copies, from);
    copies.stores.push_back({add_node(copies, load), {base, a.dtype, 0, {1}}});
    return base;
  }

  const std::uint32_t first_base_;
  std::vector<Column> columns_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace

std::vector<std::int64_t> copy_columns(std::vector<FuseItem>& items, std::uint32_t bases) {
  return Columns(bases).run(items);
}

}  // namespace tfvm
