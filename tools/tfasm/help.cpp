// tfasm help: the text of `tfasm COMMAND --help`.

#include <iostream>
#include <memory>

#include "tools/tfasm/command.h"

namespace tfvm::tool {

void add_help(CLI::App& app, int& exit_code) {
  CLI::App* cmd = app.add_subcommand("help", "Show what a command does, with examples");
  const auto name = std::make_shared<std::string>();
  cmd->add_option("COMMAND", *name, "One of the commands; without it they are listed");
  cmd->footer("Examples:\n  tfasm help\n  tfasm help run");
  cmd->callback([name, &app, &exit_code] {
    const auto named = app.get_subcommands([&](CLI::App* sub) { return sub->get_name() == *name; });
    const CLI::App* about = name->empty() ? &app : named.empty() ? nullptr : named.front();
    if (!about) {
      std::cerr << "error: there is no command '" << *name << "'\n";
      exit_code = kUsage;
      return;
    }
    std::cout << app.get_formatter()->make_help(about, "tfasm" + (name->empty() ? "" : " " + *name),
                                                CLI::AppFormatMode::Normal);
  });
}

}  // namespace tfvm::tool
