#!/usr/bin/env python3
"""Fails on a file that is too long or that breaks a mechanical rule of docs/style.md.

usage: style.py ROOT

tests/repo/style-exceptions.txt lists files that may be longer, one per line: `path limit reason`. An exception that
is no longer needed fails too.
"""

import os
import re
import sys
from pathlib import Path

HEADER, SOURCE = 150, 500
LIMITS = {".h": HEADER, ".hpp": HEADER, ".cpp": SOURCE, ".def": SOURCE, ".tfa": SOURCE, ".py": SOURCE}
SKIPPED = {".git", "build", "data", "__pycache__"}
OPEN_ENDS = re.compile(r"\b(TODO|FIXME|XXX)\b|\bnot (yet )?implemented\b", re.IGNORECASE)
SELF = "tests/repo/"  # the checks and their own test name what they look for


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix in LIMITS)


def read_exceptions(path):
    """{file: limit}; a line without a reason is an error."""
    table = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if line.strip() and not line.startswith("#"):
            name, limit, _reason = line.split(maxsplit=2)
            table[name] = int(limit)
    return table


def check_length(name, lines, limit, exceptions):
    allowed = exceptions.get(name, limit)
    if lines > allowed:
        yield f"{name}: error: {lines} lines, {allowed} allowed: split it by idea"
    elif name in exceptions and lines <= limit:
        yield f"{name}: error: {lines} lines need no exception any more"


def check_text(name, text):
    if name.endswith((".h", ".hpp")) and "#pragma once" not in text:
        yield f"{name}: error: a header begins with #pragma once"
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip():
            yield f"{name}:{number}: error: space at the end of the line"
        if "\t" in line:
            yield f"{name}:{number}: error: tab"
        if OPEN_ENDS.search(line) and not name.startswith(SELF):
            yield f"{name}:{number}: error: an open end in the text: a hole is a named row with a reason"


def check(root):
    exceptions = read_exceptions(root / "tests/repo/style-exceptions.txt")
    errors, seen = [], set()
    for path in files_of(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        seen.add(name)
        errors += check_length(name, len(text.splitlines()), LIMITS[path.suffix], exceptions)
        errors += check_text(name, text)
    errors += [f"{name}: error: an exception for a file that is not there" for name in sorted(set(exceptions) - seen)]
    return errors


if __name__ == "__main__":
    found = check(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "every file keeps the rules")
    sys.exit(1 if found else 0)
