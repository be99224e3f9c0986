#!/usr/bin/env python3
"""Steps through machine code in GDB: at each instruction its callers are found, and it has a line of its program.

usage: gdb.py TFASM

Runs twice over itself: outside, which starts GDB, and within (gdb -x), where `gdb` is a module. Exit code 77: no GDB
here, or none that may trace.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77

# Name, arguments, a line of its code, the lines that code must have. `rare` calls a C++ function.
CASES = [
    ("@plain", "f32[3] [1, 2, 3]", 3, {2, 3}),
    ("@rare", "f32[3] [1e30, 2, 3]", 7, {7, 8}),
    ("@point", "f32 2", 13, {12, 13}),
    ("@loop", "f32[3] [1, 2, 3]", 19, {18, 19}),
    ("@total", "f32[2,40] {}", 26, {25, 26}),
]
PROGRAM = """
func @plain(%x: f32[3]) {
  %a = mul %x, 2
  %b = sqrt %a
  ret %b
}
func @rare(%x: f32[3]) {
  %a = sin %x
  %b = add %a, 1
  ret %b
}
func @point(%x: f32) {
  %a = mul %x, 2
  %b = sqrt %a
  ret %b
}
func @loop(%x: f32[3]) {
  %y = scan (%a = %x;) {length=2} {
    %b = mul %a, 2
    %c = add %b, 1
    yield %c
  }
  ret %y
}
func @total(%x: f32[2,40]) {
  %a = square %x
  %y = reduce_sum %a {axes=[1]}
  ret %y
}
"""


def within():
    """A call is stepped through from its first instruction to its return."""
    import gdb

    line, wanted = int(os.environ["GDB_LINE"]), {int(n) for n in os.environ["GDB_LINES"].split()}

    def out(command):
        return gdb.execute(command, to_string=True)

    def fail(why):
        print(f"failed: {why}")
        print(out("info registers rip rsp rax"), out("x/i $pc"), out("bt 12"))
        gdb.execute("kill")
        gdb.execute("quit 1")

    def callers():
        frame, names = gdb.newest_frame(), []
        while frame is not None and len(names) < 64:
            names.append(frame.name() or "?")
            frame = frame.older()
        return names

    def pc():
        return int(gdb.parse_and_eval("(unsigned long)$pc"))

    for command in ("set pagination off", "set confirm off", "set breakpoint pending on"):
        gdb.execute(command)
    gdb.execute(f"hbreak fit.tfa:{line}")
    gdb.execute("run")
    at = re.match(r"(tfvm:.*?)(?: \+ (\d+))? in section", out("info symbol $pc"))
    if not at:
        fail("no breakpoint in machine code")
    entry = pc() - int(at[2] or 0)
    gdb.execute("delete")
    gdb.execute(f"hbreak *{entry}")
    gdb.execute("continue")
    if pc() != entry:
        fail("the code is not entered again")
    gdb.execute("delete")
    expected = callers()[1:]
    if "main" not in expected:
        fail("no main among the callers")
    lines, steps, calls = set(), 0, 0
    while steps < 5000:
        names = callers()
        inside = next((k for k, name in enumerate(names) if name.startswith("tfvm:@")), None)
        if inside is None:
            break  # it has returned
        behind = [name for name in names[inside:] if not name.startswith("tfvm:@")]  # GDB takes a `ret` for its own
        if behind != expected:
            fail(f"callers are {behind}, not {expected}")
        if inside > 0:  # within what it calls; `finish` would want a breakpoint that no page of code takes
            calls += 1
            frame = gdb.newest_frame()
            for _ in range(inside):
                frame = frame.older()
            out(f"thbreak *{frame.pc()}")
            out("continue")
        else:
            lines.add(gdb.newest_frame().find_sal().line)
            out("stepi")
        steps += 1
    if not wanted <= lines:
        fail(f"lines are {sorted(lines)}, wanted {sorted(wanted)}")
    if os.environ["GDB_CALLS"] == "1" and calls == 0:
        fail("nothing was called")
    print(f"passed: {steps} steps, {calls} calls, lines {sorted(lines)}")
    gdb.execute("kill")


def run(gdb, tfasm, options, arguments=(), **env):
    command = [gdb, "-nx", "--batch", *options, "--args", tfasm, *arguments]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=300)


def may_trace(gdb, tfasm):
    commands = ("python print(1)", "starti", "hbreak main", "continue", "info registers rip")
    done = run(gdb, tfasm, [word for command in commands for word in ("-ex", command)])
    return "Breakpoint 1," in done.stdout and "rip " in done.stdout


def main():
    gdb, tfasm = shutil.which("gdb"), sys.argv[1]
    if not gdb or not may_trace(gdb, tfasm):
        print("skipped: no GDB that may trace and knows Python")
        return SKIPPED
    failed = False
    with tempfile.TemporaryDirectory() as tmp:
        program = Path(tmp) / "fit.tfa"
        program.write_text(PROGRAM.lstrip("\n"), encoding="utf-8")
        for name, arg, line, lines in CASES:
            arg = arg.format([list(range(40))] * 2)
            done = run(gdb, tfasm, ["-x", __file__], ["bench", program, name, "--arg", arg], TFVM_PERF="gdb",
                       TFVM_TIER="jit", GDB_LINE=str(line), GDB_LINES=" ".join(map(str, lines)),
                       GDB_CALLS=str(int(name == "@rare")))
            passed = re.search(r"^passed: .*", done.stdout, re.MULTILINE)
            print(f"{name}: {passed[0] if passed else 'failed'}")
            if not passed:
                failed = True
                print(done.stdout[-4000:], done.stderr[-2000:])
    return 1 if failed else 0


if __name__ == "__main__":
    if "GDB_LINE" in os.environ:
        within()
    else:
        sys.exit(main())
