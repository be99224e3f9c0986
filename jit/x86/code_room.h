#pragma once

#include <cstddef>

namespace tfvm {

// Behind code that a listener is told of so many bytes are left unused: perf wants addresses there for its frames,
// which it takes to be mapped behind the code.
inline constexpr std::size_t kRoomBehindCode = 1024;

}  // namespace tfvm
