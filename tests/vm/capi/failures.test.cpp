// What a host can do wrong, entry point by entry point: each is a status and a message, and nothing else happens.
#include "tests/vm/capi/host.h"
#include "vm/capi/dlpack.h"

namespace tfvm::testing {
namespace {

struct CApiFailures : ::testing::Test {
  Host h{kMany};
  tfvm_error& e = h.e;
  std::vector<std::int64_t> dims{2};
  float x[2] = {1, 2};
  tfvm_view v = view(x, dims, TFVM_F32);
};

TEST_F(CApiFailures, Vm) {
  tfvm_vm* vm = nullptr;
  EXPECT_EQ(tfvm_vm_create(nullptr, nullptr, &e), TFVM_MISUSE);
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.size = 4;
  EXPECT_EQ(tfvm_vm_create(&o, &vm, &e), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse the size of the options is not set");
  o.size = sizeof o;
  o.memory_limit = -1;
  EXPECT_EQ(tfvm_vm_create(&o, &vm, &e), TFVM_MISUSE);
  o.memory_limit = 0;
  tfvm_allocator a{sizeof a, nullptr, nullptr, nullptr};
  o.allocator = &a;
  EXPECT_EQ(tfvm_vm_create(&o, &vm, &e), TFVM_MISUSE);
  EXPECT_EQ(vm, nullptr);
  struct Newer {
    tfvm_vm_options known;
    std::int64_t more;
  } newer{TFVM_VM_OPTIONS, 1};
  newer.known.size = sizeof newer;
  EXPECT_EQ(tfvm_vm_create(&newer.known, &vm, &e), TFVM_MISUSE);
  newer.more = 0;
  EXPECT_EQ(tfvm_vm_create(&newer.known, &vm, &e), TFVM_OK);
  tfvm_vm_release(vm);
  tfvm_vm_release(nullptr);
  EXPECT_EQ(tfvm_memory_used(nullptr), 0);
  EXPECT_EQ(tfvm_memory_peak(nullptr), 0);
  tfvm_set_memory_limit(nullptr, 1);
}

TEST_F(CApiFailures, Loading) {
  EXPECT_EQ(tfvm_load_text(nullptr, "", 0, nullptr, nullptr, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_load_text(h.vm, nullptr, 1, nullptr, nullptr, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_load_binary(nullptr, "", 0, nullptr, nullptr, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_load_binary(h.vm, nullptr, 1, nullptr, nullptr, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_load_binary(h.vm, nullptr, 0, nullptr, nullptr, &e), TFVM_SYNTAX);
  tfvm_loader l{sizeof l, nullptr, nullptr};
  EXPECT_EQ(tfvm_load_text(h.vm, "", 0, nullptr, &l, &e), TFVM_MISUSE);
  l.size = 1;
  EXPECT_EQ(tfvm_load_text(h.vm, "", 0, nullptr, &l, &e), TFVM_MISUSE);
}

TEST_F(CApiFailures, Preparing) {
  tfvm_function* f = nullptr;
  EXPECT_EQ(tfvm_prepare(nullptr, "@none", nullptr, &f, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_prepare(h.vm, nullptr, nullptr, &f, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_prepare(h.vm, "@none", nullptr, nullptr, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_prepare_for(h.vm, "@square", nullptr, 1, &f, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_prepare_for(nullptr, "@square", &v, 1, &f, &e), TFVM_MISUSE);
  dims[0] = -1;
  EXPECT_EQ(tfvm_prepare_for(h.vm, "@square", &v, 1, &f, &e), TFVM_TYPE);
  v.dtype = 99;
  EXPECT_EQ(tfvm_prepare_for(h.vm, "@square", &v, 1, &f, &e), TFVM_TYPE);
  EXPECT_EQ(f, nullptr);
  tfvm_function_release(nullptr);
  EXPECT_EQ(tfvm_input_count(nullptr), 0u);
  EXPECT_EQ(tfvm_output_count(nullptr), 0u);
  EXPECT_EQ(tfvm_working_bytes(nullptr), 0);
  EXPECT_EQ(tfvm_input_type(nullptr, 0, &v), TFVM_MISUSE);
  f = h.prepare("@none");
  EXPECT_EQ(tfvm_input_type(f, 0, &v), TFVM_MISUSE);
  EXPECT_EQ(tfvm_output_type(f, 1, &v), TFVM_MISUSE);
  EXPECT_EQ(tfvm_output_type(f, 0, nullptr), TFVM_MISUSE);
  v.size = 0;
  EXPECT_EQ(tfvm_output_type(f, 0, &v), TFVM_MISUSE);
}

TEST_F(CApiFailures, Contexts) {
  tfvm_context* c = nullptr;
  EXPECT_EQ(tfvm_context_create(nullptr, nullptr, &c, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_context_create(h.vm, nullptr, nullptr, &e), TFVM_MISUSE);
  tfvm_context_options o = TFVM_CONTEXT_OPTIONS;
  o.size = 1;
  EXPECT_EQ(tfvm_context_create(h.vm, &o, &c, &e), TFVM_MISUSE);
  o.size = sizeof o;
  tfvm_executor x{sizeof x, nullptr, nullptr, 1};
  o.executor = &x;
  EXPECT_EQ(tfvm_context_create(h.vm, &o, &c, &e), TFVM_MISUSE);
  EXPECT_EQ(c, nullptr);
  tfvm_context_release(nullptr);
  tfvm_cancel(nullptr);
  tfvm_abandon(nullptr);
  EXPECT_EQ(tfvm_set_limits(nullptr, 0, 0), TFVM_MISUSE);
  EXPECT_EQ(tfvm_set_limits(h.context, -1, 0), TFVM_MISUSE);
  EXPECT_EQ(tfvm_set_limits(h.context, 0, -1), TFVM_MISUSE);
}

TEST_F(CApiFailures, Calls) {
  tfvm_function* f = h.prepare("@square", "f32[2]");
  float y[3] = {};
  EXPECT_EQ(tfvm_call(nullptr, f, nullptr, 0, nullptr, 0, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call(h.context, nullptr, nullptr, 0, nullptr, 0, &e), TFVM_MISUSE);
  EXPECT_EQ(h.call(f, {x}, {}), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse 1 inputs and 1 outputs expected, 1 and 0 given");
  EXPECT_EQ(tfvm_call(h.context, f, nullptr, 1, nullptr, 1, &h.e), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse the arrays of inputs and outputs are needed");
  EXPECT_EQ(tfvm_run_for(h.context, f, nullptr, 1, nullptr, 1, 1, &h.e), TFVM_MISUSE);
  EXPECT_EQ(h.call(f, {nullptr}, {y}), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse input 0 is NULL");
  EXPECT_EQ(h.call(f, {x}, {nullptr}), TFVM_MISUSE);
  EXPECT_EQ(h.call(f, {x}, {reinterpret_cast<char*>(y) + 1}), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse output 0 is not aligned for its dtype");
  Host other(kMany);
  EXPECT_EQ(tfvm_call(other.context, f, nullptr, 1, nullptr, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse the function is of another VM than the context");
}

TEST_F(CApiFailures, BoundCalls) {
  tfvm_function* f = h.prepare("@square", "f32[2]");
  float y[3] = {};
  const void* in[] = {x};
  void* out[] = {y};
  tfvm_bound* b = nullptr;
  EXPECT_EQ(tfvm_bind(nullptr, f, in, 1, out, 1, &b, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_bind(h.context, nullptr, in, 1, out, 1, &b, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_bind(h.context, f, in, 1, out, 1, nullptr, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_bind(h.context, f, in, 1, out, 0, &b, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_bind(h.context, f, nullptr, 1, out, 1, &b, &h.e), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse the arrays of inputs and outputs are needed");
  out[0] = reinterpret_cast<char*>(y) + 1;
  EXPECT_EQ(tfvm_bind(h.context, f, in, 1, out, 1, &b, &h.e), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse output 0 is not aligned for its dtype");
  out[0] = y;
  in[0] = y + 1;
  EXPECT_EQ(tfvm_bind(h.context, f, in, 1, out, 1, &b, &h.e), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse outputs overlap each other or inputs, which a bound call can't have");
  EXPECT_EQ(b, nullptr);
  EXPECT_EQ(tfvm_call_bound(nullptr, &e), TFVM_MISUSE);
  tfvm_bound_release(nullptr);
}

TEST_F(CApiFailures, CallsWithTapes) {
  h.load(
      "func @loop(%x: f64) {\n  %y = while (%v = %x) {\n    %p = lt %v, 9\n    yield %p\n  } do {\n    %w = mul %v, "
      "%v\n    yield %w\n  }\n  ret %y\n}\n",
      "t.tfa");
  tfvm_function* f = h.prepare("linearize(@loop)", "f64");
  EXPECT_EQ(tfvm_call(h.context, f, nullptr, 1, nullptr, tfvm_output_count(f), &e), TFVM_MISUSE);
  EXPECT_NE(h.error().find("call it with values"), std::string::npos);
}

TEST_F(CApiFailures, CallsInSlices) {
  tfvm_function* f = h.prepare("@square", "f32[2]");
  const void* in[] = {x};
  void* out[] = {x};
  EXPECT_EQ(tfvm_run_for(nullptr, f, in, 1, out, 1, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_run_for(h.context, f, in, 1, out, 1, -1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_run_for(h.context, f, in, 1, out, 1, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(h.error(), "misuse outputs overlap each other or inputs, which a call in slices can't have");
  out[0] = nullptr;
  EXPECT_EQ(tfvm_run_for(h.context, f, in, 1, out, 1, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_resume(nullptr, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_resume(h.context, 1, &e), TFVM_MISUSE);
}

TEST_F(CApiFailures, CallsOnViews) {
  tfvm_function* f = h.prepare("@square", "f32[2]");
  EXPECT_EQ(tfvm_call_views(nullptr, f, &v, 1, &v, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call_views(h.context, f, nullptr, 1, &v, 1, &e), TFVM_MISUSE);
  tfvm_view bad = v;
  bad.data = nullptr;
  EXPECT_EQ(tfvm_call_views(h.context, f, &bad, 1, &v, 1, &e), TFVM_TYPE);
  EXPECT_EQ(tfvm_call_views(h.context, f, &v, 1, &bad, 1, &e), TFVM_TYPE);
  bad = v;
  bad.rank = 0;
  EXPECT_EQ(tfvm_call_views(h.context, f, &bad, 1, &v, 1, &e), TFVM_TYPE);
  EXPECT_EQ(h.error(), "type input 0 must be f32[2], not f32");
  EXPECT_EQ(tfvm_call_views(h.context, f, &v, 1, &v, 1, &e), TFVM_OK);  // in place
  EXPECT_EQ(x[1], 4);
}

TEST_F(CApiFailures, CallsWithValues) {
  tfvm_function* f = h.prepare("@square", "f32[2]");
  tfvm_value *in = nullptr, *out = nullptr, *foreign = nullptr;
  Host other;
  ASSERT_EQ(tfvm_value_copy(h.vm, &v, &in, &e), TFVM_OK);
  ASSERT_EQ(tfvm_value_copy(other.vm, &v, &foreign, &e), TFVM_OK);
  EXPECT_EQ(tfvm_call_values(nullptr, f, &in, 1, &out, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call_values(h.context, f, nullptr, 1, &out, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call_values(h.context, f, &in, 1, &out, 0, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call_values(h.context, f, &out, 1, &out, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call_values(h.context, f, &foreign, 1, &out, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_call_values(h.context, f, &in, 0, &out, 1, &e), TFVM_TYPE);
  tfvm_function* pick = h.prepare("@pick");
  tfvm_value* wrong[] = {in, in};
  EXPECT_EQ(tfvm_call_values(h.context, pick, wrong, 2, &out, 1, &e), TFVM_TYPE);
  EXPECT_EQ(h.error(), "type input 0 must be f32[3], not f32[2]");
  EXPECT_EQ(out, nullptr);
  tfvm_value_release(in);
  tfvm_value_release(foreign);
}

TEST_F(CApiFailures, Values) {
  tfvm_value* value = nullptr;
  EXPECT_EQ(tfvm_value_copy(nullptr, &v, &value, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_value_over(h.vm, nullptr, nullptr, nullptr, &value, &e), TFVM_MISUSE);
  v.size = 8;
  EXPECT_EQ(tfvm_value_copy(h.vm, &v, &value, &e), TFVM_TYPE);
  EXPECT_EQ(tfvm_value_over(h.vm, &v, nullptr, nullptr, &value, &e), TFVM_TYPE);
  v.size = sizeof v;
  const std::vector<std::int64_t> huge{std::int64_t{1} << 40, std::int64_t{1} << 40}, large{std::int64_t{1} << 45};
  tfvm_view bad = view(x, huge, TFVM_F32);
  EXPECT_EQ(tfvm_value_copy(h.vm, &bad, &value, &e), TFVM_TYPE);
  const std::vector<std::int64_t> still{0};
  bad = view(x, large, TFVM_F32, &still);
  EXPECT_EQ(tfvm_value_copy(h.vm, &bad, &value, &e), TFVM_MEMORY);
  EXPECT_EQ(value, nullptr);
  tfvm_value_release(nullptr);
  EXPECT_EQ(tfvm_value_view(nullptr, &v, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_value_read(nullptr, &v, &e), TFVM_MISUSE);
  ASSERT_EQ(tfvm_value_copy(h.vm, &v, &value, &e), TFVM_OK);
  EXPECT_EQ(tfvm_value_view(value, nullptr, &e), TFVM_MISUSE);
  bad = v;
  bad.dtype = TFVM_I32;
  EXPECT_EQ(tfvm_value_read(value, &bad, &e), TFVM_TYPE);
  EXPECT_EQ(h.error(), "type the value is f32[2], not i32[2]");
  bad.rank = -1;
  EXPECT_EQ(tfvm_value_read(value, &bad, &e), TFVM_TYPE);
  EXPECT_EQ(tfvm_format(&bad, nullptr, 0), 0u);
  EXPECT_EQ(tfvm_format(nullptr, nullptr, 0), 0u);
  DLManagedTensor* dl = nullptr;
  EXPECT_EQ(tfvm_value_to_dlpack(nullptr, &dl, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_value_from_dlpack(h.vm, nullptr, &value, &e), TFVM_MISUSE);
  tfvm_value_release(value);
}

TEST_F(CApiFailures, Builders) {
  tfvm_builder* b = nullptr;
  EXPECT_EQ(tfvm_builder_create(nullptr, "f", &b, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_builder_create(h.vm, nullptr, &b, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_build_param(nullptr, nullptr), -1);
  EXPECT_EQ(tfvm_build_constant(nullptr, &v), -1);
  EXPECT_EQ(tfvm_build_op(nullptr, "neg", nullptr, 0, nullptr), -1);
  tfvm_ref r = 0;
  tfvm_build_statement(nullptr, "neg 1", nullptr, 0, &r, 1);
  EXPECT_EQ(r, -1);
  EXPECT_EQ(tfvm_builder_finish(nullptr, nullptr, 0, &e), TFVM_MISUSE);
  EXPECT_EQ(std::string(tfvm_builder_text(nullptr)), "");
  tfvm_builder_release(nullptr);
  ASSERT_EQ(tfvm_builder_create(h.vm, "square", &b, &e), TFVM_OK);
  EXPECT_EQ(tfvm_builder_finish(b, nullptr, 1, &e), TFVM_MISUSE);
  EXPECT_EQ(tfvm_builder_finish(b, nullptr, 0, &e), TFVM_NAME);  // taken
  tfvm_builder_release(b);
}

TEST_F(CApiFailures, ErrorsFitWhatTheCallerHas) {
  tfvm_error small = TFVM_ERROR;
  small.size = offsetof(tfvm_error, message) + 8;
  EXPECT_EQ(tfvm_load_text(h.vm, "func", 4, "π.tfa", nullptr, &small), TFVM_SYNTAX);
  EXPECT_EQ(std::string(small.message).size(), 7u);
  small.size = 4;
  small.code = TFVM_OK;
  EXPECT_EQ(tfvm_vm_create(nullptr, nullptr, &small), TFVM_MISUSE);
  EXPECT_EQ(small.code, TFVM_OK);
  EXPECT_EQ(tfvm_vm_create(nullptr, nullptr, nullptr), TFVM_MISUSE);
}

TEST_F(CApiFailures, Names) {
  EXPECT_EQ(std::string(tfvm_status_name(TFVM_PAUSED)), "paused");
  EXPECT_EQ(std::string(tfvm_status_name(99)), "?");
  EXPECT_EQ(std::string(tfvm_dtype_name(TFVM_BF16)), "bf16");
  EXPECT_EQ(std::string(tfvm_dtype_name(-1)), "?");
  EXPECT_EQ(tfvm_dtype_bytes(TFVM_C128), 16u);
  EXPECT_EQ(tfvm_dtype_bytes(99), 0u);
  EXPECT_EQ(tfvm_version(), static_cast<std::uint32_t>(TFVM_VERSION));
}

}  // namespace
}  // namespace tfvm::testing
