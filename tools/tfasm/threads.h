#pragma once
// --threads N of commands that call functions.

#include <cstddef>

#include "tools/tfasm/command.h"
#include "vm/context.h"

namespace tfvm::tool {

void add_threads(const Command& cmd, std::size_t& threads);
// Calls in the context run on so many threads. Unsupported: a build without oneTBB.
Status use_threads(Context& context, std::size_t threads);

}  // namespace tfvm::tool
