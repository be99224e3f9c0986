#pragma once
// A module as written: templates, derived functions, globals, externs, tests. This is what text and binary hold;
// bytecode/elaborate makes typed instances of it.

#include <string>
#include <vector>

#include "bytecode/syntax.h"

namespace tfvm {

enum class ParamType : std::uint8_t { Int, Float, Bool, Str, DType, Ints };
struct AttrParam {
  Key key;
  ParamType type;
  std::uint32_t default_node = kNoIndex;
};
struct Param {
  StrId name;
  bool mut = false;
  bool typed = false;  // without a type it takes anything
  TypePattern type;
};
struct Template {
  StrId name;
  Loc loc;
  std::vector<AttrParam> attr_params;
  std::vector<Param> params;
  std::vector<TypePattern> results;
  bool has_results = false;
  Range attrs;  // custom_jvp, custom_vjp, derivative, …
  std::uint32_t block = kNoIndex;
};
struct Derived {
  StrId name;
  Loc loc;
  std::uint32_t callee;
};
enum class InitKind : std::uint8_t { None, Literal, File, Call };
struct Global {
  StrId name;
  Loc loc;
  bool is_buffer = false;
  TypePattern type;
  InitKind init = InitKind::None;
  std::uint32_t literal = kNoIndex;  // Literal
  StrId path = kNone<StrId>;         // File
  std::uint32_t callee = kNoIndex;   // Call
  Range args;
};
struct Test {
  std::string name;
  Loc loc;
  Range attrs;
  std::uint32_t block;
};
struct Extern {
  std::string op;
  Loc loc;
  std::vector<Param> params;
  std::vector<TypePattern> results;
  bool has_results = false;
  Range attrs;
};
struct Import {
  std::string path;
  Loc loc;
};
// Items in the order of the file.
enum class ItemKind : std::uint8_t { Import, Template, Derived, Global, Extern, Test };
struct Item {
  ItemKind kind;
  std::uint32_t at;  // in the vector of its kind
};

struct Module {
  StrId file = kNone<StrId>;
  std::vector<Import> imports;
  std::vector<Template> templates;
  std::vector<Derived> derived;
  std::vector<Global> globals;
  std::vector<Extern> externs;
  std::vector<Test> tests;
  std::vector<Item> items;
  // pools
  std::string text;  // of numbers in literals
  std::vector<Node> nodes;
  std::vector<std::uint32_t> node_lists;
  std::vector<Entry> entries;
  std::vector<Callee> callees;
  std::vector<Literal> literals;
  std::vector<Operand> operands;
  std::vector<DimPattern> dims;
  std::vector<TypePattern> types;
  std::vector<StrId> names;
  std::vector<Bind> binds;
  std::vector<Block> blocks;
  std::vector<std::uint32_t> block_stmts;
  std::vector<Stmt> stmts;
};

}  // namespace tfvm
