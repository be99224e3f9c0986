#pragma once
// The subcommands: each adds itself to the application, with its options, examples and what it does.
//
// CLI11 stays behind these classes: its header alone takes seconds to compile.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tfvm::tool {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // what was asked for failed: an error in a program, a test, a file to be formatted
inline constexpr int kUsage = 2;   // wrong usage, or nothing could be read

// An option of a command, which owns it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option one_of(std::vector<std::string> values) const;
  Option between(std::int64_t least, std::int64_t most) const;
  Option between(int least, int most) const { return between(std::int64_t{least}, std::int64_t{most}); }
  Option between(double least, double most) const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option or_env(std::string variable) const;  // its value where the option is not given

 private:
  CLI::Option* option_;
};

// A subcommand, which the application owns. What options write to must live as long. One that nobody asked for has no
// app, and takes no options.
class Command {
 public:
  Command(CLI::App* app, int* exit_code) : app_(app), exit_code_(exit_code) {}

  // `names`: "-a,--arg", or "FILE" for one without a dash. One with a dash takes a single value each time it is given.
  Option option(const std::string& names, std::string& to, const std::string& help) const;
  Option option(const std::string& names, std::vector<std::string>& to, const std::string& help) const;
  Option option(const std::string& names, double& to, const std::string& help) const;
  Option option(const std::string& names, std::int64_t& to, const std::string& help) const;
  Option option(const std::string& names, std::size_t& to, const std::string& help) const;
  Option flag(const std::string& names, bool& to, const std::string& help) const;

  void footer(const std::string& text) const;   // below the options in the help: notes and examples
  void action(std::function<int()> run) const;  // what the command does; its result is the exit code

 private:
  CLI::App* app_;
  int* exit_code_;
};

class Application {
 public:
  // `only`: makes that command alone, for to make all takes a tenth of the time of a small run; "": all of them.
  explicit Application(std::string_view only);
  ~Application();

  bool has_command() const;
  Command command(const std::string& name, const std::string& help);
  // Prints the help of one command, or of all for "". False: there is no such command.
  bool print_help(const std::string& command) const;
  int run(int argc, char** argv);  // the exit code

 private:
  std::string_view only_;
  std::unique_ptr<CLI::App> app_;
  int exit_code_ = kDone;
};

void add_run(Application& app);
void add_test(Application& app);
void add_fmt(Application& app);
void add_check(Application& app);
void add_asm(Application& app);
void add_dis(Application& app);
void add_ops(Application& app);
void add_gradcheck(Application& app);
void add_transform(Application& app);
void add_explain(Application& app);
void add_show(Application& app);
void add_bench(Application& app);
void add_cache(Application& app);
void add_bisect(Application& app);
void add_memory(Application& app);
void add_help(Application& app);

}  // namespace tfvm::tool
