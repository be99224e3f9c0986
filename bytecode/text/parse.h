#pragma once
// Text to module. The first error ends the work; its Loc points at the text (see diagnostics.h).

#include <string_view>
#include <vector>

#include "bytecode/module.h"
#include "bytecode/text/lexer.h"

namespace tfvm {

// Errors: Code::Syntax; Code::Name for a local that is not defined where it is used and for an item defined twice.
// @names are not looked up (check_names), nor are ops and attributes (elaborate). `file` is for places only, and
// so is `first_line`, of a text that is a part of the file.
Result<Module> parse_module(StringTable& strings, std::string_view source, std::string_view file,
                            std::uint32_t first_line = 1);

// What a formatter needs besides the module.
struct SourceNotes {
  std::vector<Comment> comments;
  std::vector<std::uint32_t> block_end_line;  // per block: line of its }
};
Result<Module> parse_module(StringTable& strings, std::string_view source, std::string_view file, SourceNotes& notes);

// One callee, such as "vmap(grad(@loss), in_dims=[0])" of a command line.
struct ParsedCallee {
  Module pools;
  std::uint32_t callee = 0;  // into pools.callees
};
Result<ParsedCallee> parse_callee(StringTable& strings, std::string_view text);

// One literal, such as "[1, 2.5]" of a command line: pools.literals[0].
Result<Module> parse_literal(StringTable& strings, std::string_view text);

}  // namespace tfvm
