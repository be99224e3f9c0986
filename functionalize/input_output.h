#pragma once
// What a full function does to its inputs, and what its outputs are. Who runs its functional form in its place (the
// runtime wrapper, vm/eager/wrapper.h) does the same to the caller's tensors.

#include <string>

#include "functionalize/pass.h"

namespace tfvm {

struct InputInfo {
  // InGraph: a custom op of the functional form writes into it. After: its new value is a result, and written back.
  enum class Change : std::uint8_t { None, InGraph, After };
  std::string name;  // "%x", "@count"
  TypeId type;
  Change change = Change::None;
};

struct OutputInfo {
  // An intermediate is a storage made by the function that two or more outputs stand in. A view that is the only one of
  // what it is taken of is fresh.
  enum class Kind : std::uint8_t { Fresh, Input, ViewOfInput, Intermediate, ViewOfIntermediate };
  Kind kind = Kind::Fresh;
  TypeId type;
  std::uint32_t of = 0;     // the input or intermediate
  functional::Chain chain;  // of views, its base first
};

struct InputOutput {
  std::uint32_t globals = 0;  // the first inputs: params and buffers that it uses, in order of declaration
  std::uint32_t intermediates = 0;
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;
};

// Of inputs that share no memory. Errors as functionalize and reinplace.
Result<InputOutput> input_output(Tables& t, FunctionId f, const FunctionalizeOptions& options);

// A line for each input and output: "output 1 f32[3,2]: view of input 0 by transpose {perm=[1, 0]}".
std::string text(const Tables& t, const InputOutput& io);
std::string text(InputInfo::Change change);
std::string text(const Tables& t, const InputOutput& io, const OutputInfo& output);

// The functional form of a full function that uses no globals, for arguments that stand in `pattern.bases` at
// `pattern.args`: (bases…) -> (fresh bases…, new values of the bases that it writes…).
struct FunctionalForm {
  FunctionId f;
  std::size_t fresh = 0;
  std::vector<std::uint32_t> written;      // bases
  std::vector<std::uint8_t> changed;       // per such base: 0 where its new value is the one that it had
  std::vector<functional::Place> results;  // places in bases of the pattern, or in fresh ones
};
Result<FunctionalForm> functional_form(Tables& t, FunctionId f, functional::Pattern pattern,
                                       const FunctionalizeOptions& options);

// Can every result be rebuilt from its base by views? The imaginary part of a real value can't.
bool can_follow(const Tables& t, const FunctionalForm& form);

// Does what f does depend on more of its arguments than dims and values? `strides`: it takes a view that some strides
// don't allow, or has a custom op, which may see temporaries of what is not row-major. `storage`: it addresses their
// storage (as_strided).
struct LayoutUse {
  bool strides = false, storage = false;
};
LayoutUse layout_use(const Tables& t, FunctionId f);

}  // namespace tfvm
