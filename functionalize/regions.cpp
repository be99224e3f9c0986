#include "functionalize/regions.h"

#include <algorithm>
#include <functional>

#include "bytecode/aliasing.h"

namespace tfvm::functional {

namespace {

template <class Visit>
void each_place(const Strided& x, const Visit& visit) {
  std::vector<std::int64_t> at(x.shape.size(), 0);
  std::int64_t place = x.offset;
  for (std::int64_t i = elements(x); i-- > 0;) {
    visit(place);
    for (std::size_t d = at.size(); d-- > 0;) {
      place += x.strides[d];
      if (++at[d] < x.shape[d]) break;
      place -= x.shape[d] * x.strides[d];
      at[d] = 0;
    }
  }
}

bool takes_any_strides(Op op) {
  switch (op) {
    case Op::alias:
    case Op::detach:
    case Op::transpose:
    case Op::slice:
    case Op::broadcast_to:
    case Op::diagonal:
    case Op::unfold:
      return true;
    default:
      return false;
  }
}

// Dims of more than one place, from the largest stride down.
std::vector<std::size_t> by_stride(const Strided& x) {
  std::vector<std::size_t> dims;
  for (std::size_t k = 0; k < x.shape.size(); ++k)
    if (x.shape[k] > 1) dims.push_back(k);
  std::ranges::sort(dims, std::greater(), [&](std::size_t k) { return x.strides[k]; });
  return dims;
}

// Does each stride step over all that lies within?
bool is_nested(const Strided& x, std::span<const std::size_t> dims) {
  std::int64_t reach = 0;
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (x.strides[dims[d]] <= reach) return false;
    reach += (x.shape[dims[d]] - 1) * x.strides[dims[d]];
  }
  return true;
}

}  // namespace

std::optional<Strided> within(const Strided& v, const Strided& x) {
  const std::vector<std::size_t> dims = by_stride(v);
  if (x.offset < v.offset || !is_nested(v, dims)) return std::nullopt;
  const Strided own = row_major(v.shape);
  std::vector<std::int64_t> last(dims.size(), 0);  // coordinates in v of the last element of x
  // A distance as steps along the dims of v, `times` over; gives it as a distance in `own`.
  const auto along = [&](std::int64_t distance, std::int64_t times) -> std::optional<std::int64_t> {
    std::int64_t moved = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::int64_t steps = distance / v.strides[dims[d]];
      distance -= steps * v.strides[dims[d]];
      moved += steps * own.strides[dims[d]];
      last[d] += steps * times;
      if (last[d] >= v.shape[dims[d]]) return std::nullopt;
    }
    return distance == 0 ? std::optional(moved) : std::nullopt;
  };
  Strided out{0, x.shape, std::vector<std::int64_t>(x.shape.size(), 0)};
  const auto offset = along(x.offset - v.offset, 1);
  if (!offset) return std::nullopt;
  out.offset = *offset;
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    if (x.shape[k] <= 1) continue;
    const auto stride = along(x.strides[k], x.shape[k] - 1);
    if (!stride) return std::nullopt;
    out.strides[k] = *stride;
  }
  return out;
}

bool may_intersect(const Strided& a, const Strided& b) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  const Extent x = extent(a), y = extent(b);
  const std::int64_t first = std::max(x.first, y.first), last = std::min(x.last, y.last);
  if (first > last) return false;
  if (elements(a) > kMost || elements(b) > kMost || last - first > 64 * kMost) return true;
  std::vector<bool> seen(static_cast<std::size_t>(last - first) + 1);
  each_place(a, [&](std::int64_t p) {
    if (p >= first && p <= last) seen[static_cast<std::size_t>(p - first)] = true;
  });
  bool meets = false;
  each_place(b, [&](std::int64_t p) {
    meets = meets || (p >= first && p <= last && seen[static_cast<std::size_t>(p - first)]);
  });
  return meets;
}

Regions::Regions(const Tables& t, const Body& body)
    : t_(t), body_(body), roots_(body.num_values()), places_(body.num_values()) {
  for (std::uint32_t v = 0; v < body.num_values(); ++v) set(static_cast<ValueId>(v), static_cast<ValueId>(v));
}

void Regions::set(ValueId v, ValueId root) {
  roots_[index(v)] = root;
  places_[index(v)].reset();
  if (t_.types[body_.type(v)].is_tensor()) places_[index(v)] = row_major(t_.types.dims(body_.type(v)));
}

std::optional<Strided> Regions::viewed(const Instr& in, const std::optional<Strided>& x) const {
  if (!x) return std::nullopt;
  const View v{in.op, in.attrs, body_.type(in.operands[0]), body_.type(in.result())};
  Result<Strided> s = lie(t_, v, *x, t_.types.elements(body_.type(in.operands[0])));
  return s ? std::optional(*std::move(s)) : std::nullopt;
}

void Regions::instr(const Instr& in) {
  if (!is_view(in.op)) return;
  roots_[index(in.result())] = root(in.operands[0]);
  places_[index(in.result())] = viewed(in, place(in.operands[0]));
}

std::vector<LaterRead> Regions::reads_behind(std::uint32_t i, std::vector<std::uint8_t> marked) const {
  std::vector<std::optional<Strided>> places = places_;
  std::vector<std::uint8_t> fixed(body_.num_values(), 0);  // in the way of `movable`
  std::vector<LaterRead> out;
  const auto read = [&](ValueId v, std::uint32_t by) {
    if (marked[index(v)]) out.push_back({{by}, v, places[index(v)], !fixed[index(v)]});
  };
  for (std::uint32_t j = 0; j < body_.num_instrs(); ++j) {
    const Instr in = body_.instr(j);
    if (!is_view(in.op)) {
      if (j > i)
        for (ValueId v : in.operands) read(v, j);
      continue;
    }
    const std::uint32_t from = index(in.operands[0]), to = index(in.result());
    fixed[to] = fixed[from] || !takes_any_strides(in.op);
    if (j <= i) continue;
    marked[to] = marked[to] || marked[from];
    if (marked[to]) places[to] = viewed(in, places[from]);
  }
  for (ValueId v : body_.results) read(v, Read::kEnd);
  return out;
}

}  // namespace tfvm::functional
