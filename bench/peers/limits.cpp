// Hand-written references for what a machine can do: the peer `limit_cpp` of ./dev peers. Prints one JSON line each.
// clang-format off
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#include <immintrin.h>
using clk = std::chrono::steady_clock;
typedef float v8 __attribute__((vector_size(32)));
typedef int i8v __attribute__((vector_size(32)));
static inline v8 splat(float x) { return v8{x, x, x, x, x, x, x, x}; }
static inline v8 vround(v8 x) { return __builtin_ia32_roundps256(x, 0); }
// sin, exp and tanh keep within 2 ulp over the whole range, as those of the VM do: `peer_limits check` looks.
static inline v8 vfma(v8 a, v8 b, v8 c) { return (v8)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
static inline v8 vmax(v8 a, v8 b) { return (v8)_mm256_max_ps((__m256)a, (__m256)b); }  // b where one is NaN
static inline v8 vmin(v8 a, v8 b) { return (v8)_mm256_min_ps((__m256)a, (__m256)b); }
static inline v8 vabs(v8 x) { return (v8)((i8v)x & 0x7fffffff); }
static __attribute__((noinline, cold)) v8 far_sin(v8 x) {
  for (int k = 0; k < 8; k++) x[k] = (float)std::sin((double)x[k]);
  return x;
}
static inline v8 vsin(v8 x) {  // range reduction by pi in three parts, odd polynomial of degree 11; far off the C library's
  if (__builtin_expect(_mm256_movemask_ps((__m256)(v8)(vabs(x) > splat(8192.f))) != 0, 0)) return far_sin(x);
  v8 k = vround(x * splat(0.318309886f));
  i8v ki = __builtin_ia32_cvtps2dq256(k);
  v8 r = vfma(k, splat(-3.1415927f), x);
  r = vfma(k, splat(8.742278e-08f), r);
  r = vfma(k, splat(3.4302490200117637e-15f), r);
  v8 s = r * r;
  v8 p = splat(-2.38877416e-8f);
  p = vfma(p, s, splat(2.75253205e-6f)); p = vfma(p, s, splat(-1.9840867e-4f));
  p = vfma(p, s, splat(8.33333097e-3f)); p = vfma(p, s, splat(-1.66666672e-1f));
  v8 y = vfma(r * s, p, r);
  return (v8)((i8v)y ^ (ki << 31));
}
static inline v8 vexp(v8 x) {  // two factors for the power of two: denormal results and infinity come out right
  x = vmin(splat(89.f), vmax(splat(-104.f), x));
  v8 k = vround(x * splat(1.44269504f));
  v8 r = vfma(k, splat(-0.6931472f), x);
  r = vfma(k, splat(1.9046542121259336e-09f), r);
  v8 p = splat(1.9875691e-4f);
  p = vfma(p, r, splat(1.3981999e-3f)); p = vfma(p, r, splat(8.3334519e-3f)); p = vfma(p, r, splat(4.1665795e-2f));
  p = vfma(p, r, splat(1.6666665e-1f)); p = vfma(p, r, splat(5.0000001e-1f));
  v8 y = vfma(r * r, p, r) + splat(1.f);
  i8v e = __builtin_ia32_cvtps2dq256(k), half = e >> 1;
  return y * (v8)((half + 127) << 23) * (v8)((e - half + 127) << 23);
}
static inline v8 vtanh(v8 x) {  // an odd polynomial below 0.625, 1 - 2 / (exp(2|x|) + 1) beyond
  v8 t = vabs(x), s = x * x;
  v8 p = splat(-5.70498872745e-3f);
  p = vfma(p, s, splat(2.06390887954e-2f)); p = vfma(p, s, splat(-5.37397155531e-2f));
  p = vfma(p, s, splat(1.33314422036e-1f)); p = vfma(p, s, splat(-3.33332819422e-1f));
  v8 near = vfma(p * s, x, x);
  v8 far = splat(1.f) - splat(2.f) / (vexp(t + t) + splat(1.f));
  i8v sign = (i8v)x & (int)0x80000000, small = t < splat(0.625f);
  return (v8)((small & (i8v)near) | (~small & ((i8v)far | sign)));
}
// The largest error in ulp over floats of all sizes.
template <class V, class S> static bool check(const char* name, V vec, S ref, float least, float most) {
  double worst = 0;
  float at = 0;
  for (unsigned bits = 1; bits < 0x7f800000u; bits += 997)
    for (unsigned sign = 0; sign < 2; ++sign) {
      unsigned u = bits | sign << 31;
      float x; memcpy(&x, &u, 4);
      if (x < least || x > most) continue;
      float y = vec(splat(x))[0];
      double exact = ref((double)x);
      if (std::fabs(exact) > 3.4028235677973366e38) { if (std::isinf(y)) continue; }
      double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23), e = std::fabs(y - exact) / ulp;
      if (exact == 0 && y == 0) continue;
      if (!(e <= worst)) worst = e, at = x;
    }
  printf("%s: %.3f ulp, at %g\n", name, worst, at);
  return worst <= 2;
}
template <class F> static void bench(const char* name, F f, int reps = 15) {
  std::vector<double> t;
  f();
  for (int i = 0; i < reps; i++) { auto a = clk::now(); f(); t.push_back(std::chrono::duration<double, std::nano>(clk::now() - a).count()); }
  std::sort(t.begin(), t.end());
  printf("{\"workload\":\"%s\",\"peer\":\"limit_cpp\",\"median_ns\":%.1f,\"min_ns\":%.1f}\n", name, t[t.size() / 2], t[0]);
}
static volatile float sink;
int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "check")) {
    bool ok = check("sin", vsin, [](double x) { return std::sin(x); }, -1e30f, 1e30f);
    ok &= check("exp", vexp, [](double x) { return std::exp(x); }, -103.f, 3e38f);
    ok &= check("tanh", vtanh, [](double x) { return std::tanh(x); }, -3e38f, 3e38f);
    return ok ? 0 : 1;
  }
  for (size_t n : {10000ul, 1000000ul, 10000000ul}) {
    float* x = (float*)aligned_alloc(64, n * 4 + 64); float* y = (float*)aligned_alloc(64, n * 4 + 64);
    for (size_t i = 0; i < n; i++) x[i] = float(i % 1000) * 0.004f - 2, y[i] = 0;
    char nm[64]; snprintf(nm, 64, "elementwise_1e%d", (int)std::lround(std::log10((double)n)));
    bench(nm, [&] { for (size_t i = 0; i + 8 <= n; i += 8) { v8 a = *(v8*)(x + i); *(v8*)(y + i) = vsin(a) * vexp(-a * a) + vtanh(a) / (splat(1.f) + a * a); } });
    if (n == 10000000) {
      bench("axpy_1e7", [&] { for (size_t i = 0; i + 8 <= n; i += 8) *(v8*)(y + i) = splat(1.5f) * *(v8*)(x + i) + *(v8*)(y + i); });
      bench("memcpy_1e7", [&] { memcpy(y, x, n * 4); });
    }
    free(x); free(y);
  }
  auto acc = [](v8 th, v8 om, v8 d) { return splat(-9.81f) * vsin(th) - d * om; };
  auto step = [&](v8& th, v8& om, v8 d) {
    v8 h = splat(0.01f), h2 = splat(0.005f), c = splat(0.01f / 6);
    v8 k1t = om, k1o = acc(th, om, d);
    v8 k2t = om + h2 * k1o, k2o = acc(th + h2 * k1t, om + h2 * k1o, d);
    v8 k3t = om + h2 * k2o, k3o = acc(th + h2 * k2t, om + h2 * k2o, d);
    v8 k4t = om + h * k3o, k4o = acc(th + h * k3t, om + h * k3o, d);
    th += c * (k1t + splat(2.f) * (k2t + k3t) + k4t); om += c * (k1o + splat(2.f) * (k2o + k3o) + k4o);
  };
  std::vector<v8> T(128), O(128), D(128);
  for (int i = 0; i < 128; i++) T[i] = splat(0.01f * i), O[i] = splat(0.f), D[i] = splat(0.1f);
  bench("rollout_pendulum_b1024", [&] {
    for (int i = 0; i < 128; i += 4) {  // four independent groups hide latency
      v8 t[4], o[4]; for (int j = 0; j < 4; j++) t[j] = T[i + j], o[j] = O[i + j];
      for (int s = 0; s < 1000; s++) for (int j = 0; j < 4; j++) step(t[j], o[j], D[i + j]);
      for (int j = 0; j < 4; j++) sink = t[j][0];
    } });
  bench("rollout_pendulum_b1", [&] { v8 t = T[50], o = O[50]; for (int s = 0; s < 1000; s++) step(t, o, D[0]); sink = t[0]; });
  {  // Lennard-Jones, 256 particles, all pairs, energy + forces
    const int N = 256; alignas(64) static float X[N], Y[N], Z[N], FX[N], FY[N], FZ[N];
    for (int i = 0; i < N; i++) X[i] = (i % 8) * 1.2f, Y[i] = (i / 8 % 8) * 1.2f, Z[i] = (i / 64) * 1.2f;
    bench("lj_forces", [&] {
      v8 E = splat(0.f);
      for (int i = 0; i < N; i++) {
        v8 fx = splat(0), fy = fx, fz = fx;
        for (int j = 0; j < N; j += 8) {
          v8 dx = splat(X[i]) - *(v8*)(X + j), dy = splat(Y[i]) - *(v8*)(Y + j), dz = splat(Z[i]) - *(v8*)(Z + j);
          v8 r2 = dx * dx + dy * dy + dz * dz; i8v self = r2 == splat(0.f);
          v8 ir2 = splat(1.f) / (v8)(((i8v)r2 & ~self) | ((i8v)splat(1e30f) & self));
          v8 s6 = ir2 * ir2 * ir2; E += s6 * s6 - s6; v8 f = (splat(48.f) * s6 * s6 - splat(24.f) * s6) * ir2;
          fx += f * dx; fy += f * dy; fz += f * dz;
        }
        float a = 0, b = 0, c = 0; for (int k = 0; k < 8; k++) a += fx[k], b += fy[k], c += fz[k];
        FX[i] = a; FY[i] = b; FZ[i] = c;
      }
      float out = E[0]; for (int i = 0; i < N; i++) out += FX[i] + FY[i] + FZ[i]; sink = out; });
  }
  {  // peak FMA
    bench("fma_peak_1e8_flop", [&] { v8 a[10]; for (auto& q : a) q = splat(1.f); v8 m = splat(0.999f), c = splat(0.001f);
      for (int i = 0; i < 625000; i++) { for (auto& q : a) q = q * m + c; asm volatile("" : "+x"(a[0]), "+x"(a[5])); }
      v8 s = a[0]; for (auto& q : a) s += q; sink = s[0]; });
  }
  return 0;
}
