#include "vm/plan/pick.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "jit/region/build.h"
#include "jit/region/edit.h"
#include "vm/kernels/index_modes.h"
#include "vm/kernels/strided.h"
#include "vm/plan/known.h"

namespace tfvm {

namespace {

constexpr std::int64_t kMostPlaces = 1 << 20;
constexpr std::int64_t kFarthest = std::int64_t{1} << 40;  // that a pad moves by, so that no place overflows
constexpr std::size_t kMostPieces = 4;                     // each is a load at every point

// Of a nest under construction.
class Building {
 public:
  Building(Dims dims, const Access& out) : out_(out) {
    n_.extents.assign(dims.begin(), dims.end());
    n_.reduced.assign(dims.size(), 0);
  }

  std::uint32_t load(const Access& a, std::uint32_t mask = kNoNode, std::uint32_t index = kNoNode) {
    NestNode n;
    n.kind = NestNodeKind::Load;
    n.dtype = a.dtype;
    n.in = {mask, index, kNoNode};
    n.access = add_access(n_, a);
    return add_node(n_, n);
  }
  std::uint32_t op(Op op, DType dtype, std::uint32_t a, std::uint32_t b, std::uint32_t c = kNoNode) {
    NestNode n;
    n.op = op;
    n.dtype = dtype;
    n.in = {a, b, c};
    return add_node(n_, n);
  }
  std::uint32_t constant(DType dtype, std::uint64_t bits) {
    NestNode n;
    n.kind = NestNodeKind::Constant;
    n.dtype = dtype;
    n.bits = bits;
    return add_node(n_, n);
  }
  // Where we are along a loop, compared with a place.
  std::uint32_t compare(Op with, std::size_t loop, std::int64_t place) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const bool is_small = n_.extents[loop] <= kMost && std::abs(place) <= kMost;
    const DType d = is_small ? DType::I32 : DType::I64;
    Access a{0, d, 0, std::vector<std::int64_t>(n_.extents.size(), 0)};
    a.strides[loop] = 1;
    NestNode at;
    at.kind = NestNodeKind::Iota;
    at.dtype = d;
    at.access = add_access(n_, a);
    const std::uint32_t x = add_node(n_, at);
    return op(with, DType::Bool, x,
              constant(d, is_small ? static_cast<std::uint32_t>(place) : static_cast<std::uint64_t>(place)));
  }
  Nest finish(std::uint32_t value) {
    n_.stores.push_back({value, out_});
    return std::move(n_);
  }

 private:
  Nest n_;
  const Access out_;
};

class Picker {
 public:
  Picker(const Tables& t, const FlatBody& flat, Lowered& low) : t_(t), flat_(flat), low_(low), known_(t, low) {}

  void run() {
    for (std::uint32_t k = 0; k < low_.items.size(); ++k) {
      if (low_.items[k].nest || low_.sources[k].instr >= flat_.body.num_instrs()) continue;
      const Instr in = flat_.body.instr(low_.sources[k].instr);
      std::optional<Nest> nest = pick(in, low_.sources[k]);
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
    if ((in.op != Op::pad && in.op != Op::take && in.op != Op::concat) || !may_pick(in)) return std::nullopt;
    return in.op == Op::pad ? pad(in, s) : in.op == Op::take ? take(in, s) : concat(in, s);
  }

  // There are elements on both sides, of a dtype that loads under masks have code for.
  bool may_pick(const Instr& in) const {
    const DType d = t_.types.dtype(flat_.body.type(in.result()));
    if (is_complex(d) || (size_of(d) != 4 && size_of(d) != 8)) return false;
    const auto is_empty = [&](ValueId v) { return std::ranges::find(dims(v), 0) != dims(v).end(); };
    return !is_empty(in.result()) && std::ranges::none_of(in.operands, is_empty);
  }

  // Does a nest go along a value's elements as they are written?
  bool is_read_in_order(const Access& written, Dims extents) const {
    return std::ranges::any_of(low_.items, [&](const FuseItem& item) {
      if (!item.nest || !std::ranges::equal(item.nest->extents, extents)) return false;
      return std::ranges::find(item.nest->accesses, written) != item.nest->accesses.end();
    });
  }

  // Alone, a copy of each piece is faster.
  std::optional<Nest> concat(const Instr& in, const ItemSource& s) {
    if (s.in.size() < 2 || s.in.size() > kMostPieces) return std::nullopt;
    if (!is_read_in_order(result(in, s), dims(in.result()))) return std::nullopt;
    const auto axis = static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::axis));
    Building b(dims(in.result()), result(in, s));
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
    Building b(to, result(in, s));
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

