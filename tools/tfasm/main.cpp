#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  CLI::App app{"tfasm: assemble, check, transform and run tensor programs"};
  app.require_subcommand(0);
  CLI11_PARSE(app, argc, argv);
  return 0;
}
