"""Speed of the views room (TARGETS "Views"): a 200 x 200 matrix, an ordinary pair, and what a cut-off costs.

Run ``python benchmarks/views.py``; every figure is printed beside its target.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reticent.views import Checker, Schema, check, load_schema, objective_for, table

SIZE, SUBGOALS = 200, 8
MATRIX_SECONDS, PAIR_SECONDS, CUT_OFF_SECONDS = 120.0, 0.020, 31.0
TABLES = {"patient": 4, "visit": 4, "diagnosis": 3, "drug": 3}
DDL = """
CREATE TABLE patient (pid INT PRIMARY KEY, name TEXT NOT NULL, born DATE NOT NULL, ward INT NOT NULL);
CREATE TABLE diagnosis (pid INT NOT NULL, code TEXT NOT NULL, since DATE NOT NULL);
"""
SECRET = "SELECT p.name FROM patient p JOIN diagnosis d ON d.pid = p.pid WHERE d.code = 'C50' AND p.ward = 3"
DISCLOSING = "SELECT p.name, d.since FROM patient p JOIN diagnosis d ON d.pid = p.pid WHERE p.ward > 2"
PRIVATE = "SELECT d.pid, d.since FROM diagnosis d WHERE d.code IN ('J10', 'J11') AND d.since >= DATE '2020-01-01'"


def random_rule(rng: random.Random, one_table: bool) -> str:
    """A conjunctive query of up to eight subgoals, spread over four tables or all over one (the hard case)."""
    relations = ["visit"] if one_table else list(TABLES)
    variables = [f"x{number}" for number in range(6)]
    atoms = []
    for _ in range(rng.randint(2, SUBGOALS)):
        relation = rng.choice(relations)
        terms = [
            rng.choice(variables) if rng.random() < 0.55 else str(rng.randint(0, 9)) for _ in range(TABLES[relation])
        ]
        atoms.append(f"{relation}({','.join(terms)})")
    bound = sorted({name for name in variables if any(name in atom for atom in atoms)})
    head = rng.sample(bound, min(2, len(bound)))
    return f"Q({','.join(head)}) :- {', '.join(atoms)}"


def schema() -> Schema:
    """Four tables without keys."""
    return Schema({name: table(name, [f"c{number}" for number in range(arity)]) for name, arity in TABLES.items()})


def matrix(one_table: bool) -> tuple[float, Counter[str]]:
    """Seconds for all pairs, witnesses checked, and how many pairs had which verdict."""
    rng = random.Random(7)
    texts = [random_rule(rng, one_table) for _ in range(2 * SIZE)]
    known, queries = objective_for(texts, schema(), names=[f"q{number}" for number in range(2 * SIZE)])
    started = time.perf_counter()
    checker = Checker(known, replay="definition")
    verdicts = [checker.check(secret, view) for secret in queries[:SIZE] for view in queries[SIZE:]]
    return time.perf_counter() - started, Counter(verdict.status for verdict in verdicts)


def pair(view: str) -> tuple[float, str]:
    """The best of twenty checks from texts, everything but the start of Python included."""
    best, status = float("inf"), ""
    for _ in range(20):
        started = time.perf_counter()
        status = check(SECRET, view, schema=DDL).status
        best = min(best, time.perf_counter() - started)
    return best, status


def cut_off() -> tuple[float, str]:
    """A pair made to be hard: the 3-colouring of a large random graph, asked with the full budget."""
    rng = random.Random(3)
    edges = sorted({tuple(sorted(rng.sample(range(60), 2))) for _ in range(140)})
    graph = ", ".join(f"E(v{a},v{b})" for a, b in edges)
    colours = ", ".join(f"E({a},{b})" for a in range(3) for b in range(3) if a != b)
    started = time.perf_counter()
    verdict = check(f"Q() :- {graph}, {colours}, E(z,z)", "Q(x) :- E(x,y)")
    return time.perf_counter() - started, f"{verdict.status}: {verdict.reason}"


def main() -> None:
    """Print every figure with its target."""
    load_schema(DDL)
    for one_table in (False, True):
        seconds, counts = matrix(one_table)
        where = "all subgoals on one table" if one_table else "four tables"
        shown = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        print(
            f"matrix {SIZE} x {SIZE}, up to {SUBGOALS} subgoals, {where}: {seconds:.1f} s (target {MATRIX_SECONDS:.0f} s); {shown}"
        )
    for name, view in (("disclosing", DISCLOSING), ("private", PRIVATE)):
        seconds, status = pair(view)
        print(f"one {name} SQL pair: {1000 * seconds:.1f} ms (target {1000 * PAIR_SECONDS:.0f} ms); {status}")
    seconds, said = cut_off()
    print(f"a hard pair: {seconds:.1f} s (target {CUT_OFF_SECONDS:.0f} s); {said}")


if __name__ == "__main__":
    main()
