// Each entry point, with each allocation that it makes refused in turn, by operator new and by the host's allocator
// alike: the result is a status, the VM goes on, and nothing is lost.
#include "tests/vm/capi/refused.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "bytecode/binary/tfbc.h"
#include "bytecode/text/parse.h"
#include "tests/vm/capi/host.h"
#include "vm/capi/dlpack.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
extern op "push"(mut %log: f32[n], %x: f32)
extern op "shift"(%x: f32[n]) -> f32[n] {derivative=@shift_d}
param @w: f32[3] = [1, 2, 3]
buffer @state: f32[3]
func @shift_d(%x: f32[n], %y: f32[n], %t: f32[n]) {
  ret %t
}
func @shifted(%x: f32[3]) -> f32 {
  %y = shift %x
  %z = mul %y, %y
  %r = reduce_sum %z
  ret %r
}
func @push(mut %log: f32[3], %x: f32) -> f32[3] {
  push %log, %x
  %c = scan (;) {length=2} {
    add_ %log, 1
    add_ @state, 1
    %c = clone %log
    yield; %c
  }
  %r = reduce_sum %c {axes=[0]}
  ret %r
}
func @f(%x: f32[3], %n: i64) -> f32 {
  %i, %s = while (%i = 0, %s = %x) {
    %p = lt %i, %n
    yield %p
  } do {
    %j = add %i, 1
    %t = mul %s, @w
    yield %j, %t
  }
  %k = softmax %s
  %r = reduce_sum %k
  ret %r
}
func @grown(mut %x: f32[3], %k: f32) {
  for (;) {length=2} {
    mul_ %x, %k
    yield;
  }
  ret
}
func @double(%x: f32[3]) -> f32[3] {
  %y = add %x, %x
  ret %y
}
func @pick(%x: f32[3], %i: i64) -> f32 {
  %y = take %x, %i
  ret %y
}
)";

constexpr std::string_view kMore = "func @more(%x: f32[n]) {\n  %y = mul %x, 2\n  ret %y\n}\n";

int push(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view*, std::size_t, char*, std::size_t) {
  *static_cast<float*>(in[0].tensors[0].data) = *static_cast<const float*>(in[1].tensors[0].data);
  return 0;
}
int shift(void*, const tfvm_op_argument* in, std::size_t, const tfvm_view* out, std::size_t, char*, std::size_t) {
  for (int k = 0; k < 3; ++k)
    static_cast<float*>(out[0].data)[k] = static_cast<const float*>(in[0].tensors[0].data)[k] + 1;
  return 0;
}

// A VM in use.
struct Game {
  tfvm_error e = TFVM_ERROR;
  tfvm_vm* vm = nullptr;
  tfvm_context* c = nullptr;
  tfvm_function *f = nullptr, *grad = nullptr, *twice = nullptr, *pick = nullptr, *pushed = nullptr, *shifted = nullptr;
  float x[3] = {1, 2, 3}, y[3] = {}, one = 5;
  std::int64_t n = 2, far = 9;
  const std::vector<std::int64_t> dims{3}, backwards{-1};
  tfvm_view v = view(x, dims, TFVM_F32), to = view(y, dims, TFVM_F32);

