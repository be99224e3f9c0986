// Planted nans: the trap names the line that gives each, the element, the lane and the steps of loops around.
#include "vm/trap/nan_trap.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "vm/print.h"
#include "vm/vm.h"

namespace tfvm {
namespace {

struct Planted {
  const char* name;
  const char* source;  // the line that gives nan ends in "// nan"
  const char* callee;
  std::vector<const char*> args;
  std::vector<const char*> says;  // parts of the message and its notes
  bool live = true;               // it reaches a result
};

std::unique_ptr<VM> make_vm(NanTrap trap, const char* source) {
  VmOptions o;
  o.nan_trap = trap;
  auto vm = VM::create(o);
  if (!vm) return nullptr;
  const Status s = (*vm)->load_text(source, "planted.tfa");
  EXPECT_TRUE(s) << s.error().message << " line " << s.error().loc.line;
  return *std::move(vm);
}

// "f32[64] 1.5" with each of the 64.
std::string with_all_elements(const std::string& s) {
  if (s.rfind("f32[64] ", 0) != 0) return s;
  std::string out = "f32[64] [";
  for (int k = 0; k < 64; ++k) out += (k ? ", " : "") + s.substr(8);
  return out + "]";
}

Result<std::vector<Value>> call(VM& vm, const char* callee, const std::vector<const char*>& args) {
  std::vector<Value> in;
  std::vector<TypeId> types;
  for (const char* s : args) {
    in.push_back(vm.value(*parse_tensor(with_all_elements(s))));
    types.push_back(in.back().type);
  }
  const auto f = vm.entry(callee, types);
  if (!f) return f.error();
  Context context(vm.budget());
  return vm.call(context, *f, in);
}

std::uint32_t line_of_nan(std::string_view source) {
  const auto before = source.substr(0, source.find("// nan"));
  return 1 + static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
}

std::string all_of(const Error& e) {
  std::string text = std::string(name(e.code)) + " line " + std::to_string(e.loc.line) + ": " + e.message;
  for (const std::string& note : e.notes) text += "\n  note: " + note;
  return text;
}

// clang-format off
const Planted kPlanted[] = {
  {"log", R"(func @f(%x: f32[4]) {
  %y = log %x  // nan
  %z = mul %y, 2
  ret %z
})", "@f", {"f32[4] [1, 2, -1, 3]"}, {"[log]", "%y[2]"}},
  {"sqrt_masked", R"(func @f(%x: f32[4]) {
  %y = sqrt %x  // nan
  %p = ge %x, 0
  %z = select %p, %y, 0
  ret %z
})", "@f", {"f32[4] [1, -2, 1, 3]"}, {"[sqrt]", "%y[1]"}, false},
  {"zero_by_zero", R"(func @f(%x: f64[2,2]) {
  %a = sub %x, %x
  %y = div %a, %a  // nan
  ret %y
})", "@f", {"f64[2,2] [[1, 2], [3, 4]]"}, {"[div]", "[0, 0]"}},
  {"inf_minus_inf", R"(func @f(%x: f32[3]) {
  %a = exp %x
  %b = exp2 %x
  %y = sub %a, %b  // nan
  ret %y
})", "@f", {"f32[3] [0, 1, 1000]"}, {"[sub]", "%y[2]"}},
  {"in_a_call", R"(func @g(%a: f32) {
  %l = log %a  // nan
  %e = exp %l
  ret %e
}
func @f(%x: f32) {
  %y = call @g(%x)
  %n = neg %x
  ret %y, %n
})", "@f", {"f32 -1"}, {"[log]", "in @g"}},
  {"in_a_branch", R"(func @f(%p: bool, %x: f32) {
  %y = if %p {
    %a = asin %x  // nan
    yield %a
  } else {
    %b = log %x
    yield %b
  }
  ret %y
})", "@f", {"bool true", "f32 2"}, {"[asin]"}},
  {"compared", R"(func @f(%x: f32[2,3]) {
  %y = log1p %x  // nan
  %p = gt %y, 0
  %z = cast %p {dtype=i32}
  ret %z
})", "@f", {"f32[2,3] [[0, 0, 0], [0, -3, 0]]"}, {"[log1p]", "%y[1, 1]"}, false},
  {"sum", R"(func @f(%x: f32[4]) {
  %y = reduce_sum %x  // nan
  ret %y
})", "@f", {"f32[4] [inf, 1, -inf, 0]"}, {"[reduce_sum]"}},
  {"filled", R"(func @f(%x: f32[4], %i: i64[3]) {
  %y = take %x, %i {mode="fill"}  // nan
  ret %y
})", "@f", {"f32[4] [1, 2, 3, 4]", "i64[3] [0, 9, 1]"}, {"[take]", "%y[1]"}},

  {"scan_carry", R"(func @f(%x: f64) {
  %y = scan (%a = %x;) {length=20} {
    %b = sub %a, 1
    %c = sqrt %b  // nan
    %d = mul %c, %c
    yield %d;
  }
  ret %y
})", "@f", {"f64 7.5"}, {"[sqrt]", "in step 7 of the scan"}},
  {"scan_masked", R"(func @f(%x: f32[64]) {
  %y = scan (%a = %x;) {length=20} {
    %b = sub %a, 1
    %c = log %b  // nan
    %p = gt %b, 0
    %d = select %p, %c, 0
    %e = mul %d, 0.001
    %g = add %b, %e
    yield %g;
  }
  ret %y
})", "@f", {"f32[64] 10.5"}, {}, false},
  {"scan_stacked", R"(func @f(%x: f32[50]) {
  %n, %y = scan (%k = 0; %a = %x) {
    %b = log %a  // nan
    %m = add %k, 1
    yield %m; %b
  }
  ret %n, %y
})", "@f", {}, {"[log]", "in step 31 of the scan"}},
  {"scan_reverse", R"(func @f(%x: f32[50]) {
  %s, %y = scan (%k = 0.0; %a = %x) {reverse=true} {
    %b = sqrt %a  // nan
    %m = max %k, 1
    yield %m; %b
  }
  ret %s, %y
})", "@f", {}, {"[sqrt]", "in step 31 of the scan"}},
  {"nested_scans", R"(func @f(%x: f64) {
  %y = scan (%a = %x;) {length=5} {
    %z = scan (%b = %a;) {length=4} {
      %c = sub %b, 1
      %d = log %c  // nan
      %e = exp %d
      yield %e;
    }
    yield %z;
  }
  ret %y
})", "@f", {"f64 10.5"}, {"[log]", "in step 2 of the scan", "in step 2 of the scan"}},
  {"scan_of_matrices", R"(func @f(%x: f32[3,3]) {
  %y = scan (%a = %x;) {length=300} {
    %b = matmul %a, %a
    %c = sub %b, %b  // nan
    %d = add %a, %c
    %e = add %d, %d
    yield %e;
  }
  ret %y
})", "@f", {"f32[3,3] [[1, 2, 3], [4, 5, 6], [7, 8, 9]]"}, {"[sub]", "of the scan"}},

  {"while_body", R"(func @f(%x: f64) {
  %y, %n = while (%a = %x, %k = 0) {
    %more = lt %k, 10
    yield %more
  } do {
    %b = sub %a, 1
    %c = log %b  // nan
    %m = add %k, 1
    yield %c, %m
  }
  ret %y, %n
})", "@f", {"f64 3"}, {"[log]", "in step 1 of the while"}},
  {"while_condition", R"(func @f(%x: f64) {
  %y = while (%a = %x) {
    %r = sqrt %a  // nan
    %more = gt %r, 1
    yield %more
  } do {
    %b = sub %a, 3
    yield %b
  }
  ret %y
})", "@f", {"f64 8"}, {"[sqrt]", "in step 3 of the while"}, false},
  {"while_condition_at_once", R"(func @f(%x: f64, %c: f64) {
  %y = while (%a = %x) {
    %d = sub %a, %c
    %r = sqrt %d  // nan
    %more = gt %r, 1
    yield %more
  } do {
    %b = sub %a, 3
    yield %b
  }
  ret %y
})", "@f", {"f64 8", "f64 9"}, {"[sqrt]", "in step 0 of the while"}, false},
  {"while_masked", R"(func @f(%x: f64) {
  %y, %n = while (%a = %x, %k = 0) {
    %more = lt %k, 10
    yield %more
  } do {
    %b = sub %a, 1
    %c = sqrt %b  // nan
    %p = isnan %c
    %d = select %p, %b, %c
    %m = add %k, 1
    yield %d, %m
  }
  ret %y, %n
})", "@f", {"f64 3.5"}, {"[sqrt]", "in step 2 of the while"}, false},
  {"while_in_scan", R"(func @f(%x: f64) {
  %y = scan (%a = %x;) {length=4} {
    %z, %n = while (%b = %a, %k = 0) {
      %more = lt %k, 3
      yield %more
    } do {
      %c = sub %b, 1
      %s = sqrt %c  // nan
      %d = mul %s, %s
      %m = add %k, 1
      yield %d, %m
    }
    yield %z;
  }
  ret %y
})", "@f", {"f64 7.5"}, {"[sqrt]", "in step 1 of the while", "in step 2 of the scan"}},

  {"vmap", R"(func @g(%x: f32[3]) {
  %y = log %x  // nan
  %s = reduce_sum %y
  ret %s
}
func @f = vmap(@g))", "@f", {"f32[2,3] [[1, 2, 3], [4, -5, 6]]"}, {"[log]", "[1] in lane 1"}},
  {"vmap_of_vmap", R"(func @g(%x: f32) {
  %y = sqrt %x  // nan
  ret %y
}
func @f = vmap(vmap(@g)))", "@f", {"f32[2,3] [[1, 2, 3], [4, 5, -6]]"}, {"[sqrt]", "in lane 1, 2"}},
  {"vmap_masked", R"(func @g(%x: f32) {
  %y = acosh %x  // nan
  %p = ge %x, 1
  %z = select %p, %y, 0
  ret %z
}
func @f = vmap(@g))", "@f", {"f32[3] [1, 0, 3]"}, {"[acosh]", "in lane 1"}, false},
  {"vmap_of_scan", R"(func @g(%x: f64) {
  %y = scan (%a = %x;) {length=9} {
    %b = sub %a, 1
    %c = log %b  // nan
    %d = exp %c
    yield %d;
  }
  ret %y
}
func @f = vmap(@g))", "@f", {"f64[4] [20.5, 20.5, 6.5, 20.5]"}, {"[log]", "in lane 2", "in step 6 of the scan"}},
  {"vmap_of_while", R"(func @g(%x: f64) {
  %y, %n = while (%a = %x, %k = 0.0) {
    %more = lt %k, 9
    yield %more
  } do {
    %b = sub %a, 1
    %c = log %b  // nan
    %d = exp %c
    %m = add %k, 1
    yield %d, %m
  }
  ret %y
}
func @f = vmap(@g))", "@f", {"f64[4] [20.5, 20.5, 20.5, 6.5]"}, {"[log]", "in lane 3", "in step 6 of the while"}},
  {"scan_of_vmap", R"(func @g(%x: f64) {
  %b = sub %x, 1
  %c = sqrt %b  // nan
  %d = mul %c, %c
  ret %d
}
func @f(%x: f64[3]) {
  %y = scan (%a = %x;) {length=9} {
    %b = call vmap(@g)(%a)
    yield %b;
  }
  ret %y
})", "@f", {"f64[3] [20.5, 2.5, 20.5]"}, {"[sqrt]", "in lane 1", "in step 2 of the scan"}},

  {"backward", R"(func @f(%x: f32[2], %w: f32[2]) {
  %p = dot %x, %w  // nan
  %s = min %p, 5
  ret %s
})", "grad(@f)", {"f32[2] [1, 2]", "f32[2] [inf, 1]"}, {"backward pass", "%x.t.ct[0]"}},
  {"backward_matrix", R"(func @f(%x: f32[2,2], %w: f32[2,2]) {
  %p = matmul %x, %w  // nan
  %c = clamp 0, %p, 5
  %s = reduce_sum %c
  ret %s
})", "grad(@f)", {"f32[2,2] [[1, 2], [3, 4]]", "f32[2,2] [[inf, 1], [1, 1]]"}, {"backward pass"}},
  {"backward_in_scan", R"(func @f(%x: f64[2], %w: f64[6,2]) {
  %y, %z = scan (%a = %x; %v = %w) {
    %p = dot %a, %v  // nan
    %q = min %p, 1
    %b = mul %a, %q
    yield %b; %q
  }
  %s = reduce_sum %y
  ret %s
})", "grad(@f)", {"f64[2] [1, 2]", "f64[6,2] [[1, 1], [1, 1], [1, 1], [inf, 1], [1, 1], [1, 1]]"},
   {"backward pass", "in step 3 of the scan"}},
  {"backward_in_while", R"(func @f(%x: f64[2], %w: f64[2]) {
  %y, %n = while (%a = %x, %k = 0) {
    %more = lt %k, 3
    yield %more
  } do {
    %p = dot %a, %w  // nan
    %q = min %p, 1
    %b = mul %a, %q
    %m = add %k, 1
    yield %b, %m
  }
  %s = reduce_sum %y
  ret %s
})", "grad(@f)", {"f64[2] [1, 2]", "f64[2] [inf, 1]"}, {"backward pass", "in step 2 of the"}},
  {"backward_of_lanes", R"(func @g(%x: f32[2], %w: f32[2]) {
  %p = dot %x, %w  // nan
  %s = min %p, 5
  ret %s
})", "vmap(grad(@g))", {"f32[3,2] [[1, 2], [1, 2], [1, 2]]", "f32[3,2] [[1, 1], [1, 1], [1, inf]]"},
   {"backward pass", "in lane 2", "[1]"}},
  {"lanes_backward", R"(func @g(%x: f32[2], %w: f32[2]) {
  %p = dot %x, %w  // nan
  %s = min %p, 5
  ret %s
}
func @f(%x: f32[3,2], %w: f32[3,2]) {
  %y = call vmap(@g)(%x, %w)
  %s = reduce_sum %y
  ret %s
})", "grad(@f)", {"f32[3,2] [[1, 2], [1, 2], [1, 2]]", "f32[3,2] [[1, 1], [1, inf], [1, 1]]"},
   {"backward pass", "in lane 1"}},
  // The tangent of %p is nan in lane 1, whose direction is [0, 1]; no result has that nan, as the cotangent of %q is 0,
  // but one of the backward pass over the same line.
  {"second_order", R"(func @f(%x: f32[2], %w: f32[2]) {
  %p = dot %x, %w  // nan
  %q = mul %p, %p
  %s = min %q, 5
  ret %s
})", "hessian(@f)", {"f32[2] [1, 2]", "f32[2] [inf, 1]"}, {"[dot_general]", "in lane"}},
};
// clang-format on

