// Full functions by their functional forms behind the runtime wrapper, against the same functions as written: results,
// where they stand and with which strides, and what the caller's storages hold afterwards.
#include "vm/eager/wrapper.h"

#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "vm/vm.h"

namespace tfvm::testing {
namespace {

constexpr std::string_view kProgram = R"(
extern op "wr.fill"(mut %a: f64[..], mut %b: f64[..])
buffer @count: f64 = 10
buffer @table: f64[2,3] = [[1, 2, 3], [4, 5, 6]]

func @f(mut %x: f64[..], %y: f64[..]) {
  mul_ %x, 2.0
  %r = add %x, %y
  ret %r
}
func @g(mut %x: f64[..], mut %y: f64[..]) {
  mul_ %x, 2.0
  add_ %y, 1.0
  %r = add %x, %y
  ret %r, %y, %x
}
func @swap(mut %x: f64[..], mut %y: f64[..]) {
  %a = clone %x
  copy_ %x, %y
  copy_ %y, %a
  ret %x
}
func @reads(%x: f64[..], %y: f64[..]) {
  %z = clone %x
  add_ %z, %y
  ret %z, %x
}
func @custom(mut %x: f64[..], mut %y: f64[..]) {
  wr.fill %x, %y
  %s = add %x, %y
  ret %s
}
func @doubled(mut %x: f64[a,b]) {
  %y = t %x
  mul_ %y, 2.0
  ret %y
}
func @shifted(mut %x: f64[2,3]) {
  %t = t %x
  %r = slice %t {start=[1, 0], limit=[3, 2]}
  %w = t %r
  add_ %w, 100.0
  ret %w, %x
}
func @shared(%x: f64[a,b]) {
  %a = mul %x, 3.0
  %t = t %a
  %r = select %t {axis=0, index=0}
  add_ %r, 1.0
  %l = clone %x
  %m = t %l
  ret %t, %a, %r, %m
}
func @strided(mut %x: f64[..]) {
  %s = as_strided %x {shape=[2], strides=[3], offset=1}
  mul_ %s, 10.0
  ret %x, %s
}
func @windows(mut %x: f64[4,6]) {
  %v = unfold %x {axis=1, size=1, step=5}
  add_ %v, %v
  ret %x, %v
}
func @flat(mut %x: f64[2,3]) {
  %v = view %x {shape=[6]}
  %h = narrow %v {axis=0, start=2, length=3}
  mul_ %h, -1.0
  ret %v, %h
}
func @along(mut %z: f64[n]) {
  %to = narrow %z {axis=0, start=1, length=(n - 1)}
  %from = narrow %z {axis=0, start=0, length=(n - 1)}
  copy_ %to, %from
  ret
}
func @counted(mut %x: f64[..]) {
  add_ @count, 1.0
  mul_ %x, @count
  %row = select @table {axis=0, index=1}
  add_ %row, 1.0
  ret %row, %x, @count
}
func @with_table(mut %x: f64[2,3]) {
  add_ @table, %x
  mul_ %x, 2.0
  ret @table
}
func @nested(mut %x: f64[..], mut %y: f64[..]) {
  %r, %b, %a = call @g(%y, %x)
  %go = gt 1.0, 0.0
  if %go {
    mul_ %a, 3.0
    yield
  } else {
    yield
  }
  ret %b, %r
}
func @looped(mut %x: f64[n], %y: f64[n]) {
  %s = for (%s = 0.0;) {length=3} {
    add_ %x, %y
    %t = reduce_sum %x
    yield %t;
  }
  ret %s, %x
}
)";

struct Given {  // an argument: a layout over storage number `storage`
  std::size_t storage = 0;
  Layout layout;
};

struct Outcome {
  bool failed = false;
  std::string error, results;
  std::vector<std::vector<double>> storages;
};

class Wrapper : public ::testing::Test {
 protected:
  std::unique_ptr<VM> vms[2];  // as written; functionalized
  std::vector<std::string> log;

  Wrapper() {
    for (int k : {0, 1}) {
      VmOptions o;
      o.functionalize = k == 1;
      if (k == 1)
        o.log = [this](std::string_view c, const std::string& m) {
          if (c == "input_output") log.push_back(m);
        };
      vms[k] = *VM::create(o);
      CustomOp fill;
      fill.kernel = [](std::span<const CustomArg> args, std::span<const Tensor>) -> Status {
        for (std::int64_t i = 0; i < args[0]->elements(); ++i) args[0]->as<double>()[i] += 7;
        for (std::int64_t i = 0; i < args[1]->elements(); ++i) args[1]->as<double>()[i] *= 3;
        return ok();
      };
      vms[k]->register_op("wr.fill", std::move(fill));
      const Status loaded = vms[k]->load_text(kProgram, "wrapper.tfa");
      EXPECT_TRUE(loaded) << loaded.error().message << " line " << loaded.error().loc.line;
    }
  }

