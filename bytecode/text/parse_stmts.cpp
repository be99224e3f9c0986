// Statements and blocks of the grammar.

#include "bytecode/defaults.h"
#include "bytecode/text/parser.h"
#include "bytecode/text/words.h"

namespace tfvm {

Local Parser::use(StrId name, Place here) {
  if (const Local l = scopes_.find(name); l != kNoIndex || failed_) return l;
  std::vector<std::string_view> known;
  for (StrId id : scopes_.names()) known.push_back(strings_[id]);
  // Any two names of one or two letters are near each other.
  const std::string near = strings_[name].size() > 2 ? near_miss(strings_[name], known) : "";
  fail_at(here,
          "%" + std::string(strings_[name]) + " is not defined here" +
              (near.empty() ? "" : "; did you mean %" + near + "?"),
          Code::Name);
  return kNoIndex;
}

std::uint32_t Parser::block(Where where) {
  if (!expect(Tok::LBrace, "'{' and statements") || !enter()) return kNoIndex;
  const std::size_t mark = stmt_stack_.size();
  bool ended = false;  // behind ret or yield
  while (!failed_ && tok_.kind != Tok::RBrace) {
    if (tok_.kind == Tok::End) expected("'}'");
    if (stmt_stack_.size() > mark && !tok_.newline) fail("expected the end of the line, got " + describe(tok_));
    if (ended) fail("nothing follows ret or yield in a block");
    tok_.newline = false;
    const Stmt s = stmt(where);
    ended = s.kind == StmtKind::Ret || s.kind == StmtKind::Yield;
    stmt_stack_.push_back(s);
  }
  Block b{{static_cast<std::uint32_t>(m_.stmts.size()), static_cast<std::uint32_t>(stmt_stack_.size() - mark)}};
  m_.stmts.insert(m_.stmts.end(), stmt_stack_.begin() + static_cast<std::ptrdiff_t>(mark), stmt_stack_.end());
  stmt_stack_.resize(mark);
  m_.blocks.push_back(b);
  if (notes_) notes_->block_end_line.push_back(tok_.line);
  leave();
  if (!failed_) advance();
  return static_cast<std::uint32_t>(m_.blocks.size() - 1);
}

void Parser::block_in_scope(std::uint32_t& out) {
  const std::size_t mark = scopes_.mark();
  out = block(Where::Block);
  scopes_.restore(mark);
}

void Parser::results(Stmt& s) {
  s.results.begin = static_cast<std::uint32_t>(m_.result_names.size());
  if (!at(Tok::Local)) return;
  do {
    if (!at(Tok::Local)) return expected("the name of a result, as in %x");
    const StrId name = take(1);
    m_.result_names.push_back(name);
    ++s.results.count;
  } while (accept(Tok::Comma));
  expect(Tok::Assign, "'=' or ',' after the name of a result");
}

Stmt Parser::stmt(Where where) {
  Stmt s;
  s.place = place(tok_);
  results(s);
  if (!at(Tok::Ident)) {
    expected(s.results.empty() ? "a statement" : "an op");
    return s;
  }
  if (!s.results.empty()) s.place = place(tok_);
  stmt_body(s, where);
  if (failed_) return s;
  s.first_local = scopes_.count();
  for (StrId name : Module::at(m_.result_names, s.results)) scopes_.define(name);
  return s;
}

void Parser::stmt_body(Stmt& s, Where where) {
  const std::string_view word = lexer_.text(tok_);
  if (!is_statement_word(word)) return op(s);
  if (word == "ret" || word == "yield") return leave_stmt(s, where);
  if (word == "expect_error") return expect_error(s, where);
  const Tok next = peek().kind;
  if (word == "if") return if_(s);
  if (word == "while" && next == Tok::LParen) return while_block(s);
  if ((word == "scan" && next == Tok::LParen) || word == "for") return scan_block(s);
  advance();
  if (word == "call") s.kind = StmtKind::Call;
  if (word == "cond") s.kind = StmtKind::Cond;
  if (word == "switch") s.kind = StmtKind::Switch;
  if (word == "while") s.kind = StmtKind::While;
  if (word == "scan") s.kind = StmtKind::Scan;
  if (word == "checkpoint") s.kind = StmtKind::Checkpoint;
  const int values = s.kind == StmtKind::Cond || s.kind == StmtKind::Switch;
  const int callees = s.kind == StmtKind::Cond || s.kind == StmtKind::While ? 2 : s.kind == StmtKind::Switch ? 0 : 1;
  call_like(s, values, callees, s.kind == StmtKind::Switch);
}

// [value,] callees or a list of them, (operands)
void Parser::call_like(Stmt& s, int values, int callees, bool list) {
  s.operands.begin = static_cast<std::uint32_t>(m_.operands.size());
  const int n = values + callees + list;
  for (int k = 0; k < n && !failed_; ++k) {
    if (k > 0) expect(Tok::Comma, k < values + callees ? "',' and a function" : "',' and a list of functions");
    const bool want_callee = k >= values && !list;
    if (want_callee && !callee_ahead()) {
      (void)callee_expr();  // says what is wrong
      if (!failed_) expected("a function");
      return;
    }
    const Operand o = operand();
    if (list && k == 1 && o.kind != OperandKind::CalleeList)
      return fail_at(o.place, "switch takes a list of functions, as in [@f, @g]");
    m_.operands.push_back(o);
    ++s.operands.count;
  }
  s.args = operands_in_parens();
  tail(s);
}

void Parser::op(Stmt& s) {
  const Token name = tok_;
  s.op = take();
  if (at(Tok::LParen) && is_transform(strings_[s.op]))
    return fail_at(place(name), "'" + std::string(strings_[s.op]) + "' makes a function: write call " +
                                    std::string(strings_[s.op]) + "(…)(…)");
  s.operands = operands();
  tail(s);
}

void Parser::tail(Stmt& s) {
  if (at(Tok::LBrace)) {
    if (!attrs_ahead()) {
      if (peek().kind == Tok::RBrace) return fail("attributes are never empty: leave out {}");
      advance();
      return at(Tok::Ident) ? (advance(), expected("'=' after the name of an attribute")) : expected("KEY = value");
    }
    s.attrs = optional_attrs();
  }
  s.has_types = accept(Tok::Colon);
  if (s.has_types) {
    const std::vector<TypePattern> list = types();
    s.types = {static_cast<std::uint32_t>(m_.types.size()), static_cast<std::uint32_t>(list.size())};
    m_.types.insert(m_.types.end(), list.begin(), list.end());
  }
  if (!line_ended() && tok_.kind != Tok::RBrace) expected("the end of the line");
}

void Parser::leave_stmt(Stmt& s, Where where) {
  const bool is_ret = lexer_.text(tok_) == "ret";
  if (is_ret && where != Where::Function)
    return fail(where == Where::Test ? "a test has no results" : "ret stands in a function; a block ends with yield");
  if (!is_ret && where != Where::Block)
    return fail(where == Where::Test ? "a test has no results" : "yield stands in a block; a function ends with ret");
  if (!s.results.empty()) return fail("ret and yield have no results");
  s.kind = is_ret ? StmtKind::Ret : StmtKind::Yield;
  advance();
  s.operands = operands();
  if (!is_ret && accept(Tok::Semicolon)) s.args = operands();
  if (!line_ended() && tok_.kind != Tok::RBrace) expected("',' or the end of the line");
}

void Parser::expect_error(Stmt& s, Where where) {
  s.kind = StmtKind::ExpectError;
  if (!s.results.empty()) return fail("expect_error has no results");
  advance();
  if (!at(Tok::String)) return expected("a part of the message in quotes");
  s.op = take_string();
  if (!enter()) return;
  Control c;
  const std::size_t mark = scopes_.mark();
  const Stmt inner = stmt(where);
  scopes_.restore(mark);  // it fails, so its results are not there
  leave();
  c.inner = static_cast<std::uint32_t>(m_.stmts.size());
  m_.stmts.push_back(inner);
  s.control = static_cast<std::uint32_t>(m_.controls.size());
  m_.controls.push_back(c);
}

void Parser::if_(Stmt& s) {
  s.kind = StmtKind::If;
  advance();
  Control c;
  const Operand p = operand();
  s.operands = {static_cast<std::uint32_t>(m_.operands.size()), 1};
  m_.operands.push_back(p);
  block_in_scope(c.blocks[0]);
  if (failed_) return;
  if (tok_.kind == Tok::Ident && lexer_.text(tok_) == "else" && tok_.newline)
    return fail("else stands on the line of the } before it");
  if (!at_word("else")) return expected("'else' and a block");
  advance();
  block_in_scope(c.blocks[1]);
  s.control = static_cast<std::uint32_t>(m_.controls.size());
  m_.controls.push_back(c);
  tail(s);
}

void Parser::while_block(Stmt& s) {
  s.kind = StmtKind::While;
  advance();
  Control c;
  c.carries = binds(false, c.inputs);
  s.attrs = optional_attrs();
  const std::size_t mark = scopes_.mark();
  define(c.carries);
  block_in_scope(c.blocks[0]);
  if (failed_) return;
  if (tok_.kind == Tok::Ident && lexer_.text(tok_) == "do" && tok_.newline)
    return fail("do stands on the line of the } before it");
  if (!at_word("do")) return expected("'do' and a block");
  advance();
  block_in_scope(c.blocks[1]);
  scopes_.restore(mark);
  s.control = static_cast<std::uint32_t>(m_.controls.size());
  m_.controls.push_back(c);
  if (!s.attrs.empty() && at(Tok::LBrace)) return fail("attributes stand either before the blocks or behind them");
  const Range attrs = s.attrs;
  tail(s);
  if (s.attrs.empty()) s.attrs = attrs;
}

void Parser::scan_block(Stmt& s) {
  s.kind = lexer_.text(tok_) == "for" ? StmtKind::For : StmtKind::Scan;
  advance();
  Control c;
  c.carries = binds(true, c.inputs);
  s.attrs = optional_attrs();
  const std::size_t mark = scopes_.mark();
  define(c.carries);
  define(c.inputs);
  c.step_local = scopes_.define(strings_.intern("scan.i"));
  block_in_scope(c.blocks[0]);
  scopes_.restore(mark);
  s.control = static_cast<std::uint32_t>(m_.controls.size());
  m_.controls.push_back(c);
  if (!s.attrs.empty() && at(Tok::LBrace)) return fail("attributes stand either before the block or behind it");
  const Range attrs = s.attrs;
  tail(s);
  if (s.attrs.empty()) s.attrs = attrs;
}

// (%c = operand, … ; %x = operand, …)
Range Parser::binds(bool with_inputs, Range& inputs) {
  const auto begin = static_cast<std::uint32_t>(m_.binds.size());
  std::uint32_t carries = 0;
  bool in_inputs = false;
  open(Tok::LParen, "'('");
  while (!failed_ && tok_.kind != Tok::RParen) {
    if (with_inputs && !in_inputs && tok_.kind == Tok::Semicolon) {
      in_inputs = true;
      carries = static_cast<std::uint32_t>(m_.binds.size()) - begin;
      accept(Tok::Semicolon);
      continue;
    }
    Bind b{.name = kNone<StrId>, .local = 0, .operand = 0, .place = place(tok_)};
    if (!at(Tok::Local)) {
      expected("a name, as in %c = %x");
      break;
    }
    b.name = take(1);
    if (!expect(Tok::Assign, "'=' and an operand")) break;
    const Operand o = operand();
    b.operand = static_cast<std::uint32_t>(m_.operands.size());
    m_.operands.push_back(o);
    m_.binds.push_back(b);
    if (tok_.kind == Tok::Semicolon) continue;
    if (!more_items(Tok::RParen)) break;
  }
  close(Tok::RParen, with_inputs ? "',', ';' or ')'" : "',' or ')'");
  const auto all = static_cast<std::uint32_t>(m_.binds.size()) - begin;
  if (!in_inputs) carries = all;
  inputs = {begin + carries, all - carries};
  return {begin, carries};
}

void Parser::define(Range range) {
  for (std::uint32_t k = 0; k < range.count; ++k) {
    Bind& b = m_.binds[range.begin + k];
    b.local = scopes_.define(b.name);
  }
}

}  // namespace tfvm
