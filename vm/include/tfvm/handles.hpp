#pragma once
// Handles of the C API that release themselves: functions, values, and contexts, in which functions are called.

#include <initializer_list>
#include <utility>

#include <tfvm.h>
#include <tfvm/result.hpp>

namespace tfvm {
inline namespace api {

template <class T, void (*Release)(T*)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T* p) : p_(p) {}
  Handle(Handle&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Handle& operator=(Handle&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Handle() { Release(p_); }
  T* get() const { return p_; }
  T* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};

using Function = Handle<tfvm_function, tfvm_function_release>;
using Value = Handle<tfvm_value, tfvm_value_release>;

// A call on memory that was checked once; context, function and memory stay in use until it goes.
class Bound : public Handle<tfvm_bound, tfvm_bound_release> {
 public:
  using Handle::Handle;
  Status call() const {
    return Status::of([&](tfvm_error* e) { return tfvm_call_bound(get(), e); });
  }
};

class Context : public Handle<tfvm_context, tfvm_context_release> {
 public:
  using Handle::Handle;
  // As tfvm_call.
  Status call(const Function& f, std::initializer_list<const void*> in, std::initializer_list<void*> out) {
    return Status::of(
        [&](tfvm_error* e) { return tfvm_call(get(), f.get(), in.begin(), in.size(), out.begin(), out.size(), e); });
  }
  Result<Bound> bind(const Function& f, std::initializer_list<const void*> in, std::initializer_list<void*> out) {
    Error e;
    tfvm_bound* b = nullptr;
    if (tfvm_bind(get(), f.get(), in.begin(), in.size(), out.begin(), out.size(), &b, &e) != TFVM_OK) return e;
    return Bound(b);
  }
  // Done, or Paused where time is over; as tfvm_run_for and tfvm_resume.
  Result<bool> run_for(std::int64_t us, const Function& f, std::initializer_list<const void*> in,
                       std::initializer_list<void*> out) {
    return done([&](tfvm_error* e) {
      return tfvm_run_for(get(), f.get(), in.begin(), in.size(), out.begin(), out.size(), us, e);
    });
  }
  Result<bool> resume(std::int64_t us) {
    return done([&](tfvm_error* e) { return tfvm_resume(get(), us, e); });
  }
  void abandon() { tfvm_abandon(get()); }
  void cancel() { tfvm_cancel(get()); }
  tfvm_status set_limits(std::int64_t steps, std::int64_t us) { return tfvm_set_limits(get(), steps, us); }

 private:
  template <class Run>
  static Result<bool> done(Run run) {
    Error e;
    const tfvm_status s = run(&e);
    if (s == TFVM_OK || s == TFVM_PAUSED) return s == TFVM_OK;
    return e;
  }
};

}  // namespace api
}  // namespace tfvm
