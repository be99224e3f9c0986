#include "bytecode/literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "bytecode/consts.h"
#include "bytecode/half.h"

namespace tfvm {

namespace {

bool is_hex(std::string_view s) { return s.starts_with("0x") || s.starts_with("-0x"); }

std::string_view without_sign(std::string_view s) { return s.starts_with('-') ? s.substr(1) : s; }

// Digits without leading zeros and the power of ten of the first one; for numbers like 12.5e-3.
struct Decimal {
  std::string digits;
  long exponent = 0;
};

Decimal decimal(std::string_view text) {
  Decimal d;
  text = without_sign(text);
  const std::size_t e = text.find_first_of("eE");
  long exp10 = 0;
  if (e != text.npos) {
    std::string_view exp = text.substr(e + 1);
    if (exp.starts_with('+')) exp.remove_prefix(1);
    const auto r = std::from_chars(exp.data(), exp.data() + exp.size(), exp10);
    if (r.ec != std::errc{}) exp10 = exp.starts_with('-') ? -1'000'000'000 : 1'000'000'000;
    text = text.substr(0, e);
  }
  long point = 0;  // digits before the point, less the zeros that lead
  bool seen_point = false;
  for (char c : text) {
    if (c == '.') {
      seen_point = true;
      continue;
    }
    if (d.digits.empty() && c == '0') {
      point -= seen_point;
      continue;
    }
    point += !seen_point;
    d.digits += c;
  }
  while (!d.digits.empty() && d.digits.back() == '0') d.digits.pop_back();
  d.exponent = d.digits.empty() ? 0 : point - 1 + exp10;
  return d;
}

// -1, 0, 1: the number as written against |v|, in magnitude, exactly.
int compare_magnitude(std::string_view text, double v) {
  char buffer[1200];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, std::abs(v), std::chars_format::scientific, 780);
  const Decimal a = decimal(text), b = decimal({buffer, static_cast<std::size_t>(r.ptr - buffer)});
  if (a.digits.empty() || b.digits.empty()) return static_cast<int>(!a.digits.empty()) - !b.digits.empty();
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
  const int c = a.digits.compare(b.digits);
  return (c > 0) - (c < 0);
}

template <class T>
T parse_float(std::string_view text) {
  T v{};
  const bool hex = is_hex(text);
  const bool negative = text.starts_with('-');
  std::string_view s = without_sign(text);
  if (hex) s.remove_prefix(2);
  const auto format = hex ? std::chars_format::hex : std::chars_format::general;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v, format);
  if (r.ec == std::errc::result_out_of_range)
    v = decimal(text).exponent > 0 ? std::numeric_limits<T>::infinity() : T{0};
  return negative ? -v : v;
}

// 16-bit formats: the double decides, unless it lies halfway between two values and the text does not.
std::uint16_t parse_half(std::string_view text, std::uint16_t (*round)(double)) {
  const double d = parse_double(text);
  if (std::isnan(d) || std::isinf(d) || is_hex(text)) return round(d);
  const double below = std::nextafter(d, -INFINITY), above = std::nextafter(d, INFINITY);
  if (round(below) == round(above)) return round(d);
  const int c = compare_magnitude(text, d) * (d < 0 ? -1 : 1);
  return round(c < 0 ? below : c > 0 ? above : d);
}

Status store_float(std::string_view text, DType dtype, std::byte* out) {
  if (dtype == DType::F16 || dtype == DType::BF16) {
    const std::uint16_t h = parse_half(text, dtype == DType::F16 ? f16_bits : bf16_bits);
    std::memcpy(out, &h, sizeof h);
  } else if (dtype == DType::F32) {
    // A hex float has at most 53 bits, so the double is exact and rounds once.
    const float f = is_hex(text) ? static_cast<float>(parse_double(text)) : parse_float<float>(text);
    std::memcpy(out, &f, sizeof f);
  } else {
    const double d = parse_double(text);
    std::memcpy(out, &d, sizeof d);
  }
  return ok();
}

Error misfit(std::string_view text, DType dtype) {
  return {Code::Type, std::string(text) + " does not fit " + std::string(name(dtype))};
}

Status store_integer(std::string_view text, DType dtype, std::byte* out) {
  const auto v = parse_integer(text);
  if (!v) return misfit(text, dtype);
  const auto bits = static_cast<unsigned>(8 * size_of(dtype));
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);  // magnitude of the least signed value
  const bool wide_hex = is_hex(text) && !v->negative;        // 0xffffffff is a pattern of 32 bits, i32 too
  const std::uint64_t max = is_signed(dtype) && !wide_hex ? top - 1 : top - 1 + top;
  if (v->negative ? (v->magnitude > (is_signed(dtype) ? top : 0)) : v->magnitude > max) return misfit(text, dtype);
  const std::uint64_t pattern = v->negative ? ~v->magnitude + 1 : v->magnitude;
  std::memcpy(out, &pattern, static_cast<std::size_t>(size_of(dtype)));
  return ok();
}

Status store_integer_of_float(std::string_view text, DType dtype, std::byte* out) {
  const double d = parse_double(text);
  const bool whole = std::isfinite(d) && std::trunc(d) == d && (is_hex(text) || compare_magnitude(text, d) == 0);
  if (!whole) return Error{Code::Type, std::string(text) + " is no integer, as " + std::string(name(dtype)) + " needs"};
  char buffer[400];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed, 0);
  return store_integer({buffer, static_cast<std::size_t>(r.ptr - buffer)}, dtype, out);
}

int hex_digit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

