#pragma once
// A module as written: templates, derived functions, globals, externs, tests. Types are patterns, attributes may hold
// computed integers. Text and binary hold exactly this; bytecode/elaborate makes typed instances of it.

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bytecode/statement.h"
#include "bytecode/status.h"
#include "bytecode/syntax.h"

namespace tfvm {

enum class ParamKind : std::uint8_t { Int, Float, Bool, Str, DType, Ints };
struct AttrParam {  // <axis: int = -1>
  Key key;
  ParamKind kind = ParamKind::Int;
  std::uint32_t default_node = kNoIndex;  // into `nodes`; kNoIndex: must be given
};
struct Param {  // local k is parameter k
  StrId name;   // without %
  bool mut = false;
  bool typed = false;  // without a type it takes any value
  TypePattern type;
  Place place;
};
struct Template {
  StrId name;  // without @
  Loc loc;
  std::vector<AttrParam> attr_params;
  std::vector<Param> params;
  std::vector<TypePattern> results;
  bool has_results = false;  // `-> types` is written
  Range attrs;               // into `entries`: custom_jvp, custom_vjp, derivative, …
  std::uint32_t block = kNoIndex;
  std::uint32_t num_locals = 0;
};
struct Derived {  // func @g = grad(@f)
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
  std::uint32_t literal = kNoIndex;  // Literal: into `literals`
  StrId path = kNone<StrId>;         // File
  std::uint32_t callee = kNoIndex;   // Call: into `callees`
  Range args;                        // Call: into `operands`, literals and globals
};
struct Extern {
  StrId op;
  Loc loc;
  std::vector<Param> params;
  std::vector<TypePattern> results;
  bool has_results = false;
  Range attrs;
};
struct Test {
  StrId name;
  Loc loc;
  Range attrs;
  std::uint32_t block = kNoIndex;
  std::uint32_t num_locals = 0;
};
struct Import {
  StrId path;
  Loc loc;
};

enum class ItemKind : std::uint8_t { Import, Func, Derived, Global, Extern, Test };
struct Item {
  ItemKind kind;
  std::uint32_t at;  // into the vector of its kind
};

struct Module {
  StrId file = kNone<StrId>;
  std::vector<Item> items;  // all, in the order of the text
  std::vector<Import> imports;
  std::deque<Template> funcs;  // stays where it is when items are added
  std::vector<Derived> derived;
  std::vector<Global> globals;
  std::vector<Extern> externs;
  std::vector<Test> tests;
  std::unordered_map<StrId, Item> names;     // @name: Func, Derived or Global
  std::unordered_map<StrId, Item> op_names;  // of externs

  // pools, see syntax.h and statement.h
  std::vector<Node> nodes;
  std::vector<Entry> entries;
  std::vector<CalleeExpr> callees;
  std::vector<Literal> literals;
  std::vector<std::int64_t> literal_dims;
  std::vector<Element> elements;
  std::string texts;
  std::vector<Operand> operands;
  std::vector<DimPattern> dims;
  std::vector<TypePattern> types;
  std::vector<StrId> result_names;
  std::vector<Bind> binds;
  std::vector<Block> blocks;
  std::vector<Control> controls;
  std::vector<Stmt> stmts;

  template <class T>
  static std::span<const T> at(const std::vector<T>& pool, Range r) {
    return {pool.data() + r.begin, r.count};
  }
  std::string_view text(const Element& e) const { return std::string_view(texts).substr(e.begin, e.size); }
  const Item* find(StrId name) const {
    const auto it = names.find(name);
    return it == names.end() ? nullptr : &it->second;
  }
  Loc loc_of(const Item& item) const;
};

// Enters an item that is already in the vector of its kind into `items` and the name tables. Fails where its name is
// taken; the error names both lines. Tests and imports have no names.
Status add_item(Module& m, Item item, const StringTable& strings);

// Puts the items of `from`, but its imports, behind those of `into`; fails as add_item does.
Status merge(Module& into, const Module& from, const StringTable& strings);

// Puts the items of `from`, which has no imports, behind those of a program in use: `into` is unchanged where a name is
// taken or unknown in both.
Status extend(Module& into, const Module& from, const StringTable& strings);

// Every @name of a callee or an operand is an item of the module, or of `also`; the error has a near miss. Run when
// imports are in.
Status check_names(const Module& m, const StringTable& strings, const Module* also = nullptr);

}  // namespace tfvm
