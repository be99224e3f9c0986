#pragma once
// Statements and blocks of a module as written: pools of module.h.

#include "bytecode/syntax.h"

namespace tfvm {

// --- statements: pool `stmts`; the statements of a block are consecutive
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
struct Stmt {
  StmtKind kind = StmtKind::Op;
  bool has_types = false;
  Place place;
  StrId op = kNone<StrId>;  // Op: its name; ExpectError: part of the message
  Range results;            // into `result_names`, without %
  Local first_local = 0;    // of the results
  Range operands;           // into `operands`. Op, Ret, Yield before `;`; If: p. Call, Checkpoint, Scan: callee;
                            // Cond: p, then, else; Switch: i, callee list; While: cond, body
  Range args;               // into `operands`: what stands in parentheses; Yield: behind `;`
  Range attrs;              // into `entries`
  Range types;              // into `types`: written result types
  std::uint32_t control = kNoIndex;  // into `controls`: forms with blocks (no operands or args but of If), ExpectError
};
struct Bind {  // %name = operand
  StrId name;
  Local local;
  std::uint32_t operand;  // into `operands`
  Place place;
};
struct Block {
  Range stmts;  // into `stmts`
};
struct Control {
  Range carries, inputs;        // into `binds`; While, Scan, For
  Local step_local = kNoIndex;  // %scan.i of Scan and For
  std::uint32_t blocks[2] = {kNoIndex,
                             kNoIndex};  // into `blocks`. If: then, else; While: condition, body; Scan, For: body
  std::uint32_t inner = kNoIndex;        // into `stmts`: of ExpectError
};

}  // namespace tfvm
