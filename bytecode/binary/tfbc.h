#pragma once
// Modules as .tfbc (format.h). Text, module and binary hold the same: print(read(write(parse(t)))) is print(parse(t)).

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "bytecode/module.h"

namespace tfvm {

// `debug`: with names and lines; without, a reader makes names up: @f0, %0, test "0".
std::vector<std::byte> write_tfbc(const Module& m, const StringTable& strings, bool debug = true);

// Reads bytes of any origin: never faults, allocates at most in proportion to them, and gives Code::Syntax with the
// offset of the first byte that is wrong. Statements have places where the file has a debug section.
Result<Module> read_tfbc(StringTable& strings, std::span<const std::byte> bytes, std::string_view file);

// The payload of the code section of a well-formed file, to compare; empty where there is none.
std::span<const std::byte> code_section(std::span<const std::byte> bytes);

// The payloads alone, without container and hashes; `debug` may be empty. For read_tfbc and for fuzzers.
Result<Module> read_sections(StringTable& strings, std::span<const std::byte> code, std::span<const std::byte> debug,
                             std::string_view file);
std::vector<std::byte> write_sections(std::span<const std::byte> code, std::span<const std::byte> debug);

bool is_tfbc(std::span<const std::byte> bytes);  // begins with the magic

}  // namespace tfvm
