#pragma once
// The end of functionalize: custom ops that stand as auto_functionalized or auto_functionalized_v2 become instructions
// that write, into the base itself where nobody reads later what is overwritten, else into a clone of it.
//
//   %r, %c1 = auto_functionalized_v2 %k, %c {op="kv.append", arg_base=[0, none], views=[slice(0, 0, 4, 1)]}
// becomes, for a base that may be written,
//   %v = slice %c {start=[0], limit=[4]}
//   %r = extern %v, %k {op="kv.append"}        and %c1 is %c.
//
// V, the places that the op writes, decides (docs/mutation.md): in place; a fresh tensor of V's size; V's elements
// saved, then in place; a clone of the base.

#include <string>
#include <string_view>
#include <vector>

#include "bytecode/builder.h"

namespace tfvm {

struct Missed {
  enum class How : std::uint8_t {
    Base,   // a clone of the base is written
    Fresh,  // a clone of what is written, for nothing else of the new base is read
    Saved,  // what is overwritten is cloned, and the base is written in place
  };
  std::uint32_t base = 0;  // number of the base, in v1 of the argument
  std::string value;       // "%v"
  std::string why;         // "read later by add line 15"
  std::int64_t bytes = 0;  // that are copied
  How how = How::Base;
};
std::string_view name(Missed::How how);  // "missed", "fresh", "saved"
struct ReinplaceEntry {
  std::string op, custom;  // "auto_functionalized_v2", "kv.append"
  std::int64_t line = 0;
  std::vector<std::uint32_t> tried, done;  // numbers of bases; done: written in place
  std::vector<Missed> missed;
  std::int64_t bytes() const;
};
using ReinplaceLog = std::vector<ReinplaceEntry>;

// A function that is full before keeps what it does; there every base is cloned.
// `into`: parameters that the last results are written back to, in order; they are mut, and may be written before. The
// result is a full function without these results. Fails where an instruction with {inplace=true} must copy: the error
// names the op, the value, the read and the bytes. Callees with custom ops are made so too: bodies of loops write into
// their carries, others into clones of their inputs.
Result<FunctionId> reinplace(Tables& t, FunctionId f, std::span<const std::uint32_t> into, ReinplaceLog* log = nullptr);

// Has f, or what it calls, a custom op in a functional form?
bool has_functional_custom(const Tables& t, FunctionId f);

// "auto_functionalized_v2 kv.append line 12: bases [0,1]; in place [0]; missed [1] %v: read later by add line 15; 4096
// bytes"
std::string text(const ReinplaceEntry& e);

}  // namespace tfvm
