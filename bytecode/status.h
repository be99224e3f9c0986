#pragma once
// How failures travel inside the library: values, never exceptions.

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bytecode/ids.h"

namespace tfvm {

enum class Code : std::uint8_t {
  Ok,
  Syntax,       // the text or the binary is malformed
  Name,         // an unknown or doubly defined name
  Type,         // dtypes, shapes, counts, attributes
  Unsupported,  // a named hole: an op without a rule for a transform, or without a kernel
  Index,        // an index out of range at run time
  Assert,       // an assert failed at run time
  Limit,        // a limit on bytes, steps, depth or time
  Memory,       // an allocation failed
  Io,           // a file can't be read or written
  Cancelled,
  Internal,  // the verifier found what a pass should never make
  Sealed,    // the VM is sealed, and this would make code
};
std::string_view name(Code c);

struct Error {
  Code code = Code::Internal;
  std::string message;
  Loc loc;                         // the user's line, where known
  std::vector<std::string> notes;  // innermost first: "in vmap(grad(@loss)) …"

  Error(Code c, std::string m, Loc l = {}) : code(c), message(std::move(m)), loc(l) {}
  Error&& note(std::string n) && {
    notes.push_back(std::move(n));
    return std::move(*this);
  }
};

// A value or an Error. `*r` and `r->` only after a check.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}
  Result(Error e) : v_(std::move(e)) {}
  explicit operator bool() const { return v_.index() == 0; }
  T& operator*() & { return *std::get_if<0>(&v_); }
  const T& operator*() const& { return *std::get_if<0>(&v_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&v_)); }
  T* operator->() { return std::get_if<0>(&v_); }
  const T* operator->() const { return std::get_if<0>(&v_); }
  Error& error() & { return *std::get_if<1>(&v_); }
  const Error& error() const& { return *std::get_if<1>(&v_); }
  Error&& error() && { return std::move(*std::get_if<1>(&v_)); }

 private:
  std::variant<T, Error> v_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status ok() { return Unit{}; }

}  // namespace tfvm