  static std::string show(const Tensor& t, const std::vector<Tensor>& storages) {
    std::vector<double> values(static_cast<std::size_t>(t.elements()));
    t.copy_to(std::as_writable_bytes(std::span(values)));
    std::vector<std::int64_t> strides = t.layout().strides;  // those of extent 1 don't matter
    for (std::size_t k = 0; k < strides.size(); ++k)
      if (t.dims()[k] == 1) strides[k] = 0;
    std::string where = "fresh";
    for (std::size_t s = 0; s < storages.size(); ++s)
      if (t.storage() && t.storage()->data() == storages[s].storage()->data())
        where = fmt::format("storage {} at {} by [{}]", s, t.as<double>() - storages[s].as<double>(),
                            fmt::join(strides, ", "));
    if (t.elements() == 0) where = "nowhere";
    return fmt::format("{} {} {}\n", t.type_text(), where, fmt::join(values, " "));
  }

  Outcome run(VM& vm, const std::string& callee, const std::vector<Given>& given, std::int64_t elements) {
    vm.reset_globals();
    std::vector<Tensor> storages, in;
    for (int s = 0; s < 3; ++s) {
      storages.push_back(*Tensor::make(vm.budget(), DType::F64, std::vector{elements}));
      for (std::int64_t i = 0; i < elements; ++i) storages.back().as<double>()[i] = static_cast<double>(100 * s + i);
    }
    for (const Tensor& g : vm.globals()) storages.push_back(g);
    std::vector<TypeId> types;
    for (const Given& g : given) {
      const Tensor& s = storages[g.storage];
      in.push_back(Tensor::over(s.base(), DType::F64, g.layout, s.storage()));
      types.push_back(vm.type_of(in.back()));
    }
    Outcome out;
    Context context(vm.budget());
    const Result<Function> f = vm.entry(callee, types);
    Result<std::vector<Tensor>> results = f ? vm.call(context, *f, in) : f.error();
    out.failed = !results;
    if (!results) out.error = results.error().message;
    for (std::size_t k = 0; results && k < results->size(); ++k) {
      out.results += show((*results)[k], storages);
      for (std::size_t j = 0; j < k; ++j)
        if ((*results)[k].storage() && (*results)[k].elements() > 0 && (*results)[j].elements() > 0 &&
            (*results)[k].storage()->data() == (*results)[j].storage()->data())
          out.results +=
              fmt::format("shares with {}, {} behind it\n", j, (*results)[k].as<double>() - (*results)[j].as<double>());
    }
    for (const Tensor& s : storages) {
      std::vector<double>& values = out.storages.emplace_back(static_cast<std::size_t>(s.elements()));
      s.copy_to(std::as_writable_bytes(std::span(values)));
    }
    return out;
  }

