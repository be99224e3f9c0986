// The 16-bit floats over contiguous arrays. Neither operand may overlap the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tfvm::math {

void f16_to_f32(const std::uint16_t* x, float* out, std::size_t n);
void f32_to_f16(const float* x, std::uint16_t* out, std::size_t n);
void bf16_to_f32(const std::uint16_t* x, float* out, std::size_t n);
void f32_to_bf16(const float* x, std::uint16_t* out, std::size_t n);

}  // namespace tfvm::math
