#pragma once
// Recursive descent over language.md, section 2. After the first error the current token is End, so every loop ends.

#include <string>
#include <string_view>
#include <vector>

#include "bytecode/module.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/scopes.h"

namespace tfvm {

class Parser {
 public:
  Parser(StringTable& strings, std::string_view source, std::string_view file, SourceNotes* notes,
         std::uint32_t first_line = 1);
  Result<Module> module();
  Result<ParsedCallee> only_callee();
  Result<Module> only_literal();

 private:
  enum class Where : std::uint8_t { Function, Block, Test };

  // Tokens. Inside brackets (depth_ > 0) line breaks mean nothing; elsewhere a token behind one is another statement.
  void advance();
  bool line_ended() const { return (tok_.newline && depth_ == 0) || tok_.kind == Tok::End; }
  bool at(Tok kind) const { return tok_.kind == kind && !line_ended(); }
  bool at_word(std::string_view word) const { return at(Tok::Ident) && lexer_.text(tok_) == word; }
  bool accept(Tok kind);
  bool expect(Tok kind, std::string_view what);
  void open(Tok kind, std::string_view what);
  void close(Tok kind, std::string_view what);
  bool more_items(Tok closing);  // behind an item of a list: a comma (which may trail)
  Token peek() const;
  StrId take(std::uint32_t drop = 0);  // interns the token less `drop` bytes in front, and advances
  StrId take_string();                 // decodes the escapes of JSON
  void fail(std::string message, Code code = Code::Syntax) { fail_at(place(tok_), std::move(message), code); }
  void fail_at(Place place, std::string message, Code code = Code::Syntax);
  void expected(std::string_view what);
  std::string describe(const Token& t) const;
  static Place place(const Token& t) { return {t.line, t.col}; }
  Loc loc(const Token& t) const { return {m_.file, t.line, t.col}; }
  bool enter();  // one level of nesting more
  void leave() { --nesting_; }

  // Items.
  void item();
  void import();
  void func();
  void derived(StrId name, Loc at);
  void global(bool is_buffer);
  void extern_op();
  void test();
  void attr_params(std::vector<AttrParam>& out);
  std::vector<Param> params();
  void result_types(bool& has, std::vector<TypePattern>& out);
  void add(ItemKind kind, std::size_t at);
  bool at_item(std::string_view word) const;

  // Types.
  TypePattern type();
  Range dims();
  std::vector<TypePattern> types();

  // Attributes, expressions, callees.
  bool attrs_ahead() const;
  Range optional_attrs();
  Range entries(Tok closing);
  Node attr();
  Node list();
  Node key_or_call();
  Node number_node();
  Node expr_in_parens();
  void count_part();
  Node expr(int level);
  NodeKind binary_operator();
  Node unary();
  Node primary();
  Node named_primary();
  Range expr_items(std::size_t min, std::size_t max);
  Node local_node(NodeKind kind, Place at);
  Range append(const Node* nodes, std::size_t n);
  std::uint32_t append(const Node& n);
  bool callee_ahead() const;
  std::uint32_t callee();
  CalleeExpr callee_expr();

  // Operands and literals.
  bool operand_ahead() const;
  Range operands();
  Range operands_in_parens();
  Operand operand();
  Operand local();
  Operand callee_list();
  std::uint32_t literal();
  void literal_list(std::size_t depth);
  void literal_leaf(std::size_t depth);
  void element(ElemKind kind, std::string_view text);
  void bits();
  void complex();
  void blob();

  // Statements.
  std::uint32_t block(Where where);
  Stmt stmt(Where where);
  void stmt_body(Stmt& s, Where where);
  void op(Stmt& s);
  void call_like(Stmt& s, int values, int callees, bool list);
  void if_(Stmt& s);
  void while_block(Stmt& s);
  void scan_block(Stmt& s);
  void leave_stmt(Stmt& s, Where where);
  void expect_error(Stmt& s, Where where);
  void results(Stmt& s);
  void tail(Stmt& s);  // attributes and written types
  Range binds(bool with_inputs, Range& inputs);
  void define(Range binds);
  void block_in_scope(std::uint32_t& out);
  Local use(StrId name, Place at);

  StringTable& strings_;
  Module m_;
  Lexer lexer_;
  SourceNotes* notes_;
  Token tok_;
  std::uint32_t prev_line_ = 1, prev_end_col_ = 1;  // just behind the last token
  int depth_ = 0, nesting_ = 0, expr_nodes_ = 0;
  bool failed_ = false;
  Error error_{Code::Syntax, {}};
  Scopes scopes_;
  std::vector<Entry> entry_stack_;
  std::vector<Node> node_stack_;
  std::vector<Stmt> stmt_stack_;
  std::vector<std::int64_t> shape_;  // of the literal being read; -1: not known yet
  std::size_t leaf_depth_ = 0;
};

}  // namespace tfvm
