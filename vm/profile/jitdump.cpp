// The format is that of tools/perf/Documentation/jitdump-specification.txt in the Linux sources, version 1: a header,
// then records. The time of records is CLOCK_MONOTONIC, so perf must record with -k mono.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vm/profile/profile.h"

namespace tfvm {

namespace {

constexpr std::uint32_t kMagic = 0x4A695444, kVersion = 1, kHeaderSize = 40;
constexpr std::uint32_t kCodeLoad = 0, kDebugInfo = 2, kClose = 3;

std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// Numbers as this machine has them, strings with their 0.
class Record {
 public:
  Record() = default;
  explicit Record(std::uint32_t id) : is_record_(true) { put(id).put(std::uint32_t{0}).put(now()); }
  template <class T>
  Record& put(T value) {
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
    return *this;
  }
  Record& text(const std::string& s) { return raw(std::as_bytes(std::span(s.c_str(), s.size() + 1))); }
  Record& raw(std::span<const std::byte> b) {
    bytes_.insert(bytes_.end(), b.begin(), b.end());
    return *this;
  }
  void write(std::FILE* file) {
    const auto size = static_cast<std::uint32_t>(bytes_.size());
    if (is_record_) std::copy_n(reinterpret_cast<const std::byte*>(&size), 4, bytes_.begin() + 4);
    std::fwrite(bytes_.data(), 1, bytes_.size(), file);
    std::fflush(file);
  }

 private:
  std::vector<std::byte> bytes_;
  bool is_record_ = false;
};

class JitDump : public CodeListener {
 public:
  JitDump(std::FILE* file, void* marker, std::size_t page) : file_(file), marker_(marker), page_(page) {
    Record header;
    header.put(kMagic).put(kVersion).put(kHeaderSize).put(std::uint32_t{EM_X86_64}).put(std::uint32_t{0});
    header.put(static_cast<std::uint32_t>(getpid())).put(now()).put(std::uint64_t{0});
    header.write(file_);
  }
  ~JitDump() override {
    Record(kClose).write(file_);
    munmap(marker_, page_);
    std::fclose(file_);
  }
  JitDump(const JitDump&) = delete;

  // The line comes before the code that it is of.
  void added(const CodeLabel& label, std::span<const std::byte> code) override {
    const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(code.data()));
    if (label.line > 0) {
      Record lines(kDebugInfo);
      lines.put(at).put(std::uint64_t{2});  // perf ends a line where the next begins
      for (const std::uint64_t place : {at, at + code.size()})
        lines.put(place).put(label.line).put(std::uint32_t{0}).text(label.file);
      lines.write(file_);
    }
    Record load(kCodeLoad);
    load.put(static_cast<std::uint32_t>(getpid())).put(static_cast<std::uint32_t>(syscall(SYS_gettid)));
    load.put(at).put(at).put(static_cast<std::uint64_t>(code.size())).put(index_++);
    load.text(symbol_of(label)).raw(code).write(file_);
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