Status store_bits(std::string_view digits, DType dtype, std::byte* out) {
  const auto size = static_cast<std::size_t>(size_of(dtype));
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  if (digits.size() > 2 * size) return misfit("bits(0x" + std::string(digits) + ")", dtype);
  if (dtype == DType::Bool && digits != "0" && digits != "1")
    return misfit("bits(0x" + std::string(digits) + ")", dtype);
  std::memset(out, 0, size);
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const int v = hex_digit(digits[digits.size() - 1 - k]);
    out[k / 2] |= static_cast<std::byte>(k % 2 ? v << 4 : v);
  }
  return ok();
}

Status store_complex(std::string_view text, DType dtype, std::byte* out) {
  if (!is_complex(dtype)) return misfit("complex(" + std::string(text) + ")", dtype);
  const DType part = dtype == DType::C64 ? DType::F32 : DType::F64;
  const std::size_t comma = text.find(',');
  (void)store_float(text.substr(0, comma), part, out);
  return store_float(text.substr(comma + 2), part, out + size_of(part));
}

Status store_bool(std::string_view text, DType dtype, std::byte* out) {
  if (dtype != DType::Bool) return Error{Code::Type, std::string(text) + " is a bool, not " + std::string(name(dtype))};
  *out = static_cast<std::byte>(text == "true");
  return ok();
}

Status store_blob(std::string_view digits, DType dtype, std::vector<std::byte>& out) {
  const std::size_t bytes = digits.size() / 2;
  if (bytes % static_cast<std::size_t>(size_of(dtype)) != 0)
    return Error{Code::Type, "hex\"…\" has " + std::to_string(bytes) + " bytes, no whole number of " +
                                 std::string(name(dtype)) + " elements"};
  for (std::size_t k = 0; k < bytes; ++k)
    out.push_back(static_cast<std::byte>(hex_digit(digits[2 * k]) << 4 | hex_digit(digits[2 * k + 1])));
  if (dtype == DType::Bool)
    for (std::byte b : out)
      if (b > std::byte{1}) return Error{Code::Type, "hex\"…\" of bools has bytes 00 and 01 only"};
  return ok();
}

}  // namespace

double parse_double(std::string_view text) { return parse_float<double>(text); }

std::optional<Integer> parse_integer(std::string_view text) {
  Integer v{text.starts_with('-'), 0};
  const bool hex = is_hex(text);
  std::string_view s = without_sign(text);
  if (hex) s.remove_prefix(2);
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v.magnitude, hex ? 16 : 10);
  if (r.ec != std::errc{} || r.ptr != s.data() + s.size()) return std::nullopt;
  if (v.negative && v.magnitude > std::uint64_t{1} << 63) return std::nullopt;
  return v;
}

bool is_exact_hex_float(std::string_view text) {
  std::string_view s = without_sign(text).substr(2);
  long exp = 0;
  if (const std::size_t p = s.find('p'); p != s.npos) {
    std::string_view e = s.substr(p + 1);
    if (e.starts_with('+')) e.remove_prefix(1);
    if (std::from_chars(e.data(), e.data() + e.size(), exp).ec != std::errc{}) return false;
    s = s.substr(0, p);
  }
  std::uint64_t mantissa = 0;
  bool point = false;
  for (char c : s) {
    if (c == '.') {
      point = true;
      continue;
    }
    if (mantissa >> 60) return false;
    mantissa = mantissa << 4 | static_cast<std::uint64_t>(hex_digit(c));
    exp -= point ? 4 : 0;
  }
  if (mantissa == 0) return true;
  const int zeros = std::countr_zero(mantissa);
  const int width = 64 - std::countl_zero(mantissa) - zeros;
  exp += zeros;
  return width <= 53 && exp >= -1074 && exp + width <= 1024;
}

Status store_number(ElemKind kind, std::string_view text, DType dtype, std::byte* out) {
  switch (kind) {
    case ElemKind::Bool:
      return store_bool(text, dtype, out);
    case ElemKind::Bits:
      return store_bits(text, dtype, out);
    case ElemKind::Complex:
      return store_complex(text, dtype, out);
    case ElemKind::Blob:
      return misfit("hex\"…\" as one element", dtype);
    case ElemKind::Int:
    case ElemKind::Float:
      break;
  }
  if (dtype == DType::Bool) return Error{Code::Type, std::string(text) + " is a number, not a bool"};
  if (is_complex(dtype)) {
    const DType part = dtype == DType::C64 ? DType::F32 : DType::F64;
    std::memset(out, 0, static_cast<std::size_t>(size_of(dtype)));
    return store_float(text, part, out);
  }
  if (is_float(dtype)) return store_float(text, dtype, out);
  return kind == ElemKind::Int ? store_integer(text, dtype, out) : store_integer_of_float(text, dtype, out);
}

Status literal_bytes(const Module& m, const Literal& literal, DType dtype, std::vector<std::byte>& out) {
  const auto elements = Module::at(m.elements, literal.elements);
  if (elements.size() == 1 && elements[0].kind() == ElemKind::Blob) return store_blob(m.text(elements[0]), dtype, out);
  const auto size = static_cast<std::size_t>(size_of(dtype));
  const std::size_t begin = out.size();
  out.resize(begin + elements.size() * size);
  for (std::size_t k = 0; k < elements.size(); ++k)
    if (auto s = store_number(elements[k].kind(), m.text(elements[k]), dtype, &out[begin + k * size]); !s) return s;
  return ok();
}

DType natural_dtype(const Module& m, const Literal& literal) {
  bool all_int = literal.elements.count > 0, all_bool = all_int;
  for (const Element& e : Module::at(m.elements, literal.elements)) {
    if (e.kind() == ElemKind::Complex) return DType::C64;
    all_int = all_int && e.kind() == ElemKind::Int;
    all_bool = all_bool && e.kind() == ElemKind::Bool;
  }
  return all_bool ? DType::Bool : all_int ? DType::I64 : DType::F32;
}

}  // namespace tfvm
