// What profilers and debuggers are shown of machine code, read back as they read it.
#include "vm/profile/profile.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "vm/profile/elf_file.h"
#include "vm/profile/gdb.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = R"(
func @wave(%x: f32[1000]) {
  %a = sin %x
  %y = mul %a, %x
  ret %y
}
func @loop(%x: f32[100]) {
  %a = scan (%a = %x) {length=50} {
    %p = mul %a, 0.5
    %q = add %p, 1.0
    yield %q
  }
  ret %a
}
)";

const std::set<std::uint32_t> kLines = {3, 4}, kLoopLines = {8, 9, 10};  // of code
const std::string kWave = "tfvm:@wave nest 0 (wave.tfa:4)", kLoop = "tfvm:@loop loop 0 (wave.tfa:8)";

std::unique_ptr<VM> vm_with(std::string perf) {
  VmOptions options;
  options.tier = {.tier = Tier::Jit, .perf = std::move(perf)};
  auto vm = *VM::create(options);
  EXPECT_TRUE(vm->load_text(kProgram, "wave.tfa"));
  for (const char* name : {"wave", "loop"}) {
    const auto f = vm->entry(name, *vm->fixed_types(name));
    EXPECT_TRUE(f) << (f ? "" : f.error().message);
  }
  return vm;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Profile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!NestCompiler::is_available()) GTEST_SKIP() << "no native code here";
  }
};

// Where the lines of the map say that code is, there is executable memory.
bool is_executable(std::uintptr_t at) {
  std::istringstream maps(read("/proc/self/maps"));
  std::string line;
  while (std::getline(maps, line)) {
    std::uintptr_t begin = 0, end = 0;
    char rights[8] = {};
    std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, rights);
    if (begin <= at && at < end) return rights[2] == 'x' && rights[1] != 'w';
  }
  return false;
}

TEST_F(Profile, MapHasALineForEachPieceOfCode) {
  const fs::path path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  fs::remove(path);
  const auto vm = vm_with("map");
  std::istringstream lines(read(path));
  std::string line;
  std::size_t bytes = 0, count = 0;
  bool has_wave = false, has_loop = false;
  while (std::getline(lines, line)) {
    std::uintptr_t at = 0;
    std::size_t size = 0;
    int name = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx %zx %n", &at, &size, &name), 2) << line;
    EXPECT_TRUE(is_executable(at) && is_executable(at + size - 1)) << line;
    has_wave = has_wave || line.substr(static_cast<std::size_t>(name)) == kWave;
    has_loop = has_loop || line.substr(static_cast<std::size_t>(name)) == kLoop;
    bytes += size;
    ++count;
  }
  EXPECT_TRUE(has_wave && has_loop) << read(path);
  EXPECT_EQ(count, vm->tiers().compiler().counts().shapes);
  EXPECT_EQ(bytes, vm->tiers().compiler().counts().bytes);
  fs::remove(path);
}

TEST_F(Profile, NothingIsWrittenUnasked) {
  const fs::path path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  fs::remove(path);
  vm_with("");
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(code_listener(""), nullptr);
  EXPECT_EQ(code_listener("strange"), nullptr);
}

template <class T>
T number(const std::string& s, std::size_t at) {
  T value{};
  EXPECT_LE(at + sizeof value, s.size());
  if (at + sizeof value <= s.size()) std::memcpy(&value, s.data() + at, sizeof value);
  return value;
}

// A folder that goes with its files.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("tfvm-profile-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

