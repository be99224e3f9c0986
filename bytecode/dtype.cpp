#include "bytecode/dtype.h"

namespace tfvm {

std::optional<DType> parse_dtype(std::string_view text) {
  for (std::size_t i = 0; i < kDTypes; ++i)
    if (kDTypeInfo[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

bool matches(DTypeClass c, DType d) {
  switch (c) {
    case DTypeClass::Any:
      return true;
    case DTypeClass::Num:
      return d != DType::Bool;
    case DTypeClass::Real:
      return is_int(d) || is_float(d);
    case DTypeClass::Float:
      return is_float(d);
    case DTypeClass::Inexact:
      return is_float(d) || is_complex(d);
    case DTypeClass::Int:
      return is_int(d);
    case DTypeClass::Bits:
      return is_int(d) || d == DType::Bool;
    case DTypeClass::Bool:
      return d == DType::Bool;
    case DTypeClass::Complex:
      return is_complex(d);
  }
  return false;
}

std::string_view name(DTypeClass c) {
  switch (c) {
    case DTypeClass::Any:
      return "any dtype";
    case DTypeClass::Num:
      return "a number dtype";
    case DTypeClass::Real:
      return "an integer or float dtype";
    case DTypeClass::Float:
      return "a float dtype";
    case DTypeClass::Inexact:
      return "a float or complex dtype";
    case DTypeClass::Int:
      return "an integer dtype";
    case DTypeClass::Bits:
      return "bool or an integer dtype";
    case DTypeClass::Bool:
      return "bool";
    case DTypeClass::Complex:
      return "a complex dtype";
  }
  return "";
}

}  // namespace tfvm
