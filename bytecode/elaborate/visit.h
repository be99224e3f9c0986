#pragma once
// Bookkeeping of instantiation: what is being made, so that a cycle names itself, and how deep, so that the stack of
// C++ stays small.

#include "bytecode/elaborate/program.h"

namespace tfvm {

class Program::Visit {
 public:
  // `what` identifies what may not be entered again while it is being made. Null: one level deeper.
  Visit(Program& p, const void* what, const std::string& text);
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  const Status& status() const { return status_; }

 private:
  Program& p_;
  const void* what_;
  bool entered_ = false;
  Status status_ = ok();
};

}  // namespace tfvm
