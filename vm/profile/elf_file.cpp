#include "vm/profile/elf_file.h"

#include <cstring>
#include <string>

#include <elf.h>

#include "vm/profile/profile.h"

namespace tfvm {

namespace {

// What of DWARF 2 is used.
enum : std::uint8_t {
  kTagCompileUnit = 0x11,
  kAtName = 0x03,
  kAtStmtList = 0x10,
  kAtLowPc = 0x11,
  kAtHighPc = 0x12,
  kFormAddr = 0x01,
  kFormData4 = 0x06,
  kFormString = 0x08,
  kLineCopy = 1,
  kLineAdvancePc = 2,
  kLineAdvanceLine = 3,
  kLineExtended = 0,
  kLineEndSequence = 1,
  kLineSetAddress = 2,
};

class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    all.insert(all.end(), p, p + sizeof value);
    return *this;
  }
  Bytes& list(std::initializer_list<std::uint8_t> values) {
    for (std::uint8_t v : values) put(v);
    return *this;
  }
  Bytes& text(const std::string& s) {
    for (char c : s) put(c);
    return put('\0');
  }
  Bytes& leb128(std::uint64_t v) {
    for (; v > 127; v >>= 7) put(static_cast<std::uint8_t>(v | 128));
    return put(static_cast<std::uint8_t>(v));
  }
  // The bytes from `at` + 4 on are what the number at `at` counts.
  void close_length(std::size_t at) {
    const auto n = static_cast<std::uint32_t>(all.size() - at - 4);
    std::memcpy(all.data() + at, &n, 4);
  }
  std::vector<std::byte> all;
};

Bytes debug_abbrev() {
  Bytes b;
  b.list({1, kTagCompileUnit, 0, kAtName, kFormString, kAtLowPc, kFormAddr, kAtHighPc, kFormAddr});
  return b.list({kAtStmtList, kFormData4, 0, 0, 0}), b;
}

Bytes debug_info(const CodeLabel& label, std::uint64_t begin, std::uint64_t end) {
  Bytes b;
  b.put(std::uint32_t{0}).put(std::uint16_t{2}).put(std::uint32_t{0}).put(std::uint8_t{8});
  b.leb128(1).text(label.file).put(begin).put(end).put(std::uint32_t{0});
  b.close_length(0);
  return b;
}

Bytes debug_line(const CodeLabel& label, std::uint64_t begin, std::uint64_t size) {
  Bytes b;
  b.put(std::uint32_t{0}).put(std::uint16_t{2}).put(std::uint32_t{0});
  // Instructions of 1 byte, statements, no special opcodes: 10 is the first; then the operands of the standard ones.
  b.list({1, 1, 0, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1});
  b.put('\0').text(label.file).list({0, 0, 0}).put('\0');  // no folders; a file
  b.close_length(6);
  b.list({kLineExtended, 9, kLineSetAddress}).put(begin);
  b.list({kLineAdvanceLine});
  for (std::int64_t v = static_cast<std::int64_t>(label.line) - 1;; v >>= 7) {  // signed
    const bool is_last = v < 64;
    b.put(static_cast<std::uint8_t>(is_last ? v : (v & 127) | 128));
    if (is_last) break;
  }
  b.list({kLineCopy, kLineAdvancePc}).leb128(size).list({kLineExtended, 1, kLineEndSequence});
  b.close_length(0);
  return b;
}

}  // namespace

std::vector<std::byte> elf_file(const CodeLabel& label, std::span<const std::byte> code) {
  const auto begin = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(code.data()));
  const std::uint64_t end = begin + code.size();
  Bytes names, file;
  std::vector<Elf64_Shdr> sections;
  const auto add = [&](const char* name, std::uint32_t type, const std::vector<std::byte>& content) -> Elf64_Shdr& {
    Elf64_Shdr s{};
    s.sh_name = static_cast<Elf64_Word>(names.all.size());
    names.text(name);
    s.sh_type = type;
    s.sh_addralign = 1;
    while (file.all.size() % 8 != 0) file.put('\0');
    s.sh_offset = file.all.size();
    s.sh_size = content.size();
    file.all.insert(file.all.end(), content.begin(), content.end());
    return sections.emplace_back(s);
  };
  file.all.resize(sizeof(Elf64_Ehdr));
  add("", SHT_NULL, {}) = {};
  Elf64_Shdr& text = add(".text", SHT_NOBITS, {});  // it is at its address
  text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  text.sh_addr = begin;
  text.sh_size = code.size();

  Bytes strings, symbols;
  strings.text("").text(symbol_of(label));
  Elf64_Sym symbol{};
  symbols.put(symbol);
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 1;  // .text, from whose start it counts
  symbol.st_size = code.size();
  symbols.put(symbol);
  add(".strtab", SHT_STRTAB, strings.all);
  Elf64_Shdr& table = add(".symtab", SHT_SYMTAB, symbols.all);
  table.sh_link = 2;  // .strtab
  table.sh_info = 1;  // the first that is global
  table.sh_entsize = sizeof symbol;
  table.sh_addralign = 8;
  if (label.line > 0) {
    add(".debug_abbrev", SHT_PROGBITS, debug_abbrev().all);
    add(".debug_info", SHT_PROGBITS, debug_info(label, begin, end).all);
    add(".debug_line", SHT_PROGBITS, debug_line(label, begin, code.size()).all);
  }
  Bytes all_names = names;
  all_names.text(".shstrtab");
  add(".shstrtab", SHT_STRTAB, all_names.all);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  while (file.all.size() % 8 != 0) file.put('\0');
  header.e_shoff = file.all.size();
  for (const Elf64_Shdr& s : sections) file.put(s);
  std::memcpy(file.all.data(), &header, sizeof header);
  return std::move(file.all);
}

}  // namespace tfvm
