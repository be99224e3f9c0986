#pragma once
// What the handles of the C API are, and how failures cross it: nothing is thrown out of an entry point.

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tfvm.h>

#include "vm/vm.h"

struct tfvm_vm {
  std::shared_ptr<tfvm::VM> vm;
};

struct tfvm_value {
  std::shared_ptr<tfvm::VM> vm;
  tfvm::Value value;
  bool pack = false;
  bool is_tensor() const { return !pack; }
};

namespace tfvm::capi {

// One tensor of a prepared function, as a call by pointers checks it.
struct Slot {
  DType dtype;
  std::vector<std::int64_t> dims;
  std::size_t bytes = 0;
  std::uintptr_t misaligned = 0;  // bits of an address that must be 0
};

}  // namespace tfvm::capi

struct tfvm_function {
  std::shared_ptr<tfvm::VM> vm;
  tfvm::Function function;
  std::vector<std::byte*> globals;  // where params and buffers stand, which never changes
  std::vector<tfvm::capi::Slot> inputs, outputs;
  bool has_tapes = false;          // among them
  std::vector<std::string> state;  // of tfvm_make_functional: names of the leading inputs
};

namespace tfvm::capi {

// Calls by steps, one after another: the caller's memory as tensors, and the run, which may pause.
struct Steps {
  Steps(Context& context, const WriteSites& sites) : run(context, {}, &sites) {}
  std::vector<std::byte*> roots;
  std::vector<Tensor> globals, out;  // globals: of a call in slices, as the VM may load programs meanwhile
  EagerRun run;                      // its args are those of the call
  void reset() { globals.clear(), out.clear(), run.reset(); }
};

}  // namespace tfvm::capi

struct tfvm_context {
  explicit tfvm_context(std::shared_ptr<tfvm::VM> v) : vm(std::move(v)), context(vm->budget()) {}
  std::shared_ptr<tfvm::VM> vm;
  tfvm::Context context;
  std::atomic<bool> cancel{false};
  std::int64_t microseconds = 0;  // limit of each call; 0: none
  tfvm_executor executor{};
  void (*print)(void*, const char*, const tfvm_view*) = nullptr;
  void* print_user = nullptr;
  const tfvm_function* paused = nullptr;
  std::unique_ptr<tfvm::capi::Steps> steps;  // from the first call of a function that runs by steps on
};

namespace tfvm::capi {

// Writes *error, where it is not NULL, and gives the code.
tfvm_status fail(tfvm_error* error, tfvm_status code, std::string_view message, std::string_view file = {},
                 Loc loc = {}) noexcept;
tfvm_status fail(tfvm_error* error, const Error& e, VM& vm);  // takes the lock, to name the file
inline tfvm_status misuse(tfvm_error* error, std::string_view message) noexcept {
  return fail(error, TFVM_MISUSE, message);
}

constexpr tfvm_status status_of(Code c) { return c == Code::Sealed ? TFVM_SEALED : static_cast<tfvm_status>(c); }
static_assert(status_of(Code::Syntax) == TFVM_SYNTAX && status_of(Code::Internal) == TFVM_INTERNAL);

// The body of an entry point: what is thrown within (memory that the system refuses) becomes a status.
template <class Body>
tfvm_status guarded(tfvm_error* error, Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(error, TFVM_MEMORY, "memory is refused");
  } catch (...) {
    return fail(error, TFVM_INTERNAL, "an exception within the library");
  }
}

// A struct of the caller's, whose size may be that of an older header (the rest is zero), or of a newer one where the
// rest is zero. nullopt: neither.
template <class T>
std::optional<T> read_struct(const T* from, std::size_t least = sizeof(T)) {
  T out{};
  if (from->size < least) return std::nullopt;
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t k = sizeof(T); k < from->size; ++k)
    if (bytes[k] != 0) return std::nullopt;
  std::memcpy(static_cast<void*>(&out), from, std::min(from->size, sizeof(T)));
  out.size = sizeof(T);
  return out;
}

// As much of a text as fits, cut between characters of UTF-8, with a 0 at the end.
void copy_text(char* to, std::size_t capacity, std::string_view text) noexcept;

// A tensor over the memory of a view; Code::Type for dims that are negative or overflow, or a dtype that is none.
Result<Tensor> tensor_over(const tfvm_view& view, StorageRef storage = {});
// The k-th of an array of views.
inline const tfvm_view* view_at(const tfvm_view* views, std::size_t k) {
  return reinterpret_cast<const tfvm_view*>(reinterpret_cast<const char*>(views) + k * views->size);
}
// `dims` and `strides` (null: row-major) stay where they are.
void fill_view(tfvm_view& view, DType dtype, Dims dims, const std::int64_t* strides, void* data);

}  // namespace tfvm::capi
