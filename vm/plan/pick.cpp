#include "vm/plan/pick.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "jit/region/build.h"
#include "jit/region/edit.h"
#include "vm/plan/items.h"
#include "vm/plan/known.h"
#include "vm/plan/lookup.h"
#include "vm/plan/nest_maker.h"
#include "vm/plan/sources.h"

namespace tfvm {

namespace {

constexpr std::int64_t kFarthest = std::int64_t{1} << 40;  // that a pad moves by, so that no place overflows
constexpr std::size_t kMostPieces = 4;                     // each is a load at every point
constexpr std::int64_t kShortRow = 32;                     // bytes, from which on a copy of it is as fast
constexpr std::int64_t kWorthAStep = 4096;                 // points of a nest beside which a check is little
constexpr std::size_t kMostChecks = 64;                    // that one is compared with

// What may fail gets a check before it, for where it becomes a nest.
Lowered& with_checks(const Tables& t, const FlatBody& flat, Lowered& low) {
  std::vector<FuseItem> items;
  std::vector<ItemSource> sources;
  for (std::size_t k = 0; k < low.items.size(); ++k) {
    const ItemSource& s = low.sources[k];
    const bool is_instr = !low.items[k].nest && s.instr < flat.body.num_instrs() && is_lookup(flat.body.ops[s.instr]);
    if (is_instr && t.attrs.get_str(flat.body.attrs[s.instr], Key::mode) == "error") {
      const Instr in = flat.body.instr(s.instr);
      const auto dims = [&](std::size_t v) { return t.types.dims(flat.body.type(in.operands[v])); };
      sources.push_back(s);
      sources.back().kernel = check_kernel(index_vectors(t.attrs, in.op, in.attrs, dims(0), dims(1)));
      sources.back().is_check = true;
      items.push_back({std::nullopt, {s.in[1].base}, {}, {}});
    }
    sources.push_back(std::move(low.sources[k]));
    items.push_back(std::move(low.items[k]));
  }
  low.items = std::move(items);
  low.sources = std::move(sources);
  return low;
}

class Picker {
 public:
  Picker(const Tables& t, const FlatBody& flat, Lowered& low)
      : t_(t), flat_(flat), low_(with_checks(t, flat, low)), known_(t, low), readers_(low.bases.size()) {
    for (std::uint32_t k = 0; k < low.items.size(); ++k)
      for_each_read(low.items[k], [&](std::uint32_t b) { readers_[b].push_back(k); });
  }

  void run() {
    for (std::uint32_t k = 0; k < low_.items.size(); ++k) {
      if (low_.items[k].nest || low_.sources[k].is_check || low_.sources[k].instr >= flat_.body.num_instrs()) continue;
      const Instr in = flat_.body.instr(low_.sources[k].instr);
      needs_check_ = false;
      std::optional<Nest> nest = pick(in, low_.sources[k]);
      const bool has_check =
          k > 0 && low_.sources[k - 1].is_check && low_.sources[k - 1].instr == low_.sources[k].instr;
      if (has_check && (!nest || !needs_check_)) known_.drop(k - 1);
      if (!nest) continue;
      low_.items[k].nest = std::move(nest);
      low_.items[k].reads.clear();
      low_.items[k].writes.clear();
      known_.opened(k);
    }
    known_.settle();
  }

 private:
  Dims dims(ValueId v) const { return t_.types.dims(flat_.body.type(v)); }
  Access result(const Instr& in, const ItemSource& s) const {
    return row_major(s.out[0], t_.types.dtype(flat_.body.type(in.result())), dims(in.result()));
  }

  std::optional<Nest> pick(const Instr& in, const ItemSource& s) {
    if ((in.op != Op::pad && !is_lookup(in.op) && in.op != Op::concat) || !may_pick(in)) return std::nullopt;
    return in.op == Op::pad ? pad(in, s) : in.op == Op::concat ? concat(in, s) : lookup(in, s);
  }

  // There are elements on both sides, of a dtype that loads under masks have code for.
  bool may_pick(const Instr& in) const {
    const DType d = t_.types.dtype(flat_.body.type(in.result()));
    if (is_complex(d) || (size_of(d) != 4 && size_of(d) != 8)) return false;
    const auto is_empty = [&](ValueId v) { return std::ranges::find(dims(v), 0) != dims(v).end(); };
    return !is_empty(in.result()) && std::ranges::none_of(in.operands, is_empty);
  }

  // Does a nest, or what may be one, go along a value's elements as they are written?
  bool is_read_in_order(const Access& written, Dims extents) const {
    return std::ranges::any_of(readers_[written.base], [&](std::uint32_t k) {
      const FuseItem& item = low_.items[k];
      const ItemSource& s = low_.sources[k];
      if (item.nest)
        return std::ranges::equal(item.nest->extents, extents) &&
               std::ranges::find(item.nest->accesses, written) != item.nest->accesses.end();
      return s.instr < flat_.body.num_instrs() && is_lookup(flat_.body.ops[s.instr]) && s.in[1] == written &&
             std::ranges::equal(dims(flat_.body.instr(s.instr).result()), extents);
    });
  }

