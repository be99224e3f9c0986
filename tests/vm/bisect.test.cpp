// Planted miscompiles: bisect names the stage (and the line of the nest) of each, and makes the program small.
#include "vm/bisect/bisect.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "bytecode/callees.h"
#include "bytecode/rewriter.h"
#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

using NestPlant = std::function<void(Nest&)>;

// --- what goes wrong in nests

NestPlant op_becomes(Op from, Op to) {
  return [=](Nest& n) {
    for (NestNode& node : n.nodes)
      if (node.kind == NestNodeKind::Op && node.op == from) node.op = to;
  };
}

NestPlant operands_swap(Op op) {
  return [=](Nest& n) {
    for (NestNode& node : n.nodes)
      if (node.kind == NestNodeKind::Op && node.op == op)
        std::swap(node.in[op == Op::select], node.in[1 + (op == Op::select)]);
  };
}

bool has(const Nest& n, Op op) {
  return std::ranges::any_of(n.nodes, [&](const NestNode& x) { return x.kind == NestNodeKind::Op && x.op == op; });
}

NestPlant constants_grow(Op beside) {
  return [=](Nest& n) {
    if (!has(n, beside)) return;
    for (NestNode& node : n.nodes)
      if (node.kind == NestNodeKind::Constant) node.bits += 1 << 20;
  };
}

NestPlant loads_stand_still(Op beside) {
  return [=](Nest& n) {
    if (!has(n, beside)) return;
    for (const NestNode& node : n.nodes)
      if (node.kind == NestNodeKind::Load && !n.accesses[node.access].strides.empty())
        n.accesses[node.access].strides.back() = 0;
  };
}

NestPlant reduces_by(Op from, Op to) {
  return [=](Nest& n) {
    for (Reduction& r : n.reductions)
      if (r.op == from) r.op = to;
  };
}

// Only where a merge has brought both together.
NestPlant where_both(Op a, Op b, const NestPlant& plant) {
  return [=](Nest& n) {
    if (has(n, a) && has(n, b)) plant(n);
  };
}

// --- and in passes

FunctionId op_becomes_in(Tables& t, FunctionId f, Op from, Op to) {
  const Body& body = t.bodies[f.body];
  if (body.full) return f;
  Builder b(t, {nullptr, false}, f, "");
  Rewriter w(b, f);
  for (std::uint32_t i = 0; i < body.num_instrs(); ++i) {
    const Instr in = body.instr(i);
    if (in.op == Op::constant) {
      w.copy(static_cast<InstrId>(i));
      continue;
    }
    w.begin(static_cast<InstrId>(i));
    const auto attrs =
        map_callees(t.attrs, in.attrs, [&](FunctionId g) { return Result<FunctionId>(op_becomes_in(t, g, from, to)); });
    const auto results = b.emit_all(in.op == from ? to : in.op, w.operands(in), *attrs);
    for (std::uint32_t k = 0; k < results.size(); ++k) w.map(in.result(k), results[k]);
  }
  const Result<FunctionId> made = w.seal();
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : f;
}

struct PassPlant {
  Stage stage;
  Op from, to;
};

// --- programs

// 60 instructions, and what goes wrong is in one of them: `line`, which gives %m of %a.
std::string chain(const std::string& line, const char* type = "f32[300]") {
  std::string s = std::string("func @f(%x: ") + type + ", %y: " + type + ") {\n";
  std::string a = "%x", b = "%y";
  const char* ops[] = {"hypot", "mul", "div", "atan2", "add"};
  for (int k = 0; k < 60; ++k) {
    const std::string v = "%v" + std::to_string(k);
    if (k == 37) {
      s += "  %a = tanh " + a + "\n  " + line + "  // culprit\n";
      a = "%m";
    }
    s += "  " + v + " = " + ops[k * 7 % 5] + " " + a + ", " + b + "\n  " + v + "t = atan " + v + "\n";
    b = a;
    a = v + "t";
  }
  return s + "  ret " + a + ", " + b + "\n}\n";
}

std::string loop(const std::string& line, const char* type, const char* length) {
  return std::string("func @f(%x: ") + type + ", %y: " + type + R"() {
  %p = mul %x, %y
  %z, %w, %hs = scan (%c = %p, %e = %y;) {length=)" +
         length + R"(} {
    %g = mul %c, 0.5
    %h = atan %g
    %a = add %h, %e
    )" + line +
         R"(  // culprit
    %n = atan2 %m, %h
    %q = mul %e, 0.75
    %r = tanh %q
    yield %n, %r; %h
  }
  %s = add %z, %x
  ret %s, %w, %hs
}
)";
}

