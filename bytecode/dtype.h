#pragma once
// Element types. One list gives the enum, the names and the sizes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tfvm {

// NAME(enumerator, text, bytes)
#define TFVM_DTYPES(NAME)                                                                                   \
  NAME(Bool, "bool", 1)                                                                                     \
  NAME(I8, "i8", 1)                                                                                         \
  NAME(I16, "i16", 2)                                                                                       \
  NAME(I32, "i32", 4)                                                                                       \
  NAME(I64, "i64", 8) NAME(U8, "u8", 1) NAME(U16, "u16", 2) NAME(U32, "u32", 4) NAME(U64, "u64", 8)         \
      NAME(F16, "f16", 2) NAME(BF16, "bf16", 2) NAME(F32, "f32", 4) NAME(F64, "f64", 8) NAME(C64, "c64", 8) \
          NAME(C128, "c128", 16)

enum class DType : std::uint8_t {
#define TFVM_ENUM(e, text, bytes) e,
  TFVM_DTYPES(TFVM_ENUM)
#undef TFVM_ENUM
};
inline constexpr std::size_t kDTypes = static_cast<std::size_t>(DType::C128) + 1;

struct DTypeInfo {
  std::string_view name;
  std::uint8_t bytes;
};
inline constexpr std::array<DTypeInfo, kDTypes> kDTypeInfo{{
#define TFVM_ROW(e, text, bytes) {text, bytes},
    TFVM_DTYPES(TFVM_ROW)
#undef TFVM_ROW
}};

constexpr std::string_view name(DType d) { return kDTypeInfo[static_cast<std::size_t>(d)].name; }
constexpr std::int64_t size_of(DType d) { return kDTypeInfo[static_cast<std::size_t>(d)].bytes; }
constexpr bool is_signed(DType d) { return d >= DType::I8 && d <= DType::I64; }
constexpr bool is_unsigned(DType d) { return d >= DType::U8 && d <= DType::U64; }
constexpr bool is_int(DType d) { return d >= DType::I8 && d <= DType::U64; }
constexpr bool is_float(DType d) { return d >= DType::F16 && d <= DType::F64; }
constexpr bool is_complex(DType d) { return d >= DType::C64; }
// Has tangents and cotangents.
constexpr bool is_differentiable(DType d) { return d >= DType::F16; }

std::optional<DType> parse_dtype(std::string_view text);

// Classes that an operand or a parameter may be restricted to.
enum class DTypeClass : std::uint8_t { Any, Num, Real, Float, Inexact, Int, Bits, Bool, Complex };
bool matches(DTypeClass c, DType d);  // Num: no bool; Real: int or float; Inexact: float or complex; Bits: int or bool
std::string_view name(DTypeClass c);  // for messages: "a float dtype"

}  // namespace tfvm
