#pragma once
// A host program of the C API, for its tests.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tfvm.h>

namespace tfvm::testing {

// While it lives, VMs are made that run nests in the block interpreter, where it is known how much is done between two
// looks at the clock: machine code does as much of a nest as takes some microseconds.
struct Interpreted {
  const char* const before = std::getenv("TFVM_TIER");
  Interpreted() { ::setenv("TFVM_TIER", "interp", 1); }
  ~Interpreted() { before ? ::setenv("TFVM_TIER", before, 1) : ::unsetenv("TFVM_TIER"); }
  Interpreted(const Interpreted&) = delete;
};

struct Host {
  tfvm_error e = TFVM_ERROR;
  tfvm_vm* vm = nullptr;
  tfvm_context* context = nullptr;
  std::vector<tfvm_function*> functions;

  explicit Host(std::string_view program = {}, const tfvm_vm_options* options = nullptr,
                const tfvm_context_options* context_options = nullptr) {
    EXPECT_EQ(tfvm_vm_create(options, &vm, &e), TFVM_OK) << e.message;
    if (!program.empty()) load(program);
    EXPECT_EQ(tfvm_context_create(vm, context_options, &context, &e), TFVM_OK) << e.message;
  }
  Host(const Host&) = delete;
  ~Host() {
    tfvm_abandon(context);
    for (tfvm_function* f : functions) tfvm_function_release(f);
    tfvm_context_release(context);
    tfvm_vm_release(vm);
  }

  void load(std::string_view text, const char* name = "a.tfa") {
    EXPECT_EQ(tfvm_load_text(vm, text.data(), text.size(), name, nullptr, &e), TFVM_OK) << e.message;
  }
  tfvm_function* prepare(const char* callee, const char* types = nullptr) {
    tfvm_function* f = nullptr;
    EXPECT_EQ(tfvm_prepare(vm, callee, types, &f, &e), TFVM_OK) << e.message;
    functions.push_back(f);
    return f;
  }
  tfvm_status call(const tfvm_function* f, const std::vector<const void*>& in, const std::vector<void*>& out) {
    return tfvm_call(context, f, in.data(), in.size(), out.data(), out.size(), &e);
  }
  // "index a.tfa:3 message"
  std::string error() const {
    return std::string(tfvm_status_name(e.code)) +
           (e.line ? " " + std::string(e.file) + ":" + std::to_string(e.line) : "") + " " + e.message;
  }
};

template <class T>
tfvm_view view(T* data, const std::vector<std::int64_t>& dims, tfvm_dtype dtype,
               const std::vector<std::int64_t>* strides = nullptr) {
  return {sizeof(tfvm_view),
          const_cast<std::remove_const_t<T>*>(data),
          dims.data(),
          strides ? strides->data() : nullptr,
          static_cast<std::int32_t>(dims.size()),
          dtype};
}

// The time from tfvm_cancel in another thread to the end of the call, in ms: the first below 1, else the best of many,
// since the machine may be busy.
inline double cancel_ms(Host& h, const tfvm_function* f, const std::vector<const void*>& in,
                        const std::vector<void*>& out) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int k = 0; k < 200 && best >= 1; ++k) {
    std::atomic<Clock::rep> asked{0};
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      asked = Clock::now().time_since_epoch().count();
      tfvm_cancel(h.context);
    });
    EXPECT_EQ(h.call(f, in, out), TFVM_CANCELLED);
    const auto end = Clock::now().time_since_epoch().count();
    other.join();
    best = std::min(best, static_cast<double>(end - asked) / 1e6);
  }
  return best;
}

inline constexpr std::string_view kMany = R"(
func @square(%x: f32[n]) {
  %y = mul %x, %x
  ret %y
}
func @loss(%w: f32[3], %x: f32[3], %y: f32) -> f32 {
  %p = dot %w, %x
  %d = sub %p, %y
  %l = mul %d, %d
  ret %l
}
func @pick(%x: f32[3], %i: i64) -> f32 {
  %y = take %x, %i
  ret %y
}
func @positive(%x: f32) -> f32 {
  %p = gt %x, 0
  assert %p {message="x > 0"}
  ret %x
}
func @forever(%x: i64) -> i64 {
  %y = while (%v = %x) {
    %p = ge %v, 0
    yield %p
  } do {
    %n = xor %v, 1
    yield %n
  }
  ret %y
}
func @none() -> f32[2] {
  %x = clone [1, 2] : f32[2]
  ret %x
}
)";

}  // namespace tfvm::testing
