// Making a VM and loading programs.
#include <cstddef>

#include "vm/capi/handles.h"

namespace {

using namespace tfvm;
using capi::fail;
using capi::guarded;
using capi::misuse;

struct Sink {
  std::vector<std::byte> bytes;
  bool refused = false;
};

// Called by the host: nothing may be thrown through it.
void give(void* sink, const void* bytes, std::size_t size) noexcept {
  auto& s = *static_cast<Sink*>(sink);
  const auto* p = static_cast<const std::byte*>(bytes);
  try {
    s.bytes.insert(s.bytes.end(), p, p + size);
  } catch (...) {
    s.refused = true;
  }
}

FileLoader loader_of(const tfvm_loader& l) {
  return [l](const std::string& path) -> Result<std::vector<std::byte>> {
    Sink sink;
    if (l.read(l.user, path.c_str(), &sink, &give) != 0) return Error(Code::Io, "'" + path + "' can't be read");
    if (sink.refused) return Error(Code::Memory, "memory for '" + path + "' is refused");
    return std::move(sink.bytes);
  };
}

template <class Load>
tfvm_status load(tfvm_vm* vm, const void* bytes, size_t size, const char* name, const tfvm_loader* loader,
                 tfvm_error* error, Load call) noexcept {
  if (!vm || (!bytes && size > 0)) return misuse(error, "a VM and a program are needed");
  return guarded(error, [&]() -> tfvm_status {
    FileLoader files;
    if (loader) {
      const auto l = capi::read_struct(loader);
      if (!l || !l->read) return misuse(error, "the loader's size or its function is not set");
      files = loader_of(*l);
    }
    const Status s = call(*vm->vm, name ? name : "text", files);
    return s ? TFVM_OK : fail(error, s.error(), *vm->vm);
  });
}

}  // namespace

extern "C" {

tfvm_status tfvm_vm_create(const tfvm_vm_options* options, tfvm_vm** vm, tfvm_error* error) noexcept {
  if (!vm) return misuse(error, "a place for the VM is needed");
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return fail(error, TFVM_UNSUPPORTED, "this machine's CPU has no AVX2 and FMA (x86-64-v3), which tfvm needs");
  return guarded(error, [&]() -> tfvm_status {
    VmOptions o;
    if (options) {
      const auto given = capi::read_struct(options, offsetof(tfvm_vm_options, flags));
      if (!given) return misuse(error, "the size of the options is not set");
      constexpr std::uint64_t kKnown = TFVM_FUNCTIONALIZE | TFVM_NAN_TRAP | TFVM_NAN_TRAP_LIVE;
      if ((given->flags & ~kKnown) != 0) return misuse(error, "unknown flags");
      if (given->flags & TFVM_NAN_TRAP) o.nan_trap = NanTrap::All;
      if (given->flags & TFVM_NAN_TRAP_LIVE) o.nan_trap = NanTrap::Live;
      o.functionalize = (given->flags & TFVM_FUNCTIONALIZE) != 0;
      if (given->cache_bytes < 0) return misuse(error, "cache_bytes is negative");
      if (given->cache_bytes > 0) o.cache.bytes = given->cache_bytes;
      if (given->cache_folder) o.cache.folder = given->cache_folder;
      if (given->memory_limit < 0) return misuse(error, "the memory limit is negative");
      if (given->memory_limit > 0) o.memory_limit = given->memory_limit;
      if (given->allocator) {
        const auto a = capi::read_struct(given->allocator);
        if (!a || !a->allocate || !a->release) return misuse(error, "the allocator's size or functions are not set");
        o.allocator = {a->allocate, a->release, a->user};
      }
      if (given->log)
        o.log = [log = given->log, user = given->log_user](std::string_view category, const std::string& message) {
          log(user, std::string(category).c_str(), message.c_str());
        };
    }
    Result<std::unique_ptr<VM>> made = VM::create(o);
    if (!made) return fail(error, capi::status_of(made.error().code), made.error().message);
    *vm = new tfvm_vm{std::move(*made)};
    return TFVM_OK;
  });
}

void tfvm_vm_release(tfvm_vm* vm) noexcept { delete vm; }

tfvm_status tfvm_load_text(tfvm_vm* vm, const char* text, size_t size, const char* name, const tfvm_loader* loader,
                           tfvm_error* error) noexcept {
  return load(vm, text, size, name, loader, error, [&](VM& v, const char* file, const FileLoader& files) {
    return v.load_text({text, size}, file, files);
  });
}

tfvm_status tfvm_load_binary(tfvm_vm* vm, const void* bytes, size_t size, const char* name, const tfvm_loader* loader,
                             tfvm_error* error) noexcept {
  return load(vm, bytes, size, name, loader, error, [&](VM& v, const char* file, const FileLoader& files) {
    return v.load_binary({static_cast<const std::byte*>(bytes), size}, file, files);
  });
}

void tfvm_seal(tfvm_vm* vm) noexcept {
  if (vm) vm->vm->seal();
}

tfvm_status tfvm_cache_stats(tfvm_vm* vm, tfvm_cache_statistics* statistics) noexcept {
  if (!vm || !statistics || statistics->size < sizeof(size_t)) return TFVM_MISUSE;
  const CacheStats s = vm->vm->cache_stats();
  tfvm_cache_statistics out = TFVM_CACHE_STATISTICS;
  out.size = statistics->size;
  out.hits = s.hits, out.misses = s.misses, out.evictions = s.evictions, out.forgets = s.forgets;
  out.functions = s.functions, out.bytes = s.bytes, out.made_bytes = s.made_bytes, out.code_bytes = s.code_bytes;
  out.limit = s.limit;
  out.disk_hits = s.disk_hits, out.disk_misses = s.disk_misses, out.disk_stores = s.disk_stores;
  std::memcpy(statistics, &out, std::min(sizeof out, statistics->size));
  return TFVM_OK;
}

int64_t tfvm_memory_used(const tfvm_vm* vm) noexcept { return vm ? vm->vm->budget()->used() : 0; }
int64_t tfvm_memory_peak(const tfvm_vm* vm) noexcept { return vm ? vm->vm->budget()->peak() : 0; }
void tfvm_set_memory_limit(tfvm_vm* vm, int64_t bytes) noexcept {
  if (vm) vm->vm->budget()->set_limit(bytes > 0 ? bytes : std::numeric_limits<std::int64_t>::max());
}

int64_t tfvm_code_bytes(const tfvm_vm* vm) noexcept {
  return vm ? static_cast<std::int64_t>(vm->vm->tiers().compiler().counts().bytes) : 0;
}

}  // extern "C"
