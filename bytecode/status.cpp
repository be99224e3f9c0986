#include "bytecode/status.h"

#include <string_view>

namespace tfvm {

std::string_view name(Code c) {
  switch (c) {
    case Code::Ok:
      return "ok";
    case Code::Syntax:
      return "syntax";
    case Code::Name:
      return "name";
    case Code::Type:
      return "type";
    case Code::Unsupported:
      return "unsupported";
    case Code::Index:
      return "index";
    case Code::Assert:
      return "assert";
    case Code::Limit:
      return "limit";
    case Code::Memory:
      return "memory";
    case Code::Io:
      return "io";
    case Code::Cancelled:
      return "cancelled";
    case Code::Internal:
      return "internal";
    case Code::Sealed:
      return "sealed";
  }
  return "internal";
}

}  // namespace tfvm
