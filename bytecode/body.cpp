#include "bytecode/body.h"

#include "bytecode/hash.h"

namespace tfvm {

namespace {

bool same(const Body& a, const Body& b) {
  return a.types == b.types && a.num_params == b.num_params && a.ops == b.ops && a.attrs == b.attrs &&
         a.operand_begin == b.operand_begin && a.result_begin == b.result_begin && a.operands == b.operands &&
         a.results == b.results && a.mut_params == b.mut_params && a.full == b.full && a.effects == b.effects;
}

template <class T>
std::uint64_t hash(const std::vector<T>& v, std::uint64_t seed) {
  return hash_bytes(v.data(), v.size() * sizeof(T), seed);
}

template <class T>
std::int64_t bytes(const std::vector<T>& v) {
  return static_cast<std::int64_t>(v.capacity() * sizeof(T)) + 16;  // of malloc
}

std::int64_t bytes(const Body& b) {
  return static_cast<std::int64_t>(sizeof b) + bytes(b.types) + bytes(b.ops) + bytes(b.attrs) + bytes(b.operand_begin) +
         bytes(b.result_begin) + bytes(b.operands) + bytes(b.results) + bytes(b.mut_params);
}

std::int64_t bytes(const DebugInfo& d) {
  return static_cast<std::int64_t>(sizeof d) + bytes(d.origin) + bytes(d.locs) + bytes(d.values);
}

std::uint64_t hash(const Body& b) {
  std::uint64_t h = hash(b.types, b.num_params * 2ull + b.full);
  h = hash(b.ops, h);
  h = hash(b.attrs, h);
  h = hash(b.operands, h);
  h = hash(b.results, h);
  return hash(b.mut_params, h);
}

}  // namespace

Instr Body::instr(InstrId id) const {
  const std::uint32_t i = index(id);
  const std::uint32_t begin = operand_begin[i];
  return {ops[i],
          attrs[i],
          {operands.data() + begin, operand_begin[i + 1] - begin},
          static_cast<ValueId>(result_begin[i]),
          result_begin[i + 1] - result_begin[i]};
}

std::vector<TypeId> Body::result_types() const {
  std::vector<TypeId> out;
  out.reserve(results.size());
  for (ValueId v : results) out.push_back(type(v));
  return out;
}

std::vector<InstrId> definitions(const Body& body) {
  std::vector<InstrId> def(body.num_values(), kNone<InstrId>);
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i)
    for (std::uint32_t v = body.result_begin[i]; v < body.result_begin[i + 1]; ++v) def[v] = static_cast<InstrId>(i);
  return def;
}

BodyId BodyTable::intern(const Body& body) {
  const std::uint64_t h = hash(body);
  const BodyId known = find(h, body);
  return known != kNone<BodyId> ? known : add(h, body);
}

BodyId BodyTable::intern(Body&& body) {
  const std::uint64_t h = hash(body);
  const BodyId known = find(h, body);
  return known != kNone<BodyId> ? known : add(h, std::move(body));
}

BodyId BodyTable::find(std::uint64_t hash, const Body& body) const {
  return ids_.find(hash, [&](BodyId id) { return same(bodies_[index(id)], body); });
}

BodyId BodyTable::add(std::uint64_t h, Body body) {
  fresh_bytes_ += bytes(body) + kMapEntry;
  const auto id = static_cast<BodyId>(bodies_.add(std::move(body)));
  ids_.add(h, id);
  return id;
}

void BodyTable::keep() {
  bodies_.keep();
  fresh_bytes_ = 0;
}

void BodyTable::forget() {
  ids_.forget(bodies_.kept());
  bodies_.forget();
  fresh_bytes_ = 0;
}

DebugId DebugTable::add(DebugInfo info) {
  fresh_bytes_ += bytes(info);
  return static_cast<DebugId>(infos_.add(std::move(info)));
}

void DebugTable::keep() {
  infos_.keep();
  fresh_bytes_ = 0;
}

void DebugTable::forget() {
  infos_.forget();
  fresh_bytes_ = 0;
}

Loc DebugTable::find_loc(DebugId debug, InstrId instr) const {
  while (debug != kNone<DebugId> && instr != kNone<InstrId>) {
    const DebugInfo& d = (*this)[debug];
    const std::uint32_t i = index(instr);
    if (i < d.locs.size() && d.locs[i].line != 0) return d.locs[i];
    if (d.parent == kNone<DebugId> || i >= d.origin.size()) return d.loc;
    instr = d.origin[i];
    debug = d.parent;
  }
  while (debug != kNone<DebugId>) {
    const DebugInfo& d = (*this)[debug];
    if (d.loc.line != 0) return d.loc;
    debug = d.parent;
  }
  return {};
}

std::string DebugTable::value_name(DebugId debug, ValueId v, const StringTable& strings) const {
  std::string suffix;
  while (debug != kNone<DebugId>) {
    const DebugInfo& d = (*this)[debug];
    if (index(v) >= d.values.size()) return {};
    const ValueName& n = d.values[index(v)];
    if (n.origin == kNoValue) return n.text == kNone<StrId> ? std::string{} : std::string(strings[n.text]) + suffix;
    if (n.text != kNone<StrId>) suffix = '.' + std::string(strings[n.text]) + suffix;
    v = n.origin;
    debug = d.parent;
  }
  return {};
}

std::string DebugTable::function_name(DebugId debug, const StringTable& strings) const {
  std::string prefix, suffix;
  while (debug != kNone<DebugId>) {
    const DebugInfo& d = (*this)[debug];
    if (d.name != kNone<StrId>) return prefix + '@' + std::string(strings[d.name]) + suffix;
    if (d.pass != kNone<StrId>) {
      prefix += std::string(strings[d.pass]) + '(';
      suffix += ')';
    }
    debug = d.parent;
  }
  return prefix + '?' + suffix;
}

}  // namespace tfvm
