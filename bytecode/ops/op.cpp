#include "bytecode/ops/op.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "bytecode/infer/infer.h"
#include "bytecode/key_names.h"

namespace tfvm {

namespace {

std::vector<std::string_view> split(std::string_view s, char sep) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && s[i] == '"') quoted = !quoted;
    if (i < s.size() && (s[i] != sep || quoted)) continue;
    if (i > begin) out.push_back(s.substr(begin, i - begin));
    begin = i + 1;
  }
  return out;
}

DTypeClass parse_class(std::string_view s) {
  constexpr std::pair<std::string_view, DTypeClass> kClasses[] = {
      {"any", DTypeClass::Any},         {"num", DTypeClass::Num},   {"real", DTypeClass::Real},
      {"float", DTypeClass::Float},     {"int", DTypeClass::Int},   {"bits", DTypeClass::Bits},
      {"inexact", DTypeClass::Inexact}, {"bool", DTypeClass::Bool}, {"complex", DTypeClass::Complex}};
  for (const auto& [text, c] : kClasses)
    if (text == s) return c;
  return DTypeClass::Any;
}

AttrType parse_attr_type(std::string_view s) {
  constexpr std::pair<std::string_view, AttrType> kTypes[] = {
      {"int", AttrType::Int},     {"float", AttrType::Float}, {"bool", AttrType::Bool}, {"str", AttrType::Str},
      {"dtype", AttrType::DType}, {"ints", AttrType::Ints},   {"func", AttrType::Func}};
  for (const auto& [text, t] : kTypes)
    if (text == s) return t;
  return AttrType::Any;
}

Key known_key(std::string_view text) {
  return static_cast<Key>(std::ranges::find(kKeyNames, text) - std::begin(kKeyNames));
}

