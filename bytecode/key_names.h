#pragma once
// The attribute keys of keys.def as they are written, in the order of their ids.

#include <string_view>

namespace tfvm {

inline constexpr std::string_view kKeyNames[] = {
#define KEY(n) #n,
#define KEY2(n, text) text,
#include "bytecode/keys.def"
#undef KEY
#undef KEY2
};

}  // namespace tfvm
