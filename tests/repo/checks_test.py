#!/usr/bin/env python3
"""The checks of this folder and of tests/goldens fail on what they are there to catch."""

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "goldens")]

import goldens  # noqa: E402
import layering  # noqa: E402
import style  # noqa: E402


class Tree(unittest.TestCase):
    """A scratch repository with one good file per layer."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("bytecode/ids.h", "#pragma once\n")
        self.write("jit/math/exp.h", '#pragma once\n#include "bytecode/ids.h"\n')
        self.write("vm/tensor.h", '#pragma once\n#include "bytecode/ids.h"\n#include "jit/math/exp.h"\n#include <vector>\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Layering(Tree):
    def expect(self, *parts):
        errors = layering.check(self.root)
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_good_tree(self):
        self.assertEqual(layering.check(self.root), [])

    def test_include_upwards(self):
        self.write("bytecode/bad.cpp", '// first line\n  #  include "vm/tensor.h"\n')
        self.expect("bytecode/bad.cpp:2:", "bytecode may not include vm")

    def test_include_sideways(self):
        self.write("transforms/rule.h", '#include "jit/math/exp.h"\n')
        self.expect("transforms/rule.h:1:", "transforms may not include jit/math")

    def test_include_inside_jit(self):
        self.write("jit/region/nest.h", "#pragma once\n")
        self.write("jit/math/bad.h", '#include "jit/region/nest.h"\n')
        self.expect("jit/math may not include jit/region")

    def test_include_of_tests(self):
        self.write("tests/util.h", "#pragma once\n")
        self.write("vm/bad.cpp", '#include "tests/util.h"\n')
        self.expect("vm may not include a file outside the layers")

    def test_relative_include(self):
        self.write("vm/bad.cpp", '#include "tensor.h"\n')
        self.expect("vm/bad.cpp:1:", "not a path from the root")

    def test_link_upwards(self):
        self.write("vm/CMakeLists.txt", "tfvm_library(tfvm_vm SOURCES a.cpp DEPS tfvm_bytecode)\n")
        self.write("bytecode/CMakeLists.txt", "tfvm_library(tfvm_bytecode\n  SOURCES b.cpp\n  DEPS fmt::fmt tfvm_vm)\n")
        self.expect("tfvm_bytecode (bytecode) may not link tfvm_vm (vm)")


class Style(Tree):
    def expect(self, *parts):
        errors = style.check(self.root)
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_good_tree(self):
        self.assertEqual(style.check(self.root), [])

    def test_long_header(self):
        self.write("vm/long.h", "#pragma once\n" + "int x;\n" * style.HEADER)
        self.expect("vm/long.h", "151 lines, 150 allowed")

    def test_exception(self):
        self.write("vm/long.h", "#pragma once\n" + "int x;\n" * style.HEADER)
        self.write("tests/repo/style-exceptions.txt", "vm/long.h 160 one table\n")
        self.assertEqual(style.check(self.root), [])

    def test_exception_not_needed(self):
        self.write("tests/repo/style-exceptions.txt", "vm/tensor.h 160 one table\n")
        self.expect("vm/tensor.h", "need no exception")

    def test_exception_for_nothing(self):
        self.write("tests/repo/style-exceptions.txt", "vm/gone.h 160 one table\n")
        self.expect("vm/gone.h", "not there")

    def test_open_end(self):
        self.write("vm/bad.cpp", "int x;\n// TODO: finish\n")
        self.expect("vm/bad.cpp:2:", "open end")

    def test_no_guard(self):
        self.write("vm/bad.h", "int x;\n")
        self.expect("vm/bad.h", "#pragma once")


class Goldens(unittest.TestCase):
    """The verdict on a report of `tfasm test --json` and a list of pending tests."""

    A, B = ("sort/topk.tfa", "ties"), ("dot/conv.tfa", 'says "no"')

    def verdict(self, failed, pending):
        return goldens.verdict(set(failed), set(pending))

    def test_agreement(self):
        self.assertEqual(self.verdict([self.A], [self.A]), [])

    def test_unlisted_failure(self):
        self.assertEqual(len(self.verdict([self.A, self.B], [self.A])), 1)

    def test_listed_test_that_passes(self):
        self.assertEqual(len(self.verdict([], [self.A])), 1)

    def test_list_reads_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pending.txt"
            path.write_text("# why\n", encoding="utf-8")
            goldens.write_pending(path, {self.A, self.B})
            self.assertEqual(goldens.read_pending(path), {self.A, self.B})
            self.assertTrue(path.read_text(encoding="utf-8").startswith("# why\n"))

    def test_report_names_are_relative(self):
        report = {"failures": [{"file": "/g/sort/topk.tfa", "test": "ties", "line": 3, "message": "m"}]}
        self.assertEqual(set(goldens.failures(report, Path("/g"))), {self.A})


if __name__ == "__main__":
    unittest.main()
