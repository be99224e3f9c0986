#pragma once
// All hash-consed tables of one VM, or of one tool. Not shared between threads without a lock; what is read at run time
// (plans) has been copied out of them.

#include "bytecode/attrs.h"
#include "bytecode/body.h"
#include "bytecode/consts.h"
#include "bytecode/externs.h"
#include "bytecode/strings.h"
#include "bytecode/types.h"

namespace tfvm {

struct Tables {
  StringTable strings;
  TypeTable types;
  AttrTable attrs{strings};
  ConstTable consts{types};
  BodyTable bodies;
  DebugTable debugs;
  ExternTable externs;              // the custom ops that the program declares
  std::vector<AttrId> op_defaults;  // per op: its complete attributes where none are given, made on first use

  Tables() = default;
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const Body& body(FunctionId f) const { return bodies[f.body]; }
};

}  // namespace tfvm
