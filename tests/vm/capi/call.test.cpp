#include <cmath>
#include <thread>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

TEST(CApiCall, OnPointers) {
  Host h(kMany);
  tfvm_function* g = h.prepare("vmap(grad(@loss), in_dims=[none,0,0])", "f32[3], f32[2,3], f32[2]");
  ASSERT_EQ(tfvm_input_count(g), 3u);
  ASSERT_EQ(tfvm_output_count(g), 1u);
  tfvm_view type = TFVM_VIEW;
  ASSERT_EQ(tfvm_output_type(g, 0, &type), TFVM_OK);
  EXPECT_EQ(type.dtype, TFVM_F32);
  ASSERT_EQ(type.rank, 2);
  EXPECT_EQ(type.dims[0], 2);
  EXPECT_EQ(type.dims[1], 3);
  ASSERT_EQ(tfvm_input_type(g, 2, &type), TFVM_OK);
  EXPECT_EQ(type.rank, 1);
  const float w[] = {1, 2, 3}, x[] = {1, 0, 0, 0, 1, 0}, y[] = {0, 0};
  float out[6] = {};
  ASSERT_EQ(h.call(g, {w, x, y}, {out}), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{2, 0, 0, 0, 4, 0}));
}

TEST(CApiCall, BoundCallsAreCallsWhosePointersWereChecked) {
  Host h(std::string(kMany) + "func @bump(mut %v: f32[2]) {\n  add_ %v, 1\n  ret\n}\n");
  float x[] = {2, 3}, y[] = {0, 0};
  const auto bind = [&](const char* callee, std::vector<const void*> in, std::vector<void*> out) {
    tfvm_bound* b = nullptr;
    EXPECT_EQ(tfvm_bind(h.context, h.prepare(callee, "f32[2]"), in.data(), in.size(), out.data(), out.size(), &b, &h.e),
              TFVM_OK)
        << h.error();
    return b;
  };
  tfvm_bound* square = bind("@square", {x}, {y});  // a nest alone
  EXPECT_EQ(tfvm_call_bound(square, &h.e), TFVM_OK);
  EXPECT_EQ(y[1], 9);
  x[1] = 4;
  EXPECT_EQ(tfvm_call_bound(square, nullptr), TFVM_OK);
  EXPECT_EQ(y[1], 16);
  tfvm_cancel(h.context);
  EXPECT_EQ(tfvm_call_bound(square, &h.e), TFVM_CANCELLED) << h.error();
  EXPECT_EQ(tfvm_call_bound(square, &h.e), TFVM_OK);
  tfvm_bound* bump = bind("@bump", {x}, {});  // by steps
  EXPECT_EQ(tfvm_call_bound(bump, &h.e), TFVM_OK);
  EXPECT_EQ(tfvm_call_bound(square, &h.e), TFVM_OK);
  EXPECT_EQ(y[1], 25);
  tfvm_bound_release(square);
  tfvm_bound_release(bump);
}

TEST(CApiCall, FunctionsWithoutInputs) {
  Host h(kMany);
  float out[2] = {};
  ASSERT_EQ(h.call(h.prepare("@none", ""), {}, {out}), TFVM_OK) << h.e.message;
  EXPECT_EQ(out[1], 2);
  EXPECT_EQ(tfvm_call(h.context, h.functions[0], nullptr, 0, std::array<void*, 1>{out}.data(), 1, nullptr), TFVM_OK);
}

TEST(CApiCall, OutputsMayOverlapInputsButNotEachOther) {
  Host h(
      "func @f(%x: f32[4], %y: f32[4]) {\n %r = reverse %x {axes=[0]}\n %a = add %r, %y\n %b = sub %x, %y\n ret %a, "
      "%b\n}\n");
  tfvm_function* f = h.prepare("@f");
  float m[] = {1, 2, 3, 4, 5}, y[] = {10, 20, 30, 40}, b[4];
  ASSERT_EQ(h.call(f, {m, y}, {m + 1, b}), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(m, m + 5), (std::vector<float>{1, 14, 23, 32, 41}));
  EXPECT_EQ(h.call(f, {y, y}, {m, m + 1}), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse outputs overlap each other");
}

TEST(CApiCall, OverlapOfManyTensors) {
  std::string text = "func @f(";
  for (int k = 0; k < 80; ++k) text += (k ? ", %x" : "%x") + std::to_string(k) + ": f32[2]";
  text += ") {\n  %y = neg %x0\n  ret ";
  for (int k = 0; k < 80; ++k) text += std::string(k ? ", %" : "%") + (k ? "x" + std::to_string(k) : "y");
  Host h(text + "\n}\n");
  tfvm_function* f = h.prepare("@f");
  std::vector<float> in(160, 1), out(161);
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (int k = 0; k < 80; ++k) {
    inputs.push_back(&in[static_cast<std::size_t>(2 * k)]);
    outputs.push_back(&out[static_cast<std::size_t>(2 * k)]);
  }
  EXPECT_EQ(h.call(f, inputs, outputs), TFVM_OK);
  outputs[7] = &out[13];
  EXPECT_EQ(h.call(f, inputs, outputs), TFVM_MISUSE);
  outputs[7] = &in[14];
  EXPECT_EQ(h.call(f, inputs, outputs), TFVM_OK);
  outputs[7] = &in[15];
  EXPECT_EQ(h.call(f, inputs, outputs), TFVM_OK);
  EXPECT_EQ(out[0], -1);
}

TEST(CApiCall, OnViewsWithAnyStrides) {
  Host h(kMany);
  tfvm_function* f = h.prepare("@square", "f32[3]");
  const float x[] = {1, 0, 2, 0, 3, 0};
  float out[3] = {};
  const std::vector<std::int64_t> dims{3}, second{2}, back{-1};
  const tfvm_view in = view(x, dims, TFVM_F32, &second);
  tfvm_view to = view(out + 2, dims, TFVM_F32, &back);
  ASSERT_EQ(tfvm_call_views(h.context, f, &in, 1, &to, 1, &h.e), TFVM_OK) << h.e.message;
  EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{9, 4, 1}));
  to.dtype = TFVM_I32;
  EXPECT_EQ(tfvm_call_views(h.context, f, &in, 1, &to, 1, &h.e), TFVM_TYPE);
  EXPECT_EQ(h.error(), "type output 0 must be f32[3], not i32[3]");
}

