#include "vm/debug_dir.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bytecode/text/body_names.h"
#include "bytecode/text/print_body.h"
#include "vm/plan/code_text.h"
#include "vm/plan/walk.h"

namespace tfvm {

namespace {

namespace fs = std::filesystem;

std::string file_name(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 120)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    out += plain ? c : '_';
  }
  return out;
}

void write(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

// A stem that no file has yet.
fs::path free_stem(const std::string& dir, const std::string& name, std::string_view first_level) {
  std::error_code failed;
  fs::create_directories(dir, failed);
  for (int k = 0;; ++k) {
    const fs::path stem = fs::path(dir) / (k == 0 ? name : fmt::format("{}-{}", name, k));
    if (!fs::exists(stem.string() + std::string(first_level), failed)) return stem;
  }
}

struct Levels {
  std::string simplified, plan, nests, assembly;

  void add(Tables& t, const Plan& p, NestCompiler& compiler) {
    const std::string title = fmt::format("// ---- {}\n", t.debugs.function_name(p.function.debug, t.strings));
    simplified += title + print_function(t, p.function) + "\n";
    plan += title + text(p) + "\n";
    nests += title;
    assembly += title;
    for (std::uint32_t i = 0; i < p.steps.size(); ++i) {
      const StepText s = code_text(t, p, i, compiler);
      nests += s.title + (s.ir.empty() ? s.code : s.ir);
      assembly += s.title + s.code;
    }
  }
};

}  // namespace

void dump_source(const std::string& dir, std::string_view file, std::string_view source) {
  const fs::path stem = free_stem(dir, file_name(fs::path(file).filename().string()), ".0.source.tfa");
  write(stem.string() + ".0.source.tfa", source);
}

void dump_levels(Tables& t, NestCompiler& compiler, const std::string& dir, FunctionId transformed, const Plan& plan) {
  Levels levels;
  for_each_plan(plan, [&](const Plan& p) { levels.add(t, p, compiler); });
  const std::string stem = free_stem(dir, file_name(function_base_name(t, transformed)), ".1.transformed.tfa").string();
  write(stem + ".1.transformed.tfa", print_function(t, transformed));
  write(stem + ".2.simplified.tfa", levels.simplified);
  write(stem + ".3.plan.txt", levels.plan);
  write(stem + ".4.nests.txt", levels.nests);
  write(stem + ".5.asm.txt", levels.assembly);
}

}  // namespace tfvm
