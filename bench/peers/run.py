#!/usr/bin/env python3
"""tfvm beside other systems, in one run on one core: times as JSON lines, ratios as a table.

usage: run.py --bin FOLDER --shared FOLDER [--json FILE] [--workload GLOBS] [--peer GLOBS] [--seconds S] [--list]
       run.py --bin FOLDER --check

The workloads, their inputs, references and peers are those of SHARED/peers.py, measured by SHARED/harness.py: a fresh
process each, pinned to one core. Peers whose package is not there are left out. --check compares sparse derivatives with
CasADi's and looks at the accuracy of the hand-written limits. Exits 1 where tfvm fails or disagrees with a reference.
"""

import argparse
import fnmatch
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ("jax", "torch", "mlx", "drjit", "casadi", "numexpr", "onnxruntime")  # a peer's name begins with its module's


def load_registry(shared):
    """The harness and tfvm's workloads."""
    if not (shared / "peers.py").is_file():
        sys.exit(f"error: no peers.py in {shared}: TFVM_SHARED names the folder that holds peers/")
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(shared), str(HERE)]
    global harness, peers, table, workloads
    import harness
    import peers
    import table
    import workloads


def matches(globs, name):
    return any(fnmatch.fnmatch(name, g) for g in globs.split(","))


def installed(peer):
    module = next((m for m in MODULES if peer.startswith(m)), None)
    return module is None or importlib.util.find_spec(module) is not None


def spawn_here(arguments):
    """As the harness does it: (stdout, stderr, status, seconds)."""
    return harness.spawn([str(Path(__file__).resolve()), *arguments], 1)


def run_peer(a, name, peer, first_only=False):
    arguments = ["--child", name, peer, "--shared", str(a.shared), "--bin", str(a.bin), "--seconds", str(a.seconds)]
    out, err, status, wall = spawn_here(arguments + (["--first-only"] if first_only else []))
    for line in out.splitlines():
        if line.startswith("@@"):
            return {**json.loads(line[2:]), "wall_s": round(wall, 2)}
    return {"workload": name, "peer": peer, "threads": 1, "error": f"status {status}: {err[-300:]}"}


def drive(a, folder, arguments):
    """Runs this VM's driver, pinned like the peers; its JSON, or an error."""
    command = ["taskset", "-c", "0", str(a.bin / "peer_tfvm"), *map(str, arguments)]
    try:
        done = subprocess.run(command, env=harness.child_env(str(folder), 1), capture_output=True, text=True,
                              timeout=harness.WALL, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"over the {harness.WALL:.0f} s wall limit"}
    if done.returncode:
        return {"error": f"status {done.returncode}: {done.stderr[:300]}"}
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"out": done.stdout}


def write_inputs(name, folder):
    """The program, the function and the files of its arguments."""
    import numpy as np
    program, function, arguments = workloads.PROGRAMS[name]
    files = []
    for k, v in enumerate(arguments(harness.WORKLOADS[name].inputs())):
        files.append(folder / f"in{k}.npy")
        np.save(files[-1], v)
    return HERE / program, function, files


