#!/usr/bin/env python3
"""Fits every polynomial of jit/math and writes coefficients_f32.h and coefficients_f64.h.

Each polynomial is a weighted minimax fit by Remez exchange on a dense Chebyshev grid in 50-digit
arithmetic, then rounded to the type it is evaluated in. Run: python3 fit.py OUTPUT_FOLDER, then clang-format
(needs mpmath; gmpy2 makes it fast). The comment over each table says what it approximates and
the weighted error of the fit, before the rounding of its coefficients.
"""
import struct
import sys

from mpmath import mp, mpf, matrix, lu_solve, cos, pi

mp.dps = 50


def remez(f, a, b, degree, weight):
    """Coefficients c of sum c[k] x^k and max |weight * (f - p)| over [a, b]."""
    a, b = mpf(a), mpf(b)
    n = degree + 2
    count = 48 * n
    grid = [(a + b) / 2 - (b - a) / 2 * cos(pi * (i + mpf(1) / 2) / count) for i in range(count)]
    values = [mpf(f(x)) for x in grid]
    weights = [mpf(weight(x)) for x in grid]
    nodes = sorted({min(count - 1, int(count * (i + 0.5) / n)) for i in range(n)})
    coefficients, error = None, None
    for _ in range(25):
        system, rhs = matrix(n, n), matrix(n, 1)
        for row, index in enumerate(nodes):
            power = mpf(1)
            for k in range(degree + 1):
                system[row, k] = power
                power *= grid[index]
            system[row, degree + 1] = (-1) ** row / weights[index]
            rhs[row] = values[index]
        solution = lu_solve(system, rhs)
        coefficients = [solution[k] for k in range(degree + 1)]
        level = abs(solution[degree + 1])
        errors = []
        for x, y, w in zip(grid, values, weights):
            p = mpf(0)
            for c in reversed(coefficients):
                p = p * x + c
            errors.append(w * (y - p))
        error = max(abs(e) for e in errors)
        if error < level * mpf("1.02"):
            break
        best = []
        for i, e in enumerate(errors):
            if best and (errors[best[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[best[-1]]):
                    best[-1] = i
            else:
                best.append(i)
        while len(best) > n:
            best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
        if len(best) < n:
            break
        nodes = best
    return coefficients, error


def literal(c, single):
    c = float(c)
    if single:
        c = struct.unpack("f", struct.pack("f", c))[0]
        return c.hex() + "F"
    return c.hex()


# Tables whose first coefficient is kept to twice the precision, as k...Low.
WITH_LOW = ("kErfc", "kErfcF32", "kDigamma")


def table(name, comment, f, interval, degree, weight, single, template):
    coefficients, error = remez(f, interval[0], interval[1], degree, weight)
    scalar = "float" if single else "double"
    bits = float(mp.log(error, 2)) if error else -999.0
    print(f"{name:24s} {scalar:6s} degree {degree:2d}  error 2^{bits:.1f}", file=sys.stderr)
    head = f"// {comment}; error 2^{bits:.1f}.\n"
    head += "template <>\n" if template else ""
    body = ", ".join(literal(c, single) for c in coefficients)
    target = f"{name}<{scalar}>" if template else name
    out = head + f"inline constexpr std::array<{scalar}, {degree + 1}> {target} = {{{body}}};\n"
    if name in WITH_LOW:
        low = coefficients[0] - mpf(float.fromhex(literal(coefficients[0], single).rstrip("F")))
        out += f"inline constexpr {scalar} {name}Low = {literal(low, single)};  // what rounding took from its first\n"
    return out


def odd_tail(f, first):
    """(f(x) - x*first) / x^3 as a function of z = x^2."""
    return lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - first) / z if z else mp.taylor(f, 0, 3)[3]


def sqrt_weight(f):
    """|x^3 / f(x)| at z = x^2: turns the error of a tail into a relative error of f."""
    return lambda z: abs(z * mp.sqrt(z) / f(mp.sqrt(z))) if z else mpf(0) + mpf(10) ** -20


def em1_tail(r):
    return (mp.expm1(r) - r) / r**2 if abs(r) > 1e-20 else mpf(1) / 2


def log_tail(f):
    return (mp.log1p(f) - f + f**2 / 2) / f**3 if abs(f) > 1e-15 else mpf(1) / 3


def atanh_tail(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z if z > 1e-30 else mpf(2) / 3


def atanh_tail2(z):
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1 - z / 3) / z**2 if z > 1e-15 else mpf(1) / 5


def cos_tail(z):
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > 1e-15 else mpf(1) / 24


def scaled_erfc(q, pole):
    x = pole * (1 + q) / (1 - q)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def stirling(u):
    if u < mpf(10) ** -8:
        return mpf(1) / 12 - u / 360 + u**2 / 1260
    x = 1 / mp.sqrt(u)
    return x * (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * pi) / 2)


