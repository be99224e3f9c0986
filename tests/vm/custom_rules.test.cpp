// Custom ops with rules of their own, under every transform; and those without, which say what is missing.
#include <cmath>

#include <gtest/gtest.h>

#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

// cube is differentiated by `derivative`, sine and cosine by each other, half by custom_jvp, twice by custom_vjp,
// opaque not at all; cube is batched by its rule, dot3 by another op, scale writes.
constexpr std::string_view kProgram = R"(
extern op "cube"(%x: f64[..a]) -> f64[..a] {derivative=@cube_d, custom_vmap=@cube_b}
extern op "sine"(%x: f64[..a]) -> f64[..a] {derivative=@sine_d}
extern op "cosine"(%x: f64[..a]) -> f64[..a] {derivative=@cosine_d}
extern op "half"(%x: f64[..a]) -> f64[..a] {custom_jvp=@half_j}
extern op "twice"(%x: f64[..a]) -> f64[..a] {custom_vjp=[@twice_f, @twice_b]}
extern op "exponent"(%x: f64[..a]) -> f64[..a] {derivative=@exponent_d}
extern op "opaque"(%x: f64[..a]) -> f64[..a]
extern op "dot3"(%x: f64[3], %y: f64[3]) -> f64 {custom_vmap="dot3s", derivative=@dot3_d}
extern op "dot3s"(%x: f64[n,3], %y: f64[n,3]) -> f64[n]
extern op "scale"(mut %x: f64[..a], %k: f64) -> f64 {derivative=@scale_d}
extern op "shift"(mut %x: f64[..a], %k: f64)
extern op "add_into"(mut %x: f64[..a], %y: f64[..a]) {derivative=@add_into_d}
extern op "halve"(%x: f64[..a]) -> f64[..a] {derivative=@halved_d}
extern op "bad"(%x: f64[..a]) -> f64[..a] {derivative=@bad_d}

func @cube_d(%x: f64[..a], %y: f64[..a], %t: f64[..a]) {
  %s = mul %x, %x
  %k = mul %s, 3
  %d = mul %k, %t
  ret %d
}
func @cube_b(%x: f64[b,..a]) {
  %f = reshape %x {shape=[(size(%x, none))]}
  %c = cube %f
  %y = reshape %c {shape=[b, a]}
  ret %y
}
func @sine_d(%x: f64[..a], %y: f64[..a], %t: f64[..a]) {
  %c = cosine %x
  %d = mul %c, %t
  ret %d
}
func @cosine_d(%x: f64[..a], %y: f64[..a], %t: f64[..a]) {
  %s = sine %x
  %n = neg %s
  %d = mul %n, %t
  ret %d
}
func @exponent_d(%x: f64[..a], %y: f64[..a], %t: f64[..a]) {
  %e = exponent %x
  %d = mul %e, %t
  ret %d
}
func @half_j(%x: f64[..a], %t: f64[..a]) {
  %y = half %x
  %d = mul %t, 0.5
  ret %y, %d
}
func @twice_f(%x: f64[..a]) {
  %y = twice %x
  ret %y
}
func @twice_b(%c: f64[..a]) {
  %g = mul %c, 2
  ret %g
}
func @dot3_d(%x: f64[3], %y: f64[3], %r: f64, %s: f64[3], %t: f64[3]) {
  %a = dot %s, %y
  %b = dot %x, %t
  %d = add %a, %b
  ret %d
}
func @halved_d(%x: f64[..a], %y: f64[..a], %t: f64[..a]) {
  %d = half %t
  ret %d
}
func @halved(%x: f64) -> f64 {
  %y = halve %x
  ret %y
}
func @scale_d(%x: f64[..a], %k: f64, %r: f64, %y: f64[..a], %dx: f64[..a], %dk: f64) {
  %p = mul %dx, %k
  %q = mul %x, %dk
  %dy = add %p, %q
  ret %dk, %dy
}
func @add_into_d(%x: f64[..a], %y: f64[..a], %new: f64[..a], %dx: f64[..a], %dy: f64[..a]) {
  %d = add %dx, %dy
  ret %d
}
func @bad_d(%x: f64[..a], %y: f64[..a]) {
  ret %y
}

