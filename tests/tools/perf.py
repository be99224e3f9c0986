#!/usr/bin/env python3
"""Records machine code with perf: the callers of its samples are found.

usage: perf.py TFASM

Exit code 77: no perf here, or none that may record and knows frames.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
PROGRAM = """func @waves(%x: f32[500]) {
  %a = sin %x
  %s = sort %a {axis=0}
  %y = exp %s
  ret %y
}
"""


def run(*command, **env):
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=200)
    return done.stdout if done.returncode == 0 else None


def may_record(perf, folder):
    options = run(perf, "version", "--build-options") or ""
    if not any("unwind" in line and "[ on" in line for line in options.splitlines()):
        return False
    data = folder / "try.data"
    return run(perf, "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf", "-o", data, "true") is not None


def samples(text):
    """Of each sample the names of its frames, from the innermost."""
    for block in text.split("\n\n"):
        lines = [line.split(None, 1) for line in block.splitlines() if line.startswith("\t")]
        frames = [line[1] for line in lines if len(line) == 2]
        if frames:
            yield frames


def main():
    perf, tfasm = shutil.which("perf"), sys.argv[1]
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        if not perf or not may_record(perf, folder):
            print("skipped: no perf that may record and knows frames")
            return SKIPPED
        program, data, made = folder / "fit.tfa", folder / "perf.data", folder / "jit.data"
        program.write_text(PROGRAM, encoding="utf-8")
        arg = f"f32[500] {list(range(500))}"
        how = ("-F", "500", "-k", "mono", "-e", "cpu-clock", "--call-graph", "dwarf,32768")
        run(perf, "record", "-q", *how, "-o", data, tfasm, "bench", program, "@waves", "--arg", arg,
            TFVM_PERF="jitdump", TFVM_TIER="jit", JITDUMPDIR=tmp)
        run(perf, "inject", "--jit", "-i", data, "-o", made)
        found = list(samples(run(perf, "script", "-i", made, "-F", "ip,sym") or ""))
        failed = False
        for name in ("tfvm:@waves nest 0", "tfvm:@waves nest 1"):
            inside = [s for s in found if s[0].startswith(name)]
            whole = [s for s in inside if any(f.startswith("main") for f in s)]
            print(f"{name}: {len(inside)} samples, {len(whole)} with all callers")
            failed = failed or len(inside) < 5 or len(whole) < len(inside) * 0.9
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
