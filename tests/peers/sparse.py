"""Patterns and values of sparse derivatives beside CasADi's: 20 functions, each written for both.

usage: python tests/peers/sparse.py TFASM [--write tests/tfa/sparse_peers.tfa]

Runs with CasADi (`./dev peers` installs it). Writes the functions with CasADi's patterns and values as a program of
tests and runs it, so that the tests need no CasADi afterwards.
"""
import subprocess
import sys
import tempfile

import casadi as ca
import numpy as np

N = 6
SUM = "  %r = reduce_sum %v\n"
DOWN = "  %a = slice %x {start=[1], limit=[6]}\n  %b = slice %x {start=[0], limit=[5]}\n"

# name, result, code, the same in CasADi
VECTORS = [
    ("square", "f64[6]", "  %r = mul %x, %x\n", lambda x: x * x),
    ("product", "f64[5]", DOWN + "  %r = mul %a, %b\n", lambda x: x[1:] * x[:-1]),
    ("sum", "f64", "  %v = sin %x\n" + SUM, lambda x: ca.sum1(ca.sin(x))),
    ("reversed", "f64[6]", "  %y = reverse %x {axes=[0]}\n  %r = exp %y\n", lambda x: ca.exp(x[::-1])),
    ("running", "f64[6]", "  %y = mul %x, %x\n  %r = cumsum %y {axis=0}\n", lambda x: ca.cumsum(x * x)),
    ("chosen", "f64[3]", "  %y = take %x, [4, 0, 2] {axis=0}\n  %r = cos %y\n", lambda x: ca.cos(x[[4, 0, 2]])),
    ("strided", "f64[3]", "  %y = slice %x {start=[0], limit=[6], stride=[2]}\n  %r = mul %y, %y\n",
     lambda x: x[::2] * x[::2]),
    ("padded", "f64[8]", "  %y = exp %x\n  %r = pad %y, 0.0 {low=[1], high=[1]}\n",
     lambda x: ca.vertcat(0, ca.exp(x), 0)),
    ("stencil", "f64[4]", "  %a = slice %x {start=[0], limit=[4]}\n  %b = slice %x {start=[1], limit=[5]}\n"
     "  %c = slice %x {start=[2], limit=[6]}\n  %d = mul %a, %c\n  %r = sub %d, %b\n",
     lambda x: x[:4] * x[2:] - x[1:5]),
    ("arrow", "f64[6]", "  %h = slice %x {start=[0], limit=[1]}\n  %g = broadcast_to %h {shape=[6]}\n"
     "  %r = mul %g, %x\n", lambda x: x[0] * x),
    ("matrix", "f64[2]", "  %r = matmul [[1.0, 0.0, 2.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0, 0.0, 4.0]], %x\n",
     lambda x: ca.sparsify(ca.DM([[1, 0, 2, 0, 0, 0], [0, 3, 0, 0, 0, 4]])) @ x),
    ("loop", "f64[6]", "  %one = clone 1.0 : f64\n  %c, %r = scan (%c = %one; %s = %x) {length=6} {\n    %d = mul %c, %s\n"
     "    yield %d; %d\n  }\n", lambda x: ca.vertcat(*[_product(x, k) for k in range(6)])),
    ("outer", "f64[3,3]", "  %a = slice %x {start=[0], limit=[3]}\n  %b = slice %x {start=[3], limit=[6]}\n"
     "  %r = outer %a, %b\n", lambda x: ca.vertcat(*[x[i] * x[3 + j] for i in range(3) for j in range(3)])),
]
SCALARS = [
    ("energy", "  %v = mul %x, %x\n" + SUM, lambda x: ca.sum1(x * x)),
    ("rosenbrock", DOWN + "  %s = mul %b, %b\n  %d = sub %a, %s\n  %e = mul %d, %d\n  %f = mul %e, 100.0\n"
     "  %g = sub 1.0, %b\n  %h = mul %g, %g\n  %v = add %f, %h\n" + SUM,
     lambda x: ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)),
    ("chain", DOWN + "  %p = mul %a, %b\n  %v = sin %p\n" + SUM, lambda x: ca.sum1(ca.sin(x[1:] * x[:-1]))),
    ("second", "  %a = slice %x {start=[2], limit=[6]}\n  %b = slice %x {start=[0], limit=[4]}\n"
     "  %p = mul %a, %b\n  %v = exp %p\n" + SUM, lambda x: ca.sum1(ca.exp(x[2:] * x[:-2]))),
    ("hub", "  %h = slice %x {start=[0], limit=[1]}\n  %t = slice %x {start=[1], limit=[6]}\n"
     "  %s = mul %t, %t\n  %g = broadcast_to %h {shape=[5]}\n  %v = mul %g, %s\n" + SUM,
     lambda x: ca.sum1(x[0] * x[1:] ** 2)),
    ("dense", "  %v = mul %x, %x\n  %s = reduce_sum %v\n  %r = log %s\n", lambda x: ca.log(ca.sum1(x * x))),
    ("pairs", "  %a = slice %x {start=[0], limit=[6], stride=[2]}\n  %b = slice %x {start=[1], limit=[6], stride=[2]}\n"
     "  %p = mul %a, %b\n  %v = mul %p, %p\n" + SUM, lambda x: ca.sum1((x[::2] * x[1::2]) ** 2)),
]