func @cubes(%x: f64[3]) -> f64 {
  %c = cube %x
  %s = reduce_sum %c
  ret %s
}
func @wave(%x: f64) -> f64 {
  %s = sine %x
  %y = mul %s, %x
  ret %y
}
func @growth(%x: f64) -> f64 {
  %y = exponent %x
  ret %y
}
func @halves(%x: f64) -> f64 {
  %h = half %x
  %y = mul %h, %x
  ret %y
}
func @twices(%x: f64) -> f64 {
  %h = twice %x
  %y = mul %h, %x
  ret %y
}
func @opaques(%x: f64) -> f64 {
  %y = opaque %x
  ret %y
}
func @bads(%x: f64) -> f64 {
  %y = bad %x
  ret %y
}
func @dots(%x: f64[3], %y: f64[3]) -> f64 {
  %d = dot3 %x, %y
  %r = mul %d, %d
  ret %r
}
func @written(%x: f64[4], %k: f64) -> f64 {
  %c = clone %x
  %v = narrow %c {axis=0, start=1, length=2}
  %o = scale %v, %k
  %s = mul %c, %c
  %r = reduce_sum %s
  %t = add %r, %o
  ret %t
}
func @unruled(%x: f64[4], %k: f64) -> f64 {
  %c = clone %x
  shift %c, %k
  %r = reduce_sum %c
  ret %r
}
func @overlapping(%x: f64[4]) -> f64 {
  %c = clone %x
  %a = narrow %c {axis=0, start=0, length=3}
  %b = narrow %c {axis=0, start=1, length=3}
  add_into %a, %b
  %r = reduce_sum %c
  ret %r
}
func @apart(%x: f64[4]) -> f64 {
  %c = clone %x
  %a = narrow %c {axis=0, start=0, length=2}
  %b = narrow %c {axis=0, start=2, length=2}
  add_into %a, %b
  %s = mul %c, %c
  %r = reduce_sum %s
  ret %r
}
)";

void expect_has(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), text.npos) << text; }

struct CustomRules : ::testing::Test {
  std::unique_ptr<VM> vm = *VM::create({.log = [this](std::string_view category, const std::string& message) {
    if (category == "batch_rule") warnings.push_back(message);
  }});
  Context context{vm->budget()};
  std::map<std::string, int> calls;
  std::vector<std::string> warnings;

  CustomRules() {
    elementwise("cube", [](double x) { return x * x * x; });
    elementwise("sine", [](double x) { return std::sin(x); });
    elementwise("cosine", [](double x) { return std::cos(x); });
    elementwise("exponent", [](double x) { return std::exp(x); });
    elementwise("half", [](double x) { return x / 2; });
    elementwise("twice", [](double x) { return x * 2; });
    elementwise("opaque", [](double x) { return x + 1; });
    elementwise("bad", [](double x) { return x; });
    const auto dots = [](auto args, auto results) {
      for (std::int64_t k = 0; k < results[0].elements(); ++k) {
        const double *x = args[0]->template as<double>() + 3 * k, *y = args[1]->template as<double>() + 3 * k;
        results[0].template as<double>()[k] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
      }
    };
    add("dot3", dots);
    add("dot3s", dots);
    add("scale", [](auto args, auto results) {  // gives its factor
      for (std::int64_t i = 0; i < args[0]->elements(); ++i)
        args[0]->template as<double>()[i] *= *args[1]->template as<double>();
      *results[0].template as<double>() = *args[1]->template as<double>();
    });
    add("shift", [](auto args, auto) {
      for (std::int64_t i = 0; i < args[0]->elements(); ++i)
        args[0]->template as<double>()[i] += *args[1]->template as<double>();
    });
    add("add_into", [](auto args, auto) {
      for (std::int64_t i = 0; i < args[0]->elements(); ++i)
        args[0]->template as<double>()[i] += args[1]->template as<double>()[i];
    });
    const Status s = vm->load_text(kProgram, "rules.tfa");
    EXPECT_TRUE(s) << (s ? "" : s.error().message);
  }