  Game() {
    const tfvm_allocator a = refusing_allocator();
    tfvm_vm_options o = TFVM_VM_OPTIONS;
    o.allocator = &a;
    EXPECT_EQ(tfvm_vm_create(&o, &vm, &e), TFVM_OK) << e.message;
    tfvm_op op{};
    op.size = sizeof op;
    op.kernel = push;
    EXPECT_EQ(tfvm_register_op(vm, "push", &op, &e), TFVM_OK);
    op.kernel = shift;
    EXPECT_EQ(tfvm_register_op(vm, "shift", &op, &e), TFVM_OK);
    EXPECT_EQ(tfvm_load_text(vm, kProgram.data(), kProgram.size(), "a.tfa", nullptr, &e), TFVM_OK) << e.message;
    EXPECT_EQ(tfvm_context_create(vm, nullptr, &c, &e), TFVM_OK);
    prepare("@f", &f), prepare("grad(@f)", &grad), prepare("@double", &twice), prepare("@pick", &pick);
    prepare("@push", &pushed), prepare("grad(@shifted)", &shifted);
  }
  ~Game() {
    for (tfvm_function* g : {f, grad, twice, pick, pushed, shifted}) tfvm_function_release(g);
    tfvm_context_release(c);
    tfvm_vm_release(vm);
  }
  Game(const Game&) = delete;
  void prepare(const char* callee, tfvm_function** to_) {
    EXPECT_EQ(tfvm_prepare(vm, callee, nullptr, to_, &e), TFVM_OK) << callee << ": " << e.message;
  }

  // It works as before.
  void check(const std::string& after) {
    const void *in[] = {x, &n}, *written[] = {y, &one};
    float r = 0, g[3] = {};
    void *out[] = {&r}, *gradient[] = {g};
    EXPECT_EQ(tfvm_call(c, f, in, 2, out, 1, &e), TFVM_OK) << after << e.message;
    EXPECT_NEAR(r, 1, 1e-6) << after;
    EXPECT_EQ(tfvm_call(c, shifted, in, 1, gradient, 1, &e), TFVM_OK) << after << e.message;
    EXPECT_EQ(g[2], 8) << after;
    y[1] = 3;
    EXPECT_EQ(tfvm_call(c, pushed, written, 2, gradient, 1, &e), TFVM_OK) << after << e.message;
    EXPECT_EQ(g[0], 2 * one + 3) << after;
    EXPECT_EQ(y[1], 5) << after;
  }
};

