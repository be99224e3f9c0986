"""Implicit derivatives beside JAX's lax.custom_root and lax.custom_linear_solve.

usage: python tests/peers/implicit.py TFASM [--write tests/tfa/implicit_peers.tfa]

Runs with JAX (`./dev peers` installs it). Writes the programs with JAX's numbers as tests and runs them, so that the
tests need no JAX afterwards.
"""
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)

A = jnp.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])
B = jnp.array([1.0, -0.5, 2.0])
B2 = jnp.array([0.2, 0.7, -1.1])
T = jnp.array([0.5, -1.0, 2.0])
V = jnp.array([1.0, 2.0, -1.0])


def newton(f, y):
    """Enough steps for any of the systems here."""
    return lax.fori_loop(0, 60, lambda _, z: z - jnp.linalg.solve(jax.jacobian(f)(z), f(z)), y)


def dense(g, y):
    return jnp.linalg.solve(jax.jacobian(g)(y), y)


def cubic(a, b):
    """y with y³ + a·y = b."""
    return lax.custom_root(lambda y: y**3 + a @ y - b, jnp.zeros(3), newton, dense)


def cubic_sum(a, b):
    return jnp.sum(jnp.sin(cubic(a, b)))


def pair(c):
    """u, v with u + v·v = c and v_i + u v_{1-i} / 4 = 1 / (i + 2)."""
    def f(z):
        u, v = z[0], z[1:]
        return jnp.concatenate([jnp.array([u + v @ v - c]), v + u * v[::-1] / 4 - jnp.array([1 / 2, 1 / 3])])
    z = lax.custom_root(f, jnp.zeros(3), newton, dense)
    return z[0] * z[1] + z[2]


def linear(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, lambda _, r: jnp.linalg.solve(a, r),
                                   lambda _, r: jnp.linalg.solve(a.T, r))


def linear_sum(a, b):
    return jnp.sum(linear(a, b) ** 3)


def squared_sum(a, b):
    """The same for a·a."""
    return linear_sum(a @ a, b)


def normal_sum(m, b):
    """x with mᵀm x + x = b, symmetric."""
    n = m.T @ m + jnp.eye(3)
    x = lax.custom_linear_solve(lambda v: n @ v, b, lambda _, r: jnp.linalg.solve(n, r), symmetric=True)
    return jnp.sum(jnp.exp(x))


def energy(t, y):
    return jnp.sum(jnp.cosh(y)) + 0.5 * y @ (A + A.T) @ y - t @ y


def least(t):
    y = lax.custom_root(lambda z: jax.grad(energy, 1)(t, z), jnp.zeros(3), newton, dense)
    return jnp.sum(y**3)


def values():
    """Name -> number."""
    hvp = lambda f, x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]
    stack = jnp.stack([B, B2])
    return {
        "CUBIC": cubic(A, B),
        "CUBIC_GRAD_A": jax.grad(cubic_sum, 0)(A, B),
        "CUBIC_GRAD_B": jax.grad(cubic_sum, 1)(A, B),
        "CUBIC_JVP": jax.jvp(lambda b: cubic(A, b), (B,), (V,))[1],
        "CUBIC_HESSIAN": jax.hessian(cubic_sum, 1)(A, B),
        "CUBIC_LANES": jax.vmap(jax.grad(cubic_sum, 1), (None, 0))(A, stack),
        "PAIR": pair(1.5),
        "PAIR_1": jax.grad(pair)(1.5),
        "PAIR_2": jax.grad(jax.grad(pair))(1.5),
        "LINEAR": linear(A, B),
        "LINEAR_GRAD_A": jax.grad(linear_sum, 0)(A, B),
        "LINEAR_GRAD_B": jax.grad(linear_sum, 1)(A, B),
        "LINEAR_JVP": jax.jvp(linear, (A, B), (A.T, V))[1],
        "LINEAR_HESSIAN": jax.hessian(linear_sum, 1)(A, B),
        "LINEAR_HVP_A": hvp(lambda a: linear_sum(a, B), A, A.T),
        "LINEAR_LANES_B": jax.vmap(jax.grad(linear_sum, 0), (None, 0))(A, stack),
        "LINEAR_LANES_A": jax.vmap(jax.grad(linear_sum, 1), (0, None))(jnp.stack([A, A.T]), B),
        "SQUARED_GRAD_A": jax.grad(squared_sum, 0)(A, B),
        "SQUARED_GRAD_B": jax.grad(squared_sum, 1)(A, B),
        "NORMAL_GRAD_M": jax.grad(normal_sum, 0)(A, B),
        "NORMAL_GRAD_B": jax.grad(normal_sum, 1)(A, B),
        "NORMAL_HESSIAN": jax.hessian(normal_sum, 1)(A, B),
        "LEAST_GRAD": jax.grad(least)(T),
        "LEAST_HESSIAN": jax.hessian(least)(T),
        "LEAST_REVERSE": jax.jacrev(jax.jacrev(least))(T),
        "LEAST_LANES": jax.vmap(jax.grad(least))(jnp.stack([T, V])),
        "ZERO33": jnp.zeros((3, 3)), "A_": A, "AT_": A.T, "B_": B, "B2_": B2, "T_": T, "V_": V, "STACK_": stack,
    }


