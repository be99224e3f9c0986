#include "tools/tfasm/compare.h"

#include <cmath>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "bytecode/half.h"
#include "vm/print.h"

namespace tfvm::tool {

namespace {

// Wide enough for every element: 64-bit integers and doubles are exact in the x87 format.
struct Wide {
  long double re = 0, im = 0;
};

template <class T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

Wide widen(DType d, const std::byte* p) {
  switch (d) {
    case DType::Bool:
    case DType::U8:
      return {static_cast<long double>(load<std::uint8_t>(p))};
    case DType::I8:
      return {static_cast<long double>(load<std::int8_t>(p))};
    case DType::I16:
      return {static_cast<long double>(load<std::int16_t>(p))};
    case DType::I32:
      return {static_cast<long double>(load<std::int32_t>(p))};
    case DType::I64:
      return {static_cast<long double>(load<std::int64_t>(p))};
    case DType::U16:
      return {static_cast<long double>(load<std::uint16_t>(p))};
    case DType::U32:
      return {static_cast<long double>(load<std::uint32_t>(p))};
    case DType::U64:
      return {static_cast<long double>(load<std::uint64_t>(p))};
    case DType::F16:
      return {f16_value(load<std::uint16_t>(p))};
    case DType::BF16:
      return {bf16_value(load<std::uint16_t>(p))};
    case DType::F32:
      return {load<float>(p)};
    case DType::F64:
      return {load<double>(p)};
    case DType::C64:
      return {load<float>(p), load<float>(p + 4)};
    case DType::C128:
      return {load<double>(p), load<double>(p + 8)};
  }
  return {};
}

bool is_nan(const Wide& v) { return std::isnan(v.re) || std::isnan(v.im); }
bool is_finite(const Wide& v) { return std::isfinite(v.re) && std::isfinite(v.im); }
long double size(const Wide& v) { return std::hypot(v.re, v.im); }
long double distance(const Wide& a, const Wide& b) { return std::hypot(a.re - b.re, a.im - b.im); }
bool same(const Wide& a, const Wide& b) { return a.re == b.re && a.im == b.im; }

std::string place_text(Dims dims, std::int64_t at) {
  std::string out;
  for (std::size_t k = dims.size(); k-- > 0; at /= dims[k])
    out = std::to_string(at % dims[k]) + (out.empty() ? "" : ",") + out;
  return out.empty() ? "" : " at [" + out + "]";
}

// Elements in row-major order, whatever the strides are.
std::vector<std::byte> elements_of(const Tensor& t) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes()));
  t.copy_to(bytes);
  return bytes;
}

PrintOptions short_form() {
  PrintOptions o;
  o.threshold = 24;
  return o;
}

// `agree(a, b)` for each pair of elements; the report of those that don't.
std::string compare(const Tensor& a, const Tensor& b,
                    const std::function<bool(const std::byte*, const std::byte*)>& agree) {
  if (a.type_text() != b.type_text())
    return fmt::format("types differ: got {}, expected {}", a.type_text(), b.type_text());
  const std::vector<std::byte> x = elements_of(a), y = elements_of(b);
  const auto step = static_cast<std::size_t>(size_of(a.dtype()));
  std::int64_t differ = 0, worst = 0;
  long double largest = -1;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const std::byte *p = x.data() + static_cast<std::size_t>(i) * step,
                    *q = y.data() + static_cast<std::size_t>(i) * step;
    if (agree(p, q)) continue;
    ++differ;
    const long double d = distance(widen(a.dtype(), p), widen(a.dtype(), q));
    const long double error = std::isnan(d) ? INFINITY : d;
    if (error > largest) largest = error, worst = i;
  }
  if (differ == 0) return {};
  const std::size_t at = static_cast<std::size_t>(worst) * step;
  return fmt::format(
      "{} of {} elements differ; largest error {:.4g}{}: got {}, expected {}\n  got      {}\n  expected {}", differ,
      a.elements(), static_cast<double>(largest), place_text(a.dims(), worst), print_element(a.dtype(), x.data() + at),
      print_element(a.dtype(), y.data() + at), print(a, short_form()), print(b, short_form()));
}

}  // namespace

std::string compare_close(const Tensor& a, const Tensor& b, const Closeness& c) {
  return compare(a, b, [&](const std::byte* p, const std::byte* q) {
    const Wide x = widen(a.dtype(), p), y = widen(a.dtype(), q);
    if (is_nan(x) || is_nan(y)) return c.equal_nan && is_nan(x) && is_nan(y);
    if (!is_finite(x) || !is_finite(y)) return same(x, y);
    return distance(x, y) <= static_cast<long double>(c.atol) + static_cast<long double>(c.rtol) * size(y);
  });
}

std::string compare_equal(const Tensor& a, const Tensor& b, bool bitwise) {
  const auto bytes = static_cast<std::size_t>(size_of(a.dtype()));
  return compare(a, b, [&](const std::byte* p, const std::byte* q) {
    if (std::memcmp(p, q, bytes) == 0) return true;
    const Wide x = widen(a.dtype(), p), y = widen(a.dtype(), q);
    const bool any_nan = !bitwise || print_element(a.dtype(), q) == "nan";
    return (!bitwise && same(x, y)) || (any_nan && is_nan(x) && is_nan(y));
  });
}

std::string compare_shape(const Tensor& a, Dims shape) {
  if (std::ranges::equal(a.dims(), shape)) return {};
  return fmt::format("shapes differ: got {}, expected {}", a.type_text(), type_text(a.dtype(), shape));
}

}  // namespace tfvm::tool
