#!/usr/bin/env python3
"""Writes f32.bin and f64.bin: arguments and multi-precision results of the functions of jit/math.

usage: generate.py [FOLDER]    (needs mpmath; gmpy2 makes it fast; takes some seconds)

Each file is a sequence of blocks: name (16 bytes, zero-filled), arity, count (u32 each), then `count` values in each of the
columns x, [y,] result (the type's bits), residual (i8: true value minus result, in 1/254 of an ulp of the result), and,
where the limit differs from point to point (lgamma, digamma, erfinv), allowed (f32: the largest error in ulps that the
language allows there). All little-endian. The seed is fixed.
"""
import math
import random
import struct
import sys
from pathlib import Path

from mpmath import mp, mpf, inf, nan

mp.prec = 240
RANDOM_POINTS = 700  # per range


class Format:
    def __init__(self, name, code, int_code, bits, precision, least, most):
        self.name, self.code, self.int_code, self.bits = name, code, int_code, bits
        self.precision = precision
        self.least = least  # exponent of the least denormal
        self.most = most  # exponent beyond the largest finite value

    def round(self, x):
        """(the float nearest to the mpf x, x minus it in ulps, log2 of the ulp)."""
        if mp.isnan(x) or mp.isinf(x) or x == 0:
            return float(x), 0.0, self.least
        _, exponent = mp.frexp(x)
        last = max(int(exponent) - self.precision, self.least)
        scaled = mp.ldexp(x, -last)
        whole = mp.nint(scaled)
        if abs(whole) >= mp.ldexp(1, self.most - last):
            return math.copysign(math.inf, x), 0.0, last
        return float(mp.ldexp(whole, last)), float(scaled - whole), last

    def value(self, x):
        """A Python float rounded to this format."""
        return self.round(mpf(x))[0] if x and math.isfinite(x) else x

    def from_bits(self, bits):
        return struct.unpack("<" + self.code, struct.pack("<" + self.int_code, bits))[0]

    def pack(self, values):
        return struct.pack(f"<{len(values)}{self.code}", *values)


F32 = Format("f32", "f", "I", 32, 24, -149, 128)
F64 = Format("f64", "d", "Q", 64, 53, -1074, 1024)


def lgamma(x):
    if x > 0:
        return mp.loggamma(x)
    return mp.log(mp.pi / abs(x * mp.sin(mp.pi * x))) - mp.loggamma(-x)


def erfinv(x):
    if abs(x) < mpf(2) ** -60:
        return x * mp.sqrt(mp.pi) / 2 * (1 + mp.pi * x * x / 12)
    size, rest = abs(x), 1 - abs(x)
    y = mpf(math.sqrt(-math.log(float(rest) * float(1 + size)))) * mpf("0.9")
    for _ in range(100):
        difference = mp.erf(y) - size if size < 0.5 else rest - mp.erfc(y)
        step = difference * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y -= step / (1 + y * step)
        if abs(step) < mpf(2) ** -150 * y:
            break
    return y if x > 0 else -y


