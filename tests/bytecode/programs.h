#pragma once
// The .tfa programs that round trips run over: goldens where they are there, stdlib, examples, tests.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/source_dir.h"

namespace tfvm::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Files whose names begin with bad- are no programs.
inline std::vector<std::filesystem::path> programs() {
  namespace fs = std::filesystem;
  const fs::path source = source_dir();
  const char* shared = std::getenv("TFVM_SHARED");
  std::vector<fs::path> out;
  for (const fs::path& root : {shared ? fs::path(shared) / "goldens" : source / "../shared/goldens", source / "stdlib",
                               source / "examples", source / "tests"}) {
    if (!fs::exists(root)) continue;
    for (const auto& e : fs::recursive_directory_iterator(root))
      if (e.path().extension() == ".tfa" && !e.path().filename().string().starts_with("bad-")) out.push_back(e.path());
  }
  return out;
}

}  // namespace tfvm::test
