"""Refusals say nothing (2.5 P1): two tables that agree on all past answers get the same decisions, on the same path, in the same time."""

from __future__ import annotations

import math
import random
import statistics
import time
from fractions import Fraction

import polars as pl
import pytest

from .conftest import POLICY

COUNT = 12


def people(values: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": range(COUNT), "department": ["a", "b", "c"] * 4, "city": ["x", "y"] * 6, "age": range(COUNT),
            "salary": values, "bonus": [1] * COUNT,
        }
    )  # fmt: skip


def subsets(chance: random.Random, number: int) -> list[list[int]]:
    return [sorted(chance.sample(range(COUNT), chance.randint(1, COUNT))) for _ in range(number)]


def text_of(function: str, members: list[int]) -> str:
    return f"SELECT {function}(salary) FROM staff WHERE age IN ({', '.join(map(str, members))})"


def null_vectors(answered: list[list[int]]) -> list[list[Fraction]]:
    """A basis of the vectors whose sums over all these sets are 0, by Gauss and Jordan in fractions."""
    rows: dict[int, list[Fraction]] = {}
    for members in answered:
        row = [Fraction(person in members) for person in range(COUNT)]
        for pivot, other in rows.items():
            row = [mine - row[pivot] * theirs for mine, theirs in zip(row, other, strict=True)]
        lead = next((place for place, entry in enumerate(row) if entry), None)
        if lead is None:
            continue
        row = [entry / row[lead] for entry in row]
        rows = {
            pivot: [theirs - other[lead] * mine for mine, theirs in zip(row, other, strict=True)]
            for pivot, other in rows.items()
        }
        rows[lead] = row
    free = [place for place in range(COUNT) if place not in rows]
    return [
        [-rows[place][each] if place in rows else Fraction(place == each) for place in range(COUNT)] for each in free
    ]


def twin_of(values: list[int], answered: list[list[int]], function: str, chance: random.Random) -> list[int]:
    """Other values with the same answers: a null vector added for sums, values below every maximum moved for maxima."""
    if function == "SUM":
        moved = [Fraction(value) for value in values]
        for vector in null_vectors(answered):
            step = chance.randint(-3, 3) * math.lcm(*(entry.denominator for entry in vector))
            moved = [value + step * entry for value, entry in zip(moved, vector, strict=True)]
        return [int(value) for value in moved]
    limits = [
        min((max(values[each] for each in members) for members in answered if person in members), default=10**6)
        for person in range(COUNT)
    ]
    return [value if value == limit else chance.randint(0, limit) for value, limit in zip(values, limits, strict=True)]


@pytest.mark.parametrize("kind", ["csv", "postgres"])
@pytest.mark.parametrize("function", ["SUM", "MAX"])
def test_tables_that_agree_on_all_answers_get_the_same_decisions_and_the_same_statements(make_place, kind, function):
    chance = random.Random(f"{kind} {function}")
    for _ in range(3 if kind == "csv" else 2):
        values = [chance.randint(0, 50) for _ in range(COUNT)]
        first = make_place(kind).fill(people(values)).service()
        asked = subsets(chance, 8)
        answered = [members for members in asked if first.ask(text_of(function, members)).ok]
        second = make_place(kind).fill(people(twin_of(values, answered, function, chance))).service()
        for members in asked:
            second.ask(text_of(function, members))
        assert [entry.answer for entry in first.decisions()] == [entry.answer for entry in second.decisions()]
        for members in subsets(chance, 15):
            text = text_of(function, members)
            assert first.would_answer(text) == second.would_answer(text)
        assert _plain(first) == _plain(second)


def _plain(service) -> list[str]:
    """The statements sent, with one name for the table, and without looks at whether others wrote to the server meanwhile."""
    own = service.settings.source.table or "staff"
    looks = ("pg_current_snapshot", "relkind", "hashtextextended")
    return [text.replace(own, "staff") for text in service.statements if not any(look in text for look in looks)]


@pytest.mark.slow
def test_a_refusal_takes_as_long_whatever_the_values_are(make_place):
    # Processor time of whole questions, interleaved so that both tables see the same noise of the machine. Under the null hypothesis
    # the sign of a difference is a coin: 200 pairs stray from 100 by more than 50 with probability below 1e-11.
    texts = [text_of("SUM", [person]) for person in range(COUNT)] + [
        text_of("SUM", [*range(person), *range(person + 1, COUNT)]) for person in range(COUNT)
    ]
    equal, spread = [7] * COUNT, [10**place for place in range(COUNT)]
    services = [make_place("csv").fill(people(values)).service() for values in (equal, spread)]
    for service in services:
        assert service.ask("SELECT SUM(salary) FROM staff").ok
        for text in texts:
            assert not service.ask(text).ok
    chance = random.Random(3)
    longer = 0
    for turn in range(200):
        text, spent = chance.choice(texts), [0, 0]
        for each in (0, 1) if turn % 2 else (1, 0):
            started = time.process_time_ns()
            services[each].would_answer(text)
            spent[each] = time.process_time_ns() - started
        longer += spent[0] > spent[1]
    assert 50 <= longer <= 150


@pytest.mark.slow
def test_answers_take_as_long_whatever_the_values_are(make_place):
    equal, spread = [7] * COUNT, [10**place for place in range(COUNT)]
    services = [make_place("csv").fill(people(values)).service() for values in (equal, spread)]
    spent: list[list[int]] = [[], []]
    for size in range(2, COUNT):
        for start in range(COUNT - size):
            text = text_of("SUM", list(range(start, start + size)))
            oks = []
            for each in (0, 1) if start % 2 else (1, 0):
                started = time.process_time_ns()
                oks.append(services[each].ask(text).ok)
                spent[each].append(time.process_time_ns() - started)
            assert oks[0] == oks[1]
    here, there = map(statistics.median, spent)
    assert 1 / 3 < here / there < 3


def test_the_policy_of_a_leaky_auditor_cannot_be_written(simple):
    from reticent.errors import PolicyError

    with pytest.raises(PolicyError, match="auditor must be 'classical' or 'probabilistic', but it is 'chin'"):
        simple.service(POLICY.replace("[sensitive.salary]\n", '[sensitive.salary]\nauditor = "chin"\n'))
