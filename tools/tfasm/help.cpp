// tfasm help: the text of `tfasm COMMAND --help`.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/tfasm/command.h"

namespace tfvm::tool {

void add_help(Application& app) {
  const Command cmd = app.command("help", "Show what a command does, with examples");
  const auto name = std::make_shared<std::string>();
  cmd.option("COMMAND", *name, "One of the commands; without it they are listed");
  cmd.footer("Examples:\n  tfasm help\n  tfasm help run");
  cmd.action([name, &app] {
    if (app.print_help(*name)) return kDone;
    fmt::print(stderr, "error: there is no command '{}'\n", *name);
    return kUsage;
  });
}

}  // namespace tfvm::tool