def _product(x, k):
    p = x[0]
    for i in range(1, k + 1):
        p = p * x[i]
    return p


def numbers(v, whole):
    return "[" + ", ".join(str(int(e)) if whole else repr(float(e)) for e in v) + "]"


def expected(x, matrix, at):
    """Compressed rows of a CasADi matrix at a point."""
    matrix = ca.sparsify(matrix) if isinstance(matrix, ca.DM) else matrix
    indptr, indices = matrix.sparsity().get_crs()
    dense = np.array(ca.DM(ca.Function("f", [x], [ca.densify(matrix)])(at)))
    values = [dense[i][j] for i in range(len(indptr) - 1) for j in indices[indptr[i]:indptr[i + 1]]]
    return numbers(indptr, True), numbers(indices, True), numbers(values, False)


def case(name, result, code, transform, pattern_of, found, at):
    indptr, indices, values = found
    return (f"func @{name}(%x: f64[{N}]) -> {result} {{\n{code}  ret %r\n}}\n\n"
            f'test "{name}" {{\n  %p, %i = call jacobian_sparsity({pattern_of})()\n'
            f"  expect_eq %p, {indptr}\n  expect_eq %i, {indices}\n"
            f"  %v = call {transform}(@{name})({numbers(at, False)})\n"
            f"  expect_close %v, {values} {{rtol=1e-12, atol=1e-14}}\n}}\n")


def main():
    x = ca.SX.sym("x", N)
    at = [0.5, -0.3, 0.8, 1.25, -0.6, 0.9]
    parts = ["// Patterns and values of sparse derivatives, from CasADi. Written by tests/peers/sparse.py.\n"]
    for name, result, code, f in VECTORS:
        found = expected(x, ca.jacobian(f(x), x), at)
        parts.append(case(name, result, code, "jac_sparse", f"@{name}", found, at))
    for name, code, f in SCALARS:
        found = expected(x, ca.hessian(f(x), x)[0], at)
        parts.append(case(name, "f64", code, "hess_sparse", f"grad(@{name})", found, at))
    text = "\n".join(parts)
    path = sys.argv[3] if sys.argv[2:3] == ["--write"] else tempfile.mkstemp(suffix=".tfa")[1]
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    print(f"{len(VECTORS) + len(SCALARS)} functions; {path}")
    return subprocess.call([sys.argv[1], "test", path])


if __name__ == "__main__":
    sys.exit(main())
