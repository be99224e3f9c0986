#pragma once
// Precedence of computed attributes, shared by parser and printer.

#include "bytecode/syntax.h"

namespace tfvm {

inline constexpr int kOrLevel = 0, kAndLevel = 1, kNotLevel = 2, kCompareLevel = 3, kAddLevel = 4, kMulLevel = 5,
                     kNegLevel = 6, kPrimaryLevel = 7;
inline constexpr int kMaxExprNodes = 1000;  // of one expression, in text and in binary

constexpr int level_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::Or:
      return kOrLevel;
    case NodeKind::And:
      return kAndLevel;
    case NodeKind::Not:
      return kNotLevel;
    case NodeKind::Eq:
    case NodeKind::Ne:
    case NodeKind::Lt:
    case NodeKind::Le:
    case NodeKind::Gt:
    case NodeKind::Ge:
      return kCompareLevel;
    case NodeKind::Add:
    case NodeKind::Sub:
      return kAddLevel;
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Rem:
      return kMulLevel;
    case NodeKind::Neg:
      return kNegLevel;
    default:
      return kPrimaryLevel;
  }
}
constexpr bool is_binary(NodeKind kind) {
  return kind >= NodeKind::Add && kind != NodeKind::Min && kind != NodeKind::Max;
}

}  // namespace tfvm
