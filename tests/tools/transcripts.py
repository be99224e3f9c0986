#!/usr/bin/env python3
"""Runs the commands of a transcript and compares what they print.

usage: transcripts.py --tfasm PATH [--update] FILE...

A transcript has command lines, `$ tfasm run first.tfa`, each followed by what it prints, standard output before
standard error, and by `[exit N]` where N is not 0. Lines before the first command are a comment. Commands are run by
bash in the folder of the transcript; $TMP is an empty folder, `tfasm` the tool under test. --update rewrites the files.
"""

import argparse
import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def split(text):
    """The comment and the commands."""
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith("$ ")), len(lines))
    return lines[:first], [line[2:] for line in lines[first:] if line.startswith("$ ")]


def run(command, folder, env):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, check=False)
    out = (done.stdout + done.stderr).decode("utf-8", "replace").replace(env["TMP"], "$TMP")
    if out and not out.endswith("\n"):
        out += "\n[no line break]\n"
    return out + (f"[exit {done.returncode}]\n" if done.returncode else "")


def replay(file, tfasm):
    comment, commands = split(file.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as tmp:
        env = {**os.environ, "PATH": f"{tfasm.parent}:{os.environ['PATH']}", "TMP": tmp, "LC_ALL": "C.UTF-8"}
        parts = [f"$ {command}\n{run(command, file.parent, env)}" for command in commands]
    return "".join(line + "\n" for line in comment) + "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tfasm", required=True, type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    failed = False
    for file in args.files:
        expected, found = file.read_text(encoding="utf-8"), replay(file.resolve(), args.tfasm.resolve())
        if expected == found:
            continue
        if args.update:
            file.write_text(found, encoding="utf-8")
            continue
        failed = True
        sys.stdout.writelines(difflib.unified_diff(
            expected.splitlines(True), found.splitlines(True), f"{file}: expected", "found"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
