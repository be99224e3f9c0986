#!/usr/bin/env python3
"""Ratios and verdicts of bench/peers/table.py."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PEERS = Path(__file__).resolve().parents[2] / "bench/peers"
sys.path.insert(0, str(PEERS))
import table  # noqa: E402


def line(workload, peer, ns):
    return {"workload": workload, "peer": peer, "min_ns": ns}


def found(lines, bars, flops=None):
    return [row[1:6] for row in table.rows(lines, bars, flops or {})]


class Rows(unittest.TestCase):
    def test_a_bar_and_the_best_peer(self):
        lines = [line("w", "tfvm", 12.0), line("w", "limit_cpp", 10.0), line("w", "jax", 24.0), line("w", "mlx", 6.0)]
        self.assertEqual(found(lines, [("w", "tfvm", "limit_cpp", 1.5, "")]),
                         [("tfvm", "limit_cpp", 1.2, 1.5, "ok"), ("tfvm", "mlx", 2.0, None, "")])

    def test_a_time_and_a_peer_that_is_missing(self):
        bars = [("w", "tfvm", "2us", 1.0, ""), ("w", "tfvm", "jax", 1.0, "")]
        self.assertEqual(found([line("w", "tfvm", 3000.0)], bars),
                         [("tfvm", "2us", 1.5, 1.0, "OVER"), ("tfvm", "jax", None, 1.0, "not measured")])

    def test_operations_at_the_peak_and_an_own_workload(self):
        lines = [line("fma_peak", "c_avx2", 100.0), line("g", "tfvm", 75.0), line("f", "tfvm", 25.0)]
        bars = [("g", "tfvm", "flops", 1.4, ""), ("g", "tfvm", "f", 4.0, "")]
        self.assertEqual(found(lines, bars, {"g": 500, "fma_peak": 1000}),
                         [("tfvm", "flops", 1.5, 1.4, "OVER"), ("tfvm", "f", 3.0, 4.0, "ok")])

    def test_a_failure_is_told(self):
        lines = [{"workload": "w", "peer": "tfvm", "error": "status 1"}, line("w", "limit_cpp", 1.0)]
        self.assertEqual(found(lines, [("w", "tfvm", "limit_cpp", 1.0, "")]), [("tfvm", "limit_cpp", None, 1.0, "failed")])

    def test_the_bars_read(self):
        bars = table.read_bars(PEERS / "bars.txt")
        self.assertIn(("lj_forces", "tfvm", "limit_cpp", 2.0, ""), bars)


if __name__ == "__main__":
    unittest.main()
