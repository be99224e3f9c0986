#pragma once
// The nodes of a module as written (module.h). They live in flat pools of the Module and refer to each other by index:
// a million statements are a few vectors, and nothing is destroyed by recursion.

#include <cstdint>

#include "bytecode/dtype.h"
#include "bytecode/ids.h"
#include "bytecode/strings.h"

namespace tfvm {

// Consecutive entries of the pool that the field's comment names.
struct Range {
  std::uint32_t begin = 0, count = 0;
  bool empty() const { return count == 0; }
};

// In the file of the item; from 1, line 0 = nowhere.
struct Place {
  std::uint32_t line = 0, col = 0;
};

// Number of a local of one function or test: its parameters, then each name where it is defined, in order of the text.
// A name may be defined again; a use means the last definition before it that is in scope.
using Local = std::uint32_t;

// --- attributes and computed integers: pool `nodes`
enum class NodeKind : std::uint8_t {
  None,
  Bool,
  Int,
  Float,
  Str,
  Name,    // KEY: a dtype, an attribute parameter, a named dim, or a name where an attribute takes names
  List,    // [items]
  Call,    // KEY(items): views=[alias(), slice(0, 2, 8, 1)]
  Func,    // a callee; of a plain @name it may be a param, as in argnums=[@w]
  Expr,    // ( item ): one iexpr; the kinds below stand only inside one
  Value,   // %x, an item of Call
  Rank,    // rank(%x)
  DimOf,   // dim(%x, item)
  SizeOf,  // size(%x, item); without the item: of all axes
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
  Or,
};
struct Node {
  NodeKind kind = NodeKind::None;
  Place place;
  StrId str = kNone<StrId>;  // Str, Name, Call; Value, Rank, DimOf, SizeOf: name without %; Float: as written, or kNone
  std::int64_t i = 0;        // Bool, Int; Float: bits of the double
  Range items;               // into `nodes`
  std::uint32_t at = kNoIndex;  // Func: into `callees`; Value, Rank, DimOf, SizeOf: the Local
};
struct Entry {  // KEY = value
  Key key;
  std::uint32_t node;  // into `nodes`
};

// --- callees: pool `callees`
struct CalleeExpr {
  StrId name = kNone<StrId>;       // of @name, without @; or the transform
  std::uint32_t inner = kNoIndex;  // of a transform: what it is applied to
  Range attrs;                     // into `entries`: <axis=0> of @name, argnums=[0] of a transform
  Place place;
  bool is_transform() const { return inner != kNoIndex; }
};

// --- literals: pool `literals`. Elements stand in row-major order, each as written: literal.h rounds them, once, when
// the dtype is known.
enum class ElemKind : std::uint8_t {
  Bool,     // true
  Int,      // -12, 0xff
  Float,    // 0.5, 1e-3, 0x1.8p3, inf, nan
  Bits,     // digits of bits(0x…)
  Complex,  // "re, im" of complex(re, im)
  Blob,     // digits of hex"…", alone in its literal
};
struct Element {
  std::uint32_t begin;  // into `texts`
  std::uint32_t size : 28;
  std::uint32_t kind_bits : 4;
  ElemKind kind() const { return static_cast<ElemKind>(kind_bits); }
};
struct Literal {
  Range dims;      // into `literal_dims`: by nesting; none for a scalar and for a blob
  Range elements;  // into `elements`
};

// --- operands: pool `operands`
enum class OperandKind : std::uint8_t { Value, Callee, Literal, CalleeList, Computed };
struct Operand {
  OperandKind kind = OperandKind::Value;
  StrId name = kNone<StrId>;    // Value: without %
  std::uint32_t at = kNoIndex;  // Value: the Local; Callee: into `callees`; Literal: into `literals`;
                                // Computed: into `nodes`, an Expr; CalleeList: first of `count` callees
  std::uint32_t count = 0;
  Place place;
};

// --- types: pools `types` and `dims`
enum class DimKind : std::uint8_t { Number, Name, Any };  // Any: `..`, or `..b` with a name
struct DimPattern {
  DimKind kind = DimKind::Number;
  StrId name = kNone<StrId>;
  std::int64_t number = 0;
};
enum class TypeForm : std::uint8_t { DType, Float, Int, Any, Pack, Tape };  // f, i, t are classes
struct TypePattern {
  TypeForm form = TypeForm::DType;
  DType dtype = DType::F32;  // where form is DType
  std::uint32_t number = 0;  // of a class: f1 and f2 are independent; 0 where none is written
  Range dims;                // into `dims`
  bool is_class() const { return form >= TypeForm::Float && form <= TypeForm::Any; }
};

}  // namespace tfvm