struct Miscompile {
  const char* name;
  std::string source;
  const char* callee;
  Stage stage;
  NestPlant on_merge, on_native;
  std::optional<PassPlant> pass;
};

std::vector<Miscompile> planted() {
  const auto nest = [](const char* name, const std::string& line, NestPlant p) {
    return Miscompile{name, chain(line), "@f", Stage::Native, {}, std::move(p), {}};
  };
  const auto native_loop = [](const char* name, const std::string& line, NestPlant p) {
    return Miscompile{name, loop(line, "f32[300]", "20"), "@f", Stage::Native, {}, std::move(p), {}};
  };
  const auto merge = [](const char* name, const std::string& line, NestPlant p) {
    return Miscompile{name, chain(line), "@f", Stage::Fuse, std::move(p), {}, {}};
  };
  const auto pass = [](const char* name, const std::string& source, const char* callee, Stage stage, Op from, Op to) {
    return Miscompile{name, source, callee, stage, {}, {}, PassPlant{stage, from, to}};
  };
  return {
      nest("native_sin", "%m = sin %a", op_becomes(Op::sin, Op::cos)),
      nest("native_max", "%m = max %a, 0.25", op_becomes(Op::max, Op::min)),
      nest("native_sub", "%m = sub %a, %y", operands_swap(Op::sub)),
      nest("native_constant", "%m = rem %a, 0.3", constants_grow(Op::rem)),
      nest("native_stride", "%m = min %a, %y", loads_stand_still(Op::min)),
      nest("native_exp", "%m = exp %a", op_becomes(Op::exp, Op::exp2)),
      nest("native_floor", "%m = floor %a", op_becomes(Op::floor, Op::ceil)),
      {"native_sum",
       "func @f(%x: f32[300], %y: f32[300]) {\n  %a = mul %x, %y\n  %b = reduce_sum %a\n  %c = add %x, %b\n"
       "  %d = reduce_max %c\n  %e = sub %d, %c\n  %g = exp %e\n  ret %g\n}\n",
       "@f",
       Stage::Native,
       {},
       reduces_by(Op::reduce_sum, Op::reduce_max),
       {}},
      {"native_of_grad",
       chain("%m = sin %a"),
       "vmap(grad(@one, argnums=[0]))",
       Stage::Native,
       {},
       op_becomes(Op::cos, Op::sin),
       {}},
      native_loop("loop_sin", "%m = sin %a", op_becomes(Op::sin, Op::cos)),
      native_loop("loop_max", "%m = max %a, 0.25", op_becomes(Op::max, Op::min)),
      native_loop("loop_sub", "%m = sub %a, %e", operands_swap(Op::sub)),
      native_loop("loop_constant", "%m = rem %a, 0.3", constants_grow(Op::rem)),
      merge("merge_sin", "%m = sin %a", where_both(Op::sin, Op::tanh, op_becomes(Op::sin, Op::cos))),
      merge("merge_max", "%m = max %a, 0.25", where_both(Op::max, Op::tanh, op_becomes(Op::max, Op::min))),
      merge("merge_sub", "%m = sub %a, %y", where_both(Op::sub, Op::tanh, operands_swap(Op::sub))),
      merge("merge_stride", "%m = min %a, %y", where_both(Op::min, Op::tanh, loads_stand_still(Op::min))),
      pass("licm_in_loop", loop("%m = sin %a", "f32[300]", "20"), "@f", Stage::Licm, Op::sin, Op::cos),
      pass("simplify", chain("%m = sin %a"), "@f", Stage::Simplify, Op::sin, Op::cos),
      pass("simplify_in_loop", loop("%m = max %a, 0.25", "f32[300]", "20"), "@f", Stage::Simplify, Op::max, Op::min),
      pass("licm", chain("%m = floor %a"), "@f", Stage::Licm, Op::floor, Op::ceil),
      pass("functionalize",
           "func @f(mut %x: f32[300], %y: f32[300]) {\n  %a = sin %y\n  %w = add_ %x, %a\n  %b = mul %x, %y\n"
           "  ret %b\n}\n",
           "@f", Stage::Functionalize, Op::sin, Op::cos),
  };
}

class Miscompiles : public ::testing::TestWithParam<Miscompile> {};

