#pragma once
// .tfbc to module. The code and the debug section are walked side by side; what a printer could not print, or a parser
// would read as something else, is refused here.

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "bytecode/binary/cursor.h"
#include "bytecode/binary/meant.h"
#include "bytecode/module.h"
#include "bytecode/text/scopes.h"

namespace tfvm::tfbc {

// The strings of one section. Code: each used first in its order, all used.
class StringSection {
 public:
  void read(Cursor& in, StringTable& strings);
  StrId use(Cursor& in);
  void finish(Cursor& in) const;

 private:
  std::vector<StrId> ids_;
  std::uint32_t used_ = 0;
};

class Reader {
 public:
  Reader(StringTable& strings, std::span<const std::byte> code, std::span<const std::byte> debug,
         std::string_view file);
  Result<Module> read();

 private:
  enum class Where : std::uint8_t { Function, Block, Test };

  // reader.cpp: items and types
  void item(std::uint32_t number);
  void func(std::uint32_t number);
  void global(std::uint32_t number);
  void extern_op();
  void attr_params(std::vector<AttrParam>& out);
  std::vector<Param> params();
  void results(bool& has, std::vector<TypePattern>& out);
  std::vector<TypePattern> types();
  TypePattern type();
  Range dims();
  void resolve_callees();
  void check_kept_names();

  // read_nodes.cpp: attributes, callees, operands, literals
  Range attrs();
  std::uint32_t append(const Node& n);
  Node node();  // as the value of an attribute
  Node expr();  // inside an Expr
  void number_text(Node& n, ElemKind kind);
  void local_ref(Node& n);
  Range items(std::uint32_t n, bool as_expr);
  struct ReadCallee {
    CalleeExpr expr;
    std::uint32_t item = kNoIndex;  // whose name it gets at the end
  };
  std::uint32_t callee() { return append(callee_expr()); }
  std::uint32_t append(const ReadCallee& c);
  ReadCallee callee_expr();
  Range operands();
  Operand operand();
  std::uint32_t literal();
  void elements(std::uint64_t n, std::uint32_t rank);
  void element(ElemKind kind);

  // read_stmts.cpp
  std::uint32_t block(Where where);
  std::uint32_t block_in_scope();
  Stmt stmt(Where where);
  std::uint32_t expected_to_fail(Stmt& s, Where where);
  void results(Stmt& s);
  void operands_of(Stmt& s);
  void loop(Stmt& s, Control& c);
  Range binds();
  Local use();  // a local that is in scope

  // Names. Without a debug section they are made up.
  StrId item_name(char letter, std::uint32_t number);
  Loc item_loc();
  StrId local_name();
  void define(StrId name);
  Place place();
  StrId string() { return code_strings_.use(code_); }
  StrId key_string(std::string_view what);  // letters, digits, _ and dots, and no number
  bool failed() const { return code_.failed() || debug_.failed(); }
  void fail(std::string message) { code_.fail(std::move(message)); }
  bool enter();
  void leave() { --nesting_; }

  StringTable& strings_;
  Module m_;
  Cursor code_, debug_;
  bool has_debug_;
  StringSection code_strings_, debug_strings_;
  Scopes scopes_;
  std::vector<StrId> local_names_;  // by Local
  Place place_;                     // of the statement or item being read
  Loc loc_;                         // of the item
  std::int64_t line_ = 0;
  int nesting_ = 0, expr_nodes_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> callee_items_;  // callee, item number: named at the end
  std::vector<bool> kept_;  // per parameter of functions and extern ops: whether the code has its name
  std::vector<Node> node_stack_;
  std::vector<Entry> entry_stack_;
  std::vector<Stmt> stmt_stack_;
};

bool is_number(std::string_view text, ElemKind kind);  // as the lexer reads it: Int, Float, Bits, Complex

}  // namespace tfvm::tfbc
