#pragma once
// A module as written: templates, derived functions, globals, externs, tests. Types are patterns, attributes may hold
// computed integers, names of values are interned text. This is what text and binary hold; bytecode/elaborate makes
// typed instances of it. Nodes live in pools of the Module and refer to each other by index: no pointers, no recursion
// in destructors, 10^6 statements are a few vectors.

#include <cstdint>
#include <string>
#include <vector>

#include "bytecode/dtype.h"
#include "bytecode/ids.h"
#include "bytecode/strings.h"

namespace tfvm {

// Consecutive entries of the pool that the field's comment names.
struct Range {
  std::uint32_t begin = 0, count = 0;
};

// --- attributes and computed integers: pool `nodes`
// Name: KEY, a dtype, an attribute parameter, a named dim, or a name where an attribute takes names. Call: KEY(items),
// as in views=[alias(), slice(0, 2, 8, 1)]. Func: a callee, or a param in argnums. Expr: ( item ), one iexpr, whose
// nodes are the kinds behind it: rank(%x), dim(%x, item), size(%x, item), operators and comparisons.
enum class NodeKind : std::uint8_t {
  None,
  Bool,
  Int,
  Float,
  Str,
  Name,
  List,
  Call,
  Func,
  Expr,
  Rank,
  DimOf,
  SizeOf,
  Neg,
  Not,
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or
};
struct Node {
  NodeKind kind = NodeKind::None;
  std::uint32_t col = 0;
  std::int64_t i = 0;               // Bool, Int; Float: bits of the double
  StrId str = kNone<StrId>;         // Str, Name, Call; Rank, DimOf, SizeOf: the value's name without %
  std::uint32_t callee = kNoIndex;  // Func: into `callees`
  Range items;                      // into `node_lists`, which index `nodes`
};
struct Entry {  // KEY = value
  Key key;
  std::uint32_t node;
};

// --- callees: pool `callees`
struct Callee {
  StrId name = kNone<StrId>;       // @name, or the transform's name
  std::uint32_t inner = kNoIndex;  // of a transform: what it is applied to; kNoIndex: this is @name
  Range attrs;                     // into `entries`: <axis=0> of @name, or argnums=… of a transform
  bool is_transform() const { return inner != kNoIndex; }
};

// --- literals: pool `literals`. Numbers stay as written and are rounded once, when the dtype is known.
enum class ElemKind : std::uint8_t {
  Int,    // 1, -2, 0xff
  Float,  // 0.5, 1e-3, 0x1.8p3, inf, -inf, nan
  Bool,
  Bits,     // bits(0x7fc00001): the hex digits
  Complex,  // complex(1, 2): "1,2"
  Blob,     // hex"…": little-endian bytes of all elements; the shape comes from the written type
};
struct Element {
  ElemKind kind;
  std::uint32_t begin, size;  // into Module::text
};
struct Literal {
  std::vector<std::int64_t> dims;  // by nesting
  bool ragged = false;             // lists of different lengths: an error where the literal is used
  std::vector<Element> elements;   // row-major
};

// --- operands: pool `operands`
enum class OperandKind : std::uint8_t { Value, Callee, Literal, CalleeList, Computed };
struct Operand {
  OperandKind kind = OperandKind::Value;
  StrId name = kNone<StrId>;    // Value: without %
  std::uint32_t at = kNoIndex;  // Callee: into `callees`; Literal: into `literals`; Computed: into `nodes`
  Range callees;                // CalleeList: into `callees`
};

// --- types
enum class DimKind : std::uint8_t { Number, Name, Any };  // Any: `..`, or `..b` with a name
struct DimPattern {
  DimKind kind;
  std::int64_t number = 0;
  StrId name = kNone<StrId>;
};
enum class DTypeVar : std::uint8_t { None, Float, Int, Any };  // f, i, t
struct TypePattern {
  DTypeVar var = DTypeVar::None;
  std::uint32_t var_number = 0;  // f1: 1
  DType dtype = DType::F32;      // where var is None
  bool is_pack = false;
  Range dims;  // into `dims`
};

// --- statements: pool `stmts`
enum class StmtKind : std::uint8_t {
  Op,
  Call,
  Cond,
  Switch,
  While,
  Scan,
  Checkpoint,
  If,
  For,
  Ret,
  Yield,
  ExpectError
};
struct Bind {
  StrId name;
  std::uint32_t operand;
};
struct Block {
  Range stmts;  // into `block_stmts`, which index `stmts`
};
struct Stmt {
  StmtKind kind = StmtKind::Op;
  Loc loc;
  StrId op = kNone<StrId>;  // Op: its name; ExpectError: part of the message
  Range results;            // into `names`
  // Into `operands`. Operands of an op; Ret, Yield: before `;`. Call, Checkpoint, Scan: the callee; While: two callees;
  // Cond: p, callee, callee; Switch: i, callee list; If: p. Of the block forms of While, Scan, For: none.
  Range operands;
  Range args;   // into `operands`: (…) of call and control; Yield: behind `;`
  Range attrs;  // into `entries`
  Range types;  // into `types`; the written result types
  bool has_types = false;
  Range carries, inputs;                          // into `binds`
  std::uint32_t block[2] = {kNoIndex, kNoIndex};  // into `blocks`; If: then, else; While: condition, body
  std::uint32_t inner = kNoIndex;                 // ExpectError: the statement
};

}  // namespace tfvm
