#include "vm/profile/gdb.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "vm/profile/elf_file.h"
#include "vm/profile/profile.h"

extern "C" {

[[gnu::weak]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
[[gnu::weak, gnu::noinline]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
}

namespace tfvm {

namespace {

std::mutex list_lock;  // of the descriptor, which VMs share

void tell(std::uint32_t action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = 0;
}

struct Entry {
  jit_code_entry links{};
  std::vector<std::byte> elf;
};

void link(jit_code_entry& e) {
  const std::lock_guard guard(list_lock);
  e.next_entry = __jit_debug_descriptor.first_entry;
  if (e.next_entry) e.next_entry->prev_entry = &e;
  __jit_debug_descriptor.first_entry = &e;
  tell(1, &e);
}

void unlink(jit_code_entry& e) {
  const std::lock_guard guard(list_lock);
  (e.prev_entry ? e.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = e.next_entry;
  if (e.next_entry) e.next_entry->prev_entry = e.prev_entry;
  tell(2, &e);
}

class GdbInterface : public CodeListener {
 public:
  GdbInterface() = default;
  ~GdbInterface() override {
    for (auto& [code, entry] : entries_) unlink(entry->links);
  }
  GdbInterface(const GdbInterface&) = delete;

  void added(const CodeLabel& label, std::span<const std::byte> code, const CodeNotes& notes) override {
    auto entry = std::make_unique<Entry>();
    entry->elf = elf_file(label, code, notes);
    entry->links.symfile_addr = reinterpret_cast<const char*>(entry->elf.data());
    entry->links.symfile_size = entry->elf.size();
    jit_code_entry& links = entry->links;
    entries_.insert_or_assign(code.data(), std::move(entry));
    link(links);
  }
  void removed(const std::byte* code) override {
    const auto it = entries_.find(code);
    if (it == entries_.end()) return;
    unlink(it->second->links);
    entries_.erase(it);
  }

 private:
  std::unordered_map<const std::byte*, std::unique_ptr<Entry>> entries_;
};

}  // namespace

std::unique_ptr<CodeListener> gdb_interface() { return std::make_unique<GdbInterface>(); }

}  // namespace tfvm
