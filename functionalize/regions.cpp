#include "functionalize/regions.h"

#include <algorithm>

#include "bytecode/aliasing.h"

namespace tfvm::functional {

namespace {

std::int64_t elements(const Strided& x) {
  std::int64_t n = 1;
  for (std::int64_t d : x.shape) n *= d;
  return n;
}

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

}  // namespace

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

std::optional<Read> Regions::read_behind(std::uint32_t i, ValueId base, std::span<const Strided> written) const {
  const ValueId storage = root(base);
  std::vector<std::uint8_t> shares(body_.num_values(), 0);
  std::vector<std::optional<Strided>> places(body_.num_values());
  const std::uint32_t first = index(body_.instr(i).first_result);
  for (std::uint32_t v = 0; v < first; ++v)
    if (roots_[v] == storage) shares[v] = 1, places[v] = places_[v];
  const auto meets = [&](ValueId v) {
    const std::optional<Strided>& p = places[index(v)];
    return !p || std::ranges::any_of(written, [&](const Strided& w) { return may_intersect(w, *p); });
  };
  for (std::uint32_t j = i + 1; j < body_.num_instrs(); ++j) {
    const Instr in = body_.instr(j);
    if (is_view(in.op)) {
      shares[index(in.result())] = shares[index(in.operands[0])];
      if (shares[index(in.result())]) places[index(in.result())] = viewed(in, places[index(in.operands[0])]);
      continue;
    }
    for (ValueId v : in.operands)
      if (shares[index(v)] && meets(v)) return Read{j};
  }
  for (ValueId v : body_.results)
    if (shares[index(v)] && meets(v)) return Read{Read::kEnd};
  return std::nullopt;
}

}  // namespace tfvm::functional