// Refuses the first allocation, the second, … until `attempt` succeeds; gives how many there are. `status` is what it
// is to end with.
template <class Attempt>
long refuse_each(Game& game, const std::string& what, Attempt attempt, tfvm_status status = TFVM_OK) {
  long place = 0;
  for (;; ++place) {
    refuse_after(place);
    const tfvm_status s = attempt();
    const bool reached = refuse_after(-1);
    if (!reached) {
      EXPECT_EQ(s, status) << what << ": " << game.e.message;
      break;
    }
    // An allocation that need not succeed may have been refused.
    EXPECT_TRUE(s == TFVM_MEMORY || s == status)
        << what << " at " << place << ": " << tfvm_status_name(s) << " " << game.e.message;
    if (s == TFVM_OK) break;  // it could do without
    if (place < 100 || place % 16 == 0) game.check(what + " at " + std::to_string(place) + ": ");
    if (::testing::Test::HasFailure() || place > 200'000) break;
  }
  return place;
}

// Runs `use` twice: what is made once for the process is made in the first.
template <class Use>
void expect_nothing_lost(Use use) {
  use();
  const long before = live_allocations();
  use();
  EXPECT_EQ(live_allocations(), before);
}

TEST(CApiRefused, Creating) {
  const tfvm_allocator a = refusing_allocator();
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.allocator = &a;
  tfvm_error e = TFVM_ERROR;
  tfvm_vm* vm = nullptr;
  ASSERT_EQ(tfvm_vm_create(&o, &vm, &e), TFVM_OK) << e.message;  // what is made once for the process is made
  tfvm_vm_release(std::exchange(vm, nullptr));
  const long before = live_allocations();
  long place = 0, refused = 0;
  for (bool reached = true; reached && !HasFailure(); ++place) {
    refuse_after(place);
    const tfvm_status s = tfvm_vm_create(&o, &vm, &e);
    reached = refuse_after(-1);
    refused += s == TFVM_MEMORY;
    EXPECT_EQ(s, reached ? TFVM_MEMORY : TFVM_OK) << "at " << place << ": " << e.message;
    EXPECT_EQ(vm != nullptr, s == TFVM_OK);
    tfvm_vm_release(std::exchange(vm, nullptr));
    EXPECT_EQ(live_allocations(), before) << "at " << place;
  }
  EXPECT_EQ(refused, place - 1);
  EXPECT_GT(refused, 50);  // the library comes with the first function
}

TEST(CApiRefused, Loading) {
  expect_nothing_lost([] {
    Game g;
    EXPECT_GT(refuse_each(g, "load_text",
                          [&] { return tfvm_load_text(g.vm, kMore.data(), kMore.size(), "m.tfa", nullptr, &g.e); }),
              20);
    const char* bad = "func @bad(";
    refuse_each(
        g, "bad text", [&] { return tfvm_load_text(g.vm, bad, 10, "m.tfa", nullptr, &g.e); }, TFVM_SYNTAX);
    refuse_each(
        g, "bad binary", [&] { return tfvm_load_binary(g.vm, bad, 10, "m", nullptr, &g.e); }, TFVM_SYNTAX);
    int attempt = 0;  // a param that got no value keeps its name
    refuse_each(g, "params", [&] {
      char text[200];
      const int n =
          std::snprintf(text, sizeof text, "param @p%d: f32[2] = [1, 2]\nparam @q%d: f32[2] = call @more(@p%d)\n",
                        attempt, attempt, attempt);
      ++attempt;
      return tfvm_load_text(g.vm, text, static_cast<std::size_t>(n), "m.tfa", nullptr, &g.e);
    });
  });
}

TEST(CApiRefused, LoadingBinary) {
  StringTable strings;
  const Result<Module> m = parse_module(strings, kMore, "m.tfa");
  ASSERT_TRUE(m);
  const std::vector<std::byte> bytes = write_tfbc(*m, strings);
  expect_nothing_lost([&] {
    Game g;
    refuse_each(g, "load_binary",
                [&] { return tfvm_load_binary(g.vm, bytes.data(), bytes.size(), "m.tfbc", nullptr, &g.e); });
  });
}

TEST(CApiRefused, Preparing) {
  expect_nothing_lost([] {
    Game g;
    for (const char* callee : {"vmap(@double)", "vmap(grad(@f), in_dims=[0, none])", "hessian(@f)", "jvp(@grown)",
                               "vmap(grad(@shifted))", "functionalize(@push)"}) {
      const std::string text = callee;
      const char* types = text == "vmap(@double)"            ? "f32[4,3]"
                          : text.starts_with("vmap(grad(@f") ? "f32[2,3], i64"
                          : text.starts_with("hessian")      ? "f32[3], i64"
                          : text.starts_with("jvp")          ? "f32[3], f32, f32[3], f32"
                          : text.starts_with("vmap")         ? "f32[2,3]"
                                                             : "f32[3], f32";
      tfvm_function* f = nullptr;
      EXPECT_GT(refuse_each(g, callee, [&] { return tfvm_prepare(g.vm, callee, types, &f, &g.e); }), 10) << callee;
      tfvm_function_release(f);
    }
    tfvm_function* f = nullptr;
    refuse_each(g, "prepare_for", [&] {
      return tfvm_prepare_for(g.vm, "vmap(@double, in_dims=[none], axis_size=2)", &g.v, 1, &f, &g.e);
    });
    tfvm_function_release(std::exchange(f, nullptr));
    refuse_each(g, "make_functional", [&] { return tfvm_make_functional(g.vm, "@f", nullptr, &f, &g.e); });
    const char* name = tfvm_function_state(f, 0);
    EXPECT_STREQ(name, "w");
    tfvm_function_release(std::exchange(f, nullptr));
    refuse_each(
        g, "no such", [&] { return tfvm_prepare(g.vm, "@none", nullptr, &f, &g.e); }, TFVM_NAME);
    refuse_each(
        g, "ill-typed", [&] { return tfvm_prepare(g.vm, "@double", "i64", &f, &g.e); }, TFVM_TYPE);
    EXPECT_EQ(f, nullptr);
  });
}

TEST(CApiRefused, Calls) {
  expect_nothing_lost([] {
    Game g;
    const void *in[] = {g.x, &g.n}, *far[] = {g.x, &g.far}, *written[] = {g.y, &g.one};
    float r = 0, h[3];
    void *out[] = {&r}, *row[] = {h}, *own[] = {g.x};
    tfvm_context* fresh = nullptr;
    const auto in_fresh = [&](const char* what, auto call, tfvm_status status = TFVM_OK) {
      refuse_each(
          g, what,
          [&]() -> tfvm_status {  // a context without its slab
            tfvm_context_release(std::exchange(fresh, nullptr));
            const tfvm_status s = tfvm_context_create(g.vm, nullptr, &fresh, &g.e);
            return s == TFVM_OK ? call(fresh) : s;
          },
          status);
      tfvm_context_release(std::exchange(fresh, nullptr));
    };
    in_fresh("call", [&](tfvm_context* c) { return tfvm_call(c, g.grad, in, 2, row, 1, &g.e); });
    in_fresh(
        "call that fails", [&](tfvm_context* c) { return tfvm_call(c, g.pick, far, 2, out, 1, &g.e); }, TFVM_INDEX);
    in_fresh("call by steps", [&](tfvm_context* c) { return tfvm_call(c, g.pushed, written, 2, row, 1, &g.e); });
    in_fresh("custom op", [&](tfvm_context* c) { return tfvm_call(c, g.shifted, in, 1, row, 1, &g.e); });
    in_fresh("call in place", [&](tfvm_context* c) { return tfvm_call(c, g.twice, in, 1, own, 1, &g.e); });
    g.x[0] = 1, g.x[1] = 2, g.x[2] = 3;
    const tfvm_view back = view(g.x + 2, g.dims, TFVM_F32, &g.backwards);
    in_fresh("views", [&](tfvm_context* c) { return tfvm_call_views(c, g.twice, &back, 1, &g.to, 1, &g.e); });
    tfvm_value *value = nullptr, *made = nullptr;
    ASSERT_EQ(tfvm_value_copy(g.vm, &g.v, &value, &g.e), TFVM_OK);
    in_fresh("values", [&](tfvm_context* c) { return tfvm_call_values(c, g.twice, &value, 1, &made, 1, &g.e); });
    tfvm_value_release(made);
    tfvm_value_release(value);
    for (tfvm_function* f : {g.grad, g.pushed}) {
      const bool steps = f == g.pushed;
      in_fresh(steps ? "slices by steps" : "slices", [&](tfvm_context* c) -> tfvm_status {
        tfvm_status s = tfvm_run_for(c, f, steps ? written : in, 2, row, 1, 0, &g.e);
        while (s == TFVM_PAUSED) s = tfvm_resume(c, 0, &g.e);
        return s;
      });
    }
    tfvm_bound* bound = nullptr;
    refuse_each(g, "bind", [&] { return tfvm_bind(g.c, g.twice, in, 1, row, 1, &bound, &g.e); });
    EXPECT_EQ(tfvm_call_bound(bound, &g.e), TFVM_OK);
    tfvm_bound_release(bound);
    tfvm_context_options o = TFVM_CONTEXT_OPTIONS;
    tfvm_executor jobs{sizeof jobs, nullptr,
                       [](void*, void (*job)(void*, std::size_t), void* arg, std::size_t count) {
                         for (std::size_t k = 0; k < count; ++k) job(arg, k);
                       },
                       2};
    o.executor = &jobs;
    refuse_each(g, "context_create", [&] { return tfvm_context_create(g.vm, &o, &fresh, &g.e); });
    tfvm_context_release(fresh);
  });
}

TEST(CApiRefused, ValuesAndState) {
  expect_nothing_lost([] {
    Game g;
    tfvm_value *value = nullptr, *over = nullptr, *back = nullptr;
    refuse_each(g, "value_copy", [&] { return tfvm_value_copy(g.vm, &g.v, &value, &g.e); });
    refuse_each(g, "value_over", [&] { return tfvm_value_over(g.vm, &g.v, nullptr, nullptr, &over, &g.e); });
    tfvm_view seen = TFVM_VIEW;
    refuse_each(g, "value_view", [&] { return tfvm_value_view(value, &seen, &g.e); });
    refuse_each(g, "value_read", [&] { return tfvm_value_read(value, &g.to, &g.e); });
    DLManagedTensor* dl = nullptr;
    refuse_each(g, "to_dlpack", [&] { return tfvm_value_to_dlpack(value, &dl, &g.e); });
    refuse_each(g, "from_dlpack", [&] { return tfvm_value_from_dlpack(g.vm, dl, &back, &g.e); });
    for (tfvm_value* p : {value, over, back}) tfvm_value_release(p);
    char text[64];
    refuse_each(g, "format",
                [&]() -> tfvm_status { return tfvm_format(&g.v, text, sizeof text) ? TFVM_OK : TFVM_MEMORY; });
    refuse_each(g, "state_get", [&] { return tfvm_state_get(g.vm, "w", &g.to, &g.e); });
    refuse_each(g, "state_set", [&] { return tfvm_state_set(g.vm, "w", &g.v, &g.e); });
    refuse_each(g, "state_view", [&] { return tfvm_state_view(g.vm, "w", &seen, &g.e); });
    refuse_each(
        g, "no such state", [&] { return tfvm_state_get(g.vm, "none", &g.to, &g.e); }, TFVM_NAME);
    for (const char* format : {"npz", "safetensors"}) {
      char file[4096];
      struct Sink {
        char* at;
        std::size_t size;
      } sink{file, 0};
      const auto give = [](void* to, const void* bytes, std::size_t size) {
        auto& out = *static_cast<Sink*>(to);
        out.size = std::min<std::size_t>(size, 4096);
        std::memcpy(out.at, bytes, out.size);
      };
      refuse_each(g, "state_save", [&] { return tfvm_state_save(g.vm, format, &sink, give, &g.e); });
      refuse_each(g, "state_load", [&] { return tfvm_state_load(g.vm, file, sink.size, &g.e); });
      refuse_each(
          g, "bad file", [&] { return tfvm_state_load(g.vm, file, sink.size / 2, &g.e); }, TFVM_SYNTAX);
    }
  });
}

TEST(CApiRefused, Builders) {
  expect_nothing_lost([] {
    Game g;
    int made = 0;
    tfvm_builder* b = nullptr;
    refuse_each(g, "builder", [&]() -> tfvm_status {
      tfvm_builder_release(std::exchange(b, nullptr));
      const std::string name = "built" + std::to_string(made);
      tfvm_status s = tfvm_builder_create(g.vm, name.c_str(), &b, &g.e);
      if (s != TFVM_OK) return s;
      const tfvm_ref ops[] = {tfvm_build_param(b, "f32[3]"), tfvm_build_constant(b, &g.v)};
      tfvm_ref r[2] = {tfvm_build_op(b, "mul", ops, 2, nullptr), 0};
      tfvm_build_statement(b, "clone $0", r, 1, r + 1, 1);
      s = tfvm_builder_finish(b, r + 1, 1, &g.e);
      made += s == TFVM_OK;
      return s;
    });
    EXPECT_NE(std::strstr(tfvm_builder_text(b), "mul"), nullptr);
    tfvm_builder_release(b);
    tfvm_op op{};
    op.size = sizeof op;
    op.kernel = shift;
    op.derivative = "@shift_d", op.custom_vmap = "shift";
    refuse_each(g, "register_op", [&] { return tfvm_register_op(g.vm, "shift", &op, &g.e); });
  });
}

}  // namespace
}  // namespace tfvm::testing
