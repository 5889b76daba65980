"""Relations that every audited answer must keep: a condition, its negation and its null part add up, and what means the same is decided alike."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from reticent.audit.service import AuditService, Statement
from reticent.policy.audit_policy import AuditPolicy
from tests.sampling import runs

ROWS = 24
POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"
[database]
source = "people.parquet"
key = "id"
public = ["department", "city", "age"]
[sensitive.salary]
bounds = "ignored"
"""


def staff(seed: int) -> pl.DataFrame:
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "id": range(1, ROWS + 1),
            "department": [rng.choice(["sales", "it", "hr"]) for _ in range(ROWS)],
            "city": [rng.choice(["Bonn", "Ulm", None]) for _ in range(ROWS)],
            "age": [rng.choice([None, *range(20, 60)]) for _ in range(ROWS)],
            "salary": [rng.randint(2000, 6000) for _ in range(ROWS)],
        },
        schema_overrides={"age": pl.Int64},
    )


def service(place: Path, seed: int) -> AuditService:
    place.mkdir(parents=True, exist_ok=True)
    staff(seed).write_parquet(place / "people.parquet")
    (place / "audit.toml").write_text(POLICY, encoding="utf-8")
    return AuditService(AuditPolicy.read(place / "audit.toml").settings)


def predicate(rng: random.Random, depth: int = 2) -> tuple[str, str]:
    """A random condition, and another one that is true where it is unknown."""
    if depth and rng.random() < 0.5:
        (one, none), (two, neither) = (predicate(rng, depth - 1) for _ in range(2))
        if rng.random() < 0.5:
            text, settled = f"({one}) AND ({two})", ("", "")
        else:
            text, settled = f"({one}) OR ({two})", ("NOT ", "NOT ")
        first, second = (f"{sign}({each})" for sign, each in zip(settled, (one, two), strict=True))
        unknown = f"(({none}) AND ({second} OR ({neither}))) OR ({first} AND ({neither}))"
        return (text if rng.random() < 0.7 else f"NOT ({text})"), unknown
    number = rng.randint(20, 60)
    return rng.choice(
        [
            (f"age {rng.choice(['<', '<=', '>', '>=', '=', '<>'])} {number}", "age IS NULL"),
            (f"age BETWEEN {number} AND {number + 9}", "age IS NULL"),
            (f"age NOT BETWEEN {number} AND {number + 9}", "age IS NULL"),
            ("city = 'Bonn'", "city IS NULL"),
            ("city NOT IN ('Ulm', 'Köln')", "city IS NULL"),
            ("city IS NULL", "1 = 0"),
            ("city LIKE 'B%'", "city IS NULL"),
            ("city NOT LIKE 'B%'", "city IS NULL"),
            ("department IN ('it', 'hr')", "department IS NULL"),
        ]
    )


def answers(asked: AuditService, texts: list[str]) -> list[tuple[bool, Fraction | None, str]]:
    found = [asked.ask(text).rows[0].answers[0] for text in texts]
    return [(each.answered, each.value, each.rule) for each in found]


@pytest.mark.parametrize("seed", range(2))
def test_a_condition_its_negation_and_its_null_part_add_up(tmp_path: Path, seed: int) -> None:
    """Ternary logic partitions rows (Rigger and Su, Finding Bugs in Database Systems via Query Partitioning, 2020)."""
    rng = random.Random(seed)
    with service(tmp_path, seed) as asked:
        whole = asked.ask("SELECT COUNT(*), SUM(salary) FROM people").rows[0].answers
        truth = staff(seed)["salary"].sum()
        assert (whole[0].value, whole[1].value) == (ROWS, truth)
        for _ in range(runs(60)):
            text, unknown = predicate(rng)
            parts = [f"({text})", f"NOT ({text})", unknown]
            counts = answers(asked, [f"SELECT COUNT(*) FROM people WHERE {part}" for part in parts])
            assert all(answered for answered, _, _ in counts), text
            sizes = [value for _, value, _ in counts]
            assert sum(sizes) == ROWS, text
            sums = answers(asked, [f"SELECT SUM(salary) FROM people WHERE {part}" for part in parts])
            known = [value if answered else None for answered, value, _ in sums]
            empty = [size == 0 for size in sizes]
            if all(value is not None or nobody for value, nobody in zip(known, empty, strict=True)):
                assert sum(value or 0 for value in known) == truth, text
            # The third part of a partition follows from the other two: where these are answered, it gives nothing away.
            filled = [value for value, nobody in zip(known, empty, strict=True) if not nobody]
            assert filled.count(None) != 1, (text, known)


