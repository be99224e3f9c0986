// tfasm asm and dis: text to binary and back.

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/print.h"
#include "tools/tfasm/command.h"
#include "tools/tfasm/files.h"
#include "vm/npy/npy.h"

namespace tfvm::tool {

namespace {

struct Options {
  std::string file, out;
  bool strip = false;
};

std::string with_extension(const std::string& file, std::string_view extension) {
  const std::size_t dot = file.rfind('.'), slash = file.rfind('/');
  const bool has_one = dot != file.npos && (slash == file.npos || dot > slash + 1);
  return file.substr(0, has_one ? dot : file.npos) + std::string(extension);
}

// The whole module: imports are merged in, and every @name is known.
Result<Module> read_whole(Tables& tables, const std::string& file) {
  Result<Module> m = read_module(tables.strings, file);
  if (m) m = merge_imports(tables, *std::move(m), modules_below(tables.strings, file));
  if (!m) return m;
  if (Status s = check_names(*m, tables.strings); !s) return std::move(s).error();
  return m;
}

int assemble(const Options& o) {
  Tables tables;
  const Result<Module> m = read_whole(tables, o.file);
  if (!m) return report(m.error(), tables.strings);
  const std::string out = o.out.empty() ? with_extension(o.file, ".tfbc") : o.out;
  const Status s = write_file(out, write_tfbc(*m, tables.strings, !o.strip));
  return s ? kDone : report(s.error(), tables.strings);
}

int disassemble(const Options& o) {
  StringTable strings;
  const Result<Module> m = read_module(strings, o.file);
  if (!m) return report(m.error(), strings);
  const std::string text = print_module(*m, strings);
  if (o.out.empty()) {
    fmt::print("{}", text);
    return kDone;
  }
  const Status s = write_file(o.out, bytes_of(text));
  return s ? kDone : report(s.error(), strings);
}

}  // namespace

void add_asm(Application& app) {
  const Command cmd = app.command("asm", "Assemble: write a program in binary form, .tfbc");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program").required();
  cmd.option("-o,--out", o->out, "Where to; default: beside FILE, with the extension .tfbc");
  cmd.flag("--strip", o->strip, "Leave out names and lines");
  cmd.footer(
      "Imports are merged in. Params and buffers that are read from files keep the paths.\n\n"
      "Examples:\n"
      "  tfasm asm first.tfa\n"
      "  tfasm asm first.tfa --strip -o small.tfbc");
  cmd.action([o] { return assemble(*o); });
}

void add_dis(Application& app) {
  const Command cmd = app.command("dis", "Disassemble: print a binary program as text");
  const auto o = std::make_shared<Options>();
  cmd.option("FILE", o->file, "The program, .tfbc; of a .tfa the canonical text without comments").required();
  cmd.option("-o,--out", o->out, "Where to; default: standard output");
  cmd.footer(
      "`tfasm asm` of the text gives the same code section, byte for byte.\n\n"
      "Examples:\n"
      "  tfasm dis first.tfbc\n"
      "  tfasm dis first.tfbc -o again.tfa");
  cmd.action([o] { return disassemble(*o); });
}

}  // namespace tfvm::tool
