"""Joint noise (TARGETS.md, spec 002 section 3.7): sharings, bytes, rounds and time of byzantine runs in processes on one machine.

Run: python -m benchmarks noise [cells]

The machine may be busy: ``processor`` is what all parties' processes took together, start-up included, and does not depend on it much.
"""

from __future__ import annotations

import random
import time

from benchmarks.measuring import best_of
from reticent.noise import JointAnswer, JointTask, run_local
from reticent.noise import field as gf
from reticent.noise.circuits import CoinTree, products_of_comparison
from reticent.noise.secret_sharing import DealerSide, share_polynomials

HEADS = ("run", "sharings", "MB", "rounds", "connecting", "computing", "whole", "processor", "target")


def main(cells: str = "1000") -> None:
    """Print a table of runs, and of what single steps cost."""
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    count = int(cells)
    for parties, target in ((4, "20 s"), (7, "120 s")):
        _histogram(parties, count, "byzantine", target)
    _histogram(4, count, "semi-honest", "")
    for parties in (4, 7):
        _single(parties, "count", "binomial")
        _single(parties, "count", "exponential")
    _dealing()
    _coins_of_one_bias()


def _histogram(parties: int, cells: int, level: str, target: str) -> None:
    faults = (parties - 1) // 3
    rows = [[random.randrange(cells) for _ in range(500)] for _ in range(parties)]
    began = time.monotonic()
    answer = run_local(rows, 1, "1e-6", faults, "histogram", cells, level=level)
    _row(f"{level}, n={parties}, t={faults}: {cells:,} cells x {answer.plan.coins} coins", answer, began, cells, target)


def _single(parties: int, query: str, law: str) -> None:
    faults = (parties - 1) // 3
    began = time.monotonic()
    answer = run_local([[1]] * parties, 1, "1e-6", faults, query, law=law)
    _row(f"byzantine, n={parties}, t={faults}: one {query}, {law}", answer, began, None, "")


def _row(name: str, answer: JointAnswer, began: float, cells: int | None, target: str) -> None:
    whole = time.monotonic() - began
    task = JointTask.of(answer.plan, answer.session, cells)
    each = task.layout(500 if cells else 1, 0).size if task.level == "byzantine" else task.outputs
    figures = [report.figures for report in answer.results]
    print(
        f"| {name} | {each * task.parties:,} | {sum(one['bytes_sent'] for one in figures) / 1e6:,.1f} | {figures[0]['rounds']} | "
        f"{max(one['connecting'] for one in figures):.2f} s | {max(one['computing'] for one in figures):.2f} s | {whole:.2f} s | "
        f"{sum(one['processor'] for one in figures):.2f} s | {target} |"
    )


def _dealing() -> None:
    """What dealing one value costs the dealer at n = 7 (3.7: 0.14 ms in pure Python)."""
    polynomials = share_polynomials(gf.drawn_bits(100_000), 2)
    seconds, _ = best_of(3, lambda: DealerSide.of(polynomials).messages(7))
    print(f"\nDealing one value at n = 7: {seconds / 100_000 * 1e6:.2f} microseconds of {100_000:,} at once.")


def _coins_of_one_bias() -> None:
    """Two ways beside each other: bits and products for many coins of one bias."""
    bias, bits = (1, 0, 1, 1, 0), gf.drawn_bits(1 << 12).tolist()
    tree = CoinTree.of(bits, bias)
    compared = len(tree.coins) * products_of_comparison(len(bias))
    choices = (len(bits) - 1) * len(bias)
    print(
        f"Coins of bias 0.10110b: {len(bits):,} bits give {len(tree.coins):,} coins by the hierarchical circuit, with {choices:,} choices among {len(bias)} states in shares; "
        f"comparing takes {len(tree.coins) * len(bias):,} bits and {compared:,} products."
    )


if __name__ == "__main__":
    main()
