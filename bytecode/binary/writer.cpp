// Module to .tfbc: one walk writes the code and notes names and places for the debug section on the way.

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "bytecode/binary/format.h"
#include "bytecode/binary/meant.h"
#include "bytecode/binary/tfbc.h"
#include "bytecode/hash.h"
#include "bytecode/literal.h"

namespace tfvm {

namespace {

using namespace tfbc;

// Strings numbered in order of first use.
class Strings {
 public:
  explicit Strings(const StringTable& strings) : strings_(strings) {}
  std::uint32_t number(std::string_view s) {
    const auto [it, fresh] = numbers_.emplace(std::string(s), static_cast<std::uint32_t>(numbers_.size()));
    if (fresh) table_.bytes(s);
    return it->second;
  }
  std::uint32_t number(StrId id) { return number(strings_[id]); }
  std::vector<std::byte> with(Sink& body) {
    Sink out;
    out.number(numbers_.size());
    auto& d = out.data();
    d.insert(d.end(), table_.data().begin(), table_.data().end());
    d.insert(d.end(), body.data().begin(), body.data().end());
    return std::move(d);
  }

 private:
  const StringTable& strings_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  Sink table_;
};

class Writer {
 public:
  Writer(const Module& m, const StringTable& strings)
      : m_(m), strings_(strings), code_strings_(strings), debug_strings_(strings), meant_(m, strings) {
    for (std::uint32_t k = 0; k < m.items.size(); ++k) numbers_.emplace(key_of(m.items[k]), k);
  }

  std::vector<std::byte> write(bool debug) {
    debug_.number(debug_strings_.number(m_.file));
    code_.number(m_.items.size());
    for (const Item& i : m_.items) item(i);
    const auto code = code_strings_.with(code_);
    return write_sections(code, debug ? debug_strings_.with(debug_) : std::vector<std::byte>{});
  }

 private:
  static std::uint64_t key_of(const Item& i) { return static_cast<std::uint64_t>(i.kind) << 32 | i.at; }
  void str(StrId id) { code_.number(code_strings_.number(id)); }
  void str(Key k) { str(tfvm::str(k)); }

  // --- debug: per item its name (imports and externs have theirs in the code), place and the names of its locals; per
  // statement its place.
  void item_debug(StrId name, Loc loc) {
    if (name != kNone<StrId>) debug_.number(debug_strings_.number(name));
    debug_.number(debug_strings_.number(loc.file == kNone<StrId> ? m_.file : loc.file));
    debug_.number(loc.line);
    debug_.number(loc.col);
    line_ = loc.line;
  }
  void local_name(StrId name) { debug_.number(debug_strings_.number(name)); }
  void place(Place p) {
    debug_.signed_number(static_cast<std::int64_t>(p.line) - line_);
    debug_.number(p.col);
    line_ = p.line;
  }

  void item(const Item& i) {
    code_.byte(static_cast<std::uint8_t>(i.kind));
    switch (i.kind) {
      case ItemKind::Import:
        str(m_.imports[i.at].path);
        return item_debug(kNone<StrId>, m_.imports[i.at].loc);
      case ItemKind::Func:
        return func(m_.funcs[i.at]);
      case ItemKind::Derived:
        item_debug(m_.derived[i.at].name, m_.derived[i.at].loc);
        return callee(m_.callees[m_.derived[i.at].callee]);
      case ItemKind::Global:
        return global(m_.globals[i.at]);
      case ItemKind::Extern: {
        const Extern& e = m_.externs[i.at];
        item_debug(kNone<StrId>, e.loc);
        str(e.op);
        params(e.params);
        results(e.has_results, e.results);
        return attrs(e.attrs);
      }
      case ItemKind::Test:
        item_debug(m_.tests[i.at].name, m_.tests[i.at].loc);
        attrs(m_.tests[i.at].attrs);
        return block(m_.tests[i.at].block);
    }
  }

  void func(const Template& f) {
    item_debug(f.name, f.loc);
    code_.number(f.attr_params.size());
    for (const AttrParam& p : f.attr_params) {
      str(p.key);
      code_.byte(static_cast<std::uint8_t>(p.kind));
      code_.byte(p.default_node != kNoIndex);
      if (p.default_node != kNoIndex) node(m_.nodes[p.default_node]);
    }
    params(f.params);
    results(f.has_results, f.results);
    attrs(f.attrs);
    block(f.block);
  }

  void params(const std::vector<Param>& list) {
    code_.number(list.size());
    for (const Param& p : list) {
      const bool named = meant_(p.name);
      code_.byte(static_cast<std::uint8_t>((p.mut ? kMut : 0) | (p.typed ? kTyped : 0) | (named ? kNamed : 0)));
      if (named) str(p.name);
      if (p.typed) type(p.type);
      local_name(p.name);
    }
  }

