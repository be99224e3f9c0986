// Items, types and statements as text.

#include "bytecode/text/printer.h"

#include "bytecode/text/print.h"
#include "bytecode/text/string_text.h"
#include "bytecode/text/words.h"

namespace tfvm {

void Printer::line(LineHook::Kind kind, std::uint32_t source_line, bool first) {
  const int inner = indent_ + (kind == LineHook::Kind::Close);
  if (hook_) hook_->before(out_, kind, source_line, inner, first, false);
  out_.append(2 * static_cast<std::size_t>(indent_), ' ');
}

void Printer::module() {
  for (std::size_t k = 0; k < m_.items.size(); ++k) {
    const Item& i = m_.items[k];
    const bool blank = k > 0 && (is_long(i) || is_long(m_.items[k - 1]) || i.kind != m_.items[k - 1].kind);
    if (hook_) {
      hook_->before(out_, LineHook::Kind::Item, m_.loc_of(i).line, 0, k == 0, blank);
    } else if (blank) {
      out_ += '\n';
    }
    item(i);
    out_ += '\n';
  }
}

void Printer::item(const Item& item) {
  switch (item.kind) {
    case ItemKind::Import:
      put("import ").put(quoted(strings_[m_.imports[item.at].path]));
      break;
    case ItemKind::Func:
      func(m_.funcs[item.at]);
      break;
    case ItemKind::Derived:
      put("func @").put(m_.derived[item.at].name).put(" = ");
      callee(m_.derived[item.at].callee);
      break;
    case ItemKind::Global:
      global(m_.globals[item.at]);
      break;
    case ItemKind::Extern:
      extern_op(m_.externs[item.at]);
      break;
    case ItemKind::Test: {
      const Test& t = m_.tests[item.at];
      put("test ").put(quoted(strings_[t.name])).put(" ");
      attrs(t.attrs);
      if (!t.attrs.empty()) put(" ");
      block(t.block);
      break;
    }
  }
}

void Printer::func(const Template& f) {
  put("func @").put(f.name);
  attr_params(f.attr_params);
  params(f.params);
  results(f.has_results, f.results);
  put(" ");
  attrs(f.attrs);
  if (!f.attrs.empty()) put(" ");
  block(f.block);
}

void Printer::global(const Global& g) {
  put(g.is_buffer ? "buffer @" : "param @").put(g.name).put(": ");
  type(g.type);
  switch (g.init) {
    case InitKind::None:
      break;
    case InitKind::Literal:
      put(" = ");
      literal(m_.literals[g.literal]);
      break;
    case InitKind::File:
      put(" = file ").put(quoted(strings_[g.path]));
      break;
    case InitKind::Call:
      put(" = call ");
      callee(g.callee);
      put("(");
      operands(g.args);
      put(")");
      break;
  }
}

void Printer::extern_op(const Extern& e) {
  put("extern op ").put(quoted(strings_[e.op]));
  params(e.params);
  results(e.has_results, e.results);
  if (e.attrs.empty()) return;
  put(" ");
  attrs(e.attrs);
}

void Printer::attr_params(const std::vector<AttrParam>& list) {
  if (list.empty()) return;
  put("<");
  for (const AttrParam& p : list) {
    comma(&p == list.data());
    put(strings_[p.key]).put(": ").put(kParamKinds[static_cast<std::size_t>(p.kind)]);
    if (p.default_node == kNoIndex) continue;
    put(" = ");
    node(m_.nodes[p.default_node]);
  }
  put(">");
}

void Printer::params(const std::vector<Param>& list) {
  put("(");
  for (const Param& p : list) {
    comma(&p == list.data());
    put(p.mut ? "mut %" : "%").put(p.name);
    if (!p.typed) continue;
    put(": ");
    type(p.type);
  }
  put(")");
}

void Printer::results(bool has, const std::vector<TypePattern>& list) {
  if (!has) return;
  put(" -> ");
  types(list);
}

void Printer::types(std::span<const TypePattern> list) {
  if (list.size() == 1) return type(list[0]);
  put("(");
  for (const TypePattern& t : list) {
    comma(&t == list.data());
    type(t);
  }
  put(")");
}

void Printer::type(const TypePattern& t) {
  if (t.form == TypeForm::Pack || t.form == TypeForm::Tape) {
    put(t.form == TypeForm::Pack ? "pack" : "tape");
    return;
  }
  if (t.is_class())
    put(t.form == TypeForm::Float ? "f" : t.form == TypeForm::Int ? "i" : "t");
  else
    put(name(t.dtype));
  if (t.is_class() && t.number != 0) put(std::to_string(t.number));
  if (t.dims.empty()) return;
  bool first = true;
  for (const DimPattern& d : Module::at(m_.dims, t.dims)) {
    put(first ? "[" : ",");
    first = false;
    dim(d);
  }
  put("]");
}

void Printer::dim(const DimPattern& d) {
  if (d.kind == DimKind::Number) put(std::to_string(d.number));
  if (d.kind == DimKind::Any) put("..");
  if (d.kind != DimKind::Number && d.name != kNone<StrId>) put(d.name);
}

void Printer::block(std::uint32_t at) {
  put("{\n");
  ++indent_;
  bool first = true;
  for (const Stmt& s : Module::at(m_.stmts, m_.blocks[at].stmts)) {
    line(LineHook::Kind::Statement, s.place.line, first);
    first = false;
    statement(s);
    put("\n");
  }
  --indent_;
  line(LineHook::Kind::Close, notes_ ? notes_->block_end_line[at] : 0, first);
  put("}");
}

void Printer::statement(const Stmt& s) {
  bool first = true;
  for (StrId result : Module::at(m_.result_names, s.results)) {
    comma(first);
    put("%").put(result);
    first = false;
  }
  if (!first) put(" = ");
  statement_body(s);
  // Loops with blocks have printed their attributes in front of the first one.
  const bool loop = s.control != kNoIndex && s.kind != StmtKind::If && s.kind != StmtKind::ExpectError;
  if (!s.attrs.empty() && !loop) {
    put(" ");
    attrs(s.attrs);
  }
  if (!s.has_types) return;
  put(" : ");
  types(Module::at(m_.types, s.types));
}

void Printer::statement_body(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::Op:
      put(s.op);
      if (!s.operands.empty()) put(" ");
      return operands(s.operands);
    case StmtKind::Ret:
    case StmtKind::Yield:
      return leave(s);
    case StmtKind::ExpectError:
      put("expect_error ").put(quoted(strings_[s.op])).put(" ");
      return statement(m_.stmts[m_.controls[s.control].inner]);
    case StmtKind::If:
    case StmtKind::For:
      return control(s);
    case StmtKind::While:
    case StmtKind::Scan:
      if (s.control != kNoIndex) return control(s);
      put(s.kind == StmtKind::While ? "while " : "scan ");
      break;
    case StmtKind::Call:
      put("call ");
      break;
    case StmtKind::Cond:
      put("cond ");
      break;
    case StmtKind::Switch:
      put("switch ");
      break;
    case StmtKind::Checkpoint:
      put("checkpoint ");
      break;
  }
  operands(s.operands);
  put(s.kind == StmtKind::Call ? "(" : " (");
  operands(s.args);
  put(")");
}