TEST_P(Miscompiles, AreFoundAndMadeSmall) {
  const Miscompile& p = GetParam();
  if (p.stage == Stage::Native && !NestCompiler::is_available()) GTEST_SKIP() << "no native code here";
  VmOptions options;
  options.simplify = false;
  options.nan_trap = NanTrap::Off;
  auto vm = *VM::create(options);
  std::string source = p.source;
  if (std::string_view(p.callee).find("@one") != std::string_view::npos)  // of scalars, summed
    source = chain("%m = sin %a", "f32") + "func @one(%x: f32, %y: f32) {\n  %a, %b = call @f(%x, %y)\n  ret %a\n}\n";
  const Status loaded = vm->load_text(source, "planted.tfa");
  ASSERT_TRUE(loaded) << loaded.error().message << " line " << loaded.error().loc.line << "\n" << source;
  std::vector<Tensor> inputs;
  std::vector<TypeId> types;
  for (int which = 0; which < 2; ++which) {
    Tensor t = *Tensor::make(nullptr, DType::F32, std::vector<std::int64_t>{300});
    for (int k = 0; k < 300; ++k) t.as<float>()[k] = 0.2f + 0.01f * static_cast<float>((k * (which + 3)) % 97);
    types.push_back(vm->type_of(t));
    inputs.push_back(std::move(t));
  }
  const auto f = vm->entry(p.callee, types);
  ASSERT_TRUE(f) << f.error().message;

  const auto clean = bisect(vm->transforms(), f->id, inputs);
  ASSERT_TRUE(clean) << clean.error().message;
  EXPECT_FALSE(clean->differs) << name(clean->stage) << (clean->failure ? clean->failure->message : "") << clean->pass
                               << " " << clean->want << " " << clean->got;

  StagePlants plants{{}, p.on_merge, p.on_native};
  if (p.pass)
    plants.after = [&](Stage s, FunctionId g) {
      return s == p.pass->stage ? op_becomes_in(vm->tables(), g, p.pass->from, p.pass->to) : g;
    };
  const auto found = bisect(vm->transforms(), f->id, inputs, plants);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->differs);
  EXPECT_FALSE(found->failure) << found->failure->message;
  EXPECT_EQ(name(found->stage), name(p.stage));
  EXPECT_NE(found->want, found->got);
  if (p.stage == Stage::Fuse || p.stage == Stage::Native) {
    EXPECT_GE(found->number, 0);
    EXPECT_LT(found->number, found->count);
    EXPECT_GT(found->loc.line, 0u);
  }
  if (p.stage == Stage::Functionalize) return;  // what writes is not made smaller
  EXPECT_GT(found->instructions, 0);
  EXPECT_LE(found->instructions, 10) << found->instructions;
}

INSTANTIATE_TEST_SUITE_P(All, Miscompiles, ::testing::ValuesIn(planted()),
                         [](const auto& given) { return std::string(given.param.name); });

// --- wrong rules of transforms

// The derivative of `wrong` is that of `other`.
class WrongDerivatives final : public DerivativeRules {
 public:
  WrongDerivatives(DerivativeRules& rules, std::string wrong, std::string other)
      : rules_(rules), wrong_(std::move(wrong)), other_(std::move(other)) {}
  bool has(std::string_view name) const override { return rules_.has(name); }
  Result<FunctionId> instantiate(std::string_view name, std::span<const TypeId> args) override {
    return rules_.instantiate(name == wrong_ ? other_ : name, args);
  }

 private:
  DerivativeRules& rules_;
  std::string wrong_, other_;
};

struct WrongRule {
  const char* name;
  std::string line;                          // gives %m of %a
  const char *callee, *pass, *op;            // op "": in several instructions, any of which may be named
  std::optional<std::pair<Op, Op>> becomes;  // in what the pass makes
  const char *wrong = nullptr, *other = nullptr;
  bool in_loop = false;
};

