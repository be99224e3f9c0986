// Names and numbers are those of the DWARF standard, version 4: 6.2 (lines), 6.4 (frames), 7 (numbers).
#include "vm/profile/dwarf.h"

#include <algorithm>

#include "vm/profile/profile.h"

namespace tfvm {

namespace {

enum : std::uint8_t {
  kTagCompileUnit = 0x11,
  kAtName = 0x03,
  kAtStmtList = 0x10,
  kAtLowPc = 0x11,
  kAtHighPc = 0x12,
  kFormAddr = 0x01,
  kFormData4 = 0x06,
  kFormString = 0x08,
};

enum : std::uint8_t {
  kLineExtended = 0,
  kLineCopy = 1,
  kLineAdvancePc = 2,
  kLineAdvanceLine = 3,
  kLineSetFile = 4,
  kLineEndSequence = 1,
  kLineSetAddress = 2,
};

enum : std::uint8_t {
  kCfaOffset = 0x80,  // with the register
  kCfaRestore = 0xc0,
  kCfaAdvance4 = 0x04,
  kCfaDef = 0x0c,
  kCfaDefExpression = 0x0f,
  kOpDeref = 0x06,
  kOpPlus = 0x23,
  kOpRsp = 0x77,  // and an offset
};

enum : std::uint8_t { kUnsigned4 = 0x03, kFromHere = 0x1b, kFromHeader = 0x3b };  // numbers: the last two signed, of 4

constexpr std::uint8_t kPlaces = 0x78;                                                       // -8
constexpr std::uint8_t kRax = 0, kRsp = 7, kReturn = 16, kSaved[] = {6, 3, 12, 13, 14, 15};  // as of CodeFrame

std::uint64_t address(std::span<const std::byte> code) { return reinterpret_cast<std::uintptr_t>(code.data()); }

// With operations that do nothing.
void pad(Bytes& b, std::size_t from) {
  while ((b.all.size() - from) % 8 != 0) b.put('\0');
  b.close_length(from);
}

void put_begin(Bytes& b) {
  b.list({kCfaDef, kRsp, 8, kCfaOffset | kReturn, 1});
  pad(b, 0);
}

void put_frames(Bytes& b, const CodeNotes& notes) {
  std::uint32_t offset = 0;
  std::uint8_t saved = 0;
  for (const CodeFrame& f : notes.frames) {
    if (f.offset > offset) b.list({kCfaAdvance4}).put(f.offset - offset);
    offset = f.offset;
    if (f.above == CodeFrame::Above::Stored) {
      Bytes e;
      e.list({kOpRsp}).signed_leb(f.at).list({kOpDeref, kOpPlus}).unsigned_leb(static_cast<std::uint64_t>(f.add));
      b.list({kCfaDefExpression}).unsigned_leb(e.all.size()).raw(e.all);
    } else {
      b.list({kCfaDef, f.above == CodeFrame::Above::Rax ? kRax : kRsp}).unsigned_leb(static_cast<std::uint64_t>(f.add));
    }
    for (; saved < f.saved; ++saved)
      b.list({static_cast<std::uint8_t>(kCfaOffset | kSaved[saved]), static_cast<std::uint8_t>(2 + saved)});
    for (; saved > f.saved; --saved) b.list({static_cast<std::uint8_t>(kCfaRestore | kSaved[saved - 1])});
  }
}

}  // namespace

Bytes debug_abbrev() {
  Bytes b;
  b.list({1, kTagCompileUnit, 0, kAtName, kFormString, kAtLowPc, kFormAddr, kAtHighPc, kFormAddr});
  return b.list({kAtStmtList, kFormData4, 0, 0, 0});
}

Bytes debug_info(const CodeLabel& label, std::span<const std::byte> code) {
  Bytes b;
  b.put(std::uint32_t{0}).put(std::uint16_t{2}).put(std::uint32_t{0}).put(std::uint8_t{8});
  b.unsigned_leb(1).text(label.file).put(address(code)).put(address(code) + code.size()).put(std::uint32_t{0});
  b.close_length(0);
  return b;
}

Bytes debug_line(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes) {
  const std::vector<LineRow> rows = line_rows(label, notes);
  std::vector<std::string_view> files;
  Bytes b;
  b.put(std::uint32_t{0}).put(std::uint16_t{2}).put(std::uint32_t{0});
  // Instructions of 1 byte, statements, no special opcodes: 10 is the first; then the operands of the standard ones.
  b.list({1, 1, 0, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1});
  b.put('\0');  // no folders
  for (const LineRow& r : rows) {
    if (std::ranges::find(files, *r.file) != files.end()) continue;
    files.push_back(*r.file);
    b.text(*r.file).list({0, 0, 0});
  }
  b.put('\0').close_length(6);
  b.list({kLineExtended, 9, kLineSetAddress}).put(address(code));
  std::uint32_t offset = 0;
  std::int64_t line = 1;
  for (const LineRow& r : rows) {
    const auto file = std::ranges::find(files, *r.file) - files.begin();
    b.list({kLineAdvancePc}).unsigned_leb(r.offset - offset);
    b.list({kLineSetFile}).unsigned_leb(static_cast<std::uint64_t>(file) + 1);
    b.list({kLineAdvanceLine}).signed_leb(std::int64_t{r.line} - line).list({kLineCopy});
    offset = r.offset;
    line = r.line;
  }
  b.list({kLineAdvancePc}).unsigned_leb(code.size() - offset).list({kLineExtended, 1, kLineEndSequence});
  b.close_length(0);
  return b;
}

Bytes debug_frame(std::span<const std::byte> code, const CodeNotes& notes) {
  Bytes b;
  // What all functions begin with: version 1, nothing beside it, instructions of 1 byte, places of -8.
  b.put(std::uint32_t{0}).put(~std::uint32_t{0}).list({1, 0, 1, kPlaces, kReturn});
  put_begin(b);
  const std::size_t function = b.all.size();
  b.put(std::uint32_t{0}).put(std::uint32_t{0}).put(address(code)).put(static_cast<std::uint64_t>(code.size()));
  put_frames(b, notes);
  pad(b, function);
  return b;
}

// The Linux Standard Base has the formats, "DWARF Extensions".
EhFrame eh_frame(std::span<const std::byte> code, const CodeNotes& notes) {
  const std::size_t before = (code.size() + 7) / 8 * 8;
  EhFrame e;
  Bytes& b = e.bytes;
  const auto put_distance = [&](std::size_t to, std::size_t from) { b.put(static_cast<std::int32_t>(to - from)); };
  b.put(std::uint32_t{0}).put(std::uint32_t{0}).list({1, 'z', 'R', 0, 1, kPlaces, kReturn, 1, kFromHere});
  put_begin(b);
  const std::size_t function = b.all.size();
  b.put(std::uint32_t{0});
  put_distance(b.all.size(), 0);
  put_distance(0, before + b.all.size());
  b.put(static_cast<std::uint32_t>(code.size())).put('\0');
  put_frames(b, notes);
  pad(b, function);
  b.put(std::uint32_t{0});
  const std::size_t header = b.all.size();
  b.list({1, kFromHere, kUnsigned4, kFromHeader});
  put_distance(0, b.all.size());
  b.put(std::uint32_t{1});
  put_distance(0, before + header);
  put_distance(function, header);
  e.header_bytes = b.all.size() - header;
  return e;
}

}  // namespace tfvm