TEST_F(Profile, JitdumpHasTheCodeAndItsLines) {
  const Folder folder;
  setenv("JITDUMPDIR", folder.path.c_str(), 1);
  const auto vm = vm_with("jitdump");
  unsetenv("JITDUMPDIR");
  const fs::path path = fs::directory_iterator(folder.path)->path() / ("jit-" + std::to_string(getpid()) + ".dump");
  EXPECT_NE(read("/proc/self/maps").find(path.string()), std::string::npos);  // how perf finds it
  const std::string dump = read(path);
  EXPECT_EQ(number<std::uint32_t>(dump, 0), 0x4A695444u);
  EXPECT_EQ(number<std::uint32_t>(dump, 4), 1u);
  EXPECT_EQ(number<std::uint32_t>(dump, 8), 40u);
  EXPECT_EQ(number<std::uint32_t>(dump, 12), std::uint32_t{EM_X86_64});
  EXPECT_EQ(number<std::uint32_t>(dump, 20), static_cast<std::uint32_t>(getpid()));
  std::size_t codes = 0;
  std::uint64_t time = number<std::uint64_t>(dump, 24), lines_of = 0, ends_at = 0;
  std::map<std::string, std::set<std::uint32_t>> lines;
  std::set<std::uint32_t> these;
  std::string frame;
  for (std::size_t at = 40; at < dump.size();) {
    const auto id = number<std::uint32_t>(dump, at), size = number<std::uint32_t>(dump, at + 4);
    ASSERT_GE(size, 16u);
    EXPECT_GE(number<std::uint64_t>(dump, at + 8), time);
    time = number<std::uint64_t>(dump, at + 8);
    if (id == 2) {  // lines, in the order of addresses, the last one at the end of what follows
      lines_of = number<std::uint64_t>(dump, at + 16);
      std::size_t entry = at + 32;
      these.clear();
      for (auto left = number<std::uint64_t>(dump, at + 24); left > 0; --left) {
        const auto place = number<std::uint64_t>(dump, entry);
        EXPECT_TRUE(entry == at + 32 ? place == lines_of : place > ends_at);
        ends_at = place;
        these.insert(number<std::uint32_t>(dump, entry + 8));
        EXPECT_STREQ(dump.c_str() + entry + 16, "wave.tfa");
        entry += 16 + sizeof "wave.tfa";
      }
      EXPECT_EQ(at + size, entry);
    } else if (id == 4) {  // frames, whose header is at their end
      const auto bytes = number<std::uint64_t>(dump, at + 16), header = number<std::uint64_t>(dump, at + 24);
      EXPECT_EQ(size, (40 + bytes + 7) / 8 * 8);
      frame = dump.substr(at + 40, bytes - header);
      EXPECT_EQ(dump.substr(at + 40 + bytes - header, 4), "\x01\x1b\x03\x3b");
    } else {
      ASSERT_EQ(id, 0u);
      EXPECT_EQ(number<std::uint32_t>(dump, at + 16), static_cast<std::uint32_t>(getpid()));
      const auto code = number<std::uint64_t>(dump, at + 32), bytes = number<std::uint64_t>(dump, at + 40);
      EXPECT_EQ(number<std::uint64_t>(dump, at + 24), code);
      EXPECT_EQ(lines_of, code);
      EXPECT_EQ(ends_at, code + bytes);
      EXPECT_EQ(number<std::uint64_t>(dump, at + 48), codes++);
      const std::string name = dump.c_str() + at + 56;
      lines[name] = these;
      const std::size_t begin = 4 + number<std::uint32_t>(frame, 0) + 8;  // of the function in its frame
      EXPECT_EQ((bytes + 7) / 8 * 8 + begin + number<std::uint32_t>(frame, begin), std::uint64_t{1} << 32);
      EXPECT_EQ(number<std::uint32_t>(frame, begin + 4), bytes);
      ASSERT_EQ(size, 56 + name.size() + 1 + bytes);
      EXPECT_EQ(std::memcmp(dump.data() + at + 56 + name.size() + 1, reinterpret_cast<const void*>(code), bytes), 0);
    }
    at += size;
  }
  EXPECT_EQ(lines[kWave], kLines);
  EXPECT_EQ(lines[kLoop], kLoopLines);
  EXPECT_EQ(codes, vm->tiers().compiler().counts().shapes);
}

std::vector<const jit_code_entry*> entries() {
  std::vector<const jit_code_entry*> list;
  for (const jit_code_entry* e = __jit_debug_descriptor.first_entry; e; e = e->next_entry) list.push_back(e);
  return list;
}

struct Symbol {
  std::string name;
  std::uint64_t at = 0, size = 0;
  std::set<std::uint32_t> lines;
  bool has_frames = false;
};

