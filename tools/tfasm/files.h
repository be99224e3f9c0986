#pragma once
// Files of programs: reading them, what a program may read, and errors with the line that they are about.

#include <string>
#include <vector>

#include "vm/vm.h"

namespace tfvm::tool {

// .tfa or .tfbc, told apart by their bytes.
Result<Module> read_module(StringTable& strings, std::span<const std::byte> bytes, const std::string& file);
Result<Module> read_module(StringTable& strings, const std::string& file);

// Gives the bytes of files below the folder of `file`; other paths are Code::Io, whatever links lead there.
FileLoader files_below(const std::string& file);
// The same for imports of a module that is only read.
ModuleLoader modules_below(StringTable& strings, const std::string& file);

// Loads FILE into `vm`, with its imports and the first values of its params and buffers.
Status load_file(VM& vm, const std::string& file);

// A line of a file of the program, or of the stdlib, without blanks around it.
std::string line_text(const std::string& file, std::uint32_t line);

// file:line:col: error: …, the source line and a caret, notes. Reads the line from the file, or from the stdlib.
std::string error_text(const Error& error, const StringTable& strings);
// Prints that on standard error and gives the exit code: kUsage where a file could not be read, else kFailed.
int report(const Error& error, const StringTable& strings);

std::span<const std::byte> bytes_of(std::string_view text);

}  // namespace tfvm::tool
