#pragma once
// Types as a host or a command line writes them.

#include <string_view>
#include <vector>

#include "bytecode/status.h"
#include "bytecode/types.h"

namespace tfvm {

// "f32[3], i64" as types; none for an empty text. Code::Syntax with the text that is none, Code::Type for a size that
// overflows.
Result<std::vector<TypeId>> parse_types(TypeTable& types, std::string_view text);

}  // namespace tfvm
