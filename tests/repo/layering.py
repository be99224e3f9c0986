#!/usr/bin/env python3
"""Fails when an #include or a CMake dependency goes against the order of the layers.

usage: layering.py ROOT

A layer is a folder; ALLOWED names the layers that it may see. Quoted includes are relative to ROOT and must exist;
system and library headers are in angle brackets and are not looked at. docs/architecture.md, section 1, is the text of this table.
"""

import re
import sys
from pathlib import Path

JIT = ("jit/math", "jit/region", "jit/x86", "jit/cuda")
ALLOWED = {
    "bytecode": (),
    "stdlib": ("bytecode",),
    "jit/math": ("bytecode",),
    "jit/region": ("bytecode", "jit/math"),
    "jit/x86": ("bytecode", "jit/math", "jit/region"),
    "jit/cuda": ("bytecode", "jit/math", "jit/region"),
    "functionalize": ("bytecode",),
    "transforms": ("bytecode", "functionalize"),
    "partition": ("bytecode", "functionalize", "transforms"),
    "vm": ("bytecode", "stdlib", *JIT, "functionalize", "transforms", "partition"),
    "tools": ("bytecode", "stdlib", *JIT, "functionalize", "transforms", "partition", "vm"),
}
SOURCES = {".cpp", ".cc", ".h", ".hpp", ".def", ".inc", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
LIBRARY = re.compile(r"tfvm_(?:library|tool)\(\s*(\w+)([^)]*)\)")


def layer_of(path):
    """The layer that owns a path relative to the root, or None (tests, bench, … may see everything)."""
    parts = Path(path).parts
    for depth in (2, 1):
        name = "/".join(parts[:depth])
        if name in ALLOWED:
            return name
    return None


def files_of(root):
    for layer in ALLOWED:
        for path in sorted((root / layer).rglob("*")):
            if path.is_file() and layer_of(path.relative_to(root)) == layer:
                yield layer, path


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def bad_includes(root):
    for layer, path in files_of(root):
        if path.suffix not in SOURCES:
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            name = match.group(1)
            place = f"{path.relative_to(root)}:{line_of(text, match.start(1))}"
            target = layer_of(name)
            if not (root / name).is_file():
                yield f'{place}: error: "{name}" is not a path from the root of the repository'
            elif target != layer and target not in ALLOWED[layer]:
                yield f'{place}: error: {layer} may not include {target or "a file outside the layers"}: "{name}"'


def bad_links(root):
    """CMake lets static libraries link in circles, so the DEPS of each target are held to the same table."""
    owner, uses = {}, []
    for layer, path in files_of(root):
        if path.name != "CMakeLists.txt":
            continue
        text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
        for match in LIBRARY.finditer(text):
            owner[match.group(1)] = layer
            deps = match.group(2).partition("DEPS")[2].split()
            uses += [(path.relative_to(root), layer, match.group(1), dep) for dep in deps]
    for path, layer, target, dep in uses:
        to = owner.get(dep, layer)
        if to != layer and to not in ALLOWED[layer]:
            yield f"{path}: error: {target} ({layer}) may not link {dep} ({to})"


def check(root):
    return [*bad_includes(root), *bad_links(root)]


if __name__ == "__main__":
    errors = check(Path(sys.argv[1]).resolve())
    print("\n".join(errors) or "every include and every dependency points one way")
    sys.exit(1 if errors else 0)
