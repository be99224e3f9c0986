#!/usr/bin/env python3
"""Checks that text and binary convert into each other without loss, for every .tfa file below some folders.

usage: round_trip.py --tfasm PATH FOLDER...

For each program t: dis(asm(t)) is a fixpoint of asm and dis, asm of it gives the same bytes, and `fmt` of it changes
nothing. bad-*.tfa and programs that can't be read are left out; the latter fail. Folders that are not there are skipped.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    return done.stdout


def strip_places(tfasm, source, out):
    """Bytes of the code section alone: a debug section holds lines, which differ once comments are gone."""
    call(tfasm, "asm", "--strip", source, "-o", out)
    return out.read_bytes()


def check(tfasm, file):
    """What is wrong with one file, or None."""
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        one, two, text, again = tmp / "one.tfbc", tmp / "two.tfbc", tmp / "one.tfa", tmp / "two.tfa"
        try:
            call(tfasm, "asm", file, "-o", one)
            text.write_bytes(call(tfasm, "dis", one))
            call(tfasm, "asm", text, "-o", two)
            again.write_bytes(call(tfasm, "dis", two))
            if text.read_bytes() != again.read_bytes():
                return "dis(asm(t)) is no fixpoint"
            if strip_places(tfasm, file, tmp / "a.tfbc") != strip_places(tfasm, text, tmp / "b.tfbc"):
                return "the code section changes"
            call(tfasm, "fmt", "--check", text)
        except RuntimeError as error:
            return str(error)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tfasm", required=True, type=Path)
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    files = sorted(file for folder in args.folders for file in folder.rglob("*.tfa") if not file.name.startswith("bad-"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda file: check(args.tfasm, file), files))
    wrong = [(file, message) for file, message in zip(files, results) if message]
    for file, message in wrong:
        print(f"{file}: error: {message}")
    print(f"{len(files)} programs, {len(wrong)} wrong")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
