// The multi-precision values of tests/data/math (see generate.py there for the format).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "tests/source_dir.h"

namespace tfvm::math::test {

template <class T>
struct Block {
  std::string name;
  std::vector<T> x, y, result;
  std::vector<std::int8_t> residual;
  std::vector<float> allowed;  ///< empty: one limit for all points
};

template <class Value>
std::vector<Value> take(const std::string& bytes, std::size_t& at, std::size_t count) {
  std::vector<Value> out(count);
  std::memcpy(out.data(), bytes.data() + at, count * sizeof(Value));
  at += count * sizeof(Value);
  return out;
}

/// All blocks of T's file; empty if there is none.
template <class T>
std::vector<Block<T>> read_blocks() {
  const std::string path =
      std::string(source_dir()) + "/tests/data/math/" + (sizeof(T) == 4 ? "f32" : "f64") + ".bin";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<Block<T>> blocks;
  for (std::size_t at = 0; at < bytes.size();) {
    Block<T> block;
    block.name = bytes.substr(at, 16).c_str();
    at += 16;
    const auto header = take<std::uint32_t>(bytes, at, 2);
    block.x = take<T>(bytes, at, header[1]);
    if (header[0] == 2) block.y = take<T>(bytes, at, header[1]);
    block.result = take<T>(bytes, at, header[1]);
    block.residual = take<std::int8_t>(bytes, at, header[1]);
    if (block.name == "lgamma" || block.name == "digamma" || block.name == "erfinv") {
      block.allowed = take<float>(bytes, at, header[1]);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// |got - (want + residual)| in ulps of `want`; infinite where only one is NaN or infinite, or a zero has the wrong
/// sign.
template <class T>
double ulp_error(T got, T want, std::int8_t residual) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (std::isinf(want) || std::isinf(got)) return want == got ? 0 : wrong;
  if (want == 0 && residual == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : wrong;
  const T size = std::fmax(std::fabs(want), std::numeric_limits<T>::min());
  int exponent = 0;
  std::frexp(size, &exponent);
  // Scaled in two steps, since 1/ulp may be beyond the range; the difference of neighbours is exact.
  const double difference = static_cast<double>(got - want);
  const double ulps = std::ldexp(std::ldexp(difference, -exponent), std::numeric_limits<T>::digits);
  return std::fabs(ulps - residual / 254.0);
}

}  // namespace tfvm::math::test
