// Random sequences of calls of the API, right and wrong ones, with handles released in any order. TFVM_SEQUENCES and
// TFVM_SEED make it as long as one likes; the address sanitizer says what it thinks of it.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/vm/capi/host.h"
#include "vm/capi/dlpack.h"

namespace tfvm::testing {
namespace {

long from_environment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

constexpr std::string_view kWrites = R"(
extern op "bump"(mut %x: f32[n], %k: f32)
extern op "curve"(%x: f32[n]) -> f32[n] {derivative=@curve_d}
buffer @seen: f32[3]
func @curve_d(%x: f32[n], %y: f32[n], %t: f32[n]) {
  %c = curve %x
  %d = mul %c, %t
  ret %d
}
func @bumps(mut %x: f32[3]) -> f32 {
  %v = narrow %x {axis=0, start=1, length=2}
  for (;) {length=6} {
    bump %v, 0.5
    add_ @seen, 1
    yield;
  }
  %r = reduce_sum %x
  ret %r
}
func @curved(%x: f32[3]) -> f32 {
  %c = curve %x
  %r = reduce_sum %c
  ret %r
}
)";

// Halves.
int kernel(void* self, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t results, char*,
           std::size_t) {
  const tfvm_view& x = in[0].tensors[0];
  auto* to = static_cast<float*>(results ? out[0].data : x.data);
  for (std::int64_t k = 0; k < x.dims[0]; ++k) to[k] = static_cast<const float*>(x.data)[k] * 0.5f;
  return ++*static_cast<int*>(self) % 50 == 0;  // fails now and then
}

class Sequence {
 public:
  explicit Sequence(unsigned seed) : random_(seed) {}
  ~Sequence() {
    for (tfvm_context* c : contexts_) tfvm_context_release(c);
    for (tfvm_function* f : functions_) tfvm_function_release(f);
    for (tfvm_value* v : values_) tfvm_value_release(v);
    for (tfvm_builder* b : builders_) tfvm_builder_release(b);
    for (tfvm_vm* vm : vms_) tfvm_vm_release(vm);
  }

  void step() {
    switch (pick(20)) {
      case 0:
        if (vms_.size() < 3) make(vms_, [&](tfvm_vm** p) { return tfvm_vm_create(nullptr, p, error()); });
        break;
      case 1:
        load(any(vms_));
        break;
      case 2:
        make(contexts_, [&](tfvm_context** p) { return tfvm_context_create(any(vms_), nullptr, p, error()); });
        break;
      case 3:
      case 4:
        make(functions_, [&](tfvm_function** p) {
          static constexpr const char* kCallees[] = {"@square",       "grad(@loss)",      "@pick",
                                                     "@positive",     "@forever",         "vmap(@square)",
                                                     "@b0",           "linearize(@loss)", "grad(@b1)",
                                                     "@none",         "@bumps",           "grad(@curved)",
                                                     "vmap(@curved)", "jvp(@bumps)",      "functionalize(@bumps)"};
          static constexpr const char* kTypes[] = {nullptr, "f32[3]", "f32[2,3]", "f32", "i64", "f32[", ""};
          return tfvm_prepare(any(vms_), kCallees[pick(15)], kTypes[pick(7)], p, error());
        });
        break;
      case 5:
        make(values_, [&](tfvm_value** p) {
          const tfvm_view v = some_view();
          return pick(2) ? tfvm_value_copy(any(vms_), &v, p, error())
                         : tfvm_value_over(any(vms_), &v, nullptr, nullptr, p, error());
        });
        break;
      case 6:
      case 7:
      case 8:
        call();
        break;
      case 9:
        tfvm_resume(any(contexts_), 10, error());
        break;
      case 10:
        pick(2) ? tfvm_abandon(any(contexts_)) : tfvm_cancel(any(contexts_));
        break;
      case 11:
        call_values();
        break;
      case 12:
        dlpack();
        break;
      case 13:
        build();
        break;
      case 14:
        tfvm_set_limits(any(contexts_), 2000, pick(3) * 100);
        break;
      case 15:
        register_op(any(vms_));
        break;
      case 16:
        state(any(vms_));
        break;
      case 17:
        call_views();
        break;
      case 18:
        make(functions_, [&](tfvm_function** p) {
          return tfvm_make_functional(any(vms_), pick(2) ? "@bumps" : "@curved", nullptr, p, error());
        });
        break;
      default:
        release();
        break;
    }
  }
  long calls() const { return calls_; }

