// Elements as text: the inverse of literal.cpp.

#include <charconv>
#include <cmath>
#include <cstring>

#include "bytecode/half.h"
#include "bytecode/literal.h"

namespace tfvm {

namespace {

template <class T>
T load(const std::byte* in) {
  T v;
  std::memcpy(&v, in, sizeof v);
  return v;
}

template <class T>
std::string shortest(T v) {
  char buffer[32];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, v);
  std::string s(buffer, r.ptr);
  if (s.find_first_of(".enf") == s.npos) s += ".0";
  return s;
}

// 16-bit floats: the fewest digits of their double that round back.
std::string shortest_half(double v, std::uint16_t pattern, std::uint16_t (*round)(double)) {
  for (int digits = 0; digits < 8; ++digits) {
    char buffer[32];
    const auto r = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific, digits);
    double back = 0;
    std::from_chars(buffer, r.ptr, back);
    if (round(back) == pattern) return shortest(back);
  }
  return shortest(v);
}

std::string bits_text(std::uint64_t v) {
  char buffer[24];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, v, 16);
  return "bits(0x" + std::string(buffer, r.ptr) + ')';
}

// `nan` is the quiet one without sign or payload.
std::string float_text(DType d, const std::byte* in) {
  switch (d) {
    case DType::F16: {
      const auto h = load<std::uint16_t>(in);
      const double v = f16_value(h);
      if (std::isnan(v)) return h == 0x7e00 ? "nan" : bits_text(h);
      return shortest_half(v, h, f16_bits);
    }
    case DType::BF16: {
      const auto h = load<std::uint16_t>(in);
      const double v = bf16_value(h);
      if (std::isnan(v)) return h == 0x7fc0 ? "nan" : bits_text(h);
      return shortest_half(v, h, bf16_bits);
    }
    case DType::F32: {
      const auto b = load<std::uint32_t>(in);
      const auto v = load<float>(in);
      if (std::isnan(v)) return b == 0x7fc00000u ? "nan" : bits_text(b);
      return shortest(v);
    }
    default: {
      const auto b = load<std::uint64_t>(in);
      const auto v = load<double>(in);
      if (std::isnan(v)) return b == 0x7ff8000000000000u ? "nan" : bits_text(b);
      return shortest(v);
    }
  }
}

std::string complex_text(DType d, const std::byte* in) {
  const DType part = d == DType::C64 ? DType::F32 : DType::F64;
  const std::string re = float_text(part, in), im = float_text(part, in + size_of(part));
  if (!re.starts_with('b') && !im.starts_with('b')) return "complex(" + re + ", " + im + ')';
  std::string digits;
  for (std::int64_t k = size_of(d) - 1; k >= 0; --k)
    for (const int shift : {4, 0}) digits += "0123456789abcdef"[static_cast<int>(in[k]) >> shift & 15];
  return "bits(0x" + digits + ')';
}

}  // namespace

std::string double_text(double v) { return shortest(v); }

std::string element_text(DType dtype, const std::byte* in) {
  if (dtype == DType::Bool) return load<std::uint8_t>(in) ? "true" : "false";
  if (is_complex(dtype)) return complex_text(dtype, in);
  if (is_float(dtype)) return float_text(dtype, in);
  switch (dtype) {
    case DType::I8:
      return std::to_string(load<std::int8_t>(in));
    case DType::I16:
      return std::to_string(load<std::int16_t>(in));
    case DType::I32:
      return std::to_string(load<std::int32_t>(in));
    case DType::I64:
      return std::to_string(load<std::int64_t>(in));
    case DType::U8:
      return std::to_string(load<std::uint8_t>(in));
    case DType::U16:
      return std::to_string(load<std::uint16_t>(in));
    case DType::U32:
      return std::to_string(load<std::uint32_t>(in));
    default:
      return std::to_string(load<std::uint64_t>(in));
  }
}

}  // namespace tfvm
