#pragma once
// What the kernels of the index family share: modes, combines, and what reads outside give.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vm/kernels/combine.h"
#include "vm/kernels/elements.h"
#include "vm/kernels/make.h"

namespace tfvm {

enum class IndexMode : std::uint8_t { Error, Clip, Fill };

inline IndexMode index_mode(const KernelRequest& r) {
  const std::string_view m = r.attrs.get_str(r.at, Key::mode);
  return m == "clip" ? IndexMode::Clip : m == "fill" ? IndexMode::Fill : IndexMode::Error;
}

inline Combine combine_of(const KernelRequest& r) {
  constexpr std::pair<std::string_view, Combine> kCombine[] = {
      {"add", Combine::Add}, {"mul", Combine::Mul}, {"min", Combine::Min}, {"max", Combine::Max}};
  for (const auto& [text, combine] : kCombine)
    if (text == r.attrs.get_str(r.at, Key::combine)) return combine;
  return Combine::Set;
}

// The element that reads outside give: NaN of a float, else zeros. `out` has room for 16 bytes.
inline void outside_element(DType d, std::byte* out) {
  with_element(d, [&](auto e) {
    using E = decltype(e);
    typename E::Stored s{};
    if constexpr (std::is_floating_point_v<typename E::Value>) s = E::store(static_cast<typename E::Value>(NAN));
    std::memcpy(out, &s, sizeof s);
  });
}

}  // namespace tfvm