  template <class F>
  void add(const std::string& name, F f, ExternRules rules = {}) {
    CustomOp op;
    op.rules = std::move(rules);
    op.kernel = [f, name, this](std::span<const CustomArg> args, std::span<const Tensor> results) -> Status {
      ++calls[name];
      f(args, results);
      return ok();
    };
    vm->register_op(name, std::move(op));
  }
  template <class F>
  void elementwise(const std::string& name, F f, ExternRules rules = {}) {
    const auto each = [f](auto args, auto results) {
      for (std::int64_t k = 0; k < results[0].elements(); ++k)
        results[0].template as<double>()[k] = f(args[0]->template as<double>()[k]);
    };
    add(name, each, std::move(rules));
  }

  std::vector<double> run(const std::string& callee, const std::vector<std::string>& inputs) {
    std::vector<Tensor> in;
    std::vector<TypeId> types;
    for (const std::string& text : inputs) {
      in.push_back(*parse_tensor(text));
      types.push_back(vm->type_of(in.back()));
    }
    const Result<Function> f = vm->entry(callee, types);
    EXPECT_TRUE(f) << callee << ": " << (f ? "" : f.error().message);
    if (!f) return {};
    const auto out = vm->call(context, *f, in);
    EXPECT_TRUE(out) << callee << ": " << (out ? "" : out.error().message);
    std::vector<double> all;
    for (std::size_t k = 0; out && k < out->size(); ++k)
      all.insert(all.end(), (*out)[k].as<double>(), (*out)[k].as<double>() + (*out)[k].elements());
    return all;
  }
  std::string error(const std::string& callee, const std::vector<std::string>& types) {
    std::vector<TypeId> ids;
    for (const std::string& text : types) ids.push_back(vm->type_of(*parse_tensor(text)));
    const Result<Function> f = vm->entry(callee, ids);
    return f ? "" : std::string(name(f.error().code)) + ": " + f.error().message;
  }
  void expect(const std::string& callee, const std::vector<std::string>& inputs, const std::vector<double>& wanted) {
    const std::vector<double> got = run(callee, inputs);
    ASSERT_EQ(got.size(), wanted.size()) << callee;
    for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], wanted[k], 1e-12) << callee << " " << k;
  }
};

const std::string kX = "f64[3] [1, 2, -3]", kXs = "f64[2,3] [[1, 2, -3], [0.5, 0, 4]]";

TEST_F(CustomRules, DerivativesOfEveryOrderAndMode) {
  expect("@cubes", {kX}, {-18});
  expect("grad(@cubes)", {kX}, {3, 12, 27});
  expect("jvp(@cubes)", {kX, "f64[3] [1, 1, 1]"}, {-18, 42});
  expect("vjp(@cubes)", {kX, "f64 2"}, {-18, 6, 24, 54});
  expect("jacfwd(@cubes)", {kX}, {3, 12, 27});
  expect("jacrev(@cubes)", {kX}, {3, 12, 27});
  expect("hessian(@cubes)", {kX}, {6, 0, 0, 0, 12, 0, 0, 0, -18});
  expect("jacrev(jacrev(@cubes))", {kX}, {6, 0, 0, 0, 12, 0, 0, 0, -18});
  expect("hvp(@cubes)", {kX, "f64[3] [1, 1, 1]"}, {-18, 6, 12, -18});
  EXPECT_GT(calls["cube"], 0);
}

