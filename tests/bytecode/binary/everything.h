#pragma once
// A module with something of everything that the grammar has, in canonical text.

#include <string_view>

namespace tfvm::test {

inline constexpr std::string_view kEverything = R"(import "other.tfa"

param @n: i64[..] = file "a/b \"c\".npy"
param @w: f32[2] = [0.5, -0x1.8p3]
param @b: f64 = complex(1, -inf)
param @z: f32[0,3] = [[], []]
param @h: u8[4] = hex"00ff10ab"
buffer @c: f32[2,2] = call @init<axis=-1, mode="x">([1, 2], @w)

extern op "kv.append"(mut %cache: f32[s,d], %k: f32[..b,d], %pos) -> (f1[..], pack) {inplace=true}

func @init<axis: int = 0xff, mode: str, eps: float = 1e-5, on: bool = true, d: dtype = f16, l: ints = [0, -1]>(%x, mut %p.w: i3[..], %q: t[n,2]) -> () {custom_vjp=[@fwd, @bwd]} {
  ret
}

func @f(%x: f[..], %i: i64) -> f {
  %a, %b' = kv.append %x, [1, 2.5, bits(0x7fc00001)], true, (dim(%x, 0) % 2 - -1), @w, [@g, grad(@f)] {shape=[(size(%x) * (2 + n)), none], views=[alias(), slice(0, 2)], s="a\n\u0001ü"} : (f32[2], bool)
  %r = cond %i, @then, vmap(@f, in_dims=[0, none]) (%a, 1)
  %s = switch %i, [@g, @f] (%x)
  %t, %u = while @c1, @b1 (%r) {cond_consts=1} : (f32, tape)
  %v = while (%i = 0, %x = %x) {memory=5} {
    %k = lt %i, (not (a or b and not c == min(1, max(2, -(3)))) and axes == none)
    yield %k
  } do {
    yield %i, %x
  }
  %cc, %ys = scan (%c = %v; %y = %x) {length=3} {
    %c = if (mode == "mean") {
      yield %c
    } else {
      expect_error "no" %q = foo %c, (-(-x) - (1 - 2))
      yield %y
    }
    yield %c, %scan.i; %y
  }
  %d = for (%e = %x) {length=2} {
    yield %e
  }
  %d = scan (%e = %d;) {
    yield; %e
  }
  %g = call grad(@f, argnums=[x, p, @w])(%d)
  %o = checkpoint @f (%g) {policy="nothing_saveable"}
  %o = scan @body (%o, nan, -0, 1E+10) {reverse=true}
  ret %o, %cc
}

func @d = vmap(grad(@f), in_dims=0)

test "a \\ test" {skip="why"} {
  %r = call @f(1, 2)
  expect_eq %r, [[1, 2], [3, 4]] {bitwise=true}
}
)";

}  // namespace tfvm::test
