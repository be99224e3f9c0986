// Convolutions against their definition, bit for bit: chains of fused multiply-adds over w's dims behind the first.
#include <cmath>
#include <random>

#include "tests/vm/kernels/run.h"

namespace tfvm {
namespace {

using testing::run_kernel;
using testing::Value;
using D = std::vector<std::int64_t>;
using V = std::vector<double>;

struct Case {
  D x, w, strides, low, high, base, dilation;
  std::int64_t groups = 1, batches = 1;
  bool last = false;
};

V random(const D& dims, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  V v(static_cast<std::size_t>(n));
  for (double& e : v) e = static_cast<double>(static_cast<std::int64_t>(rng() % 2001) - 1000) / 1000;
  return v;
}

testing::Run run(Tables& t, const Case& c, DType dtype, const Value& x, const Value& w) {
  std::vector<AttrId> padding;
  for (std::size_t k = 0; k < c.low.size(); ++k) padding.push_back(t.attrs.ints(D{c.low[k], c.high[k]}));
  EXPECT_EQ(x.dtype, dtype);
  return run_kernel(t, Op::conv, {x, w},
                    {{Key::strides, Ints(c.strides)},
                     {Key::padding, t.attrs.list(padding)},
                     {Key::lhs_dilation, Ints(c.base)},
                     {Key::rhs_dilation, Ints(c.dilation)},
                     {Key::feature_groups, c.groups},
                     {Key::batch_groups, c.batches},
                     {Key::layout, c.last ? "channels_last" : "channels_first"}});
}

std::int64_t offset(const D& dims, const D& at) {
  std::int64_t o = 0;
  for (std::size_t k = 0; k < dims.size(); ++k) o = o * dims[k] + at[k];
  return o;
}

bool next(D& at, const D& dims) {
  for (std::size_t k = dims.size(); k-- > 0; at[k] = 0)
    if (++at[k] < dims[k]) return true;
  return false;
}

// One element of the result at `o`, in float.
float expected(const Case& c, const V& x, const V& w, const D& o) {
  const std::size_t channel = c.last ? c.x.size() - 1 : 1, space = c.last ? 1 : 2;
  const std::int64_t out_group = c.w[0] / (c.groups * c.batches), group = o[channel] / out_group;
  float total = 0, sum = 0;
  std::int64_t k = 0;
  D at(c.w.size(), 0);
  const D rest(c.w.begin() + 1, c.w.end());
  for (D in(rest.size(), 0);;) {
    at[0] = o[channel];
    std::copy(in.begin(), in.end(), at.begin() + 1);
    D from(c.x.size());
    from[0] = c.batches > 1 ? group * (c.x[0] / c.batches) + o[0] : o[0];
    from[channel] = c.groups > 1 ? group * c.w[channel] + at[channel] : at[channel];
    bool real = true;
    for (std::size_t d = 0; d < c.strides.size(); ++d) {
      const std::int64_t place = o[space + d] * c.strides[d] + at[space + d] * c.dilation[d] - c.low[d];
      real = real && place >= 0 && place % c.base[d] == 0 && place / c.base[d] < c.x[space + d];
      from[space + d] = place / c.base[d];
    }
    const float v = real ? static_cast<float>(x[static_cast<std::size_t>(offset(c.x, from))]) : 0.0F;
    sum = std::fma(static_cast<float>(w[static_cast<std::size_t>(offset(c.w, at))]), v, sum);
    if (++k % 256 == 0) total = k == 256 ? sum : total + sum, sum = 0;
    if (!next(in, rest)) break;
  }
  if (k % 256 == 0) return total;
  return k < 256 ? sum : total + sum;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases{
      {{2, 3, 7}, {4, 3, 3}, {2}, {1}, {0}, {1}, {1}},
      {{2, 40, 6, 5}, {7, 40, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 2, 9, 8}, {3, 2, 2, 3}, {2, 1}, {0, 0}, {0, 0}, {1, 1}, {3, 1}},
      {{1, 2, 5}, {3, 2, 3}, {1}, {2}, {2}, {2}, {1}},
      {{1, 2, 9}, {3, 2, 3}, {1}, {-2}, {-1}, {1}, {1}},
      {{1, 2, 9}, {3, 2, 3}, {1}, {-3}, {4}, {2}, {3}},
      {{2, 4, 6}, {6, 2, 3}, {1}, {0}, {1}, {1}, {1}, 2},
      {{4, 3, 6}, {6, 3, 2}, {1}, {1}, {0}, {1}, {1}, 1, 2},
      {{2, 6, 5, 4}, {6, 3, 2, 4}, {1, 2}, {1, 0}, {0, 1}, {1, 1}, {1, 1}, 1, 1, true},
      {{2, 6, 4}, {6, 3, 2}, {1}, {0}, {0}, {1}, {1}, 2, 1, true},
      {{3, 5}, {4, 5}, {}, {}, {}, {}, {}},
  };
  return kCases;
}

TEST(Conv, IsAChainOverEachWindow) {
  Tables t;
  for (const Case& c : cases()) {
    const V x = random(c.x, 1), w = random(c.w, 2);
    const auto r = run(t, c, DType::F32, {DType::F32, c.x, x, {}}, {DType::F32, c.w, w, {}});
    D o(r.dims.size(), 0);
    for (double v : r.v) {
      EXPECT_EQ(v, expected(c, x, w, o)) << "case " << &c - cases().data();
      next(o, r.dims);
    }
  }
}

TEST(Conv, OperandsMayStandInAnyOrder) {
  Tables t;
  for (const Case& c : cases()) {
    const V x = random(c.x, 1), w = random(c.w, 2);
    D back;
    for (std::size_t k = c.x.size(); k-- > 0;) back.push_back(static_cast<std::int64_t>(k));
    const auto a = run(t, c, DType::F64, {DType::F64, c.x, x, {}}, {DType::F64, c.w, w, {}});
    const auto b = run(t, c, DType::F64, {DType::F64, c.x, x, back}, {DType::F64, c.w, w, back});
    EXPECT_EQ(a.v, b.v);
  }
}

TEST(Conv, NarrowFloatsAccumulateInF32AndIntegersWrap) {
  Tables t;
  const Case c{{1, 1, 3}, {2, 1, 3}, {1}, {0}, {0}, {1}, {1}};
  const auto f16 =
      run(t, c, DType::F16, {DType::F16, c.x, {2048, 1, 1}, {}}, {DType::F16, c.w, {1, 1, 1, 2, 2, 2}, {}});
  EXPECT_EQ(f16.v, (V{2050, 4100}));
  const auto i8 = run(t, c, DType::I8, {DType::I8, c.x, {100, 100, 1}, {}}, {DType::I8, c.w, {1, 1, 1, 2, 2, 2}, {}});
  EXPECT_EQ(i8.v, (V{-55, -110}));
  const auto u64 = run(t, c, DType::U64, {DType::U64, c.x, {1, 2, 3}, {}}, {DType::U64, c.w, {1, 1, 1, 2, 2, 2}, {}});
  EXPECT_EQ(u64.v, (V{6, 12}));
}

TEST(Conv, OfNothing) {
  Tables t;
  EXPECT_EQ(run(t, {{0, 2, 5}, {3, 2, 2}, {1}, {0}, {0}, {1}, {1}}, DType::F32, {DType::F32, {0, 2, 5}, {}, {}},
                {DType::F32, {3, 2, 2}, V(12), {}})
                .v,
            V{});
  const auto r = run(t, {{1, 0, 3}, {2, 0, 2}, {1}, {0}, {0}, {1}, {1}}, DType::F32, {DType::F32, {1, 0, 3}, {}, {}},
                     {DType::F32, {2, 0, 2}, {}, {}});
  EXPECT_EQ(r.v, V(4));
  const auto padding = run(t, {{1, 1, 0}, {1, 1, 2}, {1}, {2}, {1}, {1}, {1}}, DType::F32,
                           {DType::F32, {1, 1, 0}, {}, {}}, {DType::F32, {1, 1, 2}, {1, 2}, {}});
  EXPECT_EQ(padding.v, V(2));
}

TEST(Conv, RefusesPaddingThatNoMemoryHolds) {
  Tables t;
  const std::int64_t far = std::int64_t{1} << 50;
  const TypeId types[] = {t.types.tensor(DType::F32, D{1, 1, 2}), t.types.tensor(DType::F32, D{1, 1, 1})};
  Builder b(t, {.evaluator = nullptr, .simplify = false});
  const AttrId padding[] = {t.attrs.ints(D{0, 0})};
  const ValueId y = b.emit(
      Op::conv, {b.param(types[0]), b.param(types[1])},
      {{Key::strides, Ints(&far, 1)}, {Key::padding, t.attrs.list(padding)}, {Key::lhs_dilation, Ints(&far, 1)}});
  ASSERT_FALSE(b.failed());
  const TypeId result = b.type(y);
  const Result<Kernel> k = make_kernel(t.types, t.attrs, Op::conv, b.body().attrs.back(), types, {&result, 1});
  ASSERT_FALSE(k);
  EXPECT_EQ(k.error().code, Code::Limit);
}

}  // namespace
}  // namespace tfvm
