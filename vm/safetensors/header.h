#pragma once
// The JSON of a safetensors header: one object of objects, strings, integers and lists of integers. Nothing else occurs
// in such a file, so nothing else is read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/status.h"

namespace tfvm::safetensors {

struct Entry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  // bytes behind the header
};

// Entries in the order of the text; __metadata__ is read and left out. Code::Syntax names the byte where it fails.
Result<std::vector<Entry>> parse_header(std::string_view json);

}  // namespace tfvm::safetensors