def output_bytes(name):
    """Of memory for all outputs, each on lines of its own."""
    w = harness.WORKLOADS[name]
    return sum((4 * r.size + 63) // 64 * 64 for r in w.ref(w.inputs()))


def compare(name, folder):
    import numpy as np
    w = harness.WORKLOADS[name]
    refs = w.ref(w.inputs())
    error = harness.error([np.load(folder / f"{k}.npy").astype(np.float64) for k in range(len(refs))], refs)
    return {"max_rel_err": error, "agrees": bool(error <= w.tol)}


def run_tfvm(a, name, how):
    peer = "tfvm" if how == "call" else "tfvm_" + how
    line = {"workload": name, "peer": peer, "threads": 1}
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        program, function, files = write_inputs(name, folder)
        found = drive(a, folder, ["measure", program, function, how, a.seconds, folder, *files])
        if "error" in found:
            return {**line, **found}
        for key in ("median", "min", "p10"):
            found[key + "_ns"] = found.pop(key + "_s") * 1e9
        limit = harness.WORKLOADS[name].limit
        for unit, amount in (("gflops", "flops"), ("gbps", "bytes")):
            if amount in limit:
                found[unit] = limit[amount] / found["median_ns"]
        return {**line, **found, **compare(name, folder)}


def tfvm_latency(a, name, peer, repeat=3):
    """Text to first result: into memory that the caller has had in use, or fresh from the system (`tfvm_fresh`)."""
    line = {"workload": "compile_latency/" + name, "peer": peer, "threads": 1}
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        program, function, files = write_inputs(name, folder)
        ready = 0 if peer == "tfvm_fresh" else output_bytes(name)
        found = [drive(a, folder, ["first", program, function, folder, ready, *files]) for _ in range(repeat)]
        bad = [f for f in found if "error" in f]
        if bad:
            return {**line, **bad[0]}
        best = {key: sorted(f[key] for f in found)[repeat // 2] for key in ("first_s", "recompile_s")}
        return {**line, **best, "samples": repeat, **compare(name, folder)}


def tfvm_start(a, repeat=7):
    line = {"workload": "import_time", "peer": "tfvm", "threads": 1}
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        program, function, files = write_inputs(workloads.START, folder)
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            found = drive(a, folder, ["start", program, function, *files])
            times.append(time.perf_counter() - begin)
            if "error" in found:
                return {**line, **found}
    times = sorted(times[1:])  # the first one warms the page cache
    return {**line, "median_ns": times[len(times) // 2] * 1e9, "min_ns": times[0] * 1e9, "samples": len(times)}


def peer_latency(a, name, peer):
    line = run_peer(a, name, peer, first_only=True)
    return {**line, "workload": "compile_latency/" + name}


def peer_start(peer, code, repeat=4):
    times = []
    for _ in range(repeat):
        out, err, status, wall = harness.spawn(["-c", code], 1)
        if status != 0 or "ok" not in out:
            return {"workload": "import_time", "peer": peer, "threads": 1, "error": f"status {status}: {err[-300:]}"}
        times.append(wall)
    times = sorted(times[1:])
    return {"workload": "import_time", "peer": peer, "threads": 1, "median_ns": times[len(times) // 2] * 1e9,
            "min_ns": times[0] * 1e9, "samples": len(times)}


def limits(a):
    done = subprocess.run(["taskset", "-c", "0", str(a.bin / "peer_limits")], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def jobs(a):
    """(workload, peer, function that gives the line) in the order of a run."""
    for name in dict.fromkeys([*harness.WORKLOADS, *workloads.PROGRAMS]):
        if name in workloads.PROGRAMS:
            yield name, "tfvm", lambda n=name: run_tfvm(a, n, "call")
        if name in workloads.PREPARED:
            yield name, "tfvm_prepared", lambda n=name: run_tfvm(a, n, "prepared")
        for (workload, peer) in harness.CASES:
            if workload == name and installed(peer):
                yield name, peer, lambda n=name, p=peer: run_peer(a, n, p)
    for name in workloads.LATENCY:
        for peer in ("tfvm", "tfvm_fresh"):
            yield "compile_latency/" + name, peer, lambda n=name, p=peer: tfvm_latency(a, n, p)
        for peer in peers.LATENCY[name]:
            if installed(peer):
                yield "compile_latency/" + name, peer, lambda n=name, p=peer: peer_latency(a, n, p)
    yield "import_time", "tfvm", lambda: tfvm_start(a)
    for peer, code in peers.IMPORTS.items():
        if installed(peer):
            yield "import_time", peer, lambda p=peer, c=code: peer_start(p, c)


def rounded(line):
    return {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in line.items()}


def compare_all(a):
    bars = table.read_bars(HERE / "bars.txt")
    by_flops = {workload for workload, _, against, _, _ in bars if against == "flops"}
    wanted = [(w, p, job) for w, p, job in jobs(a) if matches(a.workload, w) and matches(a.peer, p)]
    if any(w in by_flops for w, _, _ in wanted) and not any(w == "fma_peak" for w, _, _ in wanted):
        wanted.append(("fma_peak", "c_avx2", lambda: run_peer(a, "fma_peak", "c_avx2")))
    if a.list:
        for workload, peer, _ in wanted:
            print(workload, peer)
        return 0
    named = {workload for workload, _, _ in wanted}
    lines = [line for line in limits(a) if line["workload"] in named] if matches(a.peer, "limit_cpp") else []
    for k, (workload, peer, job) in enumerate(wanted, 1):
        print(f"{k}/{len(wanted)} {workload} {peer}", file=sys.stderr, flush=True)
        lines.append(rounded(job()))
        if a.json:
            a.json.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    flops = {name: w.limit["flops"] for name, w in harness.WORKLOADS.items() if "flops" in w.limit}
    table.print_table(lines, bars, flops)
    ours = [line for line in lines if line["peer"].startswith("tfvm")]
    return 1 if any("error" in line or line.get("agrees") is False for line in ours) else 0


def check(a):
    sparse = subprocess.run([sys.executable, str(HERE.parents[1] / "tests/peers/sparse.py"), str(a.bin / "tfasm")],
                            check=False)
    accuracy = subprocess.run([str(a.bin / "peer_limits"), "check"], check=False)
    return 1 if sparse.returncode or accuracy.returncode else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=lambda p: Path(p).resolve(), help="holds tfasm, peer_tfvm, peer_limits")
    parser.add_argument("--shared", type=lambda p: Path(p).resolve(), help="holds peers.py and harness.py")
    parser.add_argument("--json", type=Path, help="write a JSON line for each workload and peer")
    parser.add_argument("--workload", default="*", help="globs, comma-separated")
    parser.add_argument("--peer", default="*", help="globs, comma-separated")
    parser.add_argument("--seconds", type=float, default=2.5, help="how long a workload is sampled")
    parser.add_argument("--list", action="store_true", help="name workloads and peers")
    parser.add_argument("--check", action="store_true", help="compare with CasADi, check the limits")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--first-only", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.check:
        return check(a)
    load_registry(a.shared)
    harness.BUDGET = a.seconds
    if a.child:
        return harness.child(*a.child, a.first_only, 1)
    return compare_all(a)


if __name__ == "__main__":
    sys.exit(main())
