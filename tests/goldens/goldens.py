#!/usr/bin/env python3
"""Runs the language goldens through `tfasm test --json` and compares what failed with the list of pending tests.

usage: goldens.py --tfasm PATH --goldens DIR --pending FILE [--update]

The list has one test a line, `folder/file.tfa: "test name"`. A failure that is not listed fails, and so does a listed
test that passes. --update rewrites the list from the run and keeps the comment at its head. Exits 77 (skipped) where
DIR is not there.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

SKIPPED = 77
LINE = re.compile(r'^(?P<file>[^:]+): (?P<test>".*")$')


def read_pending(path):
    pending = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.match(line)
        if not match:
            sys.exit(f'{path}:{number}: error: expected `folder/file.tfa: "test name"`')
        pending.add((match["file"], json.loads(match["test"])))
    return pending


def format_test(test):
    return f"{test[0]}: {json.dumps(test[1], ensure_ascii=False)}"


def write_pending(path, tests):
    old = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    head = [line for line in old if line.startswith("#")]
    path.write_text("".join(line + "\n" for line in head + [format_test(t) for t in sorted(tests)]), encoding="utf-8")


def failures(report, folder):
    """{(file relative to folder, test): (line, message)}, the first failure of each test."""
    found = {}
    for failure in report["failures"]:
        file = Path(failure["file"])
        name = file.relative_to(folder) if file.is_relative_to(folder) else file
        found.setdefault((name.as_posix(), failure["test"]), (failure["line"], failure["message"]))
    return found


def verdict(failed, pending):
    """Errors: what failed without being listed, and what is listed without failing."""
    errors = [f"failed, and is not pending: {format_test(t)}" for t in sorted(failed - pending)]
    return errors + [f"is pending, but passes or is not there: {format_test(t)}" for t in sorted(pending - failed)]


def run(tfasm, folder):
    command = [tfasm, "test", str(folder), "--json", "--verify-each"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}, no JSON ({error})\n{done.stdout[:2000]}\n{done.stderr[:2000]}")


def print_summary(report, pending):
    """One line a folder; what fails and is listed counts as pending."""
    listed = Counter(Path(file).parent.name for file, _ in pending)
    rows = [(Path(name).name, counts) for name, counts in sorted(report["folders"].items())]
    for name, counts in [*rows, ("all", report)]:
        waiting = sum(listed.values()) if counts is report else listed[name]
        print(f"{name:12} {counts['passed']:5} passed {counts['failed'] - waiting:5} failed "
              f"{waiting:5} pending {counts.get('skipped', 0):5} skipped")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tfasm", required=True)
    parser.add_argument("--goldens", required=True, type=Path)
    parser.add_argument("--pending", required=True, type=Path)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    if not args.goldens.is_dir():
        print(f"skipped: no goldens at {args.goldens}; TFVM_SHARED names the folder that holds goldens/")
        return SKIPPED
    folder = args.goldens.resolve()
    report = run(args.tfasm, folder)
    failed, pending = failures(report, folder), read_pending(args.pending)
    print_summary(report, set(failed) if args.update else set(failed) & pending)
    if args.update:
        write_pending(args.pending, set(failed))
        print(f"{args.pending}: {len(failed)} tests")
        return 0
    errors = verdict(set(failed), pending)
    for error in errors:
        print(error)
    for test in sorted(set(failed) - pending):
        line, message = failed[test]
        print(f"{folder / test[0]}:{line}: {message}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