# name: (function, (limits at -inf, -0, +0, inf), ranges f64, ranges f32, (domain low, high)); an argument outside gives NaN
WHOLE = (-inf, inf)
UNARY = {
    "exp": (mp.exp, (0, 1, 1, inf), [(-746, 710), (-1, 1)], [(-104, 89), (-1, 1)], WHOLE),
    "exp2": (lambda x: mpf(2) ** x, (0, 1, 1, inf), [(-1076, 1025), (-1, 1)], [(-150, 129), (-1, 1)], WHOLE),
    "expm1": (mp.expm1, (-1, -0.0, 0.0, inf), [(-40, 710), (-2, 2)], [(-20, 89), (-2, 2)], WHOLE),
    "log": (mp.log, (nan, -inf, -inf, inf), [(0, 100), (0.6, 1.5)], [(0, 100), (0.6, 1.5)], (0, inf)),
    "log2": (lambda x: mp.log(x, 2), (nan, -inf, -inf, inf), [(0, 100), (0.6, 1.5)], [(0, 100), (0.6, 1.5)], (0, inf)),
    "log1p": (mp.log1p, (nan, -0.0, 0.0, inf), [(-1, 1), (0, 100)], [(-1, 1), (0, 100)], (-1, inf)),
    "sqrt": (mp.sqrt, (nan, -0.0, 0.0, inf), [(0, 4)], [(0, 4)], (0, inf)),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), (nan, -inf, inf, 0.0), [(0, 4)], [(0, 4)], (0, inf)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), (-inf, -0.0, 0.0, inf), [(-8, 8)], [(-8, 8)], WHOLE),
    "sin": (mp.sin, (nan, -0.0, 0.0, nan), [(-10, 10), (-1e6, 1e6), (-4e9, 4e9)], [(-10, 10), (-1e6, 1e6)], WHOLE),
    "cos": (mp.cos, (nan, 1, 1, nan), [(-10, 10), (-1e6, 1e6), (-4e9, 4e9)], [(-10, 10), (-1e6, 1e6)], WHOLE),
    "tan": (mp.tan, (nan, -0.0, 0.0, nan), [(-10, 10), (-1e6, 1e6), (-4e9, 4e9)], [(-10, 10), (-1e6, 1e6)], WHOLE),
    "asin": (mp.asin, (nan, -0.0, 0.0, nan), [(-1, 1), (0.4, 0.6)], [(-1, 1), (0.4, 0.6)], (-1, 1)),
    "acos": (mp.acos, (nan, mp.pi / 2, mp.pi / 2, nan), [(-1, 1), (0.4, 0.6)], [(-1, 1), (0.4, 0.6)], (-1, 1)),
    "atan": (mp.atan, (-mp.pi / 2, -0.0, 0.0, mp.pi / 2), [(-3, 3), (0.3, 0.5)], [(-3, 3), (0.3, 0.5)], WHOLE),
    "sinh": (mp.sinh, (-inf, -0.0, 0.0, inf), [(-711, 711), (-2, 2)], [(-90, 90), (-2, 2)], WHOLE),
    "cosh": (mp.cosh, (inf, 1, 1, inf), [(-711, 711), (-2, 2)], [(-90, 90), (-2, 2)], WHOLE),
    "tanh": (mp.tanh, (-1, -0.0, 0.0, 1), [(-20, 20), (-1, 1)], [(-10, 10), (-1, 1)], WHOLE),
    "asinh": (mp.asinh, (-inf, -0.0, 0.0, inf), [(-10, 10), (-0.5, 0.5)], [(-10, 10), (-0.5, 0.5)], WHOLE),
    "acosh": (mp.acosh, (nan, nan, nan, inf), [(1, 10), (1, 1.1)], [(1, 10), (1, 1.1)], (1, inf)),
    "atanh": (mp.atanh, (nan, -0.0, 0.0, nan), [(-1, 1), (-0.3, 0.3)], [(-1, 1), (-0.3, 0.3)], (-1, 1)),
    "logistic": (lambda x: 1 / (1 + mp.exp(-x)), (0.0, 0.5, 0.5, 1), [(-745, 40), (-6, 6)], [(-104, 20), (-6, 6)], WHOLE),
    "erf": (mp.erf, (-1, -0.0, 0.0, 1), [(-6, 6), (-1.5, 1.5)], [(-4, 4), (-1.5, 1.5)], WHOLE),
    "erfc": (mp.erfc, (2, 1, 1, 0.0), [(-6, 27.3), (-1, 3)], [(-4, 10.2), (-1, 3)], WHOLE),
    "erfinv": (erfinv, (nan, -0.0, 0.0, nan), [(-1, 1), (0.99, 1)], [(-1, 1), (0.99, 1)], (-1, 1)),
    "lgamma": (lgamma, (inf, inf, inf, inf), [(0, 10), (-10, 0), (0.9, 2.2)], [(0, 10), (-10, 0), (0.9, 2.2)], WHOLE),
    "digamma": (mp.digamma, (nan, inf, -inf, inf), [(0, 10), (-10, 0), (1.3, 1.6)], [(0, 10), (-10, 0), (1.3, 1.6)], WHOLE),
    "reciprocal": (lambda x: 1 / x, (-0.0, -inf, inf, 0.0), [(-2, 2)], [(-2, 2)], WHOLE),
    "square": (lambda x: x * x, (inf, 0.0, 0.0, inf), [(-2, 2)], [(-2, 2)], WHOLE),
    "log10": (mp.log10, (nan, -inf, -inf, inf), [(0, 100), (0.6, 1.5)], [(0, 100), (0.6, 1.5)], (0, inf)),
}
# Values at the ends of a domain or at poles, where the formula has none.
POLES = {
    ("log1p", -1): -inf, ("atanh", 1): inf, ("atanh", -1): -inf, ("erfinv", 1): inf, ("erfinv", -1): -inf,
}
LOOSE = {"lgamma", "digamma", "erfinv"}  # 4 ulp, and absolute around the zeros
BINARY = {
    "pow": lambda x, y: x**y,
    "atan2": mp.atan2,
    "hypot": lambda x, y: mp.sqrt(x * x + y * y),
}


def evaluate(name, x):
    function, limits, _, _, (low, high) = UNARY[name]
    if math.isnan(x):
        return nan
    if math.isinf(x) or x == 0:
        return limits[(3 if x > 0 else 0) if x else (1 if math.copysign(1, x) < 0 else 2)]
    if (name, x) in POLES:
        return POLES[name, x]
    if x < low or x > high:
        return nan
    if name in ("lgamma", "digamma") and x < 0 and x == math.floor(x):
        return inf if name == "lgamma" else nan
    return function(mpf(x))


