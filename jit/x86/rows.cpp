#include "jit/x86/rows.h"

#include <algorithm>

namespace tfvm::x86 {

namespace {

constexpr std::ptrdiff_t kMostOpen = 64;  // rows that a place is looked for in

bool is_load(const LaneInst& i) { return i.op == LaneOp::Load && i.in[1] == kNoLane && i.in[2] == kNoLane; }

class Finder {
 public:
  Finder(const LaneCode& code, const NestShape& shape, std::vector<LaneId>& order)
      : code_(code), shape_(shape), order_(order) {}

  // Loads stay on their side of a store, and stores on theirs of a load: memory may be the same.
  Rows run() {
    bool has_loads = false;
    for (LaneId v : order_) {
      const LaneInst& i = code_[v];
      const bool loads = is_load(i);
      if (!loads && i.op != LaneOp::Store) continue;
      if (loads != has_loads) close();
      has_loads = loads;
      add(v, i.in[loads ? 0 : 1]);
    }
    close();
    if (!out_.rows.empty()) move_stores();
    return std::move(out_);
  }

 private:
  // 16 bytes of lanes of an access.
  struct Open {
    std::uint32_t access;
    std::int32_t window;
    std::uint8_t part, width;
    Row row;
  };

  void add(LaneId v, std::uint32_t access) {
    const LaneInst& i = code_[v];
    if (shape_.accesses[access].inner != Inner::Strided) return;
    const auto displacement = static_cast<std::int32_t>(i.bits);
    const Open own{access, displacement / kRowBytes - (displacement % kRowBytes < 0), i.imm, i.width, {}};
    const auto first = open_.end() - std::min<std::ptrdiff_t>(std::ssize(open_), kMostOpen);
    auto at = std::find_if(first, open_.end(), [&](const Open& o) {
      return o.access == access && o.window == own.window && o.part == i.imm && o.width == i.width;
    });
    if (at == open_.end()) at = open_.insert(at, own);
    LaneId& place = at->row.of[static_cast<std::size_t>(displacement - at->window * kRowBytes) / i.width];
    if (place == kNoLane) place = v;
  }

  void close() {
    for (const Open& o : open_) {
      const auto& of = o.row.of;
      const bool may_have_gaps =
          code_[*std::ranges::find_if(of, [](LaneId v) { return v != kNoLane; })].op == LaneOp::Load;
      for (std::size_t first = 0; first < of.size(); ++first) {
        Row row;
        int count = 0;
        for (std::size_t k = first; k < of.size() && (of[k] != kNoLane || may_have_gaps) && of[first] != kNoLane; ++k) {
          row.of[k - first] = of[k];
          if (of[k] != kNoLane) row.size = static_cast<int>(k - first) + 1, ++count;
        }
        if (count < 2) continue;
        keep(row);
        break;
      }
    }
    open_.clear();
  }

  void keep(const Row& row) {
    if (out_.rows.empty()) out_.row_of.assign(code_.size(), kNoLane);
    for (LaneId v : row.of)
      if (v != kNoLane) out_.row_of[v] = static_cast<std::uint32_t>(out_.rows.size());
    out_.rows.push_back(row);
  }

  void move_stores() {
    std::vector<int> left;
    for (const Row& r : out_.rows) left.push_back(r.size);
    std::vector<LaneId> order;
    for (LaneId v : order_) {
      const std::uint32_t r = out_.row_of[v];
      if (r == kNoLane || is_load(code_[v])) {
        order.push_back(v);
      } else if (--left[r] == 0) {
        const Row& row = out_.rows[r];
        order.insert(order.end(), row.of.begin(), row.of.begin() + row.size);
      }
    }
    order_ = std::move(order);
  }

  const LaneCode& code_;
  const NestShape& shape_;
  std::vector<LaneId>& order_;
  std::vector<Open> open_;
  Rows out_;
};

}  // namespace

Rows find_rows(const LaneCode& code, const NestShape& shape, std::vector<LaneId>& order) {
  return Finder(code, shape, order).run();
}

}  // namespace tfvm::x86
