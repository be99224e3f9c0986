// tfasm cache: the folder that functions are kept in for later processes.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/tfasm/command.h"
#include "vm/cache/disk.h"
#include "vm/options.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string folder;
  bool stats = false, clear = false;
};

int cache(const Options& o) {
  const std::string folder = o.folder.empty() ? cache_options_of_environment().folder : o.folder;
  if (folder.empty()) {
    fmt::print(stderr, "error: no folder: say which, or set TFVM_CACHE_DIR\n");
    return kUsage;
  }
  DiskCache disk(folder);
  if (!disk.is_on()) {
    fmt::print(stderr, "error: {}\n", disk.why_off());
    return kUsage;
  }
  if (o.clear) fmt::print("{} entries removed\n", disk.clear());
  if (o.stats || !o.clear) {
    const DiskStats s = disk.stats();
    fmt::print("{} entries, {} bytes\n", s.entries, s.bytes);
  }
  return kDone;
}

}  // namespace

void add_cache(Application& app) {
  const Command cmd = app.command("cache", "Show or clear the functions kept on disk for later processes");
  const auto o = std::make_shared<Options>();
  cmd.option("FOLDER", o->folder, "The folder; default: TFVM_CACHE_DIR");
  cmd.flag("--stats", o->stats, "Print how many entries there are, and their bytes (the default)");
  cmd.flag("--clear", o->clear, "Remove them");
  cmd.footer(
      "A program that runs with TFVM_CACHE_DIR set leaves its functions there, as they are past all transforms, and\n"
      "finds them the next time. The folder has mode 0700; damaged entries, and those of another build, are "
      "ignored.\n\n"
      "Examples:\n"
      "  TFVM_CACHE_DIR=~/.cache/tfvm tfasm run examples/maml.tfa\n"
      "  tfasm cache ~/.cache/tfvm --clear");
  cmd.action([o] { return cache(*o); });
}

}  // namespace tfvm::tool
