#include "bytecode/text/body_names.h"

#include "bytecode/text/lexer.h"

namespace tfvm {

namespace {
constexpr std::size_t kMaxName = 64;  // longer ones help nobody
}

std::string UniqueNames::take(std::string wanted, const std::string& fallback) {
  if (!is_name(wanted) || wanted.size() > kMaxName) wanted = fallback;
  if (taken_.insert(wanted).second) return wanted;
  for (std::size_t k = 1;; ++k)
    if (std::string name = wanted + '.' + std::to_string(k); taken_.insert(name).second) return name;
}

std::vector<std::string> value_names(const Tables& t, FunctionId f) {
  std::vector<std::string> out;
  UniqueNames names;
  const std::uint32_t n = t.body(f).num_values();
  out.reserve(n);
  for (std::uint32_t v = 0; v < n; ++v)
    out.push_back(names.take(t.debugs.value_name(f.debug, static_cast<ValueId>(v), t.strings), std::to_string(v)));
  return out;
}

std::string function_base_name(const Tables& t, FunctionId f) {
  std::string passes;
  for (DebugId d = f.debug; d != kNone<DebugId>; d = t.debugs[d].parent) {
    const DebugInfo& info = t.debugs[d];
    if (info.pass != kNone<StrId>) passes = '.' + std::string(t.strings[info.pass]) + passes;
    if (info.name == kNone<StrId>) continue;
    const std::string name = std::string(t.strings[info.name]) + passes;
    return name.size() <= kMaxName ? name : std::string(t.strings[info.name]);
  }
  return "f" + passes;
}

}  // namespace tfvm
