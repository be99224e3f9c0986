// libFuzzer: bytes as .tfbc, and as the two sections of one, past the hashes. What is accepted prints, parses and is
// the same code again.

#include <algorithm>
#include <cstdlib>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"

namespace {

using namespace tfvm;

void check(StringTable& strings, const Module& m, std::span<const std::byte> code) {
  if (!std::ranges::equal(code_section(write_tfbc(m, strings)), code)) std::abort();
  const auto again = parse_module(strings, print_module(m, strings), "again");
  if (!again && again.error().message.starts_with("nested more than")) return;
  if (!again || !std::ranges::equal(code_section(write_tfbc(*again, strings)), code)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  StringTable strings;
  if (auto m = read_tfbc(strings, bytes, "fuzz"); m) check(strings, *m, code_section(bytes));
  if (size < 2) return 0;
  // Two bytes say where the code ends and the debug section begins.
  const auto rest = bytes.subspan(2);
  const std::size_t split = std::min<std::size_t>(rest.size(), data[0] | data[1] << 8);
  if (auto m = read_sections(strings, rest.first(split), rest.subspan(split), "fuzz"); m)
    check(strings, *m, rest.first(split));
  return 0;
}
