#!/usr/bin/env python3
"""What a host that can call all of the C API carries: links such a program against the archive, strips it, and prints its
size by kind of section. Fails above --limit bytes.

usage: size.py --cxx CXX --archive libtfvm.a --include vm/include --limit BYTES [LINKER FLAG…]
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

KINDS = {".text": "code", ".rodata": "constants", ".eh_frame": "unwinding", ".gcc_except_table": "unwinding",
         ".eh_frame_hdr": "unwinding", ".rela.dyn": "relocations", ".data.rel.ro": "tables of pointers"}


def api(include):
    """The names of the functions that the headers declare."""
    text = "\n".join(p.read_text() for p in sorted(include.rglob("*.h")) if p.name != "tbb.h")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return sorted(set(re.findall(r"\b(tfvm_\w+)\s*\(", text)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--archive", required=True)
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--limit", required=True, type=int)
    args, flags = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "host.cpp"), pathlib.Path(folder, "host")
        source.write_text("int main() {}\n")
        names = api(args.include)
        keep = [f"-Wl,--require-defined={name}" for name in names]
        subprocess.run([args.cxx, "-O2", source, *keep, "-Wl,--gc-sections", "-s", args.archive, *flags, "-o", program],
                       check=True)
        size = program.stat().st_size
        sections = collections.Counter()
        for line in subprocess.run(["size", "-A", program], check=True, capture_output=True, text=True).stdout.splitlines():
            field = line.split()
            if len(field) == 3 and field[0] in KINDS:
                sections[KINDS[field[0]]] += int(field[1])
    print(f"{size} bytes with {len(names)} functions of the C API, at most {args.limit}: "
          + ", ".join(f"{kind} {n}" for kind, n in sections.most_common()))
    sys.exit(size > args.limit)


if __name__ == "__main__":
    main()
