// Random full programs as written against the same ones functionalized (same bits), under vmap against a loop over
// lanes, and their jvp against differences.
//
// TFVM_ALIAS_PROGRAMS sets how many, TFVM_SEED which.

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/fuzz/alias_program.h"
#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm::test {
namespace {

using Tensors = std::vector<Tensor>;

void add_ops(VM& vm) {
  CustomOp two, sum;
  two.kernel = [](std::span<const CustomArg> args, std::span<const Tensor>) -> Status {
    for (std::int64_t k = 0; k < args[0]->elements(); ++k) args[0]->as<double>()[k] *= 0.5;
    for (std::int64_t k = 0; k < args[1]->elements(); ++k) args[1]->as<double>()[k] += 1;
    return ok();
  };
  sum.kernel = [](std::span<const CustomArg> args, std::span<const Tensor> results) -> Status {
    double s = 0;
    for (std::int64_t k = 0; k < args[0]->elements(); ++k) s += args[0]->as<double>()[k];
    *results[0].as<double>() = s;
    return ok();
  };
  vm.register_op("fz.two", std::move(two));
  vm.register_op("fz.sum", std::move(sum));
}

struct Outcome {
  bool failed = false;
  std::string error;
  Tensors out;  // results, then what the inputs are now, but the last one
};

class Bench {
 public:
  Bench(VM& vm, std::uint64_t seed) : vm_(vm), context_(vm.budget()), rng_(seed) {}

  Tensors numbers(const AliasProgram& p, std::int64_t lanes = 0) {
    Tensors out;
    for (std::vector<std::int64_t> dims : p.inputs) {
      if (lanes) dims.insert(dims.begin(), lanes);
      Tensor t = *Tensor::make(vm_.budget(), DType::F64, dims);
      for (std::int64_t k = 0; k < t.elements(); ++k)
        t.as<double>()[k] = static_cast<double>(static_cast<int>(rng_() % 17) - 8) / 8;
      out.push_back(std::move(t));
    }
    return out;
  }

  static Tensors copy(const Tensors& in) {
    Tensors out;
    for (const Tensor& t : in) out.push_back(*t.clone({}));
    return out;
  }

  // `written`: how many of the inputs are `mut`; a function without any gives their new values itself.
  Outcome call(const std::string& callee, Tensors in, std::size_t written) {
    std::vector<TypeId> types;
    for (const Tensor& t : in) types.push_back(vm_.type_of(t));
    const Result<Function> f = vm_.entry(callee, types);
    if (!f) return {true, f.error().message, {}};
    Result<Tensors> out = vm_.call(context_, *f, in);
    if (!out) return {true, out.error().message, {}};
    Outcome o{false, {}, copy(*out)};
    for (std::size_t k = 0; k < written; ++k) o.out.push_back(in[k]);
    return o;
  }

