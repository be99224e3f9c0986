#include "vm/print.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "bytecode/consts.h"
#include "bytecode/half.h"

namespace tfvm {

namespace {

template <class T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Shortest digits of a 16-bit float: at most five are needed for f16, four for bf16.
template <class Round>
std::string print_half(double value, std::uint16_t bits, Round round) {
  for (int digits = 1; digits <= 6; ++digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    if (round(std::strtod(text.c_str(), nullptr)) == bits) return text;
  }
  return fmt::format("{}", value);
}

// The language's `nan` is the positive quiet NaN without payload; every other pattern is written as bits.
std::string print_special(double value, std::uint64_t bits, std::uint64_t quiet) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return bits == quiet ? "nan" : fmt::format("bits({:#x})", bits);
}

std::string print_float(DType dtype, const std::byte* p) {
  switch (dtype) {
    case DType::F16: {
      const auto bits = load<std::uint16_t>(p);
      const double v = f16_value(bits);
      return std::isfinite(v) ? print_half(v, bits, f16_bits) : print_special(v, bits, 0x7e00);
    }
    case DType::BF16: {
      const auto bits = load<std::uint16_t>(p);
      const double v = bf16_value(bits);
      return std::isfinite(v) ? print_half(v, bits, bf16_bits) : print_special(v, bits, 0x7fc0);
    }
    case DType::F32: {
      const float v = load<float>(p);
      if (std::isfinite(v)) return fmt::format("{}", v);
      return print_special(v, std::bit_cast<std::uint32_t>(v), 0x7fc00000u);
    }
    default: {
      const double v = load<double>(p);
      if (std::isfinite(v)) return fmt::format("{}", v);
      return print_special(v, std::bit_cast<std::uint64_t>(v), 0x7ff8000000000000ull);
    }
  }
}

class Printer {
 public:
  Printer(const Tensor& t, const PrintOptions& o) : t_(t), o_(o), cut_(!o.full && t.elements() > o.threshold) {}
  std::string run() {
    if (t_.rank() == 0) return print_element(t_.dtype(), t_.data());
    list(0, t_.data());
    return std::move(out_);
  }

 private:
  // Depth is the rank of a type.
  void list(std::size_t axis, const std::byte* p) {
    const Layout& x = t_.layout();
    out_ += '[';
    for (std::int64_t i = 0; i < x.dims[axis]; ++i) {
      if (i > 0) out_ += ", ";
      if (cut_ && x.dims[axis] > 2 * o_.edge && i == o_.edge) {
        out_ += "…, ";
        i = x.dims[axis] - o_.edge;
      }
      const std::byte* item = p + i * x.strides[axis] * size_of(t_.dtype());
      if (axis + 1 == x.dims.size()) {
        out_ += print_element(t_.dtype(), item);
      } else {
        list(axis + 1, item);
      }
    }
    out_ += ']';
  }

  const Tensor& t_;
  const PrintOptions& o_;
  const bool cut_;
  std::string out_;
};

// Nesting shows no dim behind one of extent 0.
Tensor shown(const Tensor& t) {
  std::size_t k = 0;
  while (k < t.layout().dims.size() && t.layout().dims[k] != 0) ++k;
  if (k == t.layout().dims.size()) return t;
  Layout x = t.layout();
  x.dims.resize(k + 1);
  x.strides.resize(k + 1);
  return t.with_layout(std::move(x));
}

}  // namespace

std::string print_element(DType dtype, const std::byte* p) {
  if (dtype == DType::Bool) return load_int(dtype, p) ? "true" : "false";
  if (dtype == DType::U64) return fmt::format("{}", load<std::uint64_t>(p));
  if (is_int(dtype)) return fmt::format("{}", load_int(dtype, p));
  if (is_float(dtype)) return print_float(dtype, p);
  const DType part = dtype == DType::C64 ? DType::F32 : DType::F64;
  return fmt::format("complex({}, {})", print_float(part, p), print_float(part, p + size_of(part)));
}

std::string print_literal(const Tensor& t, const PrintOptions& options) {
  const Tensor s = shown(t);
  return Printer(s, options).run();
}

std::string print(const Tensor& t, const PrintOptions& options) {
  return t.type_text() + ' ' + print_literal(t, options);
}

}  // namespace tfvm
