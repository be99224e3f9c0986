#pragma once
// The subcommands: each adds itself to the application, with its options, examples and what it does. A command leaves
// its exit code in `exit_code`.

#include <CLI/CLI.hpp>

namespace tfvm::tool {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // what was asked for failed: an error in a program, a test, a file to be formatted
inline constexpr int kUsage = 2;   // wrong usage, or nothing could be read

void add_run(CLI::App& app, int& exit_code);
void add_test(CLI::App& app, int& exit_code);
void add_fmt(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_asm(CLI::App& app, int& exit_code);
void add_dis(CLI::App& app, int& exit_code);
void add_ops(CLI::App& app, int& exit_code);
void add_gradcheck(CLI::App& app, int& exit_code);
void add_transform(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_bisect(CLI::App& app, int& exit_code);
void add_memory(CLI::App& app, int& exit_code);
void add_help(CLI::App& app, int& exit_code);

}  // namespace tfvm::tool