std::vector<const char*> args_of(const Planted& p) {
  if (!p.args.empty()) return p.args;
  static const std::string kRow = [] {  // 50 elements, of which number 31 is negative
    std::string s = "f32[50] [";
    for (int k = 0; k < 50; ++k) s += k == 31 ? "-1, " : "2, ";
    return s.substr(0, s.size() - 2) + "]";
  }();
  return {kRow.c_str()};
}

class NanTraps : public ::testing::TestWithParam<Planted> {};

TEST_P(NanTraps, NamesTheLine) {
  const Planted& p = GetParam();
  const auto vm = make_vm(NanTrap::All, p.source);
  const auto out = call(*vm, p.callee, args_of(p));
  ASSERT_FALSE(out) << "no nan was seen";
  const std::string text = all_of(out.error());
  EXPECT_EQ(out.error().code, Code::Assert) << text;
  EXPECT_EQ(out.error().loc.line, line_of_nan(p.source)) << text;
  for (const char* part : p.says) EXPECT_NE(text.find(part), text.npos) << part << " in: " << text;
}

TEST_P(NanTraps, LiveTellsOnlyOfWhatIsSeen) {
  const Planted& p = GetParam();
  const auto vm = make_vm(NanTrap::Live, p.source);
  const auto out = call(*vm, p.callee, args_of(p));
  if (!p.live) {
    EXPECT_TRUE(out) << all_of(out.error());
    return;
  }
  ASSERT_FALSE(out) << "no nan was seen";
  const std::string text = all_of(out.error());
  EXPECT_EQ(out.error().loc.line, line_of_nan(p.source)) << text;
  for (const char* part : p.says) EXPECT_NE(text.find(part), text.npos) << part << " in: " << text;
}