def psi_tail(u):
    if u < mpf(10) ** -8:
        return mpf(1) / 12 - u / 120 + u**2 / 252
    x = 1 / mp.sqrt(u)
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


PSI_ROOT = mp.findroot(mp.digamma, 1.4616)


def psi_quotient(t):
    x = t + mpf(3) / 2
    d = x - PSI_ROOT
    return mp.digamma(x) / d if abs(d) > 1e-20 else mp.psi(1, PSI_ROOT)


def erfinv_of(w):
    """erfinv(x)/x where w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    if w < 1e-20:
        return mp.sqrt(pi) / 2
    tail = -mp.expm1(-w)
    # 1 - x without cancellation: (1 - x^2) / (1 + x).
    q = mp.exp(-w) / (1 + x)
    y = mp.sqrt(-mp.log(q)) if q < 0.2 else mp.erfinv(x)
    for _ in range(60):
        step = (mp.erfc(y) - q) / (2 / mp.sqrt(pi) * mp.exp(-y * y))
        y += step
        if abs(step) < mpf(10) ** -40 * y:
            break
    return y / x


HALF_LN2 = mpf("0.3468")
SQRT2 = mp.sqrt(2)
S_MAX = ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * mpf("1.0001")
TINY = mpf(10) ** -20

# name, comment, function, interval f32, degree f32, interval f64, degree f64, weight
SHARED = [
    ("kExp", "(exp(r) - 1 - r) / r^2, |r| <= ln2/2", em1_tail,
     (-HALF_LN2, HALF_LN2), 4, (-HALF_LN2, HALF_LN2), 9, lambda r: abs(r) + TINY),
    ("kExp2", "(2^r - 1) / r, |r| <= 1/2", lambda r: mp.expm1(r * mp.log(2)) / r if r else mp.log(2),
     (-0.5, 0.5), 5, (-0.5, 0.5), 10, lambda r: mpf(1)),
    ("kSinQuarter", "(sin(r) - r) / r^3 in r^2, |r| <= pi/4", odd_tail(mp.sin, 1),
     (0, 0.6175), 2, (0, 0.6175), 5, sqrt_weight(mp.sin)),
    ("kCosQuarter", "(cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4", cos_tail,
     (0, 0.6175), 2, (0, 0.6175), 5, lambda z: z**2 + TINY),
    ("kAtan", "(atan(t) - t) / t^3 in t^2, |t| <= tan(pi/8)", odd_tail(mp.atan, 1),
     (0, 0.17158), 4, (0, 0.17158), 10, sqrt_weight(mp.atan)),
    ("kAsin", "(asin(t) - t) / t^3 in t^2, |t| <= 1/2", odd_tail(mp.asin, 1),
     (0, 0.25), 4, (0, 0.25), 11, sqrt_weight(mp.asin)),
    ("kSinh", "(sinh(x) - x) / x^3 in x^2, |x| <= 1", odd_tail(mp.sinh, 1),
     (0, 1), 3, (0, 1), 6, sqrt_weight(mp.sinh)),
]

# name, comment, function, interval, degree, weight
ONLY_F32 = [
    ("kLog1pF32", "(log(1 + f) - f + f^2/2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2)", log_tail,
     (1 / SQRT2 - 1, SQRT2 - 1), 7, lambda f: abs(f**3 / mp.log1p(f)) if abs(f) > 1e-15 else TINY),
    ("kErfF32", "erf(x)/x - 1 in x^2, |x| <= 1", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z > 0 else 2 / mp.sqrt(pi) - 1,
     (0, 1), 6, lambda z: mpf(1)),
    ("kLogErfcF32", "log(erfc(x)) / x, 1 <= x <= 4", lambda x: mp.log(mp.erfc(x)) / x,
     (0.98, 4), 6, lambda x: x * mp.erfc(x) / mp.erf(x)),
    ("kErfcF32", "(1 + 2x) exp(x^2) erfc(x) in q = (x - 2.5)/(x + 2.5), 0.64 <= x <= 10.5",
     lambda q: scaled_erfc(q, mpf("2.5")), ((0.64 - 2.5) / (0.64 + 2.5), (10.5 - 2.5) / (10.5 + 2.5)), 9, lambda q: mpf(1)),
    ("kTanhF32", "(tanh(x) - x) / x^3 in x^2, |x| <= 5/8", odd_tail(mp.tanh, 1),
     (0, 0.390625), 4, sqrt_weight(mp.tanh)),
]
ONLY_F64 = [
    ("kAtanh", "(2 atanh(s)/s - 2) / s^2 in s^2, s = f/(2 + f) of the logarithm", atanh_tail,
     (0, S_MAX), 6, lambda z: z + TINY),
    ("kAtanhTail", "(atanh(s)/s - 1 - s^2/3) / s^4 in s^2", atanh_tail2, (0, S_MAX), 7, lambda z: z**2 + TINY),
    ("kErf", "erf(x)/x - 1 in x^2, |x| <= 0.65", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z > 0 else 2 / mp.sqrt(pi) - 1,
     (0, 0.4226), 9, lambda z: mpf(1)),
    ("kErfc", "(1 + 2x) exp(x^2) erfc(x) in q = (x - 3.75)/(x + 3.75), 0.64 <= x <= 28",
     lambda q: scaled_erfc(q, mpf("3.75")), ((0.64 - 3.75) / (0.64 + 3.75), (28 - 3.75) / (28 + 3.75)), 21, lambda q: mpf(1)),
    ("kLgamma", "lgamma(2 + t) / t, |t| <= 1/2", lambda t: mp.loggamma(2 + t) / t if t else mp.digamma(2),
     (-0.5, 0.5), 17, lambda t: mpf(1)),
    ("kStirling", "x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2) in 1/x^2, x >= 8", stirling,
     (0, mpf(1) / 64), 5, lambda u: mpf(1)),
    ("kDigamma", "digamma(x) / (x - root) in x - 3/2, 1 <= x <= 2", psi_quotient, (-0.5, 0.5), 22, lambda t: mpf(1)),
    ("kDigammaTail", "x^2 (log(x) - 1/(2x) - digamma(x)) in 1/x^2, x >= 5", psi_tail,
     (0, mpf(1) / 25), 8, lambda u: u + mpf(10) ** -4),
    ("kErfinv", "erfinv(x)/x in w - 3 where w = -log(1 - x^2) <= 6", lambda w: erfinv_of(w + 3), (-3, 3), 14, lambda w: mpf(1)),
    ("kErfinvTail", "erfinv(x)/x in sqrt(w) - 4.25, 6 <= w <= 37", lambda s: erfinv_of((s + mpf("4.25")) ** 2),
     (mp.sqrt(6) - mpf("4.26"), mpf("1.84")), 17, lambda s: mpf(1)),
    ("kCbrt", "a^(-1/3), 1/2 <= a <= 4", lambda a: a ** (-mpf(1) / 3), (0.5, 4), 5, lambda a: a ** (mpf(1) / 3)),
    ("kLog2Short", "log2(m)/s in s^2, s = (m - 1)/(m + 1), to f32 pow's accuracy",
     lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / mp.log(2) if z > 0 else 2 / mp.log(2), (0, S_MAX), 4, lambda z: mpf(1)),
    ("kExp2Short", "2^r, |r| <= 1/2, to f32 pow's accuracy", lambda r: mpf(2) ** r, (-0.5, 0.5), 6, lambda r: mpf(1)),
]

NOTE = """// Polynomial coefficients, lowest degree first, made by fit.py: do not edit.
#pragma once

