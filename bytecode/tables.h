#pragma once
// All hash-consed tables of one VM, or of one tool. Not shared between threads without a lock; what is read at run time
// (plans) has been copied out of them.

#include "bytecode/attrs.h"
#include "bytecode/body.h"
#include "bytecode/builder_memory.h"
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
  ExternTable externs;  // the custom ops that the program declares
  SpareBuilders spare_builders;

  Tables() = default;
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const Body& body(FunctionId f) const { return bodies[f.body]; }

  // What is there stays for good; what comes later goes with `forget` (see IdArray). Strings always stay.
  void keep();
  void forget();
  std::int64_t fresh_bytes() const;  // of what `forget` lets go of, about
};

}  // namespace tfvm
