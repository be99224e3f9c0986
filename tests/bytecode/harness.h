#pragma once
// Types and attributes from text, for tables of cases.

#include <string>
#include <string_view>
#include <vector>

#include "bytecode/defaults.h"
#include "bytecode/tables.h"

namespace tfvm::test {

// "f32[2,3]"
inline TypeId type(Tables& t, std::string_view text) {
  const std::size_t open = text.find('[');
  const DType dtype = *parse_dtype(text.substr(0, open));
  if (open == text.npos) return t.types.scalar(dtype);
  const AttrId dims = parse_default(t, text.substr(open));
  return t.types.tensor(dtype, t.attrs[dims].ints);
}

inline std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// "f32[2,3] i64": one for each word
inline std::vector<TypeId> types(Tables& t, std::string_view text) {
  std::vector<TypeId> out;
  for (std::string_view w : words(text)) out.push_back(type(t, w));
  return out;
}

// "axes=[0,1] keepdims=true"
inline AttrId attrs(Tables& t, std::string_view text) {
  AttrId d = t.attrs.empty();
  for (std::string_view w : words(text)) {
    const std::size_t eq = w.find('=');
    d = t.attrs.with(d, t.strings.key(w.substr(0, eq)), parse_default(t, w.substr(eq + 1)));
  }
  return d;
}

inline std::string text(const Tables& t, std::span<const TypeId> types) {
  std::string s;
  for (TypeId id : types) s += (s.empty() ? "" : " ") + t.types.text(id);
  return s;
}

}  // namespace tfvm::test
