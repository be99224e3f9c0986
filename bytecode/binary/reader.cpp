// Sections, names, items and types of .tfbc.

#include "bytecode/binary/reader.h"

#include "bytecode/binary/tfbc.h"
#include "bytecode/hash.h"
#include "bytecode/text/lexer.h"
#include "bytecode/text/words.h"

namespace tfvm::tfbc {

namespace {
bool is_utf8(std::string_view s) {
  for (;;) {
    const std::size_t bad = find_non_text(s);
    if (bad == s.npos) return true;
    if (s[bad] != '\0') return false;  // in a string NUL is a character like others
    s.remove_prefix(bad + 1);
  }
}
}  // namespace

void StringSection::read(Cursor& in, StringTable& strings) {
  std::unordered_set<std::uint32_t> seen;
  for (std::uint32_t n = in.count(); n > 0 && !in.failed(); --n) {
    const std::string_view s = in.bytes();
    if (!is_utf8(s)) in.fail_back(s.size(), "a string that is no UTF-8");
    const StrId id = in.failed() ? StrId{0} : strings.intern(s);
    if (!seen.insert(index(id)).second) in.fail("a string that is there already");
    ids_.push_back(id);
  }
}

StrId StringSection::use(Cursor& in) {
  const std::uint32_t n = in.below(ids_.size(), "string");
  if (in.failed()) return StrId{0};
  if (n > used_) in.fail("strings out of the order of their use");
  used_ = std::max(used_, n + 1);
  return ids_[n];
}

void StringSection::finish(Cursor& in) const {
  if (used_ != ids_.size()) in.fail("a string that nothing uses");
  if (!in.at_end()) in.fail("bytes behind its end");
}

Reader::Reader(StringTable& strings, std::span<const std::byte> code, std::span<const std::byte> debug,
               std::string_view file)
    : strings_(strings), code_(code, "code section"), debug_(debug, "debug section"), has_debug_(!debug.empty()) {
  m_.file = strings.intern(file);
}

Result<Module> Reader::read() {
  code_strings_.read(code_, strings_);
  if (has_debug_) {
    debug_strings_.read(debug_, strings_);
    m_.file = debug_strings_.use(debug_);
  }
  const std::uint32_t n = code_.count();
  for (std::uint32_t k = 0; k < n && !failed(); ++k) item(k);
  resolve_callees();
  check_kept_names();
  code_strings_.finish(code_);
  if (has_debug_) debug_strings_.finish(debug_);
  if (failed())
    return Error{
        Code::Syntax, "not a well-formed .tfbc file: " + (code_.failed() ? code_ : debug_).error(), {m_.file, 0, 0}};
  return std::move(m_);
}

// Names of items may come behind their uses.
void Reader::resolve_callees() {
  for (const auto& [at, number] : callee_items_) {
    if (failed()) return;
    const Item* item = number < m_.items.size() ? &m_.items[number] : nullptr;
    CalleeExpr& c = m_.callees[at];
    if (item && item->kind == ItemKind::Func)
      c.name = m_.funcs[item->at].name;
    else if (item && item->kind == ItemKind::Derived)
      c.name = m_.derived[item->at].name;
    else if (item && item->kind == ItemKind::Global)
      c.name = m_.globals[item->at].name;
    else
      fail("a call of what is no function");
  }
  std::size_t next = 0;  // names that are no item's stay open
  for (std::uint32_t k = 0; k < m_.callees.size() && !failed(); ++k) {
    if (next < callee_items_.size() && callee_items_[next].first == k)
      ++next;
    else if (!m_.callees[k].is_transform() && m_.find(m_.callees[k].name))
      fail("a name where the number of its item belongs");
  }
}

void Reader::check_kept_names() {
  const MeantNames meant(m_, strings_);
  std::size_t next = 0;
  for (const Item& item : m_.items) {
    if (failed()) return;
    if (item.kind != ItemKind::Func && item.kind != ItemKind::Extern) continue;
    for (const Param& p : item.kind == ItemKind::Func ? m_.funcs[item.at].params : m_.externs[item.at].params)
      if (meant(p.name) != kept_[next++]) fail("the name of a parameter in the wrong section");
  }
}

StrId Reader::item_name(char letter, std::uint32_t number) {
  if (!has_debug_) return strings_.intern(letter + std::to_string(number));
  const StrId id = debug_strings_.use(debug_);
  if (!debug_.failed() && letter != 't' && !is_name(strings_[id])) debug_.fail("a malformed name");
  return id;
}

Loc Reader::item_loc() {
  loc_ = {m_.file, 0, 0};
  if (has_debug_) {
    loc_.file = debug_strings_.use(debug_);
    loc_.line = debug_.below(kNoIndex, "line");
    loc_.col = debug_.below(kNoIndex, "column");
  }
  line_ = loc_.line;
  place_ = {loc_.line, loc_.col};
  return loc_;
}

StrId Reader::local_name() {
  if (!has_debug_) return kNone<StrId>;
  const StrId id = debug_strings_.use(debug_);
  if (!debug_.failed() && !is_name(strings_[id])) debug_.fail("a malformed name");
  return id;
}

Place Reader::place() {
  if (!has_debug_) return place_;
  const std::int64_t delta = debug_.signed_number();
  if (delta > kNoIndex || delta < -static_cast<std::int64_t>(kNoIndex)) debug_.fail("unknown line");
  line_ = debug_.failed() ? 0 : line_ + delta;
  if (line_ < 0 || line_ >= kNoIndex) debug_.fail("unknown line");
  place_ = {static_cast<std::uint32_t>(line_), debug_.below(kNoIndex, "column")};
  return place_;
}

void Reader::define(StrId name) {
  if (name == kNone<StrId>) name = strings_.intern(std::to_string(scopes_.count()));
  scopes_.define(name);
  local_names_.push_back(name);
}

Local Reader::use() {
  const Local l = code_.below(scopes_.count(), "value");
  if (!failed() && scopes_.find(local_names_[l]) != l) fail("a value that is not in scope");
  return l;
}

StrId Reader::key_string(std::string_view what) {
  const StrId id = string();
  const std::string_view s = strings_[id];
  if (!failed() && (!is_key(s) || s == "inf" || s == "nan")) fail("a malformed " + std::string(what));
  return id;
}

bool Reader::enter() {
  if (++nesting_ <= kMaxNesting) return true;
  fail("nested too deep");
  return false;
}

void Reader::item(std::uint32_t number) {
  scopes_.begin_function();
  local_names_.clear();
  const auto kind = static_cast<ItemKind>(code_.choice(6, "kind of item"));
  switch (kind) {
    case ItemKind::Import: {
      const StrId path = string();
      m_.imports.push_back({path, item_loc()});
      break;
    }
    case ItemKind::Func:
      func(number);
      break;
    case ItemKind::Derived: {
      const StrId name = item_name('f', number);
      const Loc loc = item_loc();
      const std::uint32_t c = callee();
      if (!failed() && !m_.callees[c].is_transform()) fail("a derived function that is no transform");
      m_.derived.push_back({name, loc, c});
      break;
    }
    case ItemKind::Global:
      global(number);
      break;
    case ItemKind::Extern:
      extern_op();
      break;
    case ItemKind::Test: {
      Test t;
      t.name = has_debug_ ? item_name('t', number) : strings_.intern(std::to_string(m_.tests.size()));
      t.loc = item_loc();
      t.attrs = attrs();
      t.block = block(Where::Test);
      t.num_locals = scopes_.count();
      m_.tests.push_back(t);
      break;
    }
  }
  if (failed()) return;
  const std::size_t sizes[] = {m_.imports.size(), m_.funcs.size(),   m_.derived.size(),
                               m_.globals.size(), m_.externs.size(), m_.tests.size()};
  const auto at = static_cast<std::uint32_t>(sizes[static_cast<std::size_t>(kind)] - 1);
  if (auto s = add_item(m_, {kind, at}, strings_); !s) fail(s.error().message);
}

void Reader::func(std::uint32_t number) {
  Template f;
  f.name = item_name('f', number);
  f.loc = item_loc();
  attr_params(f.attr_params);
  f.params = params();
  results(f.has_results, f.results);
  f.attrs = attrs();
  f.block = block(Where::Function);
  f.num_locals = scopes_.count();
  m_.funcs.push_back(std::move(f));
}

void Reader::global(std::uint32_t number) {
  Global g;
  g.name = item_name('w', number);
  g.loc = item_loc();
  g.is_buffer = code_.flag();
  g.type = type();
  g.init = static_cast<InitKind>(code_.choice(4, "initialiser"));
  if (g.init == InitKind::Literal) g.literal = literal();
  if (g.init == InitKind::File) g.path = string();
  if (g.init == InitKind::Call) {
    g.callee = callee();
    g.args = operands();
  }
  m_.globals.push_back(g);
}

void Reader::extern_op() {
  Extern e;
  e.loc = item_loc();
  e.op = key_string("name of an op");
  if (!failed() && is_statement_word(strings_[e.op])) fail("a malformed name of an op");
  e.params = params();
  results(e.has_results, e.results);
  e.attrs = attrs();
  m_.externs.push_back(std::move(e));
}

void Reader::attr_params(std::vector<AttrParam>& out) {
  for (std::uint32_t n = code_.count(256); n > 0 && !failed(); --n) {
    AttrParam p;
    p.key = key(key_string("attribute parameter"));
    p.kind = static_cast<ParamKind>(code_.choice(std::size(kParamKinds), "kind of attribute parameter"));
    for (const AttrParam& other : out)
      if (other.key == p.key) fail("an attribute parameter defined twice");
    if (code_.flag()) p.default_node = append(node());
    out.push_back(p);
  }
}

std::vector<Param> Reader::params() {
  std::vector<Param> out;
  for (std::uint32_t n = code_.count(); n > 0 && !failed(); --n) {
    Param p;
    p.place = place_;
    const std::uint8_t flags = code_.choice(8, "flags of a parameter");
    p.mut = flags & kMut;
    p.typed = flags & kTyped;
    const StrId kept = flags & kNamed ? string() : kNone<StrId>;
    if (flags & kNamed && !failed() && !is_name(strings_[kept])) fail("a malformed name");
    if (p.typed) p.type = type();
    p.name = local_name();
    if (flags & kNamed && has_debug_ && p.name != kept) fail("a parameter with two names");
    if (flags & kNamed) p.name = kept;
    if (p.name != kNone<StrId> && scopes_.find(p.name) != kNoIndex) fail("a parameter defined twice");
    if (failed()) break;
    define(p.name);
    p.name = local_names_.back();
    out.push_back(p);
    kept_.push_back(flags & kNamed);
  }
  return out;
}

void Reader::results(bool& has, std::vector<TypePattern>& out) {
  has = code_.flag();
  if (has) out = types();
}

std::vector<TypePattern> Reader::types() {
  std::vector<TypePattern> out;
  for (std::uint32_t n = code_.count(); n > 0 && !failed(); --n) out.push_back(type());
  return out;
}

TypePattern Reader::type() {
  TypePattern t;
  t.form = static_cast<TypeForm>(code_.choice(6, "form of type"));
  if (t.form == TypeForm::Pack || t.form == TypeForm::Tape) return t;
  if (t.is_class()) {
    t.number = code_.below(1'000'000, "class of dtypes");
    const char letter = t.form == TypeForm::Float ? 'f' : t.form == TypeForm::Int ? 'i' : 't';
    if (parse_dtype(letter + std::to_string(t.number))) fail("a class of dtypes with the name of a dtype");
  } else {
    t.dtype = static_cast<DType>(code_.choice(kDTypes, "dtype"));
  }
  t.dims = dims();
  return t;
}

Range Reader::dims() {
  Range r{static_cast<std::uint32_t>(m_.dims.size()), code_.count()};
  for (std::uint32_t k = 0; k < r.count && !failed(); ++k) {
    DimPattern d;
    d.kind = static_cast<DimKind>(code_.choice(3, "kind of dim"));
    if (d.kind == DimKind::Number) {
      const std::uint64_t n = code_.number();
      if (n >> 63) fail("a size that does not fit 63 bits");
      d.number = static_cast<std::int64_t>(n);
    }
    if (d.kind == DimKind::Name || (d.kind == DimKind::Any && code_.flag())) d.name = key_string("name of a dim");
    m_.dims.push_back(d);
  }
  return r;
}

}  // namespace tfvm::tfbc
