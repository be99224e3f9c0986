#include "tests/vm/nan_planted.h"

namespace tfvm {

namespace {

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

}  // namespace

std::span<const Planted> planted_nans() { return kPlanted; }

}  // namespace tfvm