  // Rows are faster copied one by one.
  std::optional<Nest> take(const Instr& in, const ItemSource& s) {
    const auto axis = static_cast<std::size_t>(t_.attrs.get_int(in.attrs, Key::axis));
    const Dims from = dims(in.operands[0]), indices = dims(in.operands[1]), to = dims(in.result());
    for (std::size_t d = axis + 1; d < from.size(); ++d)
      if (from[d] != 1) return std::nullopt;
    const Access& x = s.in[0];
    if (low_.bases[x.base].bytes > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    const std::string_view mode = t_.attrs.get_str(in.attrs, Key::mode);
    std::optional<std::vector<std::byte>> places = places_of(s.in[1], indices, from[axis], x.strides[axis], mode);
    Building b(to, result(in, s));
    Access table = places ? row_major(known_.add(*std::move(places)), DType::I32, indices) : s.in[1], element = x;
    const std::vector<std::int64_t> none(to.size(), 0);
    const std::vector<std::int64_t> along(table.strides.begin(), table.strides.end());
    table.strides = none;
    element.strides = none;
    for (std::size_t d = 0; d < axis; ++d) element.strides[d] = x.strides[d];
    for (std::size_t d = 0; d < indices.size(); ++d) table.strides[axis + d] = along[d];
    if (places) return b.finish(b.load(element, kNoNode, b.load(table)));
    if (mode == "error" || (table.dtype != DType::I32 && table.dtype != DType::I64)) return std::nullopt;
    return take_computed(b, element, table, from[axis], x.strides[axis], mode == "clip");
  }

  // In the modes in which nothing fails.
  static std::optional<Nest> take_computed(Building& b, const Access& element, const Access& table, std::int64_t bound,
                                           std::int64_t stride, bool clips) {
    const DType d = table.dtype;
    std::uint32_t i = b.load(table), mask = kNoNode;
    const std::uint32_t zero = b.constant(d, 0);
    if (clips) {
      i = b.op(Op::min, d, b.op(Op::max, d, i, zero), b.constant(d, static_cast<std::uint64_t>(bound - 1)));
    } else {
      const std::uint32_t below = b.op(Op::lt, DType::Bool, i, b.constant(d, static_cast<std::uint64_t>(bound)));
      mask = b.op(Op::and_, DType::Bool, b.op(Op::ge, DType::Bool, i, zero), below);
    }
    if (d != DType::I32) i = b.op(Op::cast, DType::I32, i, kNoNode);
    if (stride != 1) i = b.op(Op::mul, DType::I32, i, b.constant(DType::I32, static_cast<std::uint32_t>(stride)));
    const std::uint32_t found = b.load(element, mask, i);
    if (clips || !is_float(element.dtype)) return b.finish(found);
    std::byte nothing[16] = {};
    outside_element(element.dtype, nothing);
    std::uint64_t bits = 0;
    std::memcpy(&bits, nothing, static_cast<std::size_t>(size_of(element.dtype)));
    return b.finish(b.op(Op::select, element.dtype, mask, found, b.constant(element.dtype, bits)));
  }

  // Elements from the first one of the axis, as i32. nullopt: not known, or some may fail or read nothing.
  std::optional<std::vector<std::byte>> places_of(const Access& idx, Dims dims, std::int64_t bound, std::int64_t stride,
                                                  std::string_view mode) {
    std::int64_t count = 1;
    for (std::int64_t d : dims) count = d == 0 ? 0 : std::min(count * d, kMostPlaces + 1);
    const std::byte* found = count > 0 && count <= kMostPlaces ? known_.find(idx.base) : nullptr;
    if (!found) return std::nullopt;
    std::vector<std::byte> places(static_cast<std::size_t>(count) * 4);
    std::vector<std::int64_t> at(dims.size(), 0);
    std::int64_t element = idx.offset;
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t i = load_index(idx.dtype, found + element * size_of(idx.dtype));
      if (idx.dtype == DType::U64 && i < 0) i = std::numeric_limits<std::int64_t>::max();
      if (mode == "clip") i = std::clamp<std::int64_t>(i, 0, bound - 1);
      if (mode == "error" && i < 0) i += bound;
      if (i < 0 || i >= bound) return std::nullopt;
      const auto place = static_cast<std::int32_t>(i * stride);
      std::memcpy(places.data() + 4 * k, &place, 4);
      for (std::size_t d = dims.size(); d-- > 0;) {
        element += idx.strides[d];
        if (++at[d] < dims[d]) break;
        element -= idx.strides[d] * dims[d];
        at[d] = 0;
      }
    }
    return places;
  }

  const Tables& t_;
  const FlatBody& flat_;
  Lowered& low_;
  Known known_;
};

}  // namespace

void pick_in_nests(const Tables& t, const FlatBody& flat, Lowered& low) { Picker(t, flat, low).run(); }

}  // namespace tfvm