def edges(fmt, rng):
    one = struct.unpack("<" + fmt.int_code, fmt.pack([1.0]))[0]
    largest = struct.unpack("<" + fmt.int_code, fmt.pack([math.inf]))[0] - 1
    normal = 1 << (fmt.precision - 1)
    patterns = {0, 1, 2, normal - 1, normal, normal + 1, largest - 1, largest, largest + 1, one - 1, one, one + 1}
    for _ in range(70):  # around powers of two
        field = rng.randrange(1, largest >> (fmt.precision - 1))
        patterns |= {(field << (fmt.precision - 1)) + d for d in (-1, 0, 1)}
    for _ in range(100):  # of all magnitudes, denormals too
        patterns.add(rng.randrange(1, largest))
        patterns.add(rng.randrange(1, normal))
    values = [fmt.from_bits(p) for p in sorted(patterns)]
    values += [0.5, 1.5, 2.0, 3.0, 4.0, 10.0, 100.0]
    return values + [-v for v in values] + [math.nan]


def trigonometric(fmt, rng):
    """Next to multiples of pi/2, and the f64 that comes nearest to one (Muller, Elementary Functions, ch. 11)."""
    points = [fmt.value(float(mp.pi / 2 * rng.randrange(1, 1 << rng.randrange(1, 40)))) for _ in range(300)]
    return points + ([6381956970095103.0 * 2.0**797] if fmt is F64 else [])


def arguments(name, fmt, rng):
    ranges = UNARY[name][2 if fmt is F64 else 3]
    points = edges(fmt, rng)
    for low, high in ranges:
        points += [fmt.value(rng.uniform(low, high)) for _ in range(RANDOM_POINTS)]
    if name in ("sin", "cos", "tan"):
        points += trigonometric(fmt, rng)
    if name in ("lgamma", "digamma"):
        points += [fmt.value(-k + rng.choice((-1, 1)) * 2.0 ** -rng.uniform(1, 30)) for k in range(12) for _ in range(20)]
        # Below -2^20 there is nothing new but poles, and mpmath needs many digits.
        points = [x for x in points if not x < -(2.0**20)] + [-math.inf]
    return points


def allowed(name, fmt, x, result, last):
    limit = 4.0
    if not math.isfinite(result) or not math.isfinite(x) or abs(result) >= 1:
        return limit
    step = mpf(x) * mpf(2) ** -60
    slope = abs((evaluate(name, mpf(x) + step) - evaluate(name, mpf(x))) * mpf(2) ** 60) if x else mpf(0)
    near_zero = max(mpf(1), slope) * mpf(2) ** (-52 if fmt is F64 else -23)
    return max(limit, min(float(mp.ldexp(near_zero, -last)), 3e38))


def write_block(out, name, fmt, columns, results):
    rounded = [fmt.round(mpf(r)) if not isinstance(r, float) else (r, 0.0, fmt.least) for r in results]
    out.write(name.encode().ljust(16, b"\0") + struct.pack("<II", len(columns), len(results)))
    for column in columns:
        out.write(fmt.pack(column))
    out.write(fmt.pack([r[0] for r in rounded]))
    out.write(struct.pack(f"<{len(rounded)}b", *(round(r[1] * 254) for r in rounded)))
    if name in LOOSE:
        bounds = [allowed(name, fmt, x, r[0], r[2]) for x, r in zip(columns[0], rounded)]
        out.write(struct.pack(f"<{len(bounds)}f", *bounds))


def binary_arguments(name, fmt, rng):
    wide = 700 if fmt is F64 else 86
    for _ in range(RANDOM_POINTS):
        if name == "pow":
            x = math.exp(rng.uniform(-wide, wide))
            yield x, rng.uniform(-wide, wide) / (abs(math.log(x)) + 0.01)
            yield rng.uniform(0, 4), rng.uniform(-30, 30)
            yield 1 + rng.uniform(-0.01, 0.01), rng.uniform(-1e4, 1e4)
            yield -rng.uniform(0, 10), float(rng.randrange(-30, 30))
        else:
            yield rng.uniform(-4, 4), rng.uniform(-4, 4)
            size = rng.uniform(-wide, wide)
            yield math.exp(size), rng.choice((-1, 1)) * math.exp(size + rng.uniform(-40, 40) / 10)
            yield math.exp(rng.uniform(-wide, wide)), -math.exp(rng.uniform(-wide, wide))


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for fmt in (F32, F64):
        rng = random.Random(20240229)
        with open(folder / f"{fmt.name}.bin", "wb") as out:
            for name in UNARY:
                points = arguments(name, fmt, rng)
                write_block(out, name, fmt, [points], [evaluate(name, x) for x in points])
            for name, function in BINARY.items():
                pairs = [(fmt.value(x), fmt.value(y)) for x, y in binary_arguments(name, fmt, rng)]
                pairs = [p for p in pairs if p[0] and p[1] and math.isfinite(p[0]) and math.isfinite(p[1])]
                results = [function(mpf(x), mpf(y)) for x, y in pairs]
                write_block(out, name, fmt, [[p[0] for p in pairs], [p[1] for p in pairs]], results)


if __name__ == "__main__":
    main()