TEST_P(NanTraps, OffSaysNothing) {
  const Planted& p = GetParam();
  const auto vm = make_vm(NanTrap::Off, p.source);
  const auto out = call(*vm, p.callee, args_of(p));
  EXPECT_TRUE(out) << all_of(out.error());
}

INSTANTIATE_TEST_SUITE_P(All, NanTraps, ::testing::ValuesIn(kPlanted),
                         [](const auto& given) { return std::string(given.param.name); });

// The first one is masked, the second one, by the same op in a later step, is not.
TEST(NanTrap, LiveTellsTheStepOfTheOneThatIsSeen) {
  const char* source = R"(func @f(%x: f64[6], %m: f64[6], %z: f64) {
  %y, %n = scan (%a = %z; %v = %x, %k = %m) {
    %l = log %v  // nan
    %p = gt %k, 0
    %s = select %p, %l, 0
    %b = add %a, %s
    yield %b; %b
  }
  ret %y
})";
  const auto vm = make_vm(NanTrap::Live, source);
  const auto out = call(*vm, "@f", {"f64[6] [1, -1, 1, -1, -1, 1]", "f64[6] [1, 0, 1, 0, 1, 1]", "f64 0"});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().loc.line, 3u);
  EXPECT_NE(all_of(out.error()).find("in step 4 of the scan"), std::string::npos) << all_of(out.error());
}