PROGRAM = '''// Written by tests/peers/implicit.py: numbers of JAX's custom_root and custom_linear_solve.

// --- y³ + a·y = b, in small steps; the derivative solves a dense system

func @cubic_less(%a: f64[3,3], %b: f64[3], %y: f64[3]) -> f64[3] {
  %s = mul %y, %y
  %c = mul %s, %y
  %l = matmul %a, %y
  %t = add %c, %l
  %r = sub %t, %b
  ret %r
}

func @cubic(%a: f64[3,3], %b: f64[3]) -> f64[3] {custom_root=@cubic_less} {
  %y0 = sub %b, %b
  %n, %y = while (%n = 0, %y = %y0) {
    %more = lt %n, 2000
    yield %more
  } do {
    %r = call @cubic_less(%a, %b, %y)
    %d = mul %r, 0.1
    %y2 = sub %y, %d
    %m = add %n, 1
    yield %m, %y2
  }
  ret %y
}

func @cubic_sum(%a: f64[3,3], %b: f64[3]) -> f64 {
  %y = call @cubic(%a, %b)
  %s = sin %y
  %r = reduce_sum %s
  ret %r
}

test "a cubic system" {
  %y = call @cubic(A_, B_)
  expect_close %y, CUBIC {rtol=1e-12}
  %da, %db = call grad(@cubic_sum, argnums=[0, 1])(A_, B_)
  expect_close %da, CUBIC_GRAD_A {rtol=1e-11}
  expect_close %db, CUBIC_GRAD_B {rtol=1e-11}
  %p, %dy = call jvp(@cubic)(A_, B_, ZERO33, V_)
  expect_close %dy, CUBIC_JVP {rtol=1e-11}
  %h = call hessian(@cubic_sum, argnums=[1])(A_, B_)
  expect_close %h, CUBIC_HESSIAN {rtol=1e-10}
  %h2 = call jacrev(grad(@cubic_sum, argnums=[1]), argnums=[1])(A_, B_)
  expect_close %h2, CUBIC_HESSIAN {rtol=1e-10}
  %v = call vmap(grad(@cubic_sum, argnums=[1]), in_dims=[none, 0])(A_, STACK_)
  expect_close %v, CUBIC_LANES {rtol=1e-11}
}

// --- two unknowns of different shapes, and the count of steps behind them

func @pair_less(%c: f64, %u: f64, %v: f64[2]) -> (f64, f64[2]) {
  %d = dot %v, %v
  %s = add %u, %d
  %r = sub %s, %c
  %w = reverse %v {axes=[0]}
  %q = mul %u, 0.25
  %p = mul %w, %q
  %t = add %v, %p
  %e = sub %t, [0.5, 0.3333333333333333]
  ret %r, %e
}

func @pair(%c: f64, %u0: f64) -> (f64, f64[2], i64) {custom_root=@pair_less, has_aux=true} {
  %v0 = clone [0, 0] : f64[2]
  %n, %u, %v = while (%n = 0, %u = %u0, %v = %v0) {
    %more = lt %n, 3000
    yield %more
  } do {
    %r, %e = call @pair_less(%c, %u, %v)
    %r2 = mul %r, 0.05
    %e2 = mul %e, 0.05
    %u2 = sub %u, %r2
    %v2 = sub %v, %e2
    %m = add %n, 1
    yield %m, %u2, %v2
  }
  ret %u, %v, %n
}

func @pair_value(%c: f64) -> f64 {
  %u, %v, %n = call @pair(%c, 0.0)
  %a = select %v {axis=0, index=0}
  %b = select %v {axis=0, index=1}
  %p = mul %u, %a
  %r = add %p, %b
  ret %r
}

test "a system of two unknowns" {
  %r = call @pair_value(1.5)
  expect_close %r, PAIR {rtol=1e-12}
  %d = call grad(@pair_value)(1.5)
  expect_close %d, PAIR_1 {rtol=1e-11}
  %p, %t = call jvp(@pair_value)(1.5, 1.0)
  expect_close %t, PAIR_1 {rtol=1e-11}
  %d2 = call grad(grad(@pair_value))(1.5)
  expect_close %d2, PAIR_2 {rtol=1e-10}
}

// --- a·x = b by Jacobi's iteration

func @product(%a: f64[3,3], %x: f64[3]) -> f64[3] {
  %y = matmul %a, %x
  ret %y
}

func @jacobi(%a: f64[3,3], %b: f64[3]) -> f64[3] {
  %d = diagonal %a
  %x = for (%x = %b;) {length=200} {
    %p = matmul %a, %x
    %r = sub %b, %p
    %q = div %r, %d
    %y = add %x, %q
    yield %y;
  }
  ret %x
}

func @jacobi_transposed(%a: f64[3,3], %b: f64[3]) -> f64[3] {
  %t = transpose %a {perm=[1, 0]}
  %x = call @jacobi(%t, %b)
  ret %x
}

func @linear(%a: f64[3,3], %b: f64[3]) -> f64[3] {custom_linear_solve=@product, transpose_solve=@jacobi_transposed} {
  %x = call @jacobi(%a, %b)
  ret %x
}

func @cubes(%x: f64[3]) -> f64 {
  %s = mul %x, %x
  %c = mul %s, %x
  %r = reduce_sum %c
  ret %r
}

func @linear_sum(%a: f64[3,3], %b: f64[3]) -> f64 {
  %x = call @linear(%a, %b)
  %r = call @cubes(%x)
  ret %r
}

test "a linear system" {
  %x = call @linear(A_, B_)
  expect_close %x, LINEAR {rtol=1e-12}
  %da, %db = call grad(@linear_sum, argnums=[0, 1])(A_, B_)
  expect_close %da, LINEAR_GRAD_A {rtol=1e-11}
  expect_close %db, LINEAR_GRAD_B {rtol=1e-11}
  %p, %t = call jvp(@linear)(A_, B_, AT_, V_)
  expect_close %t, LINEAR_JVP {rtol=1e-11}
  %h = call hessian(@linear_sum, argnums=[1])(A_, B_)
  expect_close %h, LINEAR_HESSIAN {rtol=1e-11}
  %h2 = call jacrev(jacrev(@linear_sum, argnums=[1]), argnums=[1])(A_, B_)
  expect_close %h2, LINEAR_HESSIAN {rtol=1e-11}
  %v, %hv = call hvp(@linear_sum, argnums=[0])(A_, B_, AT_)
  expect_close %hv, LINEAR_HVP_A {rtol=1e-10}
}

test "linear systems in lanes: of right-hand sides, of matrices" {
  %b = call vmap(grad(@linear_sum, argnums=[0]), in_dims=[none, 0])(A_, STACK_)
  expect_close %b, LINEAR_LANES_B {rtol=1e-11}
  %a = call vmap(grad(@linear_sum, argnums=[1]), in_dims=[0, none])([A_, AT_], B_)
  expect_close %a, LINEAR_LANES_A {rtol=1e-11}
}

// --- the product is a loop, whose transpose is found by the transform

func @twice(%a: f64[3,3], %x: f64[3]) -> f64[3] {
  %y = for (%y = %x;) {length=2} {
    %z = matmul %a, %y
    yield %z;
  }
  ret %y
}

func @twice_solved(%a: f64[3,3], %b: f64[3]) -> f64[3] {custom_linear_solve=@twice, transpose_solve=@twice_transposed} {
  %x = call @jacobi(%a, %b)
  %y = call @jacobi(%a, %x)
  ret %y
}

func @twice_transposed(%a: f64[3,3], %b: f64[3]) -> f64[3] {
  %x = call @jacobi_transposed(%a, %b)
  %y = call @jacobi_transposed(%a, %x)
  ret %y
}

func @squared_sum(%a: f64[3,3], %b: f64[3]) -> f64 {
  %x = call @twice_solved(%a, %b)
  %r = call @cubes(%x)
  ret %r
}

test "a product that is a loop" {
  %da, %db = call grad(@squared_sum, argnums=[0, 1])(A_, B_)
  expect_close %da, SQUARED_GRAD_A {rtol=1e-10}
  expect_close %db, SQUARED_GRAD_B {rtol=1e-10}
}

// --- a symmetric system by conjugate gradients, as long as the residual is large

func @normal_product(%m: f64[3,3], %x: f64[3]) -> f64[3] {
  %y = matmul %m, %x
  %t = transpose %m {perm=[1, 0]}
  %z = matmul %t, %y
  %r = add %z, %x
  ret %r
}

func @normal(%m: f64[3,3], %b: f64[3]) -> (f64[3], i64) {custom_linear_solve=@normal_product, symmetric=true, has_aux=true} {
  %rr0 = dot %b, %b
  %zero = sub %b, %b
  %x, %r, %p, %rr, %n = while (%x = %zero, %r = %b, %p = %b, %rr = %rr0, %n = 0) {
    %big = gt %rr, 1e-28
    %few = lt %n, 50
    %more = and %big, %few
    yield %more
  } do {
    %q = call @normal_product(%m, %p)
    %pq = dot %p, %q
    %alpha = div %rr, %pq
    %dx = mul %p, %alpha
    %x2 = add %x, %dx
    %dr = mul %q, %alpha
    %r2 = sub %r, %dr
    %new = dot %r2, %r2
    %beta = div %new, %rr
    %pb = mul %p, %beta
    %p2 = add %r2, %pb
    %k = add %n, 1
    yield %x2, %r2, %p2, %new, %k
  }
  ret %x, %n
}

func @normal_sum(%m: f64[3,3], %b: f64[3]) -> f64 {
  %x, %n = call @normal(%m, %b)
  %e = exp %x
  %r = reduce_sum %e
  ret %r
}

test "a symmetric system" {
  %dm, %db = call grad(@normal_sum, argnums=[0, 1])(A_, B_)
  expect_close %dm, NORMAL_GRAD_M {rtol=1e-10}
  expect_close %db, NORMAL_GRAD_B {rtol=1e-10}
  %h = call hessian(@normal_sum, argnums=[1])(A_, B_)
  expect_close %h, NORMAL_HESSIAN {rtol=1e-10}
}

// --- the least of an energy: the force is a gradient, the tangent system is solved by conjugate gradients whose product
// is a jvp of the force

func @energy(%t: f64[3], %y: f64[3]) -> f64 {
  %c = cosh %y
  %s = reduce_sum %c
  %k = clone A_ : f64[3,3]
  %ky = matmul %k, %y
  %q = dot %y, %ky
  %w = dot %t, %y
  %a = add %s, %q
  %r = sub %a, %w
  ret %r
}

func @force = grad(@energy, argnums=[1])

func @curvature(%t: f64[3], %y: f64[3], %v: f64[3]) -> f64[3] {
  %f, %hv = call jvp(@force)(%t, %y, [0, 0, 0], %v)
  ret %hv
}

func @direction(%t: f64[3], %y: f64[3], %b: f64[3]) -> f64[3] {custom_linear_solve=@curvature, symmetric=true} {
  %rr0 = dot %b, %b
  %zero = sub %b, %b
  %x, %r, %p, %rr, %n = while (%x = %zero, %r = %b, %p = %b, %rr = %rr0, %n = 0) {
    %big = gt %rr, 1e-30
    %few = lt %n, 50
    %more = and %big, %few
    yield %more
  } do {
    %q = call @curvature(%t, %y, %p)
    %pq = dot %p, %q
    %alpha = div %rr, %pq
    %dx = mul %p, %alpha
    %x2 = add %x, %dx
    %dr = mul %q, %alpha
    %r2 = sub %r, %dr
    %new = dot %r2, %r2
    %beta = div %new, %rr
    %pb = mul %p, %beta
    %p2 = add %r2, %pb
    %k = add %n, 1
    yield %x2, %r2, %p2, %new, %k
  }
  ret %x
}

func @least(%t: f64[3]) -> f64[3] {custom_root=@force, tangent_solve=@direction} {
  %y0 = sub %t, %t
  %n, %y = while (%n = 0, %y = %y0) {
    %more = lt %n, 60
    yield %more
  } do {
    %f = call @force(%t, %y)
    %d = call @direction(%t, %y, %f)
    %y2 = sub %y, %d
    %m = add %n, 1
    yield %m, %y2
  }
  ret %y
}

func @least_sum(%t: f64[3]) -> f64 {
  %y = call @least(%t)
  %r = call @cubes(%y)
  ret %r
}

test "the least of an energy" {
  %d = call grad(@least_sum)(T_)
  expect_close %d, LEAST_GRAD {rtol=1e-10}
  %h = call hessian(@least_sum)(T_)
  expect_close %h, LEAST_HESSIAN {rtol=1e-9}
  %h2 = call jacrev(jacrev(@least_sum))(T_)
  expect_close %h2, LEAST_REVERSE {rtol=1e-9}
  %v = call vmap(grad(@least_sum))([T_, V_])
  expect_close %v, LEAST_LANES {rtol=1e-10}
}
'''


def text(value):
    if value.ndim == 0:
        return repr(float(value))
    return "[" + ", ".join(text(v) for v in value) + "]"


def program():
    out = PROGRAM
    found = values()
    for name in sorted(found, key=len, reverse=True):
        out = out.replace(name, text(jnp.asarray(found[name])))
    return out


def main():
    tfasm, path = sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else None
    with tempfile.NamedTemporaryFile("w", suffix=".tfa", delete=False) as scratch:
        scratch.write(program())
    if path:
        with open(path, "w", encoding="utf-8") as out:
            out.write(program())
    sys.exit(subprocess.run([tfasm, "test", path or scratch.name], check=False).returncode)


if __name__ == "__main__":
    main()
