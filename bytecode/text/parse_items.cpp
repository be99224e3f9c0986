// Items and types of the grammar.

#include "bytecode/defaults.h"
#include "bytecode/text/parser.h"
#include "bytecode/text/words.h"

namespace tfvm {

namespace {

// f, i or t, perhaps with a number: a class of dtypes.
bool parse_class(std::string_view s, TypePattern& out) {
  if (s.empty()) return false;
  const char c = s[0];
  if (c != 'f' && c != 'i' && c != 't') return false;
  if (s.size() > 7 || (s.size() > 1 && s[1] == '0')) return false;
  for (char d : s.substr(1)) {
    if (d < '0' || d > '9') return false;
    out.number = out.number * 10 + static_cast<std::uint32_t>(d - '0');
  }
  out.form = c == 'f' ? TypeForm::Float : c == 'i' ? TypeForm::Int : TypeForm::Any;
  return true;
}

}  // namespace

void Parser::item() {
  if (!tok_.newline) return fail("an item begins on a new line");
  scopes_.begin_function();
  if (at_item("import")) return import();
  if (at_item("func")) return func();
  if (at_item("param") || at_item("buffer")) return global(lexer_.text(tok_) == "buffer");
  if (at_item("extern")) return extern_op();
  if (at_item("test")) return test();
  fail("expected an item (func, test, param, buffer, import or extern), got " + describe(tok_));
}

bool Parser::at_item(std::string_view word) const { return tok_.kind == Tok::Ident && lexer_.text(tok_) == word; }

void Parser::add(ItemKind kind, std::size_t at) {
  if (failed_) return;
  if (auto s = add_item(m_, {kind, static_cast<std::uint32_t>(at)}, strings_); !s) {
    error_ = std::move(s).error();
    failed_ = true;
    tok_.kind = Tok::End;
  }
}

void Parser::import() {
  const Loc here = loc(tok_);
  advance();
  if (!at(Tok::String)) return expected("the path of a file in quotes");
  m_.imports.push_back({take_string(), here});
  add(ItemKind::Import, m_.imports.size() - 1);
}

void Parser::func() {
  advance();
  const Loc here = loc(tok_);
  if (!at(Tok::Global)) return expected("the name of a function, as in func @f");
  const StrId name = take(1);
  if (accept(Tok::Assign)) return derived(name, here);
  Template f;
  f.name = name;
  f.loc = here;
  if (at(Tok::Less)) attr_params(f.attr_params);
  f.params = params();
  result_types(f.has_results, f.results);
  f.attrs = optional_attrs();
  f.block = block(Where::Function);
  f.num_locals = scopes_.count();
  m_.funcs.push_back(std::move(f));
  add(ItemKind::Func, m_.funcs.size() - 1);
}

void Parser::derived(StrId name, Loc here) {
  if (!at(Tok::Ident)) return expected("a transform, as in grad(@f)");
  m_.derived.push_back({name, here, callee()});
  add(ItemKind::Derived, m_.derived.size() - 1);
}

void Parser::attr_params(std::vector<AttrParam>& out) {
  open(Tok::Less, "<");
  do {
    if (!at(Tok::Ident)) return expected("the name of an attribute parameter");
    AttrParam p;
    const Token name = tok_;
    p.key = key(take());
    for (const AttrParam& other : out)
      if (other.key == p.key)
        return fail_at(place(name), "attribute parameter " + std::string(strings_[p.key]) + " is defined twice");
    if (!expect(Tok::Colon, "':' and the kind of the attribute parameter")) return;
    const auto* kind = std::ranges::find(kParamKinds, lexer_.text(tok_));
    if (kind == std::end(kParamKinds)) return expected("int, float, bool, str, dtype or ints");
    p.kind = static_cast<ParamKind>(kind - std::begin(kParamKinds));
    advance();
    if (accept(Tok::Assign)) p.default_node = append(attr());
    out.push_back(p);
    if (out.size() > 256) return fail("more than 256 attribute parameters");
  } while (more_items(Tok::Greater));
  close(Tok::Greater, "',' or '>'");
}

std::vector<Param> Parser::params() {
  std::vector<Param> out;
  open(Tok::LParen, "'('");
  while (!failed_ && tok_.kind != Tok::RParen) {
    Param p;
    if (at_word("mut")) {
      p.mut = true;
      advance();
    }
    if (!at(Tok::Local)) {
      expected("a parameter, as in %x");
      break;
    }
    p.place = place(tok_);
    p.name = take(1);
    if (scopes_.find(p.name) != kNoIndex)
      fail_at(p.place, "parameter %" + std::string(strings_[p.name]) + " is defined twice", Code::Name);
    scopes_.define(p.name);
    p.typed = accept(Tok::Colon);
    if (p.typed) p.type = type();
    out.push_back(p);
    if (!more_items(Tok::RParen)) break;
  }
  close(Tok::RParen, "',' or ')'");
  return out;
}

void Parser::result_types(bool& has, std::vector<TypePattern>& out) {
  has = accept(Tok::Arrow);
  if (has) out = types();
}

void Parser::global(bool is_buffer) {
  advance();
  Global g;
  g.loc = loc(tok_);
  g.is_buffer = is_buffer;
  if (!at(Tok::Global)) return expected("a name, as in param @w: f32[3]");
  g.name = take(1);
  if (!expect(Tok::Colon, "':' and a type")) return;
  g.type = type();
  if (accept(Tok::Assign)) {
    if (at_word("file")) {
      advance();
      if (!at(Tok::String)) return expected("the path of a file in quotes");
      g.init = InitKind::File;
      g.path = take_string();
    } else if (at_word("call")) {
      advance();
      g.init = InitKind::Call;
      g.callee = callee();
      g.args = operands_in_parens();
    } else {
      g.init = InitKind::Literal;
      g.literal = literal();
    }
  }
  m_.globals.push_back(g);
  add(ItemKind::Global, m_.globals.size() - 1);
}

void Parser::extern_op() {
  advance();
  if (!at_word("op")) return expected("'op', as in extern op \"name\"(…)");
  advance();
  Extern e;
  e.loc = loc(tok_);
  if (!at(Tok::String)) return expected("the name of the op in quotes");
  e.op = take_string();
  if (!failed_ && (!is_key(strings_[e.op]) || is_statement_word(strings_[e.op])))
    return fail_at({e.loc.line, e.loc.col}, "the name of an op has letters, digits, _ and inner dots");
  e.params = params();
  result_types(e.has_results, e.results);
  e.attrs = optional_attrs();
  m_.externs.push_back(std::move(e));
  add(ItemKind::Extern, m_.externs.size() - 1);
}

void Parser::test() {
  Test t;
  t.loc = loc(tok_);
  advance();
  if (!at(Tok::String)) return expected("the name of the test in quotes");
  t.name = take_string();
  t.attrs = optional_attrs();
  t.block = block(Where::Test);
  t.num_locals = scopes_.count();
  m_.tests.push_back(t);
  add(ItemKind::Test, m_.tests.size() - 1);
}

TypePattern Parser::type() {
  TypePattern t;
  const std::string_view word = lexer_.text(tok_);
  if (!at(Tok::Ident)) {
    expected("a type, as in f32[3]");
    return t;
  }
  if (word == "pack" || word == "tape") {
    t.form = word == "pack" ? TypeForm::Pack : TypeForm::Tape;
    advance();
    return t;
  }
  if (const auto d = parse_dtype(word)) {
    t.dtype = *d;
  } else if (!parse_class(word, t)) {
    std::vector<std::string_view> names;
    for (const DTypeInfo& row : kDTypeInfo) names.push_back(row.name);
    const std::string near = near_miss(word, names);
    fail("'" + std::string(word) + "' is no dtype" + (near.empty() ? "" : "; did you mean " + near + "?"));
    return t;
  }
  advance();
  if (at(Tok::LBracket)) t.dims = dims();
  return t;
}

Range Parser::dims() {
  Range out{static_cast<std::uint32_t>(m_.dims.size()), 0};
  open(Tok::LBracket, "[");
  while (!failed_ && tok_.kind != Tok::RBracket) {
    DimPattern d;
    if (accept(Tok::Dots)) {
      d.kind = DimKind::Any;
      if (at(Tok::Ident)) d.name = take();
    } else if (at(Tok::Ident)) {
      d.kind = DimKind::Name;
      d.name = take();
    } else if (at(Tok::Int)) {
      if (lexer_.text(tok_)[0] == '-') fail("a size is not negative");
      d.number = number_node().i;
    } else {
      expected("a size: a number, a name, .. or ..name");
    }
    m_.dims.push_back(d);
    ++out.count;
    if (!more_items(Tok::RBracket)) break;
  }
  close(Tok::RBracket, "',' or ']'");
  return out;
}

std::vector<TypePattern> Parser::types() {
  std::vector<TypePattern> out;
  if (!at(Tok::LParen)) return {type()};
  open(Tok::LParen, "(");
  while (!failed_ && tok_.kind != Tok::RParen) {
    out.push_back(type());
    if (!more_items(Tok::RParen)) break;
  }
  close(Tok::RParen, "',' or ')'");
  return out;
}

}  // namespace tfvm
