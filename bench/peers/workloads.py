"""tfvm's side of the workloads, and workloads that the registry of the peers does not have."""

from types import SimpleNamespace

import numpy as np

import harness
import peers

# Workload -> program in this folder, function, its arguments from the workload's inputs.
PROGRAMS = {
    "axpy_1e7": ("elementwise.tfa", "@axpy", lambda i: [i.a, i.x, i.y]),
    "tiny_call": ("tiny.tfa", "@tiny_call", lambda i: [i.a, i.x, i.b]),
    "tiny_grad": ("tiny.tfa", "@tiny_grad", lambda i: [i.p]),
    "persample_grad": ("mlp.tfa", "@persample_grad", lambda i: [*i.p, i.x, i.y]),
    "mlp_train_step": ("mlp.tfa", "@mlp_train_step", lambda i: [*i.p, i.x, i.y]),
    "hessian_mlp": ("hessian.tfa", "@hessian_mlp", lambda i: [i.x, i.t, *i.p]),
    "jacfwd_casadi": ("tiny.tfa", "@rosenbrock_hessian", lambda i: [i.x]),
    "jacfwd_casadi_sparse": ("tiny.tfa", "@rosenbrock_sparse", lambda i: [i.x]),
    "lj_forces": ("lj.tfa", "@lj_forces", lambda i: [i.x]),
    "transformer_block_train": ("transformer.tfa", "@transformer_block_train", lambda i: [*i.p, i.x, i.t]),
    "scan_60x614": ("scan60.tfa", "@scan_60x614", lambda i: [i.start]),
    "scan_60x614_grad": ("scan60.tfa", "@scan_60x614_grad", lambda i: [i.start]),
}


def lanes(i):
    """The arguments of a rollout: of a batch, or of one pendulum as scalars."""
    return [v[0] if i.B == 1 else v for v in (i.th, i.om, i.c)]


for _n in ("1e4", "1e6", "1e7"):
    PROGRAMS[f"elementwise_{_n}"] = ("elementwise.tfa", "@elementwise", lambda i: [i.x])
for _n in (512, 1024):
    PROGRAMS[f"gemm_{_n}"] = ("gemm.tfa", "@gemm", lambda i: [i.a, i.b])
for _name in ("rollout_pendulum", "rollout_grad"):
    function = "@rollout" if _name == "rollout_pendulum" else "@rollout_grad"
    PROGRAMS[f"{_name}_b1"] = ("pendulum.tfa", function, lanes)
    PROGRAMS[f"{_name}_b1024"] = ("pendulum.tfa", function + "_batch", lanes)

# Also measured as a call that checks nothing.
PREPARED = ("tiny_call", "tiny_grad")
# Of compile_latency and import_time.
LATENCY = ("elementwise_1e4", "persample_grad", "rollout_pendulum_b1024", "mlp_train_step")
START = "tiny_call"


# ---------------------------------------------------------------- the elements of a sparse Hessian
def band(h):
    """The tridiagonal elements of a matrix, row by row."""
    rows, columns = np.nonzero(np.abs(np.subtract.outer(np.arange(len(h)), np.arange(len(h)))) <= 1)
    return h[rows, columns]


harness.workload("jacfwd_casadi_sparse", harness.WORKLOADS["jacfwd_casadi"].inputs, lambda i: [band(peers.rb_ref(i)[0])])


@harness.case("jacfwd_casadi_sparse", *peers.CASADI_ALL)
def sparse_casadi(i, peer):
    def make(ca):
        p = ca.SX.sym("p", len(i.x))
        e = ca.sumsqr(10 * (p[1:] - p[:-1] ** 2)) + ca.sumsqr(1 - p[:-1])
        # Symmetric: by columns as by rows.
        return ca.Function("f", [p], [ca.densify(ca.vertcat(*ca.jacobian(ca.gradient(e, p), p).nonzeros()))])
    return peers.casadi_case(make, [i.x], peer)


# ---------------------------------------------------------------- 60 scalar carries, 614 steps
CARRIES, STEPS = 60, 614


def ring(start):
    """Of rows of 60 values: the sum of squares after the steps."""
    c = start
    for _ in range(STEPS):
        c = c + 0.01 * (np.sin(np.roll(c, -1, axis=-1)) - c)
    return (c * c).sum(-1)


def ring_grad(i):
    """Complex step: exact to rounding."""
    return [ring(i.start.astype(complex) + 1e-30j * np.eye(CARRIES)).imag / 1e-30]


def ring_inputs():
    return SimpleNamespace(start=np.random.default_rng(11).uniform(-1, 1, CARRIES).astype(np.float32))


harness.workload("scan_60x614", ring_inputs, lambda i: [np.array(ring(i.start.astype(np.float64)))])
harness.workload("scan_60x614_grad", ring_inputs, ring_grad)


@harness.case("scan_60x614 scan_60x614_grad", "jax")
def ring_jax(i, peer):
    jax, jnp = peers.jax_()
    start = jax.device_put(i.start)

    def loss(x):
        def step(c, _):
            return tuple(a + 0.01 * (jnp.sin(b) - a) for a, b in zip(c, c[1:] + c[:1])), None
        c = jax.lax.scan(step, tuple(x), None, length=STEPS)[0]
        return sum(v * v for v in c)
    f = jax.grad(loss) if harness.CURRENT.endswith("grad") else loss
    return (lambda: peers.jax_run(jax, jax.jit(f), [start])), peers.jax_reset, {}
