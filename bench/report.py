#!/usr/bin/env python3
"""Compares Google Benchmark results with the bounds that the project sets itself.

usage: report.py BOUNDS RESULTS_DIR

BOUNDS has one bound a line: `benchmark field <= number` or `>=`, then an optional `# note`. The field is a user
counter or a time (`real_time`, `cpu_time`: in ns). `benchmark/*` with a field `exponent(FIELD)` is 1 + the slope of
log FIELD over log size, fitted to all sizes: how a cost per item that should stay constant grows. Printed is measured / bound for `<=` and bound / measured for `>=`,
so 1.00 or less keeps the bound. Exits 1 where one is broken or was not measured.
"""

import json
import math
import re
import sys
from pathlib import Path

LINE = re.compile(r"^(?P<name>\S+)\s+(?P<field>\S+)\s+(?P<sign><=|>=)\s+(?P<bound>\S+)\s*(?:#\s*(?P<note>.*))?$")
TO_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def read_bounds(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.match(line)
        if not match:
            sys.exit(f"{path}:{number}: error: expected `benchmark field <= number # note`")
        yield match["name"], match["field"], match["sign"], float(match["bound"]), match["note"] or ""


def read_results(folder):
    """{(benchmark, field): value}; a median over repetitions replaces the single runs."""
    table = {}
    for path in sorted(folder.glob("*.json")):
        rows = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
        for row in sorted(rows, key=lambda row: row.get("aggregate_name") == "median"):
            if row["run_type"] == "aggregate" and row["aggregate_name"] != "median":
                continue
            for field, value in row.items():
                if isinstance(value, (int, float)):
                    scale = TO_NS[row["time_unit"]] if field in ("real_time", "cpu_time") else 1.0
                    table[row["run_name"], field] = value * scale
    return table


def exponent(results, family, field):
    """Of a field per item, over the sizes that benchmark names end with; None where there are not two."""
    points = []
    for (name, name_field), value in results.items():
        size = name.rpartition("/")[2]
        if name.startswith(family) and name_field == field and size.isdigit():
            points.append((math.log(int(size)), math.log(value)))
    if len(points) < 2:
        return None
    x0, y0 = (sum(axis) / len(points) for axis in zip(*points))
    return 1 + sum((x - x0) * (y - y0) for x, y in points) / sum((x - x0) ** 2 for x, _ in points)


def measured(results, name, field):
    fitted = re.fullmatch(r"exponent\((\w+)\)", field)
    if fitted:
        return exponent(results, name.rstrip("*"), fitted[1])
    return results.get((name, field))


def main(bounds, folder):
    results, broken = read_results(folder), 0
    for name, field, sign, bound, note in read_bounds(bounds):
        value = measured(results, name, field)
        if value is None:
            verdict, ratio = "not measured", ""
        else:
            quotient = value / bound if sign == "<=" else bound / value
            verdict, ratio = ("ok" if quotient <= 1 else "OVER"), f"{quotient:6.2f}"
        broken += verdict != "ok"
        shown = "" if value is None else f"{value:.4g}"
        print(f"{name:40} {field:16} {shown:>10} {sign} {bound:<10.4g} {ratio:>6}  {verdict:12} {note}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
