#pragma once
// Errors as a reader sees them.

#include <string>
#include <string_view>

#include "bytecode/status.h"
#include "bytecode/strings.h"

namespace tfvm {

// file:line:col: error: message
//   the line of `source`
//       ^
// note: …                        (one line per note; of a deep stack the first and the last ones)
// Without a known line only the message; without `source` (empty), or where the line is no text, no line and no caret. Ends with a line break.
std::string render_error(const Error& error, std::string_view source, const StringTable& strings);

}  // namespace tfvm
