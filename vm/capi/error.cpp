// Statuses and errors, dtypes, and views as tensors.
#include <algorithm>

#include <fmt/format.h>

#include "vm/capi/handles.h"

namespace tfvm::capi {

void copy_text(char* to, std::size_t capacity, std::string_view text) noexcept {
  if (capacity == 0) return;
  std::size_t n = std::min(text.size(), capacity - 1);
  while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  std::copy_n(text.data(), n, to);
  to[n] = 0;
}

tfvm_status fail(tfvm_error* error, tfvm_status code, std::string_view message, std::string_view file,
                 Loc loc) noexcept {
  constexpr std::size_t kText = offsetof(tfvm_error, message);
  if (!error || error->size <= kText) return code;
  error->code = code;
  error->line = static_cast<std::int32_t>(loc.line);
  error->column = static_cast<std::int32_t>(loc.col);
  copy_text(error->file, sizeof error->file, file);
  copy_text(reinterpret_cast<char*>(error) + kText, error->size - kText, message);
  return code;
}

tfvm_status fail(tfvm_error* error, const Error& e, VM& vm) {
  if (!error) return status_of(e.code);
  std::string message = e.message;
  for (const std::string& note : e.notes) message += "\nnote: " + note;
  std::string file;
  if (e.loc.line != 0 && e.loc.file != kNone<StrId>) {
    const std::lock_guard guard(vm.lock());
    file = vm.tables().strings[e.loc.file];
  }
  return fail(error, status_of(e.code), message, file, e.loc);
}

static_assert(static_cast<int>(DType::Bool) == TFVM_BOOL && static_cast<int>(DType::F16) == TFVM_F16 &&
              static_cast<int>(DType::C128) == TFVM_C128);

namespace {
bool is_dtype(tfvm_dtype d) { return static_cast<std::uint32_t>(d) < kDTypes; }
}  // namespace

Result<Tensor> tensor_over(const tfvm_view& view, StorageRef storage) {
  if (view.size < sizeof(tfvm_view)) return Error(Code::Type, "the size of a view is not set");
  if (!is_dtype(view.dtype)) return Error(Code::Type, fmt::format("{} is no dtype", static_cast<int>(view.dtype)));
  if (view.rank < 0 || view.rank > 64 || (view.rank > 0 && !view.dims))
    return Error(Code::Type, fmt::format("a view of rank {} without dims", view.rank));
  Layout layout;
  if (view.rank > 0) layout.dims.assign(view.dims, view.dims + view.rank);
  const bool negative = std::ranges::any_of(layout.dims, [](std::int64_t n) { return n < 0; });
  const auto elements = negative ? std::nullopt : checked_elements(layout.dims);
  const auto dtype = static_cast<DType>(view.dtype);
  if (!elements || *elements > (std::int64_t{1} << 58))
    return Error(Code::Type, fmt::format("the size of {} overflows", type_text(dtype, layout.dims)));
  if (view.strides && view.rank > 0)
    layout.strides.assign(view.strides, view.strides + view.rank);
  else
    layout = row_major(layout.dims);
  // A tensor without elements has a place all the same.
  alignas(kAlignment) static constexpr std::byte kNothing[1]{};
  void* data = view.data ? view.data : *elements == 0 ? const_cast<std::byte*>(kNothing) : nullptr;
  if (!data) return Error(Code::Type, "a view without data");
  return Tensor::over(data, dtype, std::move(layout), std::move(storage));
}

void fill_view(tfvm_view& view, DType dtype, Dims dims, const std::int64_t* strides, void* data) {
  view.data = data;
  view.dims = dims.data();
  view.strides = strides;
  view.rank = static_cast<std::int32_t>(dims.size());
  view.dtype = static_cast<tfvm_dtype>(dtype);
}

}  // namespace tfvm::capi

using namespace tfvm;

extern "C" {

uint32_t tfvm_version(void) noexcept { return TFVM_VERSION; }

const char* tfvm_status_name(tfvm_status status) noexcept {
  static constexpr const char* kNames[] = {"ok",        "syntax",   "name",   "type",   "unsupported",
                                           "index",     "assert",   "limit",  "memory", "io",
                                           "cancelled", "internal", "misuse", "paused", "sealed"};
  static_assert(std::size(kNames) == TFVM_SEALED + 1);
  const auto k = static_cast<std::size_t>(status);
  return k < std::size(kNames) ? kNames[k] : "?";
}

size_t tfvm_dtype_bytes(tfvm_dtype dtype) noexcept {
  return capi::is_dtype(dtype) ? static_cast<std::size_t>(size_of(static_cast<DType>(dtype))) : 0;
}

const char* tfvm_dtype_name(tfvm_dtype dtype) noexcept {
  return capi::is_dtype(dtype) ? name(static_cast<DType>(dtype)).data() : "?";
}

}  // extern "C"
