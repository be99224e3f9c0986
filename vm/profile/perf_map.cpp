// The map that perf reads for addresses which no file explains: lines of address and size in hex, and a name.
#include <cinttypes>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "vm/profile/profile.h"

namespace tfvm {

namespace {

class PerfMap : public CodeListener {
 public:
  explicit PerfMap(int file) : file_(file) {}
  ~PerfMap() override { close(file_); }
  PerfMap(const PerfMap&) = delete;

  // In one write, so that lines of several VMs stay whole.
  void added(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes&) override {
    char place[64];
    std::snprintf(place, sizeof place, "%" PRIxPTR " %zx ", reinterpret_cast<std::uintptr_t>(code.data()), code.size());
    const std::string line = place + symbol_of(label) + "\n";
    if (write(file_, line.data(), line.size()) < 0) return;  // a full disk costs names, no more
  }
  void removed(const std::byte*) override {}  // perf takes the last line of an address

 private:
  int file_;
};

}  // namespace

std::unique_ptr<CodeListener> perf_map() {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  // A link that somebody else has left there is not followed.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return nullptr;
  return std::make_unique<PerfMap>(file);
}

}  // namespace tfvm
