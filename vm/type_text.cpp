#include "vm/type_text.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace tfvm {

std::string_view trim(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

std::string_view leading_word(std::string_view text) {
  return text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"));
}

namespace {

Result<TypeId> parse_type(TypeTable& types, std::string_view text) {
  const std::string_view word = leading_word(text);
  std::string_view rest = text.substr(word.size());
  const auto dtype = parse_dtype(word);
  const Error wrong(Code::Syntax, fmt::format("'{}' is no type; types are written f32[2,3], or f32", text));
  if (!dtype) return wrong;
  std::vector<std::int64_t> dims;
  if (!rest.empty()) {
    if (!rest.starts_with('[') || !rest.ends_with(']')) return wrong;
    rest = trim(rest.substr(1, rest.size() - 2));
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view item = trim(rest.substr(0, comma));
      std::int64_t n = -1;
      const auto [end, failure] = std::from_chars(item.data(), item.data() + item.size(), n);
      if (failure != std::errc() || end != item.data() + item.size() || n < 0) return wrong;
      dims.push_back(n);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  if (!checked_elements(dims)) return Error(Code::Type, fmt::format("the size of {} overflows", text));
  return types.tensor(*dtype, dims);
}

}  // namespace

Result<std::vector<TypeId>> parse_types(TypeTable& types, std::string_view text) {
  std::vector<TypeId> out;
  int depth = 0;
  for (std::size_t begin = 0, at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '[') ++depth;
    if (at < text.size() && text[at] == ']') --depth;
    if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
    const std::string_view item = trim(text.substr(begin, at - begin));
    begin = at + 1;
    if (item.empty() && at == text.size() && out.empty()) break;
    const Result<TypeId> type = parse_type(types, item);
    if (!type) return type.error();
    out.push_back(*type);
  }
  return out;
}

}  // namespace tfvm
