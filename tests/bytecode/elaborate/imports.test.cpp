// Modules that import others.
#include "tests/bytecode/elaborate/loaded.h"

namespace tfvm::test {

namespace {

struct Files {
  std::map<std::string, std::string> texts;
  std::vector<std::string> read;

  std::string merge(std::string_view main) {
    Tables t;
    Result<Module> m = parse_module(t.strings, main, "dir/main.tfa");
    if (!m) return Loaded::describe(m.error());
    const ModuleLoader load = [&](const std::string& path) -> Result<Module> {
      read.push_back(path);
      if (!texts.contains(path)) return Error{Code::Io, "no file " + path};
      return parse_module(t.strings, texts[path], path);
    };
    Result<Module> all = merge_imports(t, std::move(*m), load);
    if (!all) return Loaded::describe(all.error());
    std::string names;
    for (const Template& f : all->funcs) names += "@" + std::string(t.strings[f.name]) + " ";
    Program p(t, {});
    if (Status s = p.load(std::move(*all)); !s) return Loaded::describe(s.error());
    for (const Error& e : p.check()) names += Loaded::describe(e);
    return names;
  }
};

}  // namespace

TEST(Imports, AreMergedOnceAndFirst) {
  Files files;
  files.texts["dir/a.tfa"] = "import \"sub/b.tfa\"\nfunc @a(%x: f32) {\n%y = call @b(%x, [1, 2])\nret %y\n}";
  files.texts["dir/sub/b.tfa"] =
      "import \"../c.tfa\"\nfunc @b(%x: f32, %v: f32[2]) {\n%y = call @c<n=2>(%x)\nret %y\n}";
  files.texts["dir/c.tfa"] = "func @c<n: int>(%x: f32) {\n%y = iota {shape=[(n * 2)]}\nret %y\n}";
  EXPECT_EQ(files.merge("import \"a.tfa\"\nimport \"./c.tfa\"\nfunc @main(%x: f32) {\n%y = call @a(%x)\nret %y\n}"),
            "@c @b @a @main ");
  EXPECT_EQ(files.read, (std::vector<std::string>{"dir/a.tfa", "dir/sub/b.tfa", "dir/c.tfa"}));
}

TEST(Imports, Errors) {
  Files files;
  files.texts["dir/a.tfa"] = "import \"b.tfa\"";
  files.texts["dir/b.tfa"] = "import \"a.tfa\"";
  files.texts["dir/c.tfa"] = "func @main() { ret }";
  EXPECT_EQ(files.merge("import \"a.tfa\""), "1: import of \"dir/a.tfa\" is a cycle");
  EXPECT_EQ(files.merge("import \"d.tfa\""), "1: no file dir/d.tfa; imported as \"dir/d.tfa\"");
  EXPECT_EQ(files.merge("import \"main.tfa\""), "1: import of \"dir/main.tfa\" is a cycle");
  EXPECT_EQ(files.merge("import \"c.tfa\"\nfunc @main() { ret }"),
            "2: @main is defined twice; the first one is on line 1 of dir/c.tfa");
}

}  // namespace tfvm::test