#include <array>

#include "jit/math/coefficients.h"

namespace tfvm::math {

"""


def constants():
    root_hi = float(PSI_ROOT)
    root_lo = float(PSI_ROOT - mpf(root_hi))
    yield f"// The positive root of digamma, as a sum.\ninline constexpr double kDigammaRoot = {root_hi.hex()}, kDigammaRootLow = {root_lo.hex()};\n"


def main():
    folder = sys.argv[1]
    head = "// The names of the tables that exist for both types; coefficients_f32.h and _f64.h fill them.\n#pragma once\n\nnamespace tfvm::math {\n\n"
    for row in SHARED:
        head += f"template <class T>\ninline constexpr int {row[0]} = 0;\n"
    head += "\n}  // namespace tfvm::math\n"
    open(f"{folder}/coefficients.h", "w").write(head)
    f32, f64 = [], []
    for name, comment, f, i32, d32, i64, d64, weight in SHARED:
        f32.append(table(name, comment, f, i32, d32, weight, True, True))
        f64.append(table(name, comment, f, i64, d64, weight, False, True))
    for name, comment, f, interval, degree, weight in ONLY_F32:
        f32.append(table(name, comment, f, interval, degree, weight, True, False))
    for name, comment, f, interval, degree, weight in ONLY_F64:
        f64.append(table(name, comment, f, interval, degree, weight, False, False))
    f64 += constants()
    for parts, name in ((f32, "f32"), (f64, "f64")):
        with open(f"{folder}/coefficients_{name}.h", "w") as out:
            out.write(NOTE + "\n".join(parts) + "\n}  // namespace tfvm::math\n")


if __name__ == "__main__":
    main()