 private:
  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  template <class T>
  T* any(const std::vector<T*>& all) {  // sometimes none
    return all.empty() || pick(20) == 0 ? nullptr : all[pick(all.size())];
  }
  tfvm_error* error() { return pick(4) ? &error_ : nullptr; }
  template <class T, class Make>
  void make(std::vector<T*>& all, Make m) {
    T* p = nullptr;
    if (m(&p) == TFVM_OK) all.push_back(p);
  }

  void load(tfvm_vm* vm) {
    static const std::string kTexts[] = {
        std::string(kMany),        std::string(kWrites), "func @b0(%x: f32) {\n  ret %x\n}\n", "func @g(", "",
        "param @p: f32[2] = [1]\n"};
    const std::string& text = kTexts[pick(6)];
    tfvm_load_text(vm, text.data(), text.size(), pick(2) ? "a.tfa" : nullptr, nullptr, error());
  }

  void register_op(tfvm_vm* vm) {
    tfvm_op op{};
    op.size = pick(8) ? sizeof op : pick(2) ? offsetof(tfvm_op, derivative) : 4;
    op.kernel = pick(8) ? &kernel : nullptr;
    op.user = &kernels_;
    op.strided = static_cast<int>(pick(2));
    if (pick(4) == 0) op.derivative = pick(2) ? "@curve_d" : "@nowhere(";
    if (pick(4) == 0) op.custom_vmap = pick(2) ? "curve" : "@curve_d";
    tfvm_register_op(vm, pick(2) ? "bump" : "curve", &op, error());
  }

  void state(tfvm_vm* vm) {
    const tfvm_view v = some_view();
    const char* name = pick(2) ? "seen" : "p";
    tfvm_view seen = TFVM_VIEW;
    std::string file;
    const auto keep = [](void* to, const void* bytes, std::size_t size) {
      static_cast<std::string*>(to)->assign(static_cast<const char*>(bytes), size);
    };
    switch (pick(5)) {
      case 0:
        return static_cast<void>(tfvm_state_get(vm, name, &v, error()));
      case 1:
        return static_cast<void>(tfvm_state_set(vm, name, &v, error()));
      case 2:
        return static_cast<void>(tfvm_state_view(vm, name, &seen, error()));
      default:
        if (tfvm_state_save(vm, pick(2) ? "npz" : "safetensors", &file, keep, error()) != TFVM_OK) return;
        if (pick(3) == 0 && !file.empty()) file[pick(file.size())] ^= 0x20;
        tfvm_state_load(vm, file.data(), pick(4) ? file.size() : pick(file.size() + 1), error());
    }
  }

  void call_views() {
    const tfvm_view in[] = {some_view(), some_view()}, out[] = {some_view(), some_view()};
    const tfvm_function* f = any(functions_);
    tfvm_context* c = any(contexts_);
    if (c && !paused(c)) tfvm_set_limits(c, 2000, 0);
    calls_ += tfvm_call_views(c, f, in, std::min<std::size_t>(tfvm_input_count(f), 2), out,
                              std::min<std::size_t>(tfvm_output_count(f), 2), error()) == TFVM_OK;
  }

  tfvm_view some_view() {
    static const std::vector<std::int64_t> kDims[] = {{}, {3}, {2, 3}, {0}}, kStrides[] = {{}, {-1}, {1, 2}, {5}};
    const std::size_t k = pick(4);
    tfvm_view v = view(memory_ + 8, kDims[k], pick(4) ? TFVM_F32 : TFVM_I64, pick(2) ? &kStrides[k] : nullptr);
    if (pick(12) == 0) v.rank = -1;
    return v;
  }

