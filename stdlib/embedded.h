// The library of core ops and derivative rules: text in the language itself, embedded at build time.
#pragma once

#include <span>
#include <string_view>

namespace tfvm {

struct EmbeddedFile {
  std::string_view name;  // file name without folders, e.g. "derivatives.tfa"
  std::string_view bytes;
};

namespace stdlib {

/// Every file of stdlib/, in the order of stdlib/CMakeLists.txt (an earlier file may be used by a later one).
std::span<const EmbeddedFile> files();

/// Derivative rules, which only transforms reach; all else defines ops.
inline bool is_rules(const EmbeddedFile& file) { return file.name.starts_with("derivatives"); }

}  // namespace stdlib
}  // namespace tfvm