  void results(bool has, const std::vector<TypePattern>& list) {
    code_.byte(has);
    if (has) types(list);
  }

  void global(const Global& g) {
    item_debug(g.name, g.loc);
    code_.byte(g.is_buffer);
    type(g.type);
    code_.byte(static_cast<std::uint8_t>(g.init));
    if (g.init == InitKind::Literal) literal(m_.literals[g.literal]);
    if (g.init == InitKind::File) str(g.path);
    if (g.init != InitKind::Call) return;
    callee(m_.callees[g.callee]);
    operands(g.args);
  }

  void types(std::span<const TypePattern> list) {
    code_.number(list.size());
    for (const TypePattern& t : list) type(t);
  }

  void type(const TypePattern& t) {
    code_.byte(static_cast<std::uint8_t>(t.form));
    if (t.form == TypeForm::Pack || t.form == TypeForm::Tape) return;
    t.is_class() ? code_.number(t.number) : code_.byte(static_cast<std::uint8_t>(t.dtype));
    code_.number(t.dims.count);
    for (const DimPattern& d : Module::at(m_.dims, t.dims)) {
      code_.byte(static_cast<std::uint8_t>(d.kind));
      if (d.kind == DimKind::Number) code_.number(static_cast<std::uint64_t>(d.number));
      if (d.kind == DimKind::Name) str(d.name);
      if (d.kind != DimKind::Any) continue;
      code_.byte(d.name != kNone<StrId>);
      if (d.name != kNone<StrId>) str(d.name);
    }
  }

  void attrs(Range r) {
    code_.number(r.count);
    for (const Entry& e : Module::at(m_.entries, r)) {
      str(e.key);
      node(m_.nodes[e.node]);
    }
  }

  void nodes(Range r, bool counted) {
    if (counted) code_.number(r.count);
    for (const Node& n : Module::at(m_.nodes, r)) node(n);
  }

  void node(const Node& n) {
    const bool hex = n.kind == NodeKind::Int && n.str != kNone<StrId>;
    code_.byte(static_cast<std::uint8_t>(static_cast<std::uint8_t>(n.kind) | (hex ? kHexInt : 0)));
    switch (n.kind) {
      case NodeKind::None:
        return;
      case NodeKind::Bool:
        return code_.byte(n.i != 0);
      case NodeKind::Int:
        return hex ? str(n.str) : code_.signed_number(n.i);
      case NodeKind::Float:
        if (n.str != kNone<StrId>) return str(n.str);
        return code_.number(code_strings_.number(double_text(std::bit_cast<double>(n.i))));
      case NodeKind::Str:
      case NodeKind::Name:
        return str(n.str);
      case NodeKind::Call:
        str(n.str);
        return nodes(n.items, true);
      case NodeKind::List:
        return nodes(n.items, true);
      case NodeKind::Func:
        return callee(m_.callees[n.at]);
      case NodeKind::Value:
      case NodeKind::Rank:
      case NodeKind::DimOf:
      case NodeKind::SizeOf:
        code_.number(n.at);
        return nodes(n.items, n.kind == NodeKind::SizeOf);
      default:
        return nodes(n.items, false);
    }
  }

  void callee(const CalleeExpr& c) {
    if (c.is_transform()) {
      code_.byte(static_cast<std::uint8_t>(CalleeTag::Transform));
      str(c.name);
      callee(m_.callees[c.inner]);
    } else if (const Item* i = m_.find(c.name)) {
      code_.byte(static_cast<std::uint8_t>(CalleeTag::Item));
      code_.number(numbers_.at(key_of(*i)));
    } else {
      code_.byte(static_cast<std::uint8_t>(CalleeTag::Name));
      str(c.name);
    }
    attrs(c.attrs);
  }

  void operands(Range r) {
    code_.number(r.count);
    for (const Operand& o : Module::at(m_.operands, r)) operand(o);
  }

  void operand(const Operand& o) {
    code_.byte(static_cast<std::uint8_t>(o.kind));
    switch (o.kind) {
      case OperandKind::Value:
        return code_.number(o.at);
      case OperandKind::Callee:
        return callee(m_.callees[o.at]);
      case OperandKind::Literal:
        return literal(m_.literals[o.at]);
      case OperandKind::Computed:
        return node(m_.nodes[o.at]);
      case OperandKind::CalleeList:
        code_.number(o.count);
        for (std::uint32_t k = 0; k < o.count; ++k) callee(m_.callees[o.at + k]);
    }
  }

