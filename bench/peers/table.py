"""Ratios of one run: tfvm against its bars (bars.txt) and against the best peer of each workload."""

import fnmatch
import re

HAND = ("c_ref*", "limit_cpp", "c_copy*", "c_avx2", "c_memcpy")
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6}


def read_bars(path):
    """(workload, peer of tfvm, against, factor, note) of each line."""
    bars = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text, _, note = line.partition("#")
        if text.strip():
            workload, peer, against, factor = text.split()
            bars.append((workload, peer, against, float(factor), note.strip()))
    return bars


def nanoseconds(line):
    """The least time of a line: of a call, or from text to the first result."""
    if "error" in line:
        return None
    return line["min_ns"] if "min_ns" in line else line["first_s"] * 1e9


def reference(against, workload, times, flops):
    """What a bar compares with, in ns; None where this run has not measured it."""
    literal = re.fullmatch(r"([0-9.]+)(ns|us|ms)", against)
    if literal:
        return float(literal[1]) * UNITS[literal[2]]
    if against == "flops":
        peak = times.get(("fma_peak", "c_avx2"))
        return None if peak is None or workload not in flops else flops[workload] * peak / flops["fma_peak"]
    return times.get((workload, against), times.get((against, "tfvm")))


def rows(lines, bars, flops):
    """(workload, peer of tfvm, against, ratio, bar, verdict, note); bars first, then the best peer of each workload."""
    times = {(d["workload"], d["peer"]): nanoseconds(d) for d in lines}
    times = {key: t for key, t in times.items() if t is not None}
    failed = {(d["workload"], d["peer"]) for d in lines if "error" in d}
    for workload in dict.fromkeys(d["workload"] for d in lines):
        for name, peer, against, factor, note in bars:
            if name != workload:
                continue
            mine, other = times.get((workload, peer)), reference(against, workload, times, flops)
            if mine is None or other is None:
                yield workload, peer, against, None, factor, "failed" if (workload, peer) in failed else "not measured", note
            else:
                yield workload, peer, against, mine / other, factor, "ok" if mine <= factor * other else "OVER", note
        peers = {p: t for (w, p), t in times.items()
                 if w == workload and not p.startswith("tfvm") and not any(fnmatch.fnmatch(p, h) for h in HAND)}
        if peers and (workload, "tfvm") in times:
            best = min(peers, key=peers.get)
            yield workload, "tfvm", best, times[workload, "tfvm"] / peers[best], None, "", "the best peer"


def print_table(lines, bars, flops):
    print(f"\n{'workload':<39} {'peer':<14} {'over':<18} {'ratio':>9} {'must be':>8}")
    for workload, peer, against, ratio, factor, verdict, note in rows(lines, bars, flops):
        shown = "" if ratio is None else f"{ratio:.3g}"
        must = "" if factor is None else f"<= {factor:g}"
        print(f"{workload:<39} {peer:<14} {against:<18} {shown:>9} {must:>8}  {verdict:<12} {note}".rstrip())
    for d in lines:
        if "error" in d:
            print(f"{d['workload']} {d['peer']}: {d['error'].splitlines()[0]}")
        elif d.get("agrees") is False:
            print(f"{d['workload']} {d['peer']}: the results are off by {d['max_rel_err']:.1e}")
