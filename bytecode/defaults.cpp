#include "bytecode/defaults.h"

#include <algorithm>
#include <charconv>

#include "bytecode/inline_vector.h"

namespace tfvm {

namespace {

// Parses one value at the start of `s` and removes it.
AttrId parse_value(Tables& t, std::string_view& s) {
  if (s.starts_with('[')) {
    s.remove_prefix(1);
    std::vector<AttrId> items;
    while (!s.empty() && s[0] != ']') {
      items.push_back(parse_value(t, s));
      if (s.starts_with(',')) s.remove_prefix(1);
    }
    s.remove_prefix(1);
    return t.attrs.list(items);
  }
  if (s.starts_with('"')) {
    const std::size_t end = s.find('"', 1);
    const AttrId a = t.attrs.of(s.substr(1, end - 1));
    s.remove_prefix(end + 1);
    return a;
  }
  const std::string_view word = s.substr(0, s.find_first_of(",]"));
  s.remove_prefix(word.size());
  if (word == "none") return t.attrs.none();
  if (word == "true" || word == "false") return t.attrs.of(word == "true");
  if (const auto d = parse_dtype(word)) return t.attrs.of(*d);
  if (word.find_first_of(".e") == word.npos) {
    std::int64_t i = 0;
    std::from_chars(word.data(), word.data() + word.size(), i);
    return t.attrs.of(i);
  }
  double f = 0;
  std::from_chars(word.data(), word.data() + word.size(), f);
  return t.attrs.of(f);
}

bool fits(AttrType type, AttrKind kind) {
  switch (type) {
    case AttrType::Int:
      return kind == AttrKind::Int;
    case AttrType::Float:
      return kind == AttrKind::Float;
    case AttrType::Bool:
      return kind == AttrKind::Bool;
    case AttrType::Str:
      return kind == AttrKind::Str;
    case AttrType::DType:
      return kind == AttrKind::DType;
    case AttrType::Ints:
      return kind == AttrKind::Ints;
    case AttrType::Func:
      return kind == AttrKind::Func;
    case AttrType::Any:
      return true;
  }
  return false;
}

bool fits(const Tables& t, const AttrSpec& spec, AttrId v) {
  return fits(spec.type, t.attrs[v].kind) || (v == t.attrs.none() && !spec.required && spec.default_text == "none");
}

// The common case: made by a pass, complete and in order already.
bool is_complete(const Tables& t, std::span<const AttrSpec> row, AttrId given) {
  const Attr& d = t.attrs[given];
  if (d.keys.size() != row.size()) return false;
  for (std::size_t k = 0; k < row.size(); ++k)
    if (d.keys[k] != row[k].key || !fits(t, row[k], d.items[k])) return false;
  return true;
}

std::string_view describe(AttrType type) {
  switch (type) {
    case AttrType::Int:
      return "an integer";
    case AttrType::Float:
      return "a number";
    case AttrType::Bool:
      return "true or false";
    case AttrType::Str:
      return "a string";
    case AttrType::DType:
      return "a dtype";
    case AttrType::Ints:
      return "a list of integers";
    case AttrType::Func:
      return "a function";
    case AttrType::Any:
      return "a value";
  }
  return "";
}

// An Int stands for a Float, and for a list of one.
AttrId coerce(Tables& t, AttrType type, AttrId v) {
  const Attr a = t.attrs[v];
  if (a.kind != AttrKind::Int) return v;
  if (type == AttrType::Float) return t.attrs.of(static_cast<double>(a.i));
  if (type == AttrType::Ints) return t.attrs.ints({&a.i, 1});
  return v;
}

Error unknown_key(Tables& t, std::string_view op_name, std::span<const AttrSpec> row, Key key) {
  std::vector<std::string_view> names;
  for (const AttrSpec& s : row) names.push_back(t.strings[s.key]);
  const std::string_view text = t.strings[key];
  std::string m = "[" + std::string(op_name) + "] has no attribute '" + std::string(text) + "'";
  if (const std::string near = near_miss(text, names); !near.empty()) m += "; did you mean '" + near + "'?";
  return {Code::Type, m};
}

}  // namespace

AttrId parse_default(Tables& t, std::string_view text) { return parse_value(t, text); }

Result<AttrId> complete_attrs(Tables& t, std::string_view op_name, std::span<const AttrSpec> row, AttrId given) {
  if (is_complete(t, row, given)) return given;
  const Attr d = t.attrs[given];
  for (Key k : d.keys)
    if (std::ranges::find(row, k, &AttrSpec::key) == row.end()) return unknown_key(t, op_name, row, k);
  InlineVector<Key, 8> keys;
  InlineVector<AttrId, 8> values;
  for (const AttrSpec& spec : row) {
    const auto at = std::ranges::find(d.keys, spec.key);
    AttrId v = at == d.keys.end() ? kNone<AttrId> : d.items[static_cast<std::size_t>(at - d.keys.begin())];
    if (v == kNone<AttrId>) {
      if (spec.required)
        return Error{Code::Type,
                     "[" + std::string(op_name) + "] needs the attribute '" + std::string(t.strings[spec.key]) + "'"};
      v = parse_default(t, spec.default_text);
    }
    const AttrId c = coerce(t, spec.type, v);
    if (!fits(t, spec, c))
      return Error{Code::Type, "[" + std::string(op_name) + "] attribute '" + std::string(t.strings[spec.key]) +
                                   "' must be " + std::string(describe(spec.type))};
    keys.push_back(spec.key);
    values.push_back(c);
  }
  return t.attrs.dict({keys.data(), keys.size()}, {values.data(), values.size()});
}

std::string near_miss(std::string_view name, std::span<const std::string_view> candidates) {
  std::size_t best = name.size() <= 3 ? 2 : 3;  // strictly below
  std::string_view found;
  std::vector<std::size_t> row;
  for (std::string_view c : candidates) {
    if (c.size() > name.size() + 2 || name.size() > c.size() + 2) continue;
    row.resize(c.size() + 1);
    for (std::size_t j = 0; j <= c.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= c.size(); ++j) {
        const std::size_t up = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (name[i - 1] != c[j - 1])});
        diagonal = up;
      }
    }
    if (row[c.size()] < best) {
      best = row[c.size()];
      found = c;
    }
  }
  return std::string(found);
}

}  // namespace tfvm