TEST(NanTrap, TellsTangentsFromCotangents) {
  const char* source = R"(func @f(%x: f32[2], %w: f32[2]) {
  %p = dot %x, %w
  %q = mul %p, %p
  %s = min %q, 5
  ret %s
})";
  const auto message = [&](NanTrap trap) {
    const auto vm = make_vm(trap, source);
    const auto out = call(*vm, "hessian(@f)", {"f32[2] [1, 2]", "f32[2] [inf, 1]"});
    return out ? "none" : out.error().message;
  };
  EXPECT_EQ(message(NanTrap::All), "[dot_general] gives nan: %p.t.b in lane 1");
  EXPECT_EQ(message(NanTrap::Live), "[dot_general] gives nan: %x.t.ct.t.b[0] in lane 0");
}

// What is not run gives no nan.
TEST(NanTrap, DeadCodeGivesNone) {
  const char* source = R"(func @f(%x: f32[2]) {
  %y = log %x
  %z = add %x, 1
  ret %z
})";
  const auto vm = make_vm(NanTrap::All, source);
  const auto out = call(*vm, "@f", {"f32[2] [-1, 1]"});
  EXPECT_TRUE(out) << all_of(out.error());
}

TEST(NanTrap, NamesAnInput) {
  const char* source = "func @f(%x: f32[3], %y: f32[3]) {\n  %z = add %x, %y\n  ret %z\n}\n";
  for (const NanTrap trap : {NanTrap::All, NanTrap::Live}) {
    const auto vm = make_vm(trap, source);
    const auto out = call(*vm, "@f", {"f32[3] [1, 2, 3]", "f32[3] [1, nan, 3]"});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().message, "input 1 holds nan: %y[1]") << all_of(out.error());
  }
}

