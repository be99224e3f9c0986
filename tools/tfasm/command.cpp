// The command line, by CLI11.
#include "tools/tfasm/command.h"

#include <iostream>

#include <CLI/CLI.hpp>

namespace tfvm::tool {

Option Option::required() const { return Option(option_ ? option_->required() : nullptr); }

Option Option::one_of(std::vector<std::string> values) const {
  return Option(option_ ? option_->check(CLI::IsMember(std::move(values))) : nullptr);
}

Option Option::between(std::int64_t least, std::int64_t most) const {
  return Option(option_ ? option_->check(CLI::Range(least, most)) : nullptr);
}

Option Option::between(double least, double most) const {
  return Option(option_ ? option_->check(CLI::Range(least, most)) : nullptr);
}

Option Option::needs(Option other) const { return Option(option_ ? option_->needs(other.option_) : nullptr); }

Option Option::excludes(Option other) const { return Option(option_ ? option_->excludes(other.option_) : nullptr); }

Option Option::or_env(std::string variable) const {
  return Option(option_ ? option_->envname(std::move(variable)) : nullptr);
}

Option Command::option(const std::string& names, std::string& to, const std::string& help) const {
  return Option(app_ ? app_->add_option(names, to, help) : nullptr);
}

Option Command::option(const std::string& names, std::vector<std::string>& to, const std::string& help) const {
  if (!app_) return Option(nullptr);
  CLI::Option* option = app_->add_option(names, to, help);
  if (names.starts_with('-')) option->allow_extra_args(false);
  return Option(option);
}

Option Command::option(const std::string& names, double& to, const std::string& help) const {
  return Option(app_ ? app_->add_option(names, to, help) : nullptr);
}

Option Command::option(const std::string& names, std::int64_t& to, const std::string& help) const {
  return Option(app_ ? app_->add_option(names, to, help) : nullptr);
}

Option Command::option(const std::string& names, std::size_t& to, const std::string& help) const {
  return Option(app_ ? app_->add_option(names, to, help) : nullptr);
}

Option Command::flag(const std::string& names, bool& to, const std::string& help) const {
  return Option(app_ ? app_->add_flag(names, to, help) : nullptr);
}

void Command::footer(const std::string& text) const {
  if (app_) app_->footer(text);
}

void Command::action(std::function<int()> run) const {
  if (app_) app_->callback([run = std::move(run), code = exit_code_] { *code = run(); });
}

Application::Application(std::string_view only)
    : only_(only),
      app_(std::make_unique<CLI::App>("tfasm: assemble, check, transform and run tensor programs", "tfasm")) {
  app_->footer(
      "`tfasm help COMMAND` shows the options of a command, with examples.\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage or an unreadable file.");
  app_->require_subcommand(0, 1);
}

Application::~Application() = default;

bool Application::has_command() const { return !app_->get_subcommands({}).empty(); }

Command Application::command(const std::string& name, const std::string& help) {
  if (!only_.empty() && name != only_) return Command(nullptr, &exit_code_);
  return Command(app_->add_subcommand(name, help), &exit_code_);
}

bool Application::print_help(const std::string& command) const {
  const auto named = app_->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == command; });
  if (!command.empty() && named.empty()) return false;
  const CLI::App* about = command.empty() ? app_.get() : named.front();
  std::cout << app_->get_formatter()->make_help(about, "tfasm" + (command.empty() ? "" : " " + command),
                                                CLI::AppFormatMode::Normal);
  return true;
}

int Application::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app_->exit(e, std::cout, std::cerr) == 0 ? kDone : kUsage;
  }
  if (!app_->get_subcommands().empty()) return exit_code_;
  std::cerr << app_->help();
  return kUsage;
}

}  // namespace tfvm::tool
