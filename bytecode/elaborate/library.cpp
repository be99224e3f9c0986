#include "bytecode/elaborate/library.h"

#include <algorithm>

#include "bytecode/text/parse.h"

namespace tfvm {

namespace {

constexpr std::string_view kStart = "func @";

// Where the next function begins at or behind `at`, or the end of the text.
std::size_t next_function(std::string_view text, std::size_t at) {
  for (;; ++at) {
    at = text.find(kStart, at);
    if (at == text.npos) return text.size();
    if (at == 0 || text[at - 1] == '\n') return at;
  }
}

std::string_view name_at(std::string_view function) {
  const std::string_view rest = function.substr(kStart.size());
  return rest.substr(0, rest.find_first_of("(<= "));
}

}  // namespace

void Library::add(std::string_view file, std::string_view text) {
  const StrId file_id = strings_.intern(file);
  std::uint32_t line = 1;
  std::size_t counted = 0;
  for (std::size_t begin = next_function(text, 0); begin < text.size();) {
    const std::size_t end = next_function(text, begin + kStart.size());
    line += static_cast<std::uint32_t>(std::ranges::count(text.substr(counted, begin - counted), '\n'));
    counted = begin;
    const std::string_view function = text.substr(begin, end - begin);
    functions_.try_emplace(name_at(function), Function{file_id, function, line, nullptr});
    begin = end;
  }
}

std::vector<std::string_view> Library::names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, function] : functions_) out.push_back(name);
  std::ranges::sort(out);
  return out;
}

Result<Library::Found> Library::find(std::string_view name) {
  const auto it = functions_.find(name);
  if (it == functions_.end()) return Found{};
  Function& f = it->second;
  if (!f.source) {
    Result<Module> m = parse_module(strings_, f.text, strings_[f.file], f.line);
    if (!m) return std::move(m).error();
    f.source = std::make_unique<Source>(Source{std::move(*m), space_});
  }
  const Module& m = f.source->module;
  if (m.items.size() != 1 || m.funcs.size() != 1)
    return Error{
        Code::Syntax, "@" + std::string(name) + " of the library is not one function with a body", {f.file, f.line, 1}};
  return Found{f.source.get(), &m.funcs[0]};
}

}  // namespace tfvm
