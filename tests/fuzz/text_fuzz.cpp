// libFuzzer: bytes as text. A program prints as a fixpoint and survives .tfbc and the formatter.

#include <cstdlib>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/parse.h"
#include "bytecode/text/print.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tfvm;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  StringTable strings;
  const auto m = parse_module(strings, source, "fuzz");
  if (!m) return 0;
  const std::string text = print_module(*m, strings);
  const auto back = read_tfbc(strings, write_tfbc(*m, strings), "fuzz");
  if (!back || print_module(*back, strings) != text) std::abort();
  const auto again = parse_module(strings, text, "fuzz");
  if (!again || print_module(*again, strings) != text) std::abort();
  const auto formatted = format_source(source, "fuzz", strings);
  const auto twice = formatted ? format_source(*formatted, "fuzz", strings) : formatted;
  if (!twice || *twice != *formatted) std::abort();
  return 0;
}
