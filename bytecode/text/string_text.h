#pragma once
// Strings of tfasm: JSON's escapes.

#include <string>
#include <string_view>

namespace tfvm {

// Decodes what stands between the quotes into `out`; gives the offset of the first bad escape or control character,
// or npos.
std::size_t unescape(std::string_view text, std::string& out);
// In quotes. Quotes, backslashes and control characters are escaped; all else stays.
std::string quoted(std::string_view s);

}  // namespace tfvm
