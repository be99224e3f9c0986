// Functions that write, by the host: as written, by their functional forms, and made functional.
#include <array>

#include "tests/vm/capi/host.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
buffer @count: f64 = 10
buffer @table: f64[2,3] = [[1, 2, 3], [4, 5, 6]]
param @w: f64[3] = [1, 2, 3]

func @step(mut %x: f64[3]) -> f64[3] {
  add_ @count, 1.0
  %row = select @table {axis=0, index=1}
  add_ %row, %x
  mul_ %x, @w
  %r = add %x, @count
  ret %r
}

func @g(mut %x: f64[3], mut %y: f64[3]) -> (f64[3], f64[3]) {
  mul_ %x, 2.0
  add_ %y, 1.0
  %r = add %x, %y
  ret %r, %y
}

func @square(%x: f64[2]) -> f64[2] {
  %y = mul %x, %x
  ret %y
}

func @twice(mut %x: f64[2]) {
  mul_ %x, 2.0
  ret
}
)";

tfvm_vm_options functionalize() {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  o.flags = TFVM_FUNCTIONALIZE;
  return o;
}

using Three = std::array<double, 3>;

std::vector<double> state(Host& h, const char* name) {
  tfvm_view v{};
  v.size = sizeof v;
  EXPECT_EQ(tfvm_state_view(h.vm, name, &v, &h.e), TFVM_OK);
  std::int64_t n = 1;
  for (int k = 0; k < v.rank; ++k) n *= v.dims[k];
  const auto* p = static_cast<const double*>(v.data);
  return {p, p + n};
}

TEST(CApiFunctionalize, WrittenBuffersAndInputs) {
  const tfvm_vm_options o = functionalize();
  for (const tfvm_vm_options* options : {static_cast<const tfvm_vm_options*>(nullptr), &o}) {
    Host h(kProgram, options);
    tfvm_function* step = h.prepare("@step");
    Three x{1, 1, 2}, r{};
    for (int call = 0; call < 2; ++call) ASSERT_EQ(h.call(step, {x.data()}, {r.data()}), TFVM_OK) << h.error();
    EXPECT_EQ(x, (Three{1, 4, 18}));
    EXPECT_EQ(r, (Three{13, 16, 30}));
    EXPECT_EQ(state(h, "count"), (std::vector<double>{12}));
    EXPECT_EQ(state(h, "table"), (std::vector<double>{1, 2, 3, 4 + 1 + 1, 5 + 1 + 2, 6 + 2 + 6}));
  }
}

// The same function with its state as inputs, and new values behind its outputs: inputs first, then buffers.
TEST(CApiFunctionalize, MadeFunctional) {
  Host h(kProgram);
  tfvm_function* f = nullptr;
  ASSERT_EQ(tfvm_make_functional(h.vm, "@step", nullptr, &f, &h.e), TFVM_OK) << h.error();
  h.functions.push_back(f);
  std::vector<std::string> names;
  for (std::size_t k = 0; tfvm_function_state(f, k); ++k) names.emplace_back(tfvm_function_state(f, k));
  EXPECT_EQ(names, (std::vector<std::string>{"count", "table", "w"}));
  ASSERT_EQ(tfvm_input_count(f), 4u);
  ASSERT_EQ(tfvm_output_count(f), 4u);
  double count = 10, new_count = 0;
  std::array<double, 6> table{1, 2, 3, 4, 5, 6}, new_table{};
  const Three w{1, 2, 3};
  Three x{1, 1, 2}, r{}, new_x{};
  ASSERT_EQ(
      h.call(f, {&count, table.data(), w.data(), x.data()}, {r.data(), new_x.data(), &new_count, new_table.data()}),
      TFVM_OK)
      << h.error();
  EXPECT_EQ(x, (Three{1, 1, 2}));
  EXPECT_EQ(new_x, (Three{1, 2, 6}));
  EXPECT_EQ(r, (Three{12, 13, 17}));
  EXPECT_EQ(new_count, 11);
  EXPECT_EQ(new_table, (std::array<double, 6>{1, 2, 3, 5, 6, 8}));
  EXPECT_EQ(state(h, "count"), (std::vector<double>{10}));
  EXPECT_EQ(table[3], 4);
  // The host may give the memory of a buffer for its old and its new value: that is the function as written.
  ASSERT_EQ(h.call(f, {&count, table.data(), w.data(), x.data()}, {r.data(), x.data(), &count, table.data()}), TFVM_OK)
      << h.error();
  EXPECT_EQ(x, new_x);
  EXPECT_EQ(count, 11);
  EXPECT_EQ(table, new_table);
}