TEST(CApiCall, FailuresNameTheLine) {
  Host h(kMany);
  const float x[] = {1, 2, 3}, minus = -1;
  float y = 0;
  const std::int64_t outside = 5;
  EXPECT_EQ(h.call(h.prepare("@pick"), {x, &outside}, {&y}), TFVM_INDEX);
  EXPECT_EQ(
      h.error(),
      "index a.tfa:13 [take] index 5 is out of range for an extent of 3 (element 0 of the indices)\nnote: in @pick");
  EXPECT_EQ(h.call(h.prepare("@positive"), {&minus}, {&y}), TFVM_ASSERT);
  EXPECT_EQ(h.error(), "assert a.tfa:18 assert failed: x > 0\nnote: in @positive");
}

TEST(CApiCall, InAnArena) {
  Host plain(kMany);
  tfvm_function* f = plain.prepare("vmap(grad(@loss), in_dims=[none,0,0])", "f32[3], f32[100,3], f32[100]");
  const auto bytes = static_cast<std::size_t>(tfvm_working_bytes(f)) + 64;
  std::vector<char> arena(bytes + 1);
  tfvm_context_options o = TFVM_CONTEXT_OPTIONS;
  o.arena = arena.data() + 1;
  o.arena_bytes = bytes;
  tfvm_context* c = nullptr;
  ASSERT_EQ(tfvm_context_create(plain.vm, &o, &c, nullptr), TFVM_OK);
  const std::vector<float> w(3, 1), x(300, 1), y(100);
  std::vector<float> out(300);
  const void* in[] = {w.data(), x.data(), y.data()};
  void* to[] = {out.data()};
  const std::int64_t before = tfvm_memory_used(plain.vm);
  EXPECT_EQ(tfvm_call(c, f, in, 3, to, 1, &plain.e), TFVM_OK) << plain.e.message;
  EXPECT_EQ(tfvm_memory_used(plain.vm), before);
  EXPECT_EQ(out[299], 6);
  tfvm_context_release(c);
  o.arena_bytes = bytes - 64;
  ASSERT_EQ(tfvm_context_create(plain.vm, &o, &c, nullptr), TFVM_OK);
  EXPECT_EQ(tfvm_call(c, f, in, 3, to, 1, &plain.e), TFVM_MEMORY);
  EXPECT_NE(std::string(plain.e.message).find("the arena has"), std::string::npos);
  tfvm_context_release(c);
}

struct Threads {
  std::size_t jobs = 0;
  static void run(void* self, void (*job)(void*, std::size_t), void* arg, std::size_t count) {
    static_cast<Threads*>(self)->jobs += count;
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < count; ++k) threads.emplace_back(job, arg, k);
    for (std::thread& t : threads) t.join();
  }
};