constexpr std::string_view stem(std::string_view file) {
  file.remove_prefix(file.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

// Of each row the name, operands, attributes and hole, each with a 0 behind: text without pointers, which a loader
// would have to relocate one by one.
constexpr char kText[] =
#define OP(id, text, kind, operands, attrs, infer, effect, hole) text "\0" operands "\0" attrs "\0" hole "\0"
#include "bytecode/ops/all.def"
#undef OP
    ;

constexpr std::string_view kFiles[] = {
#define OP(...) __FILE__,
#include "bytecode/ops/all.def"
#undef OP
};

// The families, the .def files, in the order of rows.
constexpr std::size_t kFamilies = [] {
  std::size_t n = 1;
  for (std::size_t k = 1; k < kOps; ++k) n += kFiles[k] != kFiles[k - 1];
  return n;
}();
constexpr auto kFamilyNames = [] {
  std::array<std::string_view, kFamilies> names;
  for (std::size_t k = 0, n = 0; k < kOps; ++k)
    if (k == 0 || kFiles[k] != kFiles[k - 1]) names[n++] = stem(kFiles[k]);
  return names;
}();

struct Row {
  InferFn infer;
  std::uint16_t text = 0;  // where it starts in kText
  std::uint8_t family = 0;
  OpKind kind;
  OpEffect effect;
};

constexpr auto kRows = [] {
  std::array<Row, kOps> rows{{
#define OP(id, text, kind, operands, attrs, infer, effect, hole) {infer_##infer, 0, 0, OpKind::kind, OpEffect::effect},
#include "bytecode/ops/all.def"
#undef OP
  }};
  std::size_t at = 0, family = 0;
  for (std::size_t k = 0; k < kOps; ++k) {
    if (k > 0 && kFiles[k] != kFiles[k - 1]) ++family;
    rows[k].text = static_cast<std::uint16_t>(at);
    rows[k].family = static_cast<std::uint8_t>(family);
    for (int field = 0; field < 4; ++field) at += std::string_view(kText + at).size() + 1;
  }
  return rows;
}();
static_assert(sizeof kText < 65536);

// Field 0 is the name, and so on, as in kText.
std::string_view row_text(const Row& row, int field) {
  const char* at = kText + row.text;
  for (; field > 0; --field) at += std::string_view(at).size() + 1;
  return at;
}

// A row is read when it is first asked for: a program has few of the ops, and a process that finds its functions on
// disk does little else.
class Table {
 public:
  const OpInfo& operator[](std::size_t k) {
    const OpInfo* row = rows_[k].load(std::memory_order_acquire);
    return row ? *row : make(k);
  }

 private:
  const OpInfo& make(std::size_t k) {
    const std::lock_guard guard(lock_);
    if (!made_[k]) {
      const Row& r = kRows[k];
      made_[k] = OpInfo{row_text(r, 0),
                        r.kind,
                        kFamilyNames[r.family],
                        parse_operand_specs(row_text(r, 1)),
                        parse_attr_specs(row_text(r, 2)),
                        r.infer,
                        r.effect,
                        row_text(r, 3)};
      rows_[k].store(&*made_[k], std::memory_order_release);
    }
    return *made_[k];
  }

  std::mutex lock_;
  std::array<std::atomic<const OpInfo*>, kOps> rows_{};
  std::array<std::optional<OpInfo>, kOps> made_;
};

}  // namespace

std::vector<OperandSpec> parse_operand_specs(std::string_view text) {
  std::vector<OperandSpec> out;
  for (std::string_view item : split(text, ' ')) {
    OperandSpec spec;
    const auto parts = split(item, ':');
    std::string_view last = parts.back();
    if (parts.size() > 1 && (last.back() == '*' || last.back() == '?') && (last.size() > 1)) {
      spec.arity = last.back();
      last.remove_suffix(1);
    }
    spec.name = parts[0];
    if (parts.size() > 1) spec.group = parts[1][0];
    if (parts.size() > 2) spec.cls = parse_class(last);
    out.push_back(spec);
  }
  return out;
}

std::vector<AttrSpec> parse_attr_specs(std::string_view text, StringTable* extra) {
  std::vector<AttrSpec> out;
  for (std::string_view item : split(text, ' ')) {
    const std::size_t colon = item.find(':');
    const std::size_t eq = item.find('=');
    AttrSpec spec;
    const std::string_view key_text = item.substr(0, colon);
    spec.key = extra ? extra->key(key_text) : known_key(key_text);
    spec.type = parse_attr_type(item.substr(colon + 1, (eq == item.npos ? item.size() : eq) - colon - 1));
    spec.required = eq == item.npos;
    spec.default_text = spec.required ? std::string_view{} : item.substr(eq + 1);
    out.push_back(spec);
  }
  return out;
}

const OpInfo& info(Op op) {
  static Table table;
  return table[static_cast<std::size_t>(op)];
}

std::optional<Op> find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, Op> kNames = [] {
    std::unordered_map<std::string_view, Op> m;
    for (std::size_t i = 0; i < kOps; ++i) m.emplace(row_text(kRows[i], 0), static_cast<Op>(i));
    return m;
  }();
  const auto it = kNames.find(name);
  return it == kNames.end() ? std::nullopt : std::optional(it->second);
}

const OperandSpec* operand_spec(const OpInfo& row, std::size_t k, std::size_t n) {
  std::size_t fixed_after = 0;  // operands behind a run
  for (std::size_t s = 0; s < row.operands.size(); ++s) {
    if (row.operands[s].arity != '*') continue;
    fixed_after = row.operands.size() - s - 1;
    if (k < s) return &row.operands[k];
    if (n >= fixed_after && k >= n - fixed_after) return &row.operands[row.operands.size() - (n - k)];
    return &row.operands[s];
  }
  return k < row.operands.size() ? &row.operands[k] : nullptr;
}

const AttrSpec* attr_spec(const OpInfo& row, Key key) {
  for (const AttrSpec& a : row.attrs)
    if (a.key == key) return &a;
  return nullptr;
}

}  // namespace tfvm
