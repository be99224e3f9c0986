#pragma once
// The op table: one row per op in ops/<family>.def is the only source of the enum, names, operands, attributes,
// defaults, effects, verification and documentation.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/attrs.h"
#include "bytecode/dtype.h"
#include "bytecode/strings.h"

namespace tfvm {

enum class OpKind : std::uint8_t {
  Unary,
  Compare,
  Binary,
  Ternary,  // elementwise: operands broadcast, one result of the common shape
  Shape,
  Index,
  Reduce,
  Cumulative,
  Sort,
  Dot,
  Linalg,
  Random,
  Control,
  Collective,
  Effect,
  View,
  Write,
  Meta
};

enum class OpEffect : std::uint8_t {
  Pure,    // depends on its operands and attributes alone
  Assert,  // may fail the call; kept where unused
  Io,      // visible outside; kept where unused, never reordered
  Alias,   // full programs: its result shares its first operand's storage
  Write,   // full programs: writes into its first operand
};

enum class Op : std::uint16_t {
#define OP(id, ...) id,
#include "bytecode/ops/all.def"
#undef OP
  kCount
};
inline constexpr std::size_t kOps = static_cast<std::size_t>(Op::kCount);

// One operand of a row. Operands of one group letter have one dtype; 'I' is an index group (literals are i64), 'P' a
// predicate (literals are bool); '@' is a callee, which is stored as the attribute named.
struct OperandSpec {
  std::string_view name;
  char group = 'A';
  DTypeClass cls = DTypeClass::Any;
  char arity = '1';  // '1', '?' optional, '*' any number (the last operand, or a run before it)
};

enum class AttrType : std::uint8_t { Int, Float, Bool, Str, DType, Ints, Any, Func };

struct AttrSpec {
  Key key;
  AttrType type;
  bool required;
  std::string_view default_text;  // as written in the language; "none" where absent means something of its own
};

struct InferCtx;
using InferFn = bool (*)(InferCtx&);  // result types and normalised attributes; see infer/infer.h

struct OpInfo {
  std::string_view name;  // as written
  OpKind kind;
  std::string_view family;  // the .def file
  std::vector<OperandSpec> operands;
  std::vector<AttrSpec> attrs;
  InferFn infer;
  OpEffect effect;
  std::string_view hole;  // "" or what is missing and why, for the coverage page
};

const OpInfo& info(Op op);
inline std::string_view name(Op op) { return info(op).name; }
std::optional<Op> find_op(std::string_view name);

constexpr bool is_elementwise(OpKind k) { return k <= OpKind::Ternary; }
inline bool is_elementwise(Op op) { return is_elementwise(info(op).kind); }

// The operand's spec at position k of n operands, runs expanded.
const OperandSpec* operand_spec(const OpInfo& row, std::size_t k, std::size_t n);
const AttrSpec* attr_spec(const OpInfo& row, Key key);

// Splits "x:A:float i:I*" and "axes:ints=none keepdims:bool=false" into specs (also used for the rows of core ops).
std::vector<OperandSpec> parse_operand_specs(std::string_view text);
std::vector<AttrSpec> parse_attr_specs(std::string_view text, StringTable* extra = nullptr);

}  // namespace tfvm