TEST(CApiCall, JobsOfTheHostGiveTheSameBits) {
  constexpr std::string_view text = R"(
func @f(%x: f32[300,1000], %y: f32[1000]) {
  %s = sin %x
  %e = exp %y
  %a = mul %s, %e
  %b = tanh %a
  %r = reduce_sum %b {axes=[1]}
  %c = reduce_sum %b {axes=[0]}
  %t = transpose %b {perm=[1, 0]}
  %u = mul %t, 0.5
  ret %b, %r, %c, %u
}
)";
  Threads threads;
  const tfvm_executor executor{sizeof executor, &threads, &Threads::run, 5};
  tfvm_context_options o = TFVM_CONTEXT_OPTIONS;
  o.executor = &executor;
  Host alone(text), many(text, nullptr, &o);
  std::vector<float> x(300'000), y(1000);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(static_cast<float>(k));
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = std::cos(static_cast<float>(k));
  std::vector<std::vector<float>> a{std::vector<float>(300'000), std::vector<float>(300), std::vector<float>(1000),
                                    std::vector<float>(300'000)};
  auto b = a;
  ASSERT_EQ(alone.call(alone.prepare("@f"), {x.data(), y.data()}, {a[0].data(), a[1].data(), a[2].data(), a[3].data()}),
            TFVM_OK);
  ASSERT_EQ(many.call(many.prepare("@f"), {x.data(), y.data()}, {b[0].data(), b[1].data(), b[2].data(), b[3].data()}),
            TFVM_OK);
  EXPECT_EQ(a, b);
  EXPECT_GE(threads.jobs, 5u);
}

TEST(CApiCall, PrintGoesToTheHost) {
  std::string seen;
  tfvm_context_options o = TFVM_CONTEXT_OPTIONS;
  o.print_user = &seen;
  o.print = [](void* user, const char* label, const tfvm_view* v) {
    char text[64];
    tfvm_format(v, text, sizeof text);
    *static_cast<std::string*>(user) += std::string(label) + " = " + text + "\n";
  };
  Host h("func @f(%x: f32[2]) {\n  %y = neg %x\n  print %y {label=\"y\"}\n  ret %y\n}\n", nullptr, &o);
  const float x[] = {1, 2};
  float y[2];
  ASSERT_EQ(h.call(h.prepare("@f"), {x}, {y}), TFVM_OK);
  EXPECT_EQ(seen, "y = f32[2] [-1.0, -2.0]\n");
}

TEST(CApiCall, EightThreadsOnOneFunction) {
  Host h(kMany);
  tfvm_function* f = h.prepare("vmap(grad(@loss), in_dims=[none,0,0])", "f32[3], f32[50,3], f32[50]");
  std::array<int, 8> wrong{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      tfvm_context* c = nullptr;
      if (tfvm_context_create(h.vm, nullptr, &c, nullptr)) return void(wrong[static_cast<std::size_t>(t)] = -1);
      const std::vector<float> w(3, static_cast<float>(t)), x(150, 1), y(50);
      std::vector<float> out(150);
      const void* in[] = {w.data(), x.data(), y.data()};
      void* to[] = {out.data()};
      for (int k = 0; k < 200; ++k) {
        if (tfvm_call(c, f, in, 3, to, 1, nullptr)) ++wrong[static_cast<std::size_t>(t)];
        for (float v : out) wrong[static_cast<std::size_t>(t)] += v != static_cast<float>(6 * t);
        tfvm_function* own = nullptr;  // preparing goes on meanwhile
        if (tfvm_prepare(h.vm, "grad(@loss)", nullptr, &own, nullptr)) ++wrong[static_cast<std::size_t>(t)];
        tfvm_function_release(own);
      }
      tfvm_context_release(c);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, (std::array<int, 8>{}));
}

// Each on memory of its own.
TEST(CApiCall, EightThreadsOnOneFunctionThatWrites) {
  Host h(R"(
extern op "double"(mut %x: f32[n])
buffer @unused: f32[2]
func @step(mut %x: f32[4], %n: i64) -> (f32[4], f32[2]) {
  %u = clone @unused
  %i = while (%i = 0) {
    %p = lt %i, %n
    yield %p
  } do {
    %v = narrow %x {axis=0, start=1, length=2}
    add_ %v, 1
    double %v
    %j = add %i, 1
    yield %j
  }
  ret %x, %u
}
)");
  tfvm_op op{};
  op.size = sizeof op;
  op.kernel = [](void*, const tfvm_op_argument* in, std::size_t, const tfvm_view*, std::size_t, char*, std::size_t) {
    for (std::int64_t k = 0; k < 2; ++k) static_cast<float*>(in[0].tensors[0].data)[k] *= 2;
    return 0;
  };
  ASSERT_EQ(tfvm_register_op(h.vm, "double", &op, &h.e), TFVM_OK) << h.e.message;
  tfvm_function* f = h.prepare("@step");
  std::array<int, 8> wrong{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      int& bad = wrong[static_cast<std::size_t>(t)];
      tfvm_context* c = nullptr;
      if (tfvm_context_create(h.vm, nullptr, &c, nullptr)) return void(bad = -1);
      for (int k = 0; k < 100; ++k) {
        float x[] = {1, 2, static_cast<float>(t), 4}, y[4], u[2];
        const std::int64_t n = 3;
        const void* in[] = {x, &n};
        void* to[] = {y, u};
        if (k % 2) {
          tfvm_status s = tfvm_run_for(c, f, in, 2, to, 2, 0, nullptr);
          while (s == TFVM_PAUSED) s = tfvm_resume(c, 0, nullptr);
          bad += s != TFVM_OK;
        } else {
          bad += tfvm_call(c, f, in, 2, to, 2, nullptr) != TFVM_OK;
        }
        bad += x[2] != 8 * static_cast<float>(t) + 14 || y[2] != x[2] || x[3] != 4;
      }
      tfvm_context_release(c);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, (std::array<int, 8>{}));
}

}  // namespace
}  // namespace tfvm::testing
