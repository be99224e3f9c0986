#include "bytecode/attrs.h"

#include <algorithm>
#include <bit>

#include "bytecode/hash.h"
#include "bytecode/inline_vector.h"

namespace tfvm {

namespace {
bool same(const Attr& a, const Attr& b) {
  return a.kind == b.kind && a.i == b.i && a.str == b.str && a.func == b.func && a.constant == b.constant &&
         std::ranges::equal(a.ints, b.ints) && std::ranges::equal(a.keys, b.keys) &&
         std::ranges::equal(a.items, b.items);
}

std::uint64_t hash(const Attr& a) {
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(a.kind), static_cast<std::uint64_t>(a.i));
  h = hash_mix(h, static_cast<std::uint64_t>(index(a.str)) << 32 | index(a.constant));
  h = hash_mix(h, static_cast<std::uint64_t>(index(a.func.body)) << 32 | index(a.func.debug));
  h = hash_mix(h, hash_span(a.ints));
  h = hash_mix(h, hash_span(a.keys));
  return hash_mix(h, hash_span(a.items));
}
}  // namespace

double Attr::f() const { return std::bit_cast<double>(i); }

AttrTable::AttrTable(StringTable& strings) : strings_(strings) {
  intern({});
  intern({.kind = AttrKind::Dict});
}

AttrId AttrTable::intern(const Attr& a) {
  const std::uint64_t h = hash(a);
  const AttrId known = ids_.find(h, [&](AttrId id) { return same((*this)[id], a); });
  if (known != kNone<AttrId>) return known;
  Attr kept = a;
  kept.ints = arena_.copy(a.ints);
  kept.keys = arena_.copy(a.keys);
  kept.items = arena_.copy(a.items);
  const auto id = static_cast<AttrId>(attrs_.add(kept));
  ids_.add(h, id);
  return id;
}

void AttrTable::keep() {
  attrs_.keep();
  arena_.keep();
}

void AttrTable::forget() {
  ids_.forget(attrs_.kept());
  attrs_.forget();
  arena_.forget();
}

std::int64_t AttrTable::fresh_bytes() const {
  return attrs_.fresh() * static_cast<std::int64_t>(sizeof(Attr) + kMapEntry) + arena_.fresh();
}

AttrId AttrTable::of(bool b) { return intern({.kind = AttrKind::Bool, .i = b}); }
AttrId AttrTable::of(std::int64_t i) { return intern({.kind = AttrKind::Int, .i = i}); }
AttrId AttrTable::of(double f) { return intern({.kind = AttrKind::Float, .i = std::bit_cast<std::int64_t>(f)}); }
AttrId AttrTable::of(std::string_view s) { return intern({.kind = AttrKind::Str, .str = strings_.intern(s)}); }
AttrId AttrTable::of(DType d) { return intern({.kind = AttrKind::DType, .i = static_cast<std::int64_t>(d)}); }
AttrId AttrTable::of(FunctionId f) { return intern({.kind = AttrKind::Func, .func = f}); }
AttrId AttrTable::of(ConstId c) { return intern({.kind = AttrKind::Const, .constant = c}); }
AttrId AttrTable::ints(Ints v) { return intern({.kind = AttrKind::Ints, .ints = v}); }

AttrId AttrTable::list(std::span<const AttrId> items) {
  const bool all_ints = std::ranges::all_of(items, [&](AttrId id) { return (*this)[id].kind == AttrKind::Int; });
  if (!all_ints) return intern({.kind = AttrKind::List, .items = items});
  std::vector<std::int64_t> v;
  for (AttrId id : items) v.push_back((*this)[id].i);
  return ints(v);
}

AttrId AttrTable::call(StrId name, std::span<const AttrId> items) {
  return intern({.kind = AttrKind::Call, .str = name, .items = items});
}

AttrId AttrTable::dict(std::span<const Key> keys, std::span<const AttrId> items) {
  return intern({.kind = AttrKind::Dict, .keys = keys, .items = items});
}

AttrId AttrTable::dict(std::initializer_list<AttrArg> args) {
  InlineVector<Key, 8> keys;
  InlineVector<AttrId, 8> items;
  for (const AttrArg& a : args) {
    keys.push_back(a.key);
    items.push_back(std::visit(
        [&](const auto& v) -> AttrId {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, AttrId>)
            return v;
          else if constexpr (std::is_same_v<T, Ints>)
            return ints(v);
          else
            return of(v);
        },
        a.value));
  }
  return dict({keys.data(), keys.size()}, {items.data(), items.size()});
}

AttrId AttrTable::with(AttrId dict_id, Key key, AttrId value) {
  const Attr& d = (*this)[dict_id];
  InlineVector<Key, 8> keys(d.keys);
  InlineVector<AttrId, 8> items(d.items);
  const auto it = std::ranges::find(keys, key);
  if (it == keys.end()) {
    keys.push_back(key);
    items.push_back(value);
  } else {
    AttrId& slot = items[static_cast<std::size_t>(it - keys.begin())];
    if (slot == value) return dict_id;
    slot = value;
  }
  return dict({keys.data(), keys.size()}, {items.data(), items.size()});
}

AttrId AttrTable::get(AttrId dict_id, Key key) const {
  const Attr& d = (*this)[dict_id];
  for (std::size_t i = 0; i < d.keys.size(); ++i)
    if (d.keys[i] == key) return d.items[i];
  return none();
}

std::string_view AttrTable::get_str(AttrId dict_id, Key key) const { return strings_[(*this)[get(dict_id, key)].str]; }

Ints AttrTable::get_ints_at(AttrId dict_id, Key key, std::size_t k) const {
  const Attr& list = (*this)[get(dict_id, key)];
  return k < list.items.size() ? (*this)[list.items[k]].ints : Ints{};
}

}  // namespace tfvm