void Printer::leave(const Stmt& s) {
  put(s.kind == StmtKind::Ret ? "ret" : "yield");
  if (!s.operands.empty()) put(" ");
  operands(s.operands);
  if (s.args.empty()) return;
  put("; ");
  operands(s.args);
}

void Printer::control(const Stmt& s) {
  const Control& c = m_.controls[s.control];
  if (s.kind == StmtKind::If) {
    put("if ");
    operands(s.operands);
    put(" ");
    block(c.blocks[0]);
    put(" else ");
    return block(c.blocks[1]);
  }
  bind_list(s);
  put(" ");
  attrs(s.attrs);
  if (!s.attrs.empty()) put(" ");
  block(c.blocks[0]);
  if (s.kind != StmtKind::While) return;
  put(" do ");
  block(c.blocks[1]);
}

void Printer::bind_list(const Stmt& s) {
  const Control& c = m_.controls[s.control];
  put(s.kind == StmtKind::While ? "while (" : s.kind == StmtKind::Scan ? "scan (" : "for (");
  binds(c.carries);
  // A scan without inputs keeps its semicolon, so that it is not taken for a list of inputs that was forgotten.
  if (s.kind == StmtKind::Scan || !c.inputs.empty()) put(";");
  if (!c.inputs.empty()) put(" ");
  binds(c.inputs);
  put(")");
}

void Printer::binds(Range r) {
  bool first = true;
  for (const Bind& b : Module::at(m_.binds, r)) {
    comma(first);
    first = false;
    put("%").put(b.name).put(" = ");
    operand(m_.operands[b.operand]);
  }
}

std::string print_module(const Module& m, const StringTable& strings) {
  Printer p(m, strings);
  p.module();
  return p.take();
}

std::string print_callee(const Module& m, std::uint32_t callee, const StringTable& strings) {
  Printer p(m, strings);
  p.callee(callee);
  return p.take();
}

std::string print_type(const Module& m, const TypePattern& type, const StringTable& strings) {
  Printer p(m, strings);
  p.type(type);
  return p.take();
}

}  // namespace tfvm
