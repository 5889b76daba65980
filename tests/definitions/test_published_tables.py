"""Small tables published by every method under composed definitions: what went out is judged from its rows, by hand, for each set of columns.

One or two sensitive columns, several sets of columns that an adversary may hold, people with several rows (told apart by published
pseudonyms), missing values, rows and groups left out. The release, its folder and ``verify`` must agree with the rows.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.table import Hierarchy, Table
from tests.oracles import definitions_figures as figures

AGES = Hierarchy.intervals([2, 4], origin=0, domain=(0, 6))
TOWNS = Hierarchy.listed([[f"v{i}", "even" if i % 2 == 0 else "odd", "*"] for i in range(4)])
METHODS = {
    "lattice": lambda share: rt.Lattice(suppression=share),
    "datafly": lambda share: rt.Datafly(suppression=share),
    "mondrian": lambda share: rt.Mondrian(values="sets"),
    "divided": lambda share: rt.Mondrian(ties="divide", values="sets"),
}


def asked(rng: random.Random, sensitive: list[str]):
    """A definition of one or two parts, and for each part its figure, its parameter and its column (None: of all)."""
    column = rng.choice([None, *sensitive])
    share, order = Fraction(rng.randint(4, 12), 12), rng.randint(1, 3)
    parts = [
        (rt.KAnonymity(order + 1), [("people", order + 1)]),
        (rt.DistinctLDiversity(order, column), [(figures.DISTINCT, order)]),
        (rt.ProbabilisticLDiversity(1 + share, column), [(figures.PROBABILISTIC, 1 + share)]),
        (rt.RecursiveLDiversity(4 * share, order, column=column), [(figures.recursive(order), 4 * share)]),
        (rt.TCloseness(share, column=column), [(figures.closeness(figures.equal), share)]),
        (rt.BetaLikeness(3 * share, column=column), [(figures.GROWTH, 3 * share)]),
        (rt.MUnique(order, column), [(figures.UNIQUE, order)]),
        (rt.MEligible(order, column), [(figures.ELIGIBLE, order)]),
        (rt.PSensitive(order, 2, column), [(figures.DISTINCT, order), ("people", 2)]),
        (rt.AverageRisk(share), [("risk", share)]),
    ]
    chosen = rng.sample(parts, rng.choice([1, 1, 2]))
    definition = chosen[0][0] if len(chosen) == 1 else chosen[0][0] & chosen[1][0]
    return definition, [(figure, parameter, column) for _, each in chosen for figure, parameter in each]


def keeps(rows, whole, known, sensitive, wanted) -> bool:
    """Whether rows that somebody sees who knows some columns keep a promise, measured by hand."""
    people = defaultdict(Counter)
    for row in rows:
        people[tuple(row[name] for name in known)][row["person"]] += 1
    hidden = [min(len(mine), sum(mine.values()) // max(mine.values())) for mine in people.values()]
    for figure, parameter, column in wanted:
        if figure == "people":
            met = min(hidden) >= parameter
        elif figure == "risk":
            met = Fraction(len(people), sum(hidden)) <= parameter
        else:
            met = all(
                figure.meets(figure.measure(group, [row[name] for row in whole]), parameter)
                for name in ([column] if column else sensitive)
                for group in figures.refined(rows, [*known, *(other for other in sensitive if other != name)], name)
            )
        if not met:
            return False
    return True


def _public(row) -> str:
    return repr(sorted((name, str(value)) for name, value in row.items() if name not in ("person", "pseudonym")))


def publish_and_look(method, rng, tables, tmp_path) -> Counter:
    said = Counter()
    for number in range(tables):
        sensitive = ["s0", "s1"][: rng.choice([1, 1, 2])]
        several, sets = rng.random() < 0.3 and method != "divided", rng.choice([None, [["town"], ["age"]]])
        rows = []
        for place in range(rng.randint(4, 24)):
            home = rng.choice(rows) if several and rows and rng.random() < 0.3 else None
            person = home["id"] if home else f"p{place}"
            town, age = home["town"] if home else f"v{rng.randint(0, 3)}", rng.randint(0, 5)
            rows.append(
                {
                    "id": person,
                    "town": town,
                    "age": age,
                    "s0": rng.choice(["a", "b", "c", None]),
                    "s1": rng.choice("xy"),
                }
            )
        frame = pl.DataFrame(rows, schema_overrides={"s0": pl.String}).select("id", "town", "age", *sensitive)
        # A pseudonym that repeats would link the rows of a person.
        people = {"key": "id"} if several else {"pseudonyms": ["id"]}
        table = Table(
            frame,
            {"town": TOWNS, "age": AGES},
            sensitive,
            ["id"],
            nulls="category",
            quasi_sets=sets,
            **people,
        )
        definition, wanted = asked(rng, sensitive)
        if several and "AverageRisk" in str(definition):
            continue
        where = f"{definition} {sets} {rows}"
        try:
            release = rt.publish(table, definition, METHODS[method](rng.choice(["0", "0.3", "0.6"])))
        except rt.Infeasible:
            whole = [{**row, "person": row["id"]} for row in rows]
            assert not keeps(whole, rows, [], sensitive, wanted), where
            said["infeasible"] += 1
            continue
        published = [{**row, "person": row.get("pseudonym")} for row in release.frame.iter_rows(named=True)]
        if several:
            labels, kept = release.private.recoding.place(frame, "suppress")
            told = frame.filter(pl.Series(kept)).select(pl.col("id").alias("person"), *sensitive)
            shown = labels.hstack(told).to_dicts()
            assert sorted(map(_public, shown)) == sorted(map(_public, published))
            published = shown
        compared = {each["of"] for each in (release.certificate.get("reference") or {}).values()}
        whole = published if "published rows" in compared else rows
        for known in sets or [["town", "age"]]:
            assert keeps(published, whole, known, sensitive, wanted), where
        release.save(tmp_path / str(number))
        assert rt.verify(tmp_path / str(number)).holds, where
        if several and definition.counts_people:
            continue
        found, read = rt.assess(release, definition), rt.assess(tmp_path / str(number), definition)
        assert found.holds
        assert (read.holds, read.value) == (True, found.value), where
        said["assessed"] += 1
    return said


@pytest.mark.parametrize("method", METHODS)
def test_what_was_published_keeps_its_promise_and_is_assessed_so_everywhere(method, tmp_path):
    said = publish_and_look(method, random.Random(method), 11, tmp_path)
    assert said["assessed"] > 2


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_many_more_that_were_published_keep_their_promises(method, tmp_path):
    said = publish_and_look(method, random.Random(f"more {method}"), 150, tmp_path)
    assert said["assessed"] > 40
    assert said["infeasible"] > 10