  // Both ways; gives the results.
  std::string compare(const std::string& callee, const std::vector<Given>& given, std::int64_t elements = 24) {
    const Outcome a = run(*vms[0], callee, given, elements), b = run(*vms[1], callee, given, elements);
    std::string what = callee;
    for (const Given& g : given)
      what += fmt::format(" {}:[{}] by [{}] at {}", g.storage, fmt::join(g.layout.dims, ", "),
                          fmt::join(g.layout.strides, ", "), g.layout.offset);
    EXPECT_EQ(a.failed, b.failed) << what << "\n" << a.error << "\n" << b.error;
    EXPECT_EQ(a.results, b.results) << what;
    EXPECT_TRUE(a.failed || a.storages == b.storages) << what;
    return a.failed ? a.error : a.results;
  }
};

Layout flat(std::int64_t n, std::int64_t at = 0, std::int64_t stride = 1) { return {{n}, {stride}, at}; }
Layout grid(std::int64_t a, std::int64_t b, std::int64_t x, std::int64_t y, std::int64_t at = 0) {
  return {{a, b}, {x, y}, at};
}

TEST_F(Wrapper, TwoArgumentsInAllWays) {
  const std::vector<Layout> layouts = {flat(4),        flat(4, 2),     flat(4, 1, 2), flat(4, 2, 2), flat(4, 3, 3),
                                       flat(4, 3, -1), flat(4, 9, -2), flat(4, 0, 0), flat(4, 20)};
  for (const char* callee : {"@f", "@g", "@swap", "@reads", "@custom", "@nested", "@looped"})
    for (const Layout& x : layouts)
      for (const Layout& y : layouts)
        for (std::size_t storage : {0u, 1u}) compare(callee, {{0, x}, {storage, y}});
}

TEST_F(Wrapper, Matrices) {
  const std::vector<Layout> layouts = {grid(2, 3, 3, 1),    grid(2, 3, 1, 2),     grid(2, 3, 6, 2, 1),
                                       grid(2, 3, 3, 1, 2), grid(2, 3, -3, 1, 3), grid(2, 3, 3, -1, 2),
                                       grid(2, 3, 0, 1),    grid(2, 3, 1, 0),     grid(2, 3, 1, 1)};
  for (const Layout& x : layouts) {
    for (const char* callee : {"@doubled", "@shifted", "@shared", "@strided", "@flat", "@counted", "@with_table"})
      compare(callee, {{0, x}});
    for (const Layout& y : layouts) compare("@g", {{0, x}, {0, y}});
  }
  compare("@windows", {{0, grid(4, 6, 6, 1)}});
  compare("@windows", {{0, grid(4, 6, 1, 4)}});
}

TEST_F(Wrapper, NothingAndOne) {
  for (const char* callee : {"@f", "@g", "@swap", "@reads", "@custom"}) {
    compare(callee, {{0, flat(0)}, {0, flat(0)}});
    compare(callee, {{0, flat(0, 3, 5)}, {1, flat(0)}});
    compare(callee, {{0, {{}, {}, 3}}, {0, {{}, {}, 3}}});
    compare(callee, {{0, flat(1, 2, 0)}, {0, flat(1, 2, -7)}});
    compare(callee, {{0, grid(1, 3, -9, 1)}, {0, grid(1, 3, 2, 1, 1)}});
  }
  compare("@doubled", {{0, grid(0, 3, 3, 1)}});
  compare("@strided", {{0, flat(24)}});
  compare("@strided", {{0, flat(4, 7)}});
  compare("@strided", {{0, flat(4, 7, 2)}});
  compare("@along", {{0, flat(5)}});
  compare("@along", {{0, flat(5, 8, -2)}});
}

// R19: the view comes back over the caller's storage; R24: one function, arguments apart and overlapping.
TEST_F(Wrapper, Reports) {
  EXPECT_EQ(compare("@doubled", {{0, grid(2, 3, 3, 1)}}), "f64[3,2] storage 0 at 0 by [1, 3] 0 6 2 8 4 10\n");
  EXPECT_EQ(compare("@shifted", {{0, grid(2, 3, 3, 1)}}).substr(0, 52),
            "f64[2,2] storage 0 at 1 by [3, 1] 101 102 104 105\nf6");
  EXPECT_EQ(log, (std::vector<std::string>{"@doubled: inputs share no memory", "@shifted: inputs share no memory"}));
  log.clear();
  compare("@f", {{0, flat(4)}, {1, flat(4)}});
  compare("@f", {{0, flat(4)}, {0, flat(4, 2)}});
  compare("@f", {{0, flat(3)}, {0, flat(3, 4)}});
  compare("@f", {{0, flat(4)}, {0, flat(4)}});
  compare("@f", {{0, flat(4)}, {0, flat(4, 2)}});
  compare("@g", {{0, flat(4, 3, -1)}, {0, flat(4, 2)}});
  EXPECT_EQ(log,
            (std::vector<std::string>{"@f: inputs share no memory", "@f: inputs 0, 1: a synthetic base of 6 elements",
                                      "@f: inputs share no memory", "@f: inputs 0, 1 are one tensor",
                                      "as written: input 0 has negative strides, and shares memory or is viewed"}));
}

// Inputs that are a buffer, or lie in one.
TEST_F(Wrapper, ArgumentsInBuffers) {
  compare("@with_table", {{4, grid(2, 3, 3, 1)}});
  compare("@with_table", {{0, grid(2, 3, 3, 1)}});
  compare("@counted", {{4, flat(3, 3)}});
  compare("@counted", {{4, flat(3, 1, 2)}});
  compare("@counted", {{3, {{}, {}, 0}}});
  compare("@doubled", {{4, grid(3, 2, 1, 3)}});
}

// A failure leaves everything as it was.
TEST_F(Wrapper, AFailureWritesNothing) {
  for (auto& vm : vms)
    ASSERT_TRUE(vm->load_text(R"(
func @fails(mut %x: f64[..]) {
  add_ %x, 1.0
  %ok = lt 1.0, 0.0
  assert %ok {message="no"}
  ret
}
)",
                              "fails.tfa"));
  EXPECT_EQ(compare("@fails", {{0, flat(4)}}), "assert failed: no");
  EXPECT_EQ(run(*vms[1], "@fails", {{0, flat(4)}}, 24).storages[0][0], 0);
}

TEST_F(Wrapper, RandomLayouts) {
  std::mt19937_64 rng(7);
  const auto any = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto layout = [&](std::vector<std::int64_t> dims) {
    for (;;) {
      Layout y{dims, {}, any(0, 23)};
      for (std::size_t k = 0; k < dims.size(); ++k) y.strides.push_back(any(-4, 8));
      const Extent e = extent(y);
      if (e.begin >= 0 && e.end <= 24) return y;
    }
  };
  const std::vector<std::string> one = {"@doubled", "@shifted", "@shared",    "@strided",
                                        "@flat",    "@counted", "@with_table"},
                                 two = {"@f", "@g", "@swap", "@reads", "@custom", "@nested"};
  for (int k = 0; k < 400 && !HasFailure(); ++k) {
    const std::size_t other = rng() % 3 == 0 ? 1 : 0;
    if (k % 3 == 0)
      compare(one[rng() % one.size()], {{0, layout({2, 3})}});
    else if (k % 3 == 1)
      compare(two[rng() % two.size()], {{0, layout({3, 2})}, {other, layout({3, 2})}});
    else
      compare(two[rng() % two.size()], {{0, layout({4})}, {other, layout({4})}});
  }
}

}  // namespace
}  // namespace tfvm::testing
