#include "functionalize/bases.h"

#include <algorithm>

namespace tfvm::functional {

std::uint32_t Bases::add(ValueId v) {
  bases_.push_back({v, v == kNoValue ? kNone<TypeId> : b_.type(v), 0, {}});
  return static_cast<std::uint32_t>(bases_.size() - 1);
}

void Bases::set(std::uint32_t base, ValueId v) {
  bases_[base].now = v;
  ++bases_[base].generation;
}

void Bases::remember(Base& base, std::span<const View> chain, ValueId v) {
  for (Seen& s : base.seen) {
    if (!std::ranges::equal(s.chain, chain)) continue;
    s.generation = base.generation;
    s.value = v;
    return;
  }
  base.seen.push_back({{chain.begin(), chain.end()}, base.generation, v});
}

ValueId Bases::replay(Base& base, std::span<const View> chain) {
  if (chain.empty()) return base.now;
  for (const Seen& s : base.seen)
    if (s.generation == base.generation && std::ranges::equal(s.chain, chain)) return s.value;
  // as_strided addresses the storage, whatever view it is taken of.
  const ValueId x = chain.back().op == Op::as_strided ? base.now : replay(base, chain.first(chain.size() - 1));
  if (b_.failed()) return kNoValue;
  const ValueId v = forward(b_, chain.back(), x);
  remember(base, chain, v);
  return v;
}

ValueId Bases::read(const Ref& r) { return b_.failed() ? kNoValue : replay(bases_[r.base], r.chain); }

std::optional<Strided> Bases::lie(const Ref& r) {
  const TypeTable& types = b_.tables().types;
  const TypeId type = bases_[r.base].type;
  Strided s = row_major(types.dims(type));
  for (const View& v : r.chain) {
    Result<Strided> next = functional::lie(b_.tables(), v, s, types.elements(type));
    if (!next) {
      fail(next.error());
      return std::nullopt;
    }
    s = *std::move(next);
  }
  return s;
}

Ref Bases::view(const Ref& r, const View& v) {
  Ref out = r;
  if (b_.failed()) return out;
  if (v.op == Op::as_strided) out.chain.clear();
  out.chain.push_back(v);
  if (v.op == Op::as_strided) out.chain.back().from = bases_[r.base].type;
  lie(out);
  return out;
}

bool Bases::is_whole(const Ref& r) {
  const std::int64_t n = b_.tables().types.elements(bases_[r.base].type);
  const std::optional<Strided> place = lie(r);
  return place && n > 0 && elements(*place) == n;
}

bool Bases::overlaps_within(const Ref& r) {
  for (std::size_t k = 1; k < r.chain.size(); ++k)
    if (const auto s = lie({r.base, {r.chain.begin(), r.chain.begin() + static_cast<std::ptrdiff_t>(k)}}))
      if (overlaps_itself(*s)) return true;
  return false;
}

// The base with u at these places of its storage.
ValueId Bases::put_at(const Base& base, const Strided& place, ValueId u, bool inplace) {
  Tables& t = b_.tables();
  const DType dtype = t.types.dtype(base.type);
  if (b_.dtype(u) != dtype) u = b_.emit(Op::bitcast, {u}, {{Key::dtype, dtype}});
  const AttrId attrs = t.attrs.dict({{Key::shape, t.attrs.ints(place.shape)},
                                     {Key::strides, t.attrs.ints(place.strides)},
                                     {Key::offset, t.attrs.of(place.offset)}});
  const View v{Op::as_strided, attrs, base.type, t.types.tensor(dtype, place.shape)};
  return functional::inverse(b_, v, base.now, u, inplace);
}

void Bases::write(const Ref& r, ValueId u, bool inplace, std::string_view op) {
  if (b_.failed()) return;
  Base& base = bases_[r.base];
  const std::optional<Strided> place = lie(r);
  if (!place) return;
  if (overlaps_itself(*place)) {
    const bool expanded = std::ranges::any_of(r.chain, [](const View& v) { return v.op == Op::broadcast_to; });
    b_.fail(Code::Type, "[" + std::string(op) + "] writes into " +
                            (expanded ? "an expanded view" : "a view whose elements overlap") +
                            ": two of its elements are one place, so their values overlap; write into a clone");
    return;
  }
  // Where a link on the way has elements that share a place, values can't go back through it one by one.
  if (overlaps_within(r)) {
    const ValueId now = put_at(base, *place, u, inplace);
    if (b_.failed()) return;
    base.now = now;
    ++base.generation;
    return remember(base, r.chain, u);
  }
  std::vector<ValueId> news(r.chain.size() + 1, u);
  for (std::size_t k = r.chain.size(); k-- > 0;) {
    const ValueId x = replay(base, std::span(r.chain).first(k));
    news[k] = functional::inverse(b_, r.chain[k], x, news[k + 1], inplace);
  }
  if (b_.failed()) return;
  base.now = news[0];
  ++base.generation;
  for (std::size_t k = 1; k < news.size(); ++k) remember(base, std::span(r.chain).first(k), news[k]);
}

}  // namespace tfvm::functional