std::vector<WrongRule> wrong_rules() {
  const auto ops = [](Op from, Op to) { return std::optional(std::pair(from, to)); };
  constexpr const char *kLanes = "vmap(@one)", *kGradient = "vmap(grad(@one))", *kJvp = "vmap(jvp(@one))";
  return {
      {"vmap_sin", "%m = sin %a", kLanes, "vmap", "sin", ops(Op::sin, Op::cos)},
      {"vmap_sub", "%m = sub %a, %y", kLanes, "vmap", "sub", ops(Op::sub, Op::add)},
      {"vmap_of_grad", "%m = max %a, 0.25", kGradient, "vmap", "max", ops(Op::max, Op::min)},
      {"vmap_in_loop", "%m = sin %a", kLanes, "vmap", "sin", ops(Op::sin, Op::cos), {}, {}, true},
      {"jvp_sin", "%m = sin %a", kJvp, "jvp", "sin", ops(Op::cos, Op::sin)},
      {"jvp_exp2", "%m = exp2 %a", kJvp, "jvp", "exp2", ops(Op::exp2, Op::exp)},
      {"jvp_in_loop", "%m = sin %a", kJvp, "jvp", "sin", ops(Op::cos, Op::sin), {}, {}, true},
      {"derivative_sin", "%m = sin %a", kJvp, "jvp", "sin", {}, "sin.x", "cos.x"},
      {"derivative_exp", "%m = exp %a", kGradient, "jvp", "exp", {}, "exp.x", "sinh.x"},
      {"derivative_in_loop", "%m = exp %a", kGradient, "jvp", "exp", {}, "exp.x", "sinh.x", true},
      {"split_known", "%m = sin %a", kGradient, "split", "", ops(Op::cos, Op::cosh)},
      {"split_in_loop", "%m = sin %a", kGradient, "split", "", ops(Op::cos, Op::cosh), {}, {}, true},
      {"transpose", "%m = sin %a", kGradient, "transpose", "", ops(Op::zmul, Op::sub)},
      {"transpose_sub", "%m = sub %y, %a", kGradient, "transpose", "neg", ops(Op::neg, Op::square)},
      {"licm", "%m = floor %a", kLanes, "licm", "floor", ops(Op::floor, Op::ceil), {}, {}, true},
  };
}

class WrongRules : public ::testing::TestWithParam<WrongRule> {};

TEST_P(WrongRules, AreNamed) {
  const WrongRule& p = GetParam();
  VmOptions options;
  options.simplify = false;
  options.nan_trap = NanTrap::Off;
  auto vm = *VM::create(options);
  const std::string f = p.in_loop ? loop(p.line, "f64", "4") : chain(p.line, "f64");
  const std::string source = f + "func @one(%x: f64, %y: f64) {\n  " + (p.in_loop ? "%a, %b, %c" : "%a, %b") +
                             " = call @f(%x, %y)\n  ret %a\n}\n";
  ASSERT_TRUE(vm->load_text(source, "planted.tfa"));
  const bool is_jvp = std::string_view(p.callee).find("jvp") != std::string_view::npos;
  std::vector<Tensor> inputs;
  std::vector<TypeId> types;
  for (int which = 0; which < (is_jvp ? 4 : 2); ++which) {
    Tensor t = *Tensor::make(nullptr, DType::F64, std::vector<std::int64_t>{3});
    for (int k = 0; k < 3; ++k) t.as<double>()[k] = 0.3 + 0.1 * ((k * (which + 3)) % 5);
    types.push_back(vm->type_of(t));
    inputs.push_back(std::move(t));
  }
  TransformEnv& env = vm->transforms();
  WrongDerivatives wrong(*env.derivatives, p.wrong ? p.wrong : "", p.other ? p.other : "");
  DerivativeRules* const right = std::exchange(env.derivatives, &wrong);
  const auto made = vm->entry(p.callee, types);
  ASSERT_TRUE(made) << made.error().message;
  if (!p.wrong) {
    const auto clean = bisect(env, made->id, inputs);
    ASSERT_TRUE(clean) << clean.error().message;
    EXPECT_FALSE(clean->differs) << name(clean->stage) << " " << clean->pass << " " << clean->op << " " << clean->got
                                 << " " << clean->want;
  }
  StagePlants plants;
  plants.on_pass = [&](std::string_view pass, FunctionId g) {
    return p.becomes && pass == p.pass ? op_becomes_in(vm->tables(), g, p.becomes->first, p.becomes->second) : g;
  };
  const auto found = bisect(env, made->id, inputs, plants);
  env.derivatives = right;
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->differs);
  EXPECT_EQ(name(found->stage), name(Stage::Transforms));
  EXPECT_EQ(found->pass, p.pass);
  EXPECT_NE(found->want, found->got);
  EXPECT_GT(found->instructions, 0);
  EXPECT_LE(found->instructions, 10);
  const std::string before = source.substr(0, source.find(p.line));
  if (*p.op == 0) return;
  EXPECT_EQ(found->op, p.op);
  EXPECT_EQ(found->loc.line, 1 + std::ranges::count(before, '\n')) << found->function;
}

INSTANTIATE_TEST_SUITE_P(All, WrongRules, ::testing::ValuesIn(wrong_rules()),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace tfvm
