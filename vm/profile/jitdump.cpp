// The format is that of tools/perf/Documentation/jitdump-specification.txt in the Linux sources, version 1: a header,
// then records. The time of records is CLOCK_MONOTONIC, so perf must record with -k mono.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/x86/code_room.h"
#include "vm/profile/dwarf.h"
#include "vm/profile/profile.h"

namespace tfvm {

namespace {

constexpr std::uint32_t kMagic = 0x4A695444, kVersion = 1, kHeaderSize = 40;
constexpr std::uint32_t kCodeLoad = 0, kDebugInfo = 2, kClose = 3, kUnwinding = 4;

std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

struct Record : Bytes {
  explicit Record(std::uint32_t id) { put(id).put(std::uint32_t{0}).put(now()); }
};

void write(const Bytes& bytes, std::FILE* file) {
  std::fwrite(bytes.all.data(), 1, bytes.all.size(), file);
  std::fflush(file);
}

// With its length.
void write(Record record, std::FILE* file) {
  const auto size = static_cast<std::uint32_t>(record.all.size());
  std::memcpy(record.all.data() + 4, &size, 4);
  write(static_cast<const Bytes&>(record), file);
}

class JitDump : public CodeListener {
 public:
  JitDump(std::FILE* file, void* marker, std::size_t page) : file_(file), marker_(marker), page_(page) {
    Bytes header;
    header.put(kMagic).put(kVersion).put(kHeaderSize).put(std::uint32_t{EM_X86_64}).put(std::uint32_t{0});
    header.put(static_cast<std::uint32_t>(getpid())).put(now()).put(std::uint64_t{0});
    write(header, file_);
  }
  ~JitDump() override {
    write(Record(kClose), file_);
    munmap(marker_, page_);
    std::fclose(file_);
  }
  JitDump(const JitDump&) = delete;

  // Lines and frames come before the code that they are of. perf ends a line where the next begins.
  void added(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes) override {
    const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(code.data()));
    if (std::vector<LineRow> rows = line_rows(label, notes); !rows.empty()) {
      rows.push_back(rows.back());
      rows.back().offset = static_cast<std::uint32_t>(code.size());
      Record lines(kDebugInfo);
      lines.put(at).put(static_cast<std::uint64_t>(rows.size()));
      for (const LineRow& r : rows) lines.put(at + r.offset).put(r.line).put(std::uint32_t{0}).text(*r.file);
      write(std::move(lines), file_);
    }
    if (!notes.frames.empty()) {
      const EhFrame frame = eh_frame(code, notes);
      const auto size = static_cast<std::uint64_t>(frame.bytes.all.size());
      const std::uint64_t mapped = size + 8 <= kRoomBehindCode ? size : 0;
      Record unwinding(kUnwinding);
      unwinding.put(size).put(std::uint64_t{frame.header_bytes}).put(mapped).raw(frame.bytes.all);
      while (unwinding.all.size() % 8 != 0) unwinding.put('\0');
      write(std::move(unwinding), file_);
    }
    Record load(kCodeLoad);
    load.put(static_cast<std::uint32_t>(getpid())).put(static_cast<std::uint32_t>(syscall(SYS_gettid)));
    load.put(at).put(at).put(static_cast<std::uint64_t>(code.size())).put(index_++);
    load.text(symbol_of(label)).raw(code);
    write(std::move(load), file_);
  }
  void removed(const std::byte*) override {}  // the format has no such record

 private:
  std::FILE* file_;
  void* marker_;
  std::size_t page_;
  std::uint64_t index_ = 0;
};

}  // namespace

std::unique_ptr<CodeListener> jitdump(const std::string& folder) {
  std::string made = folder + "/tfvm-XXXXXX";
  if (!mkdtemp(made.data())) return nullptr;
  const std::string path = made + "/jit-" + std::to_string(getpid()) + ".dump";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  std::FILE* stream = file >= 0 ? fdopen(file, "w+") : nullptr;
  if (!stream) return nullptr;
  // perf learns of the file by this mapping, which is of the first page, executable, and not used.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* marker = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  if (marker == MAP_FAILED) return std::fclose(stream), nullptr;
  return std::make_unique<JitDump>(stream, marker, page);
}

}  // namespace tfvm