TEST_F(CustomRules, RulesThatUseOtherOpsAndTheirOwn) {
  const double x = 0.7, s = std::sin(x), c = std::cos(x), e = std::exp(x);
  expect("grad(@wave)", {"f64 0.7"}, {s + x * c});
  expect("grad(grad(@wave))", {"f64 0.7"}, {2 * c - x * s});
  expect("grad(grad(grad(@wave)))", {"f64 0.7"}, {-3 * s - x * c});
  expect("grad(grad(grad(@growth)))", {"f64 0.7"}, {e});
  expect("vmap(grad(grad(@growth)))", {"f64[2] [0.7, 0]"}, {e, 1});
  expect("jvp(@halves)", {"f64 3", "f64 1"}, {4.5, 3});
  expect("grad(@halves)", {"f64 3"}, {3});
  expect("grad(grad(@halves))", {"f64 3"}, {1});
  expect("grad(@twices)", {"f64 3"}, {12});
  expect_has(error("jvp(@twices)", {"f64 3", "f64 1"}), "unsupported: forward mode through @twice, which has");
}

TEST_F(CustomRules, BatchesByTheRule) {
  expect("vmap(@cubes)", {kXs}, {-18, 64.125});
  EXPECT_EQ(calls["cube"], 1);
  EXPECT_TRUE(warnings.empty());
  expect("vmap(grad(@cubes))", {kXs}, {3, 12, 27, 0.75, 0, 48});
  expect("grad(@cubes)", {kX}, {3, 12, 27});
  expect("vmap(vmap(@cubes))", {"f64[1,2,3] [[[1, 2, -3], [0.5, 0, 4]]]"}, {-18, 64.125});
  expect("jvp(vmap(@cubes))", {kXs, "f64[2,3] [[1, 1, 1], [1, 0, 0]]"}, {-18, 64.125, 42, 0.75});
  expect("vmap(hessian(@cubes))", {"f64[1,3] [[1, 2, -3]]"}, {6, 0, 0, 0, 12, 0, 0, 0, -18});
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CustomRules, ARuleMayBeAnotherOp) {
  const std::vector<std::string> in{kXs, "f64[3] [1, 1, 2]"};
  expect("vmap(@dots, in_dims=[0, none])", in, {9, 72.25});
  EXPECT_EQ(calls["dot3s"], 1);
  EXPECT_EQ(calls["dot3"], 0);
  // The rule rides on the batched op: dot3s has no derivative.
  expect("jvp(vmap(@dots, in_dims=[0, none]))",
         {kXs, "f64[3] [1, 1, 2]", "f64[2,3] [[1, 0, 0], [0, 1, 0]]", "f64[3] [0, 0, 0]"}, {9, 72.25, -6, 17});
  expect("vmap(grad(@dots), in_dims=[0, none])", in, {-6, -6, -12, 17, 17, 34});
}

TEST_F(CustomRules, WithoutARuleLaneByLane) {
  expect("vmap(@wave)", {"f64[2] [0.7, 0]"}, {0.7 * std::sin(0.7), 0});
  EXPECT_EQ(calls["sine"], 2);
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings[0], "[sine] has no batching rule: it loops over 2 lanes");
  expect("vmap(grad(@wave))", {"f64[2] [0.7, 0]"}, {std::sin(0.7) + 0.7 * std::cos(0.7), 0});
  expect("vmap(grad(grad(@wave)))", {"f64[1] [0.7]"}, {2 * std::cos(0.7) - 0.7 * std::sin(0.7)});
  expect("jacfwd(vmap(@wave))", {"f64[2] [0.7, 0]"}, {std::sin(0.7) + 0.7 * std::cos(0.7), 0, 0, 0});
  expect("vmap(@opaques)", {"f64[2] [1, 2]"}, {2, 3});
}

TEST_F(CustomRules, WithoutARuleTheErrorNamesTheOp) {
  const std::string missing =
      "[opaque] has no derivative rule: give it `derivative`, `custom_jvp` or `custom_vjp` where";
  for (const char* f : {"grad(@opaques)", "jacfwd(@opaques)", "vjp(@opaques)", "hessian(@opaques)"}) {
    std::vector<std::string> in(std::string_view(f).starts_with("vjp") ? 2 : 1, "f64 1");
    expect_has(error(f, in), "unsupported: " + missing);
  }
  expect_has(error("vmap(grad(@opaques))", {"f64[2] [1, 2]"}), missing);
  expect_has(error("grad(@bads)", {"f64 1"}), "[bad] its rule derivative can't be made: @bad_d takes 2");
  elementwise("halve", [](double x) { return x / 2; });
  expect("jvp(@halved)", {"f64 3", "f64 1"}, {1.5, 0.5});
  expect_has(error("grad(@halved)", {"f64 1"}), "[half] can't be transposed: a derivative rule may use custom ops of");
  expect_has(error("grad(@unruled)", {"f64[4] [1, 2, 3, 4]", "f64 1"}), "[shift] has no derivative rule");
}

