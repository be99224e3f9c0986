#!/usr/bin/env python3
"""Runs the line of bench/block.cpp by numexpr on one thread, and writes the ratio of the two times beside the results.

usage: numexpr_line.py RESULTS_DIR     (after bench_block has written bench_block.json there)
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ["NUMEXPR_NUM_THREADS"] = "1"
import numexpr  # noqa: E402
import numpy  # noqa: E402

LINE = "sin(x) * exp(-(x * x)) + x * cos(x)"


def milliseconds(x):
    out, best = numpy.empty_like(x), float("inf")
    end = time.perf_counter() + 1.0
    while time.perf_counter() < end:
        start = time.perf_counter()
        numexpr.evaluate(LINE, {"x": x}, out=out)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main(folder):
    ours = {row["name"]: row["real_time"] for row in json.loads((folder / "bench_block.json").read_text())["benchmarks"]}
    rows = []
    for dtype, numpy_dtype in (("f32", numpy.float32), ("f64", numpy.float64)):
        peer = milliseconds((numpy.arange(1_000_000) * 1e-5 - 5).astype(numpy_dtype))
        rows.append({"name": f"line/{dtype}/numexpr", "run_name": f"line/{dtype}/numexpr", "run_type": "iteration",
                     "real_time": peer, "time_unit": "ms", "ratio": ours[f"line/{dtype}"] / peer})
        print(f"line/{dtype}: {ours[f'line/{dtype}']:.2f} ms, numexpr {numexpr.__version__} on one thread {peer:.2f} ms")
    (folder / "numexpr.json").write_text(json.dumps({"benchmarks": rows}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
