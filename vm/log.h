#pragma once
// What passes and caches have to say, by category: batch_rule, guards, recompiles, fusion, reinplace, input_output,
// sparse; silence is the default. What has to be heard all the same is a notice.

#include <functional>
#include <string>
#include <string_view>

namespace tfvm {

using LogFn = std::function<void(std::string_view category, const std::string& message)>;

// Writes the categories that TFVM_LOG names ("guards,recompiles", or "all") to stderr, as "guards: …". Null where
// it names none.
LogFn log_of_environment();

// What the host must hear, though it asked for nothing: it goes to the log under the category kNotice, which TFVM_LOG
// need not name, and to stderr where there is no log.
inline constexpr std::string_view kNotice = "native";
void give_notice(const LogFn& log, const std::string& message);

}  // namespace tfvm
