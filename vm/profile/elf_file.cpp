#include "vm/profile/elf_file.h"

#include <cstring>
#include <string>

#include <elf.h>

#include "vm/profile/dwarf.h"
#include "vm/profile/profile.h"

namespace tfvm {

std::vector<std::byte> elf_file(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes) {
  const auto begin = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(code.data()));
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
  if (!notes.frames.empty()) add(".debug_frame", SHT_PROGBITS, debug_frame(code, notes).all);
  if (label.line > 0) {
    add(".debug_abbrev", SHT_PROGBITS, debug_abbrev().all);
    add(".debug_info", SHT_PROGBITS, debug_info(label, code).all);
    add(".debug_line", SHT_PROGBITS, debug_line(label, code, notes).all);
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
