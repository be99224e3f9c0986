#include "native_run.h"

#include <cstring>
#include <random>

#include "bytecode/consts.h"
#include "vm/print.h"
#include "vm/type_text.h"

namespace tfvm {

namespace {

Tensor random_tensor(std::mt19937& rng, const ValueType& type) {
  Tensor t = *Tensor::make(nullptr, type.dtype, type.dims);
  const std::int64_t size = size_of(type.dtype);
  for (std::int64_t at = 0; at < type.bytes; at += size) {
    double v = static_cast<double>(static_cast<int>(rng() % 4001) - 2000) / 1000;
    if (type.dtype == DType::Bool) v = static_cast<double>(rng() % 2);
    store_element(type.dtype, v, t.data() + at);
  }
  return t;
}

}  // namespace

NativeRun run_native(std::string_view program, const std::string& function, const std::vector<std::string>& types,
                     const TierOptions& tier, const Runner& runner) {
  VmOptions options;
  options.tier = tier;
  auto vm = *VM::create(options);
  const Status loaded = vm->load_text(program, "loops.tfa");
  EXPECT_TRUE(loaded) << loaded.error().message;
  std::string list;
  for (const std::string& s : types) list += (list.empty() ? "" : ", ") + s;
  const auto args = parse_types(vm->tables().types, list);
  EXPECT_TRUE(args) << list;
  auto f = vm->entry(function, *args);
  EXPECT_TRUE(f) << function << ": " << f.error().message;
  NativeRun out;
  if (!f) return out;
  std::mt19937 rng(7);
  std::vector<Tensor> inputs;
  for (const ValueType& p : f->plan->params) inputs.push_back(random_tensor(rng, p));
  Context context(vm->budget());
  context.limits.steps = 100000;
  auto results = runner ? runner(context, *f->plan, inputs) : context.call(*f->plan, inputs);
  out.steps_left = context.steps_left();
  EXPECT_TRUE(results) << results.error().message;
  if (results) out.results = *std::move(results);
  const auto count = [&](const NativeLoop& loop) {
    ++out.loops;
    out.native += loop.code && loop.code->ready();
  };
  for (const ScanStep& s : f->plan->scans) count(s.native);
  for (const WhileStep& s : f->plan->whiles) count(s.native);
  for (const TapeScanStep& s : f->plan->tape_scans) count(s.native);
  return out;
}

void expect_equal(const NativeRun& got, const NativeRun& expected, const std::string& what) {
  EXPECT_EQ(got.steps_left, expected.steps_left) << what;
  ASSERT_EQ(got.results.size(), expected.results.size());
  for (std::size_t k = 0; k < got.results.size(); ++k)
    EXPECT_EQ(print(got.results[k], {.full = true}), print(expected.results[k], {.full = true}))
        << what << " result " << k;
}

void expect_native(std::string_view program, const std::string& function, const std::vector<std::string>& types,
                   const Runner& runner) {
  if (!NestCompiler::is_available()) GTEST_SKIP();
  const NativeRun expected = run_native(program, function, types, {.tier = Tier::Interp});
  for (Isa isa : {Isa::Avx2, Isa::Avx512})
    for (const bool few_registers : {false, true}) {
      if (isa == Isa::Avx512 && NestCompiler::best_isa() != isa) continue;
      const NativeRun got =
          run_native(program, function, types, {.tier = Tier::Jit, .isa = isa, .few_registers = few_registers}, runner);
      EXPECT_GT(got.loops, 0);
      EXPECT_EQ(got.native, got.loops) << function;
      expect_equal(got, expected, function);
    }
}

Runner with_first(std::int64_t first, Runner inner) {
  return [=](Context& context, const Plan& plan, std::span<const Tensor> in) {
    std::memcpy(in[0].data(), &first, static_cast<std::size_t>(plan.params[0].bytes));
    return inner ? inner(context, plan, in) : context.call(plan, in);
  };
}

Runner pausing(int& pauses) {
  return [&pauses](Context& context, const Plan& plan, std::span<const Tensor> in) {
    context.limits.pause = RunLimits::Time{};
    std::vector<Tensor> results;
    std::byte** pointers = context.open(plan);
    for (const Tensor& t : in) *pointers++ = t.data();
    for (const ValueType& r : plan.results) {
      results.push_back(*Tensor::make(nullptr, r.dtype, r.dims));
      *pointers++ = results.back().data();
    }
    RunEnd end = context.run_open(plan);
    for (; end == RunEnd::Paused; end = context.resume(plan)) ++pauses;
    if (end == RunEnd::Failed) return Result<std::vector<Tensor>>(context.error());
    return Result<std::vector<Tensor>>(std::move(results));
  };
}

}  // namespace tfvm