TEST(CApiFunctionalize, InputsThatShareMemory) {
  const tfvm_vm_options o = functionalize();
  for (const tfvm_vm_options* options : {static_cast<const tfvm_vm_options*>(nullptr), &o}) {
    Host h(kProgram, options);
    tfvm_function* g = h.prepare("@g");
    Three r{}, y{};
    Three same{1, 2, 3};
    ASSERT_EQ(h.call(g, {same.data(), same.data()}, {r.data(), y.data()}), TFVM_OK) << h.error();
    EXPECT_EQ(same, (Three{3, 5, 7}));
    EXPECT_EQ(r, (Three{6, 10, 14}));
    EXPECT_EQ(y, same);
    std::array<double, 5> base{1, 1, 1, 1, 1};
    ASSERT_EQ(h.call(g, {base.data(), base.data() + 2}, {r.data(), y.data()}), TFVM_OK) << h.error();
    EXPECT_EQ(base, (std::array<double, 5>{2, 2, 3, 2, 2}));
    EXPECT_EQ(r, (Three{5, 4, 5}));
    EXPECT_EQ(y, (Three{3, 2, 2}));
    const std::vector<std::int64_t> dims{3}, back{-1};
    std::array<double, 4> reversed{1, 2, 3, 4};
    const tfvm_view in[] = {view(reversed.data() + 2, dims, TFVM_F64, &back),
                            view(reversed.data() + 1, dims, TFVM_F64)};
    const tfvm_view out[] = {view(r.data(), dims, TFVM_F64), view(y.data(), dims, TFVM_F64)};
    ASSERT_EQ(tfvm_call_views(h.context, g, in, 2, out, 2, &h.e), TFVM_OK) << h.error();
    EXPECT_EQ(reversed, (std::array<double, 4>{2, 5, 7, 5}));
    EXPECT_EQ(r, (Three{12, 12, 7}));
  }
}

TEST(CApiFunctionalize, FlagsAreKnownOnes) {
  tfvm_vm_options o = TFVM_VM_OPTIONS;
  tfvm_vm* vm = nullptr;
  tfvm_error e = TFVM_ERROR;
  o.flags = std::uint64_t{1} << 40;
  EXPECT_EQ(tfvm_vm_create(&o, &vm, &e), TFVM_MISUSE);
  // An older header ends before the flags.
  o.flags = 0;
  o.size = offsetof(tfvm_vm_options, flags);
  ASSERT_EQ(tfvm_vm_create(&o, &vm, &e), TFVM_OK);
  tfvm_vm_release(vm);
}

// What a pack keeps of a value in the VM's memory, and a write into it.
TEST(CApiFunctionalize, PacksAndWrites) {
  Host h(kProgram);
  tfvm_function *linearize = h.prepare("linearize(@square)", "f64[2]"), *twice = h.prepare("@twice");
  double data[] = {1, 2}, ones[] = {1, 1};
  const std::vector<std::int64_t> dims{2};
  const tfvm_view vdata = view(data, dims, TFVM_F64), vones = view(ones, dims, TFVM_F64);
  for (const bool own : {true, false}) {
    tfvm_value *x = nullptr, *t = nullptr, *out[2] = {}, *d = nullptr;
    if (own)
      ASSERT_EQ(tfvm_value_copy(h.vm, &vdata, &x, &h.e), TFVM_OK);
    else
      ASSERT_EQ(tfvm_value_over(h.vm, &vdata, nullptr, nullptr, &x, &h.e), TFVM_OK);
    ASSERT_EQ(tfvm_value_copy(h.vm, &vones, &t, &h.e), TFVM_OK);
    ASSERT_EQ(tfvm_call_values(h.context, linearize, &x, 1, out, 2, &h.e), TFVM_OK) << h.error();
    ASSERT_EQ(tfvm_call_values(h.context, twice, &x, 1, nullptr, 0, &h.e), TFVM_OK) << h.error();
    tfvm_function* lin = nullptr;
    tfvm_value* args[] = {out[1], t};
    ASSERT_EQ(tfvm_prepare_values(h.vm, "lin(@square)", args, 2, &lin, &h.e), TFVM_OK) << h.error();
    const tfvm_status s = tfvm_call_values(h.context, lin, args, 2, &d, 1, &h.e);
    if (own) {
      EXPECT_EQ(s, TFVM_TYPE);
      EXPECT_EQ(std::string(h.e.message).substr(0, 76),
                "a pack that keeps f64[2] of its inputs is used after mul_ in line 28 has wri");
    } else {  // the host's memory was copied
      EXPECT_EQ(s, TFVM_OK) << h.error();
    }
    for (tfvm_value* v : {x, t, out[0], out[1], d}) tfvm_value_release(v);
    tfvm_function_release(lin);
  }
}

}  // namespace
}  // namespace tfvm::testing
