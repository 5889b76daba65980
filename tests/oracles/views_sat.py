"""Hard instances by reduction from satisfiability, and satisfiability by trying everything."""

from __future__ import annotations

import random
from itertools import product

Cnf = list[list[int]]


def satisfiable(cnf: Cnf, count: int) -> bool:
    """Whether some assignment makes a literal of every clause true; literal i is x_i, -i its negation."""
    return any(
        all(any(values[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in cnf)
        for values in product([False, True], repeat=count)
    )


def random_cnf(rng: random.Random, count: int, clauses: int) -> Cnf:
    """A random satisfiable CNF."""
    while True:
        cnf = [
            [
                number if rng.random() < 0.5 else -number
                for number in sorted(rng.sample(range(1, count + 1), rng.randint(1, min(3, count))))
            ]
            for _ in range(clauses)
        ]
        if satisfiable(cnf, count):
            return cnf


def queries(secret: Cnf, view: Cnf, count: int) -> tuple[str, str]:
    """Over {0,1} the two queries share a critical row iff both CNFs are satisfiable together."""
    names = [f"a{number}" for number in range(1, count + 1)]

    def body(cnf: Cnf, first: str, last: str) -> str:
        atoms = [first]
        for clause in cnf:
            terms = list(names)
            for literal in clause:
                terms[abs(literal) - 1] = "0" if literal > 0 else "1"
            atoms.append(f"R({','.join(terms)},{last})")
        return f"Q({','.join(names)}) :- {', '.join(atoms)}"

    joined = ",".join(names)
    return body(secret, f"R({joined},b,0)", "0,0"), body(view, f"R({joined},1,b)", "1,1")
