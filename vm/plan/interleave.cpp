#include "vm/plan/interleave.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "jit/region/build.h"
#include "vm/plan/items.h"
#include "vm/plan/join.h"

namespace tfvm {

namespace {

// Where the elements of a value stand in the whole: blocks of so many, one in each of the whole's.
struct Blocks {
  std::uint32_t base = kNoIndex, whole = kNoIndex;
  std::int64_t size = 0, whole_size = 0, offset = 0;  // elements
};

// The access of the whole that this one of the value is; nullopt where it goes from block to block within a loop.
std::optional<Access> moved(Access a, std::span<const std::int64_t> extents, const Blocks& b) {
  const std::int64_t within = a.offset % b.size;
  std::int64_t least = within, most = within;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::int64_t& stride = a.strides[d];
    if (stride % b.size == 0)
      stride = stride / b.size * b.whole_size;
    else if (extents[d] > 1)
      (stride < 0 ? least : most) += stride * (extents[d] - 1);
  }
  if (least < 0 || most >= b.size) return std::nullopt;
  a.base = b.whole;
  a.offset = a.offset / b.size * b.whole_size + within + b.offset;
  return a;
}

bool can_move(const Nest& nest, const Blocks& b) {
  const auto can = [&](const Access& a) { return a.base != b.base || moved(a, nest.extents, b); };
  return std::ranges::all_of(nest.nodes,
                             [&](const NestNode& n) {
                               if (n.kind != NestNodeKind::Load || nest.accesses[n.access].base != b.base) return true;
                               return !is_picking(n) && can(nest.accesses[n.access]);
                             }) &&
         std::ranges::all_of(nest.stores, can, &Store::to) && std::ranges::all_of(nest.reductions, can, &Reduction::to);
}

void move(Nest& nest, const Blocks& b) {
  const auto change = [&](Access& a) {
    if (a.base == b.base) a = *moved(a, nest.extents, b);
  };
  for (const NestNode& n : nest.nodes)
    if (n.kind == NestNodeKind::Load) change(nest.accesses[n.access]);  // once: it is of the whole then
  for (Store& s : nest.stores) change(s.to);
  for (Reduction& r : nest.reductions) change(r.to);
}

class Interleaver {
 public:
  Interleaver(const PlanParts& p, std::vector<FuseItem>& items, std::vector<std::uint8_t>& epilogues)
      : p_(p), items_(items), epilogues_(epilogues), users_(p.low.bases.size()), copies_(items.size()) {
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      for_each_read(items[i], [&](std::uint32_t b) { use(b, i); });
      for_each_write(items[i], [&](std::uint32_t b) { use(b, i); });
    }
  }

  void run() {
    std::vector<std::uint8_t> is_joined;
    for (std::uint32_t i = 0; i < items_.size(); ++i) is_joined.push_back(join(i));
    if (std::ranges::find(is_joined, 1) == is_joined.end()) return;
    std::vector<FuseItem> items;
    std::vector<std::uint8_t> epilogues;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!is_joined[i]) items.push_back(std::move(items_[i]));
      for (FuseItem& copy : copies_[i]) items.push_back(std::move(copy));
      if (!is_joined[i] && !epilogues_.empty()) epilogues.push_back(epilogues_[i]);
      if (!epilogues_.empty()) epilogues.resize(items.size(), 0);
    }
    items_ = std::move(items);
    epilogues_ = std::move(epilogues);
  }

 private:
  void use(std::uint32_t base, std::uint32_t item) {
    if (users_[base].empty() || users_[base].back() != item) users_[base].push_back(item);
  }

  bool is_epilogue(std::uint32_t item) const { return !epilogues_.empty() && item > 0 && epilogues_[item - 1] != 0; }

  // Is the value made by a nest, and read by nests and the concat `at` alone, all of which may have it in the whole?
  bool may_move(const Blocks& b, std::uint32_t at) const {
    bool is_made = false;
    for (std::uint32_t i : users_[b.base]) {
      if (i == at) continue;
      if (!items_[i].nest || is_epilogue(i) || !can_move(*items_[i].nest, b)) return false;
      for_each_write(items_[i], [&](std::uint32_t w) { is_made = is_made || w == b.base; });
    }
    return is_made;
  }

  bool join(std::uint32_t at) {
    const ItemSource* const concat = concat_of(p_, items_[at]);
    if (!concat) return false;
    const ItemSource& s = *concat;
    const Instr in = p_.flat.body.instr(s.instr);
    const Dims dims = p_.t.types.dims(p_.flat.body.type(in.result()));
    const std::ptrdiff_t axis = p_.t.attrs.get_int(in.attrs, Key::axis);
    const auto block_of = [&](Dims d) {
      return std::accumulate(d.begin() + axis, d.end(), std::int64_t{1}, std::multiplies<>());
    };
    const std::int64_t whole = block_of(dims);
    if (std::all_of(dims.begin(), dims.begin() + axis, [](std::int64_t d) { return d == 1; })) return false;
    std::vector<Blocks> all;
    std::int64_t offset = 0, made = 0;
    for (std::size_t k = 0; k < s.in.size(); ++k) {
      Blocks b{s.in[k].base, s.out[0], block_of(p_.t.types.dims(p_.flat.body.type(in.operands[k]))), whole, offset};
      offset += b.size;
      const auto same = std::ranges::count(s.in, b.base, &Access::base);
      if (b.size == 0 || same > 1 || !is_value_of_its_own(p_, s.in[k], in.operands[k]) || !may_move(b, at))
        b.base = kNoIndex;
      else
        made += b.size;
      all.push_back(b);
    }
    if (whole == 0 || 2 * made < whole) return false;
    for (std::size_t k = 0; k < all.size(); ++k) place(at, all[k], s.in[k], in.operands[k], dims);
    if (copies_[at].empty()) let_move(s.out[0], at, all);
    return true;
  }

  // The whole is a value that nests make now.
  void let_move(std::uint32_t whole, std::uint32_t at, std::span<const Blocks> pieces) {
    std::erase(users_[whole], at);
    for (const Blocks& b : pieces) {
      if (b.size == 0) continue;
      for (std::uint32_t i : users_[b.base])
        if (i != at && std::ranges::find(users_[whole], i) == users_[whole].end()) users_[whole].push_back(i);
    }
  }

  void place(std::uint32_t at, const Blocks& b, const Access& from, ValueId v, Dims dims) {
    if (b.base != kNoIndex) {
      for (std::uint32_t i : users_[b.base])
        if (i != at) move(*items_[i].nest, b);
      return;
    }
    if (b.size == 0) return;
    Access to = row_major(b.whole, from.dtype, dims);
    to.offset = b.offset;
    FuseItem copy;
    copy.nest = copy_nest(p_.t.types.dims(p_.flat.body.type(v)), from, to);
    copy.origins = items_[at].origins;
    copies_[at].push_back(std::move(copy));
  }

  const PlanParts& p_;
  std::vector<FuseItem>& items_;
  std::vector<std::uint8_t>& epilogues_;
  std::vector<std::vector<std::uint32_t>> users_;  // items, per base
  std::vector<std::vector<FuseItem>> copies_;      // in place of an item
};

}  // namespace

void interleave(const PlanParts& parts, std::vector<FuseItem>& items, std::vector<std::uint8_t>& epilogues) {
  Interleaver(parts, items, epilogues).run();
}

}  // namespace tfvm