TEST(NanTrap, NamesALineOfAFunctionThatWrites) {
  const char* source = R"(func @f(mut %x: f32[3]) {
  %l = log %x  // nan
  %w = add_ %x, %l
  ret
})";
  const auto vm = make_vm(NanTrap::All, source);
  const auto out = call(*vm, "@f", {"f32[3] [1, -2, 3]"});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().loc.line, 2u) << all_of(out.error());
}

TEST(NanTrap, ResultsAreThoseWithoutIt) {
  const char* source = R"(func @f(%x: f32[64]) {
  %y = scan (%a = %x;) {length=20} {
    %b = mul %a, 0.9
    %c = log %b
    %p = gt %b, 0
    %d = select %p, %c, 0
    %g = add %b, %d
    %h = abs %g
    %i = add %h, 1
    yield %i;
  }
  ret %y
})";
  std::vector<std::string> texts;
  for (const NanTrap trap : {NanTrap::Off, NanTrap::All, NanTrap::Live}) {
    const auto vm = make_vm(trap, source);
    const auto out = call(*vm, "grad(@f)", {"f32[64] 1.5"});
    const auto forward = call(*vm, "@f", {"f32[64] 1.5"});
    ASSERT_TRUE(forward) << all_of(forward.error());
    texts.push_back(print(forward->front().tensor(), {.full = true}));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
}

TEST(NanTrap, FindsNanOfEveryDtype) {
  for (const char* text : {"f16[9] [1, 2, 3, 4, 5, 6, 7, nan, 9]", "bf16[9] [1, 2, 3, 4, 5, 6, 7, nan, 9]",
                           "f32[9] [1, 2, 3, 4, 5, 6, 7, nan, 9]", "f64[9] [1, 2, 3, 4, 5, inf, 7, nan, 9]"})
    EXPECT_EQ(first_nan(*parse_tensor(text)), 7) << text;
  EXPECT_EQ(first_nan(*parse_tensor("f64[3] [1, inf, -inf]")), std::nullopt);
  EXPECT_EQ(first_nan(*parse_tensor("i32[3] [1, -1, 2147483647]")), std::nullopt);
}

}  // namespace
}  // namespace tfvm