 private:
  VM& vm_;
  Context context_;
  std::mt19937_64 rng_;
};

bool same(const Tensor& a, const Tensor& b, double relative, double absolute) {
  if (a.dtype() != b.dtype() || a.layout().dims != b.layout().dims) return false;
  const Tensor x = *a.contiguous({}), y = *b.contiguous({});
  for (std::int64_t k = 0; k < x.elements(); ++k) {
    const double u = x.as<double>()[k], v = y.as<double>()[k];
    const bool close =
        u == v || (std::isnan(u) && std::isnan(v)) || std::fabs(u - v) <= absolute + relative * std::fabs(v);
    if (!close) return false;
  }
  return true;
}

void expect_same(const Outcome& a, const Outcome& b, const char* what, double relative = 0, double absolute = 0) {
  ASSERT_FALSE(b.failed) << what << ": " << b.error;
  ASSERT_EQ(a.out.size(), b.out.size()) << what;
  for (std::size_t k = 0; k < a.out.size(); ++k)
    EXPECT_TRUE(same(a.out[k], b.out[k], relative, absolute))
        << what << ", value " << k << ": " << print(a.out[k]) << " and " << print(b.out[k]);
}

// Lanes by themselves, stacked.
Outcome by_lanes(Bench& bench, const AliasProgram& p, const Tensors& in) {
  Outcome all;
  const std::int64_t lanes = in[0].dims()[0];
  for (std::int64_t i = 0; i < lanes; ++i) {
    const auto lane = [&](const Tensor& t) {
      Layout y = t.layout();
      y.offset += i * y.strides[0];
      y.dims.erase(y.dims.begin()), y.strides.erase(y.strides.begin());
      return t.with_layout(std::move(y));
    };
    Tensors one;
    for (const Tensor& t : in) one.push_back(*lane(t).clone({}));
    const Outcome o = bench.call(p.name, one, in.size() - 1);
    if (o.failed) return o;
    for (std::size_t k = 0; k < o.out.size(); ++k) {
      if (i == 0) {
        std::vector<std::int64_t> dims(o.out[k].dims().begin(), o.out[k].dims().end());
        dims.insert(dims.begin(), lanes);
        all.out.push_back(*Tensor::make({}, DType::F64, dims));
      }
      const Tensor to = lane(all.out[k]);
      copy_elements(to.layout(), to.base(), o.out[k].layout(), o.out[k].base(), 8);
    }
  }
  return all;
}

void check_vmap(Bench& bench, const AliasProgram& p) {
  const Tensors in = bench.numbers(p, 2);
  const Outcome lanes = by_lanes(bench, p, in),
                together = bench.call("vmap(@" + p.name + ")", Bench::copy(in), in.size() - 1);
  if (!lanes.failed) expect_same(lanes, together, "vmap", 1e-12, 1e-12);
}

// Outputs, tangents of outputs; inputs, tangents of inputs: `mut` primals have `mut` tangents.
void check_jvp(Bench& bench, const AliasProgram& p) {
  constexpr double kStep = 1e-5;
  const Tensors at = bench.numbers(p), along = bench.numbers(p);
  const std::size_t n = at.size() - 1;
  Tensors both = Bench::copy(at), moved[2] = {Bench::copy(at), Bench::copy(at)};
  for (const Tensor& t : Bench::copy(along)) both.push_back(t);
  for (std::size_t k = 0; k < at.size(); ++k)
    for (std::int64_t e = 0; e < at[k].elements(); ++e)
      for (int side : {0, 1}) moved[side][k].as<double>()[e] += (side ? kStep : -kStep) * along[k].as<double>()[e];
  const Outcome low = bench.call(p.name, moved[0], n), high = bench.call(p.name, moved[1], n);
  if (low.failed || high.failed) return;
  const Outcome jvp = bench.call("jvp(@" + p.name + ")", both, both.size());
  ASSERT_FALSE(jvp.failed) << "jvp: " << jvp.error;
  const std::size_t outputs = low.out.size() - n;
  Outcome quotient, tangents;
  for (std::size_t k = 0; k < low.out.size(); ++k) {
    Tensor q = *low.out[k].clone({}), h = *high.out[k].contiguous({});
    for (std::int64_t e = 0; e < q.elements(); ++e)
      q.as<double>()[e] = (h.as<double>()[e] - q.as<double>()[e]) / (2 * kStep);
    quotient.out.push_back(q);
    // Behind the outputs and their tangents stand the primal inputs, then the tangents.
    tangents.out.push_back(jvp.out[k < outputs ? outputs + k : outputs + at.size() + k]);
  }
  expect_same(quotient, tangents, "jvp", 1e-4, 1e-6);
}

void check(Bench& bench, const AliasProgram& p, std::uint64_t k, long& ran) {
  const Tensors in = bench.numbers(p);
  const Outcome written = bench.call(p.name, Bench::copy(in), in.size() - 1);
  const Outcome pure = bench.call("functionalize(@" + p.name + ")", Bench::copy(in), 0);
  if (written.failed) {
    EXPECT_TRUE(pure.failed) << "as written: " << written.error;
    return;
  }
  ++ran;
  expect_same(written, pure, "functionalized");
  if (k % 3 == 0) check_vmap(bench, p);
  if (k % 3 == 1 && p.smooth) check_jvp(bench, p);
}

TEST(Alias, AsWrittenAgainstFunctionalizedLanesAndDifferences) {
  constexpr std::uint64_t kBatch = 50;
  const char *count = std::getenv("TFVM_ALIAS_PROGRAMS"), *seed_text = std::getenv("TFVM_SEED");
  const std::uint64_t n = count ? std::strtoull(count, nullptr, 10) : 150,
                      seed = seed_text ? std::strtoull(seed_text, nullptr, 10) : 1;
  long ran = 0;
  for (std::uint64_t first = 0; first < n && !HasFailure(); first += kBatch) {
    std::vector<AliasProgram> programs;
    std::string text = kAliasHelpers;
    for (std::uint64_t k = first; k < std::min(n, first + kBatch); ++k) {
      programs.push_back(alias_program(seed, k, k % 4 == 3));
      text += programs.back().text;
    }
    auto vm = VM::create();
    ASSERT_TRUE(vm);
    add_ops(**vm);
    const Status loaded = (*vm)->load_text(text, "alias.tfa");
    ASSERT_TRUE(loaded) << loaded.error().message << " line " << loaded.error().loc.line << "\n" << text;
    Bench bench(**vm, seed + first);
    for (std::uint64_t k = 0; k < programs.size() && !HasFailure(); ++k) {
      SCOPED_TRACE("program " + std::to_string(first + k) + " of seed " + std::to_string(seed) + ":\n" +
                   programs[k].text);
      check(bench, programs[k], first + k, ran);
    }
  }
  std::printf("%ld ran\n", ran);
}

}  // namespace
}  // namespace tfvm::test