TEST_F(CustomRules, OfTheHostWhenItRegisters) {
  expect_has(error("grad(@opaques)", {"f64 1"}), "has no derivative rule");
  const auto square = [](double x) { return x * x; };
  elementwise("opaque", square, {.derivative = "@cubes"});
  expect_has(error("grad(@opaques)", {"f64 1"}), "[opaque] its rule derivative can't be made");
  elementwise("opaque", square, {.derivative = "no_such"});
  expect_has(error("grad(@opaques)", {"f64 1"}), "there is no custom op 'no_such'");
  elementwise("opaque", square, {.derivative = "@no_such"});
  expect_has(error("grad(@opaques)", {"f64 1"}), "@no_such is not defined");
  ASSERT_TRUE(
      vm->load_text("func @opaque_d(%x: f64[..a], %y: f64[..a], %t: f64[..a]) {\n  %k = mul %x, 2\n  %d = mul "
                    "%k, %t\n  ret %d\n}\n",
                    "more.tfa"));
  elementwise("opaque", square, {.derivative = "@opaque_d", .custom_vmap = "opaque"});
  expect("grad(@opaques)", {"f64 3"}, {6});
  warnings.clear();
  calls.clear();
  expect("vmap(vmap(grad(grad(@opaques))))", {"f64[1,2] [[1, 2]]"}, {2, 2});
  expect("vmap(@opaques, in_dims=[0])", {"f64[3] [1, 2, 3]"}, {1, 4, 9});
  EXPECT_EQ(calls["opaque"], 1);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CustomRules, OfOpsThatWriteAreAboutTheirFunctionalForm) {
  const std::vector<std::string> in{"f64[4] [1, 2, 3, 4]", "f64 2"};
  expect("@written", in, {1 + 16 + 36 + 16 + 2});
  expect("grad(@written, argnums=[0, 1])", in, {2, 16, 24, 8, 2 * 2 * (4 + 9) + 1});
  expect("jvp(@written)", {in[0], in[1], "f64[4] [0, 0, 0, 0]", "f64 1"}, {71, 53});
  expect("hessian(@written, argnums=[1])", in, {26});
  expect("vmap(grad(@written, argnums=[1]), in_dims=[none, 0])", {in[0], "f64[2] [2, 0]"}, {53, 1});
  expect("grad(@apart)", {in[0]}, {8, 12, 14, 20});
  expect_has(error("grad(@overlapping)", {in[0]}), "[add_into] operands 0 and 1 overlap and one is written");
  expect("vmap(@overlapping)", {"f64[1,4] [[1, 2, 3, 4]]"}, run("@overlapping", {in[0]}));
  expect("vmap(@unruled, in_dims=[none, 0])", {in[0], "f64[2] [0, 1]"}, {10, 14});
}

TEST_F(CustomRules, MalformedDeclarations) {
  const auto load = [&](const std::string& rules) {
    const Status s = vm->load_text("extern op \"x\"(%a: f64) -> f64 {" + rules + "}\n", "x.tfa");
    return s ? "" : s.error().message;
  };
  expect_has(load("custom_vjp=@cubes"), "[x] custom_vjp must be [@fwd, @bwd]");
  expect_has(load("derivative=3"), "[x] derivative must be a function");
  expect_has(load("batching=@cubes"), "[x] has no use for 'batching'");
  expect_has(load("derivative=@nowhere"), "@nowhere");
}

}  // namespace
}  // namespace tfvm
