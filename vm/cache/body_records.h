#pragma once
// What reader and writer of stored functions share.

#include "bytecode/attrs.h"

namespace tfvm::body_file {

enum class Record : std::uint8_t { End, String, Type, Const, Attr, Function, kCount };

// Attributes whose value is Attr::i.
constexpr bool has_number(AttrKind k) {
  return k == AttrKind::Bool || k == AttrKind::Int || k == AttrKind::Float || k == AttrKind::DType;
}

}  // namespace tfvm::body_file
