#pragma once
// Programs with one line each that gives nan, and what the NaN trap is to say of it.

#include <ostream>
#include <span>
#include <vector>

namespace tfvm {

struct Planted {
  const char* name;
  const char* source;  // the line that gives nan ends in "// nan"
  const char* callee;
  std::vector<const char*> args;
  std::vector<const char*> says;  // parts of the message and its notes
  bool live = true;               // it reaches a result
};

inline void PrintTo(const Planted& p, std::ostream* out) { *out << p.callee; }

std::span<const Planted> planted_nans();

}  // namespace tfvm
