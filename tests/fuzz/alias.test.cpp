// Random full programs as written against the same ones functionalized and put back in place (same bits), under vmap
// against a loop over lanes, and under jvp and grad against differences.
//
// TFVM_ALIAS_PROGRAMS sets how many, TFVM_SEED which, TFVM_ALIAS_FIRST the number of the first one; with
// TFVM_ALIAS_SHOW each is printed before it runs.

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/fuzz/alias_run.h"
#include "vm/print.h"

namespace tfvm::test {
namespace {

using Outcome = AliasOutcome;

bool close(double u, double v, double relative, double absolute) {
  return u == v || (std::isnan(u) && std::isnan(v)) || std::fabs(u - v) <= absolute + relative * std::fabs(v);
}

bool same(const Tensor& a, const Tensor& b, double relative, double absolute) {
  if (a.dtype() != b.dtype() || a.layout().dims != b.layout().dims) return false;
  const Tensor x = *a.contiguous({}), y = *b.contiguous({});
  for (std::int64_t k = 0; k < x.elements(); ++k)
    if (!close(x.as<double>()[k], y.as<double>()[k], relative, absolute)) return false;
  return true;
}

// Empty where they are the same.
std::string difference(const Outcome& a, const Outcome& b, double relative = 0, double absolute = 0) {
  if (b.failed) return b.error;
  if (a.out.size() != b.out.size()) return "number of results";
  for (std::size_t k = 0; k < a.out.size(); ++k)
    if (!same(a.out[k], b.out[k], relative, absolute))
      return "value " + std::to_string(k) + ": " + print(a.out[k]) + " and " + print(b.out[k]);
  return {};
}

Tensor lane_of(const Tensor& t, std::int64_t i) {
  Layout y = t.layout();
  y.offset += i * y.strides[0];
  y.dims.erase(y.dims.begin()), y.strides.erase(y.strides.begin());
  return t.with_layout(std::move(y));
}

// Lanes by themselves, stacked; the last input is that of all lanes where `shared`.
Outcome by_lanes(AliasRun& run, const AliasProgram& p, const Tensors& in, bool shared) {
  Outcome all;
  const std::int64_t lanes = in[0].dims()[0];
  for (std::int64_t i = 0; i < lanes; ++i) {
    Tensors one;
    for (std::size_t k = 0; k < in.size(); ++k)
      one.push_back(shared && k + 1 == in.size() ? in[k] : *lane_of(in[k], i).clone({}));
    const Outcome o = run.call(p.name, one, in.size() - 1);
    if (o.failed) return o;
    for (std::size_t k = 0; k < o.out.size(); ++k) {
      if (i == 0) {
        std::vector<std::int64_t> dims(o.out[k].dims().begin(), o.out[k].dims().end());
        dims.insert(dims.begin(), lanes);
        all.out.push_back(*Tensor::make({}, DType::F64, dims));
      }
      const Tensor to = lane_of(all.out[k], i);
      copy_elements(to.layout(), to.base(), o.out[k].layout(), o.out[k].base(), 8);
    }
  }
  return all;
}

void check_vmap(AliasRun& run, const AliasProgram& p, bool shared) {
  Tensors in = run.numbers(p, 2);
  if (shared) in.back() = run.numbers(p).back();
  const Outcome lanes = by_lanes(run, p, in, shared);
  const std::string dims = shared ? in.size() == 3 ? ", in_dims=[0, 0, none]" : ", in_dims=[0, none]" : "";
  if (lanes.failed) return;
  EXPECT_EQ(difference(lanes, run.call("vmap(@" + p.name + dims + ")", in, in.size() - 1), 1e-12, 1e-12), "") << "vmap";
}

Tensors moved(const Tensors& at, const Tensors& along, double step) {
  Tensors out = AliasRun::copy(at);
  for (std::size_t k = 0; k < at.size(); ++k)
    for (std::int64_t e = 0; e < at[k].elements(); ++e) out[k].as<double>()[e] += step * along[k].as<double>()[e];
  return out;
}

// Where a difference quotient is off by its own error, one with another step is not.
constexpr double kSteps[] = {1e-5, 1e-4, 1e-6, 1e-3};

// Outputs, tangents of outputs; inputs, tangents of inputs: `mut` primals have `mut` tangents.
void check_jvp(AliasRun& run, const AliasProgram& p) {
  const Tensors at = run.numbers(p), along = run.numbers(p);
  const std::size_t n = at.size() - 1;
  Tensors both = AliasRun::copy(at);
  for (const Tensor& t : AliasRun::copy(along)) both.push_back(t);
  const Outcome primal = run.call(p.name, at, n), jvp = run.call("jvp(@" + p.name + ")", both, both.size());
  ASSERT_FALSE(jvp.failed) << "jvp: " << jvp.error;
  // Behind the outputs and their tangents stand the primal inputs, then the tangents.
  const std::size_t outputs = primal.out.size() - n;
  Outcome values, tangents;
  for (std::size_t k = 0; k < primal.out.size(); ++k) {
    values.out.push_back(jvp.out[k < outputs ? k : outputs + k]);
    tangents.out.push_back(jvp.out[k < outputs ? outputs + k : outputs + at.size() + k]);
  }
  EXPECT_EQ(difference(primal, values, 1e-12, 1e-12), "") << "values of jvp";
  std::vector<Outcome> quotients;  // two that agree are right
  for (double step : kSteps) {
    const Outcome low = run.call(p.name, moved(at, along, -step), n),
                  high = run.call(p.name, moved(at, along, step), n);
    if (low.failed || high.failed) return;
    Outcome quotient;
    for (std::size_t k = 0; k < low.out.size(); ++k) {
      const Tensor q = *low.out[k].clone({}), h = *high.out[k].contiguous({}), t = *tangents.out[k].contiguous({});
      for (std::int64_t e = 0; e < q.elements(); ++e) {
        const double rise = h.as<double>()[e] - q.as<double>()[e];
        q.as<double>()[e] = std::isfinite(rise) ? rise / (2 * step) : t.as<double>()[e];  // an infinity tells nothing
      }
      quotient.out.push_back(q);
    }
    const std::string d = difference(quotient, tangents, 1e-4, 1e-6);
    if (d.empty()) return;
    for (const Outcome& other : quotients)
      if (difference(other, quotient, 1e-4, 1e-6).empty()) ADD_FAILURE() << "jvp: " << d;
    quotients.push_back(std::move(quotient));
  }
}

// The gradient along a line is the tangent of forward mode; and the difference quotient, where two steps agree on one:
// programs that multiply again and again have derivatives that no quotient finds.
void check_grad(AliasRun& run, const AliasProgram& p) {
  const Tensors at = run.numbers(p), along = run.numbers(p);
  const std::string argnums = at.size() == 3 ? "[0, 1, 2]" : "[0, 1]";
  const Outcome grad = run.call("grad(@" + p.loss + ", argnums=" + argnums + ")", at, 0);
  ASSERT_FALSE(grad.failed) << "grad: " << grad.error;
  double slope = 0;
  for (std::size_t k = 0; k < at.size(); ++k)
    for (std::int64_t e = 0; e < at[k].elements(); ++e) slope += grad.out[k].as<double>()[e] * along[k].as<double>()[e];
  Tensors both = AliasRun::copy(at);
  for (const Tensor& t : AliasRun::copy(along)) both.push_back(t);
  const Outcome jvp = run.call("jvp(@" + p.loss + ")", both, both.size());
  ASSERT_FALSE(jvp.failed) << "jvp of the loss: " << jvp.error;
  EXPECT_TRUE(close(slope, *jvp.out[1].as<double>(), 1e-8, 1e-9))
      << "grad: " << slope << " along a line, by jvp " << *jvp.out[1].as<double>();
  std::vector<double> quotients;
  for (double step : kSteps) {
    const Outcome low = run.call(p.loss, moved(at, along, -step), 0),
                  high = run.call(p.loss, moved(at, along, step), 0);
    if (low.failed || high.failed) return;
    const double quotient = (*high.out[0].as<double>() - *low.out[0].as<double>()) / (2 * step);
    if (!std::isfinite(quotient) || close(slope, quotient, 1e-4, 1e-5)) return;
    for (double other : quotients)
      if (close(other, quotient, 1e-4, 1e-6))
        ADD_FAILURE() << "grad: " << slope << " along a line, by differences " << quotient;
    quotients.push_back(quotient);
  }
}

void check(AliasRun& run, const AliasProgram& p, std::uint64_t k, long& ran) {
  const Tensors in = run.numbers(p);
  const std::size_t written = in.size() - 1;
  const Outcome as_written = run.call(p.name, in, written), pure = run.call("functionalize(@" + p.name + ")", in, 0);
  if (as_written.failed) {
    EXPECT_TRUE(pure.failed) << "as written: " << as_written.error;
    return;
  }
  ++ran;
  EXPECT_EQ(difference(as_written, pure), "") << "functionalized";
  EXPECT_EQ(difference(as_written, run.in_place(p.name, k % 4 == 1 ? "v1" : "v2", in, written)), "") << "in place";
  check_vmap(run, p, k % 3 == 0);
  if (!p.smooth) return;
  check_jvp(run, p);
  check_grad(run, p);
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Alias, AsWrittenAgainstFunctionalizedLanesAndDifferences) {
  constexpr std::uint64_t kBatch = 50;
  const std::uint64_t seed = number("TFVM_SEED", 1), begin = number("TFVM_ALIAS_FIRST", 0),
                      end = begin + number("TFVM_ALIAS_PROGRAMS", 150);
  const bool show = std::getenv("TFVM_ALIAS_SHOW") != nullptr;
  long ran = 0;
  for (std::uint64_t first = begin; first < end && !HasFailure(); first += kBatch) {
    std::vector<AliasProgram> programs;
    for (std::uint64_t k = first; k < std::min(end, first + kBatch); ++k)
      programs.push_back(alias_program(seed, k, k % 4 >= 2));
    AliasRun run(programs);
    ASSERT_EQ(run.load_error(), "");
    for (std::uint64_t k = first; k < first + programs.size() && !HasFailure(); ++k) {
      const AliasProgram& p = programs[k - first];
      SCOPED_TRACE("program " + std::to_string(k) + " of seed " + std::to_string(seed) + ":\n" + p.text);
      if (show) std::fprintf(stderr, "// program %ld\n%s", static_cast<long>(k), p.text.c_str());
      run.reseed(seed * 1'000'003 + k);
      check(run, p, k, ran);
    }
  }
  std::printf("%ld of %ld programs ran\n", ran, static_cast<long>(end - begin));
}

}  // namespace
}  // namespace tfvm::test