  void literal(const Literal& l) {
    code_.number(l.dims.count);
    for (std::int64_t d : Module::at(m_.literal_dims, l.dims)) code_.number(static_cast<std::uint64_t>(d));
    const auto elements = Module::at(m_.elements, l.elements);
    if (elements.empty()) return;
    const ElemKind kind = elements[0].kind();
    const bool one = std::ranges::all_of(elements, [&](const Element& e) { return e.kind() == kind; });
    code_.byte(one ? static_cast<std::uint8_t>(kind) : kMixedKinds);
    for (const Element& e : elements) {
      if (!one) code_.byte(static_cast<std::uint8_t>(e.kind()));
      element(e);
    }
  }

  void element(const Element& e) {
    const std::string_view text = m_.text(e);
    if (e.kind() == ElemKind::Bool) return code_.byte(text == "true");
    if (e.kind() != ElemKind::Blob) return code_.bytes(text);
    std::string raw(text.size() / 2, '\0');
    for (std::size_t k = 0; k < text.size(); ++k) {
      const int digit = text[k] <= '9' ? text[k] - '0' : text[k] - 'a' + 10;
      raw[k / 2] = static_cast<char>(raw[k / 2] << 4 | digit);
    }
    code_.bytes(raw);
  }

  void block(std::uint32_t at) {
    const auto stmts = Module::at(m_.stmts, m_.blocks[at].stmts);
    code_.number(stmts.size());
    for (const Stmt& s : stmts) stmt(s);
  }

  void stmt(const Stmt& s) {
    place(s.place);
    const bool blocks = s.control != kNoIndex;
    code_.byte(static_cast<std::uint8_t>(s.kind));
    if (s.kind == StmtKind::While || s.kind == StmtKind::Scan) code_.byte(blocks);
    if (s.kind == StmtKind::ExpectError) {
      str(s.op);
      return stmt(m_.stmts[m_.controls[s.control].inner]);
    }
    if (s.kind == StmtKind::Op) str(s.op);
    const bool loop = blocks && s.kind != StmtKind::If;
    if (!loop) operands(s.operands);
    if (!loop && s.kind != StmtKind::Op && s.kind != StmtKind::Ret && s.kind != StmtKind::If) operands(s.args);
    if (s.kind == StmtKind::Ret || s.kind == StmtKind::Yield) return;
    if (loop) binds(s);
    attrs(s.attrs);
    if (blocks) control_blocks(s);
    code_.byte(s.has_types);
    if (s.has_types) types(Module::at(m_.types, s.types));
    code_.number(s.results.count);
    for (StrId name : Module::at(m_.result_names, s.results)) {
      code_.byte(0);  // one byte for each: what a reader allocates is in proportion to what it reads
      local_name(name);
    }
  }

  void binds(const Stmt& s) {
    const Control& c = m_.controls[s.control];
    bind_operands(c.carries);
    if (s.kind != StmtKind::While) bind_operands(c.inputs);
    for (const Range r : {c.carries, c.inputs})
      for (const Bind& b : Module::at(m_.binds, r)) local_name(b.name);
  }

  void bind_operands(Range r) {
    code_.number(r.count);
    for (const Bind& b : Module::at(m_.binds, r)) operand(m_.operands[b.operand]);
  }

  void control_blocks(const Stmt& s) {
    const Control& c = m_.controls[s.control];
    block(c.blocks[0]);
    if (s.kind == StmtKind::If || s.kind == StmtKind::While) block(c.blocks[1]);
  }

  const Module& m_;
  const StringTable& strings_;
  Strings code_strings_, debug_strings_;
  Sink code_, debug_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // kind and index of an item: its number
  MeantNames meant_;
  std::int64_t line_ = 0;  // of the last place written
};

}  // namespace

std::vector<std::byte> write_tfbc(const Module& m, const StringTable& strings, bool debug) {
  return Writer(m, strings).write(debug);
}

std::vector<std::byte> write_sections(std::span<const std::byte> code, std::span<const std::byte> debug) {
  std::vector<std::byte> out;
  for (char c : kMagic) out.push_back(static_cast<std::byte>(c));
  append(out, kVersion);
  const auto section = [&](Section kind, std::span<const std::byte> payload) {
    append(out, static_cast<std::uint32_t>(kind));
    append(out, static_cast<std::uint64_t>(payload.size()));
    append(out, hash_span(payload));
    out.insert(out.end(), payload.begin(), payload.end());
  };
  section(Section::Code, code);
  if (!debug.empty()) section(Section::Debug, debug);
  return out;
}

}  // namespace tfvm