// Runs the table of lines, whose operations are few: DWARF 4, 6.2.5.
std::set<std::uint32_t> lines_in(const std::string& table) {
  std::set<std::uint32_t> lines;
  std::size_t at = 10 + number<std::uint32_t>(table, 6);
  EXPECT_EQ(number<std::uint32_t>(table, 0) + 4, table.size());
  const auto leb = [&](bool is_signed) {
    std::int64_t v = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(table.at(at++));
      v |= std::int64_t{byte & 127} << shift;
      if (byte < 128) return is_signed && byte > 63 ? v - (std::int64_t{128} << shift) : v;
    }
  };
  std::int64_t line = 1;
  while (at < table.size()) {
    switch (const char op = table[at++]) {
      case 0:
        at += 1 + static_cast<std::size_t>(table.at(at));
        break;
      case 1:
        lines.insert(static_cast<std::uint32_t>(line));
        break;
      case 3:
        line += leb(true);
        break;
      case 2:
      case 4:
        leb(false);
        break;
      default:
        ADD_FAILURE() << int{op};
        return {};
    }
  }
  return lines;
}

Symbol symbol_in(const char* elf) {
  Elf64_Ehdr header;
  std::memcpy(&header, elf, sizeof header);
  EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), elf + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  Symbol found;
  for (const Elf64_Shdr& s : sections) {
    const std::string name = elf + sections[header.e_shstrndx].sh_offset + s.sh_name;
    found.has_frames = found.has_frames || name == ".debug_frame";
    if (name == ".debug_line") found.lines = lines_in({elf + s.sh_offset, s.sh_size});
    if (s.sh_type != SHT_SYMTAB) continue;
    Elf64_Sym symbol;
    std::memcpy(&symbol, elf + s.sh_offset + sizeof symbol, sizeof symbol);
    found.name = elf + sections[s.sh_link].sh_offset + symbol.st_name;
    found.at = sections[symbol.st_shndx].sh_addr + symbol.st_value;
    found.size = symbol.st_size;
  }
  return found;
}

TEST_F(Profile, GdbHasAnElfFileForEachPieceOfCode) {
  {
    const auto vm = vm_with("gdb"), other = vm_with("gdb");
    EXPECT_EQ(__jit_debug_descriptor.version, 1u);
    const auto list = entries();
    ASSERT_EQ(list.size(), 2 * vm->tiers().compiler().counts().shapes);
    bool has_wave = false;
    std::map<std::string, std::set<std::uint32_t>> lines;
    for (std::size_t k = 0; k < list.size(); ++k) {
      EXPECT_EQ(list[k]->prev_entry, k == 0 ? nullptr : list[k - 1]);
      const Symbol s = symbol_in(list[k]->symfile_addr);
      EXPECT_TRUE(is_executable(s.at) && is_executable(s.at + s.size - 1));
      EXPECT_TRUE(s.has_frames);
      EXPECT_FALSE(s.lines.empty());
      lines[s.name] = s.lines;
      has_wave = has_wave || s.name == kWave;
    }
    EXPECT_TRUE(has_wave);
    EXPECT_EQ(lines[kWave], kLines);
    EXPECT_EQ(lines[kLoop], kLoopLines);
  }
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(__jit_debug_descriptor.action_flag, 0u);
}

// What is trimmed is taken from the list.
TEST_F(Profile, GdbForgetsCodeThatGoes) {
  const auto listener = code_listener("gdb");
  const std::byte code[2][16] = {};
  for (const auto& c : code) listener->added({"@f nest 0", "", 0}, c, {});
  ASSERT_EQ(entries().size(), 2u);
  EXPECT_EQ(symbol_in(entries()[0]->symfile_addr).name, "tfvm:@f nest 0");
  EXPECT_TRUE(symbol_in(entries()[0]->symfile_addr).lines.empty());
  listener->removed(code[1]);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(symbol_in(entries()[0]->symfile_addr).at, reinterpret_cast<std::uintptr_t>(code[0]));
}

}  // namespace
}  // namespace tfvm
