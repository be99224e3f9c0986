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

std::string_view trim(std::string_view s);             // without the blanks around it
std::string_view leading_word(std::string_view text);  // small letters and digits: of a type, its dtype

}  // namespace tfvm