REWRITES = {
    "double negation": lambda text: f"NOT (NOT ({text}))",
    "and true": lambda text: f"({text}) AND (1 = 1)",
    "or itself": lambda text: f"({text}) OR ({text})",
    "and itself": lambda text: f"({text}) AND ({text})",
    "spaces and case": lambda text: f"\n  ( {text.replace('AND', 'and').replace('BETWEEN', 'between')} )  ",
}


@pytest.mark.parametrize("seed", range(2))
def test_rewritten_queries_are_decided_alike(tmp_path: Path, seed: int) -> None:
    """Each rewriting is asked of a service with the same history; what was decided once stays decided, whatever the text."""
    rng = random.Random(100 + seed)
    texts = [predicate(rng)[0] for _ in range(runs(24))]
    found = {}
    for name, rewrite in {"as it is": lambda text: text, **REWRITES}.items():
        with service(tmp_path / name.replace(" ", "_"), seed) as asked:
            found[name] = answers(asked, [f"SELECT SUM(salary) FROM people WHERE {rewrite(text)}" for text in texts])
            again = answers(asked, [f"SELECT SUM(salary) FROM people WHERE {text}" for text in texts])
            assert [each[:2] for each in again] == [each[:2] for each in found[name]]
    for name in REWRITES:
        assert found[name] == found["as it is"], name


def test_groups_and_conditions_choose_the_same_people(tmp_path: Path) -> None:
    with service(tmp_path, 5) as asked:
        grouped = asked.ask("SELECT COUNT(*) FROM people GROUP BY department")
        counted = {row.group["department"]: row.answers[0].value for row in grouped.rows}
        for name, count in counted.items():
            assert (
                asked.ask(f"SELECT COUNT(*) FROM people WHERE department = '{name}'").rows[0].answers[0].value == count
            )


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_accepted_is_sql_that_postgres_parses_to_the_same_shape(tmp_path: Path, seed: int) -> None:
    """PostgreSQL's own parser is the judge: tables, columns, constants and functions are the same, and what it refuses is refused here."""
    pglast = pytest.importorskip("pglast")
    from pglast.visitors import Visitor

    class Shape(Visitor):
        def __init__(self) -> None:
            super().__init__()
            self.columns, self.constants, self.functions = [], [], []

        def visit_ColumnRef(self, _, node):  # noqa: N802  # the name of the node
            self.columns += [part.sval for part in node.fields if hasattr(part, "sval")]

        def visit_A_Const(self, _, node):  # noqa: N802  # the name of the node
            value = node.val
            self.constants.append(str(getattr(value, "ival", getattr(value, "fval", getattr(value, "sval", value)))))

        def visit_FuncCall(self, _, node):  # noqa: N802  # the name of the node
            self.functions.append(node.funcname[-1].sval)

    rng = random.Random(seed)
    with service(tmp_path, seed) as asked:
        settings = asked.settings
    for _ in range(runs(200)):
        text = f"SELECT SUM(salary), COUNT(*) FROM people WHERE {predicate(rng, 3)[0]}"
        ours = Statement.parse(text, settings)
        shape = Shape()
        shape(pglast.parse_sql(text))
        assert shape.functions == [each.function for each in ours.aggregates]
        assert set(shape.columns) - {"salary"} == set(ours.condition.scope if ours.condition is not None else ())
        broken = text.replace("WHERE", rng.choice(["WERE", "WHERE WHERE", "WHERE (", "; WHERE"]), 1)
        with pytest.raises(Exception, match=r"."):
            pglast.parse_sql(broken)
        with pytest.raises(Exception, match=r"."):
            Statement.parse(broken, settings)
