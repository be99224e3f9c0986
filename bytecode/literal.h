#pragma once
// From the digits of a literal to bytes. Every element is rounded once, from its text to the dtype (half to even).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/module.h"

namespace tfvm {

// The dtype of a literal that nothing else decides: bool for true and false, i64 where no element has a point or an
// exponent, c64 where one is complex(…), else f32 (also for no elements, and for bits and hex, which need a context).
DType natural_dtype(const Module& m, const Literal& literal);

// Appends the elements, little-endian, to `out`. A blob gives its bytes as they are: whole elements.
// Integers and bit patterns must fit; a float stands for an integer where it is one; too large a float gives inf.
Status literal_bytes(const Module& m, const Literal& literal, DType dtype, std::vector<std::byte>& out);

// One element at `out` (size_of(dtype) bytes); `text` as in ElemKind. The error's message lacks a place.
Status store_number(ElemKind kind, std::string_view text, DType dtype, std::byte* out);

// The double nearest to a number as written: decimal, hex float, inf, -inf, nan, or integer digits.
double parse_double(std::string_view text);
// Decimal or hex digits with an optional minus; nullopt outside [-2^63, 2^64); `negative` of -0 too.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};
std::optional<Integer> parse_integer(std::string_view text);

// The hex float is a double exactly: at most 53 significant bits, exponent in range.
bool is_exact_hex_float(std::string_view text);

// The shortest text that reads back as this value of the dtype: "0.1", "-0.0", "inf", "bits(0x7fc00001)" for other
// NaNs, "complex(1.0, 2.0)", "true". Floats always have a point, an exponent, or are inf or nan.
std::string element_text(DType dtype, const std::byte* in);
std::string double_text(double v);

}  // namespace tfvm