  void call() {
    tfvm_context* c = any(contexts_);
    const tfvm_function* f = any(functions_);
    const void* in[] = {memory_ + 8, memory_ + 20, memory_ + 30};
    void* out[] = {memory_ + 40, memory_ + 60, memory_ + (pick(5) ? 80 : 8)};
    const std::size_t n = pick(10) ? tfvm_input_count(f) : pick(4), m = pick(10) ? tfvm_output_count(f) : pick(4);
    if (n > 3 || m > 3) return;
    std::int64_t number = static_cast<std::int64_t>(pick(5)) - 1;
    std::memcpy(memory_ + 20, &number, sizeof number);
    std::memcpy(memory_ + 8, &number, sizeof number);
    if (c && !paused(c)) tfvm_set_limits(c, 2000, 0);  // @forever ends
    const tfvm_status s = pick(2) ? tfvm_call(c, f, in, n, out, m, error())
                                  : tfvm_run_for(c, f, in, n, out, m, static_cast<std::int64_t>(pick(3)) * 5, error());
    calls_ += s == TFVM_OK;
    if (s == TFVM_PAUSED) paused_.emplace_back(c, f);
  }
  bool paused(const tfvm_context* c) const {
    return std::ranges::any_of(paused_, [&](const auto& p) { return p.first == c; });
  }

  void call_values() {
    tfvm_value* in[] = {any(values_), any(values_), any(values_)};
    tfvm_value* out[3] = {};
    const tfvm_function* f = any(functions_);
    const std::size_t n = pick(10) ? std::min<std::size_t>(tfvm_input_count(f), 3) : pick(4), m = pick(3);
    if (tfvm_call_values(any(contexts_), f, in, n, out, m, error()) != TFVM_OK) return;
    ++calls_;
    values_.insert(values_.end(), out, out + m);
  }

  void dlpack() {
    DLManagedTensor* dl = nullptr;
    if (tfvm_value_to_dlpack(any(values_), &dl, error()) != TFVM_OK) return;
    tfvm_value* v = nullptr;
    if (pick(2) && tfvm_value_from_dlpack(any(vms_), dl, &v, error()) == TFVM_OK)
      values_.push_back(v);
    else
      dl->deleter(dl);
  }

  void build() {
    if (builders_.size() < 2)
      make(builders_,
           [&](tfvm_builder** p) { return tfvm_builder_create(any(vms_), pick(2) ? "b0" : "b1", p, error()); });
    tfvm_builder* b = any(builders_);
    const tfvm_view v = some_view();
    tfvm_ref r[] = {tfvm_build_param(b, "f32"), tfvm_build_constant(b, &v)};
    r[0] = tfvm_build_op(b, pick(2) ? "add" : "neg", r, 1 + pick(2), nullptr);
    if (pick(3) == 0) tfvm_builder_finish(b, r, pick(3), error());
  }

  template <class T, class Release>
  void drop(std::vector<T*>& all, Release r) {
    if (all.empty()) return;
    std::swap(all[pick(all.size())], all.back());
    r(all.back());
    all.pop_back();
  }
  void release() {
    switch (pick(5)) {
      case 0:
        return drop(vms_, tfvm_vm_release);
      case 1:
        return drop(contexts_, [&](tfvm_context* c) {
          std::erase_if(paused_, [&](const auto& p) { return p.first == c; });
          tfvm_context_release(c);
        });
      case 2:  // not while a context has it paused
        for (const auto& [c, f] : paused_) tfvm_abandon(const_cast<tfvm_context*>(c));
        paused_.clear();
        return drop(functions_, tfvm_function_release);
      case 3:
        return drop(values_, tfvm_value_release);
      default:
        return drop(builders_, tfvm_builder_release);
    }
  }

  std::mt19937 random_;
  tfvm_error error_ = TFVM_ERROR;
  float memory_[128] = {};
  long calls_ = 0;
  int kernels_ = 0;  // runs of them
  std::vector<tfvm_vm*> vms_;
  std::vector<tfvm_context*> contexts_;
  std::vector<tfvm_function*> functions_;
  std::vector<tfvm_value*> values_;
  std::vector<tfvm_builder*> builders_;
  std::vector<std::pair<const tfvm_context*, const tfvm_function*>> paused_;
};

TEST(CApiSequences, AtRandom) {
  const long count = from_environment("TFVM_SEQUENCES", 30), seed = from_environment("TFVM_SEED", 1);
  long calls = 0;
  for (long k = 0; k < count; ++k) {
    Sequence s(static_cast<unsigned>(seed + k));
    for (int step = 0; step < 400; ++step) s.step();
    calls += s.calls();
  }
  EXPECT_GT(calls, count);
}

}  // namespace
}  // namespace tfvm::testing
