#pragma once
// What passes and caches have to say, by category: batch_rule, guards, recompiles, fusion, reinplace, input_output,
// sparse; silence is the default.

#include <functional>
#include <string>
#include <string_view>

namespace tfvm {

using LogFn = std::function<void(std::string_view category, const std::string& message)>;

// Writes the categories that TFVM_LOG names ("guards,recompiles", or "all") to stderr, as "guards: …". Null where
// it names none.
LogFn log_of_environment();

}  // namespace tfvm