  // Alone, a copy of each piece is faster.
  std::optional<Nest> concat(const Instr& in, const ItemSource& s) {
    if (s.in.size() < 2 || s.in.size() > kMostPieces) return std::nullopt;
    if (!is_read_in_order(result(in, s), dims(in.result()))) return std::nullopt;
    const auto axis = static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::axis));
    NestMaker b(dims(in.result()), result(in, s));
    std::int64_t from = 0;
    std::uint32_t value = kNoNode;
    for (std::size_t k = 0; k < s.in.size(); ++k) {
      const std::int64_t to = from + dims(in.operands[k])[axis];
      std::uint32_t mask = k == 0 ? kNoNode : b.compare(Op::ge, axis, from);
      if (k + 1 < s.in.size()) {
        const std::uint32_t before = b.compare(Op::lt, axis, to);
        mask = mask == kNoNode ? before : b.op(Op::and_, DType::Bool, mask, before);
      }
      Access x = s.in[k];
      x.offset -= from * x.strides[axis];
      const std::uint32_t piece = b.load(x, mask);
      value = k == 0 ? piece : b.op(Op::select, x.dtype, mask, piece, value);
      from = to;
    }
    return b.finish(value);
  }

  std::optional<Nest> pad(const Instr& in, const ItemSource& s) {
    const Ints low = t_.attrs.get_ints(in.attrs, Key::low), interior = t_.attrs.get_ints(in.attrs, Key::interior);
    if (std::ranges::any_of(interior, [](std::int64_t i) { return i != 0; })) return std::nullopt;
    const Dims from = dims(in.operands[0]), to = dims(in.result());
    NestMaker b(to, result(in, s));
    Access x = s.in[0];
    std::uint32_t mask = kNoNode;
    const auto also = [&](std::uint32_t m) { mask = mask == kNoNode ? m : b.op(Op::and_, DType::Bool, mask, m); };
    for (std::size_t d = 0; d < to.size(); ++d) {
      if (low[d] > kFarthest || low[d] < -kFarthest || std::abs(x.strides[d]) > (1 << 22)) return std::nullopt;
      x.offset -= low[d] * x.strides[d];
      if (low[d] > 0) also(b.compare(Op::ge, d, low[d]));
      if (low[d] + from[d] < to[d]) also(b.compare(Op::lt, d, low[d] + from[d]));
    }
    const std::uint32_t inside = b.load(x, mask);
    if (mask == kNoNode || is_zero(s.in[1])) return b.finish(inside);
    Access fill = s.in[1];
    fill.strides = std::vector<std::int64_t>(to.size(), 0);
    return b.finish(b.op(Op::select, x.dtype, mask, inside, b.load(fill)));
  }

  bool is_zero(const Access& scalar) {
    const std::byte* found = known_.find(scalar.base);
    const auto size = static_cast<std::size_t>(size_of(scalar.dtype));
    return found && std::all_of(found + scalar.offset * size_of(scalar.dtype),
                                found + scalar.offset * size_of(scalar.dtype) + static_cast<std::ptrdiff_t>(size),
                                [](std::byte b) { return b == std::byte{0}; });
  }

  // Alone, long rows are faster copied one by one.
  std::optional<Nest> lookup(const Instr& in, const ItemSource& s) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (low_.bases[s.in[0].base].bytes > kMost) return std::nullopt;
    const Lookup l = lookup_of(t_.attrs, in, s, dims(in.operands[0]), dims(in.operands[1]), dims(in.result()));
    if (std::ranges::any_of(l.vectors.entries, [](const auto& e) { return e.bound > kMost; })) return std::nullopt;
    const Access out = result(in, s);
    const bool is_read = is_read_in_order(out, l.loops);
    if (!is_read && l.row_bytes() >= kShortRow) return std::nullopt;
    const std::byte* indices = known_.find(s.in[1].base);
    if (auto places = indices ? places_of(l, indices) : std::nullopt)
      return known_nest(l, known_.add(*std::move(places)), out);
    std::int64_t points = 1;
    for (std::int64_t extent : l.loops) points *= extent;
    if (l.mode == "error" && !is_read && points < kWorthAStep) return std::nullopt;
    needs_check_ = l.mode == "error" && !is_checked(l, dims(in.operands[1]), s.in[1]);
    return computed_nest(l, out);
  }

  // Has an earlier check looked at these indices in this way?
  bool is_checked(const Lookup& l, Dims dims, const Access& idx) {
    for (const Checked& c : checked_)
      if (c.vectors == l.vectors && c.idx == idx && std::ranges::equal(c.dims, dims)) return true;
    if (checked_.size() < kMostChecks) checked_.push_back({l.vectors, idx, {dims.begin(), dims.end()}});
    return false;
  }

  const Tables& t_;
  const FlatBody& flat_;
  Lowered& low_;
  Known known_;
  std::vector<std::vector<std::uint32_t>> readers_;  // items, per base
  struct Checked {
    IndexVectors vectors;
    Access idx;
    std::vector<std::int64_t> dims;
  };
  std::vector<Checked> checked_;
  bool needs_check_ = false;
};

}  // namespace

void pick_in_nests(const Tables& t, const FlatBody& flat, Lowered& low) {
  Picker(t, flat, low).run();
  note_sources(low);
}

}  // namespace tfvm
