#!/usr/bin/env python3
"""How many instructions derivatives of the examples have, beside the functions themselves.

usage: grad_cost.py --tfasm PATH --examples FOLDER [--update] TABLE

Counts with `tfasm transform --stats`: all that a function runs, each body once, literals left out. Fails where the
table differs from what is found, where a derivative has more than five times the instructions of its function, or where
an example has no row. --update writes the table.
"""

import argparse
import difflib
import subprocess
import sys
from pathlib import Path

BOUND = 5.0
# Example, function, types of its arguments, argnums.
SCALARS = [
    ("digits", "@regression_loss", "f32[64,10], f32[10], f32[32,64], i64[32]", "0, 1"),
    ("digits", "@network_loss", "f32[64,128], f32[128], f32[128,10], f32[10], f32[32,64], i64[32]", "0, 1, 2, 3"),
    ("ensemble", "@loss", "f64[3], f64[3], f64[3], f64[9], f64[9]", "0, 1, 2"),
    ("implicit", "@anomaly", "f64, f64", "0, 1"),
    ("jacobians", "@energy", "f64[2,3], f64[2], f64[3]", "0, 1, 2"),
    ("maml", "@loss", "f64[5], f64[5], f64[5], f64[6], f64[6]", "0, 1, 2"),
    ("maml", "@adapted", "f64[5], f64[5], f64[5], f64, f64", "0, 1, 2"),
    ("maml", "@meta_loss", "f64[5], f64[5], f64[5], f64[4], f64[4]", "0, 1, 2"),
    ("pendulum", "@final_angle", "f64", "0"),
    ("per_sample", "@loss", "f32[3], f32, f32[3], f32", "0, 1"),
    ("per_sample", "@mean_loss", "f32[3], f32, f32[8,3], f32[8]", "0, 1"),
]
# Results that are no scalars have a vjp: example, function, types of its arguments, types of cotangents.
VECTORS = [
    ("digits", "@network", "f32[64,128], f32[128], f32[128,10], f32[10], f32[32,64]", "f32[32,10]"),
    ("ensemble", "@step", "f64[3], f64[3], f64[3], f64[9], f64[9]", "f64[3], f64[3], f64[3]"),
    ("jacobians", "@layer", "f64[2,3], f64[2], f64[3]", "f64[2]"),
    ("ntk", "@net", "f64[4,2], f64[3,4], f64[2]", "f64[3]"),
    ("ntk", "@kernel", "f64[4,2], f64[3,4], f64[2,2], f64[5,2]", "f64[2,3,5,3]"),
    ("pendulum", "@rollout", "f64", "f64, f64[500]"),
    ("per_sample", "@norms", "f32[3], f32, f32[8,3], f32[8]", "f32[8]"),
]
COLUMNS = f"{'example':<11} {'function':<17} {'instructions':>12}"
HEAD = f"{COLUMNS} {'grad':>5} {'ratio':>5} {'value_and_grad':>14} {'ratio':>5}\n"
VJP_HEAD = f"{COLUMNS} {'vjp':>5} {'ratio':>5}\n"


def count(tfasm, file, function, args):
    command = [tfasm, "transform", file, function, "--args", args, "--last", "--stats"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode:
        sys.exit(f"{file}: error: {function}: {done.stderr}")
    return int(done.stdout.splitlines()[1].split()[0])


def rows(tfasm, examples):
    """Lines of the table, and the ratios in them."""
    for example, function, args, argnums in SCALARS:
        file = examples / f"{example}.tfa"
        n = count(tfasm, file, function, args)
        g, v = (count(tfasm, file, f"{t}({function}, argnums=[{argnums}])", args) for t in ("grad", "value_and_grad"))
        yield f"{example:<11} {function:<17} {n:>12} {g:>5} {g / n:>5.2f} {v:>14} {v / n:>5.2f}\n", max(g, v) / n
    yield "\n" + VJP_HEAD, 0
    for example, function, args, cotangents in VECTORS:
        file = examples / f"{example}.tfa"
        n, v = count(tfasm, file, function, args), count(tfasm, file, f"vjp({function})", f"{args}, {cotangents}")
        yield f"{example:<11} {function:<17} {n:>12} {v:>5} {v / n:>5.2f}\n", v / n


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tfasm", required=True, type=Path)
    parser.add_argument("--examples", required=True, type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("table", type=Path)
    args = parser.parse_args()
    named = {row[0] for row in SCALARS + VECTORS}
    missing = sorted({path.stem for path in args.examples.glob("*.tfa")} - named)
    if missing:
        sys.exit(f"error: examples without a row in {sys.argv[0]}: {', '.join(missing)}")
    found = list(rows(args.tfasm, args.examples))
    text = HEAD + "".join(line for line, _ in found)
    over = [line for line, ratio in found if ratio > BOUND]
    if args.update:
        args.table.write_text(text, encoding="utf-8")
    expected = args.table.read_text(encoding="utf-8")
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), text.splitlines(True), "expected", "found"))
    sys.stdout.writelines(f"more than {BOUND:g} times: {line}" for line in over)
    return 1 if over or text != expected else 0


if __name__ == "__main__":
    sys.exit(main())
