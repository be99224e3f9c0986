#pragma once
// A value or an error, and views of host arrays, for tfvm.hpp.

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <tfvm/base.h>

namespace tfvm {
inline namespace api {

struct Error : tfvm_error {
  Error() : tfvm_error TFVM_ERROR {}
};

// `*r` and `r->` only after a check.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_(true) { new (&value_) T(std::move(value)); }
  Result(const Error& e) : ok_(false), error_(e) {}
  Result(Result&& o) noexcept : ok_(o.ok_) {
    if (ok_)
      new (&value_) T(std::move(o.value_));
    else
      new (&error_) Error(o.error_);
  }
  Result& operator=(Result&&) = delete;
  ~Result() {
    if (ok_) value_.~T();
  }
  explicit operator bool() const { return ok_; }
  T& operator*() { return value_; }
  T* operator->() { return &value_; }
  const Error& error() const { return error_; }

 private:
  bool ok_;
  union {
    T value_;
    Error error_;
  };
};

class [[nodiscard]] Status {
 public:
  template <class Run>
  static Status of(Run run) {
    Status s;
    s.error_.code = run(&s.error_);
    return s;
  }
  explicit operator bool() const { return error_.code == TFVM_OK; }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

template <class T>
constexpr tfvm_dtype dtype_of() = delete;
template <>
constexpr tfvm_dtype dtype_of<float>() {
  return TFVM_F32;
}
template <>
constexpr tfvm_dtype dtype_of<double>() {
  return TFVM_F64;
}
template <>
constexpr tfvm_dtype dtype_of<std::int32_t>() {
  return TFVM_I32;
}
template <>
constexpr tfvm_dtype dtype_of<std::int64_t>() {
  return TFVM_I64;
}
template <>
constexpr tfvm_dtype dtype_of<bool>() {
  return TFVM_BOOL;
}

// Row-major; dims stay the caller's.
template <class T, std::size_t Rank>
tfvm_view view(T* data, const std::int64_t (&dims)[Rank]) {
  return {sizeof(tfvm_view),
          const_cast<std::remove_const_t<T>*>(data),
          dims,
          nullptr,
          Rank,
          dtype_of<std::remove_const_t<T>>()};
}

}  // namespace api
}  // namespace tfvm
