"""Foreign keys and CHECK constraints are what the adversary knows: verdicts against every database that a real one, which enforces them, accepts."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import product

import pytest

from reticent import views
from reticent.views.certificate_check import verify
from reticent.views.checker import Checker, load_schema, prepare
from reticent.views.view_certificate import certify, read_certificate
from tests.sampling import seeds

SHOP = """CREATE TABLE customer (id INT PRIMARY KEY, city TEXT NOT NULL);
CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL REFERENCES customer, price INT NOT NULL);
CREATE TABLE product (id INT PRIMARY KEY, name TEXT);
CREATE TABLE line (o INT NOT NULL REFERENCES orders (id), p INT NOT NULL, PRIMARY KEY (o, p), FOREIGN KEY (p) REFERENCES product (id));
CREATE TABLE log (id INT PRIMARY KEY, text TEXT)"""
PLAIN = (
    "CREATE TABLE a (x INT NOT NULL); CREATE TABLE b (x INT NOT NULL, y INT NOT NULL, FOREIGN KEY (x) REFERENCES a (x))"
)
RULES = "CREATE TABLE r (a INT NOT NULL, b INT NOT NULL, c INT, CHECK (a < b), CHECK (c > 10 OR NOT (c <> a)))"


@pytest.mark.parametrize(
    ("secret", "view", "known", "ignored"),
    [
        ("SELECT id FROM orders WHERE customer = 1", "SELECT id FROM customer WHERE id = 1", "DISCLOSES", "PRIVATE"),
        ("SELECT id FROM customer", "SELECT name FROM product", "DISCLOSES", "PRIVATE"),
        ("SELECT price FROM orders", "SELECT COUNT(*) FROM customer", "DISCLOSES", "PRIVATE"),
        ("SELECT id FROM customer", "SELECT text FROM log", "PRIVATE", "PRIVATE"),
        ("SELECT id FROM customer", "SELECT city FROM customer WHERE id = 3", "DISCLOSES", "DISCLOSES"),
    ],
)
def test_what_foreign_keys_tie_is_disclosed_unless_they_are_ignored(
    secret: str, view: str, known: str, ignored: str
) -> None:
    found = views.check(secret, view, schema=SHOP)
    assert found.status == known
    if known == "DISCLOSES":
        assert found.witness is not None
        assert found.witness.replay()
    else:
        assert not found.warnings
    assert views.check(view, secret, schema=SHOP).status == known
    assert views.check(secret, view, schema=SHOP, foreign_keys="ignored").status == ignored


def test_a_witness_is_a_pair_of_possible_databases() -> None:
    found = views.check(
        "SELECT id FROM orders WHERE customer = 1", "SELECT id FROM customer WHERE id = 1", schema=SHOP
    ).witness
    assert found is not None
    assert (found.relation, found.view_relation) == ("orders", "customer")
    # The order needs its customer, and the customer can be added alone.
    assert found.secret_database == {"customer": (found.view_row,)}
    assert not any(found.view_database.values())


def test_rows_that_no_chain_of_foreign_keys_ties_are_independent() -> None:
    """Without keys of its own, a row of ``b`` is tied to the row of ``a`` that it names, and to no other."""
    one, two = "SELECT y FROM b WHERE x = 1", "SELECT x FROM a WHERE x = 2"
    assert views.check(one, two, schema=PLAIN).status == "PRIVATE"
    assert views.check(one, "SELECT x FROM a WHERE x = 1", schema=PLAIN).status == "DISCLOSES"
    assert views.check(one, "SELECT x FROM a WHERE x < 2", schema=PLAIN).status == "DISCLOSES"
    assert views.check(one, "SELECT x FROM a WHERE x > 1", schema=PLAIN).status == "PRIVATE"
    assert views.check(one, "SELECT y FROM b WHERE x = 2", schema=PLAIN).status == "PRIVATE"
    # Rows of one parent are tied to each other: both need it.
    assert views.check(f"{one} AND y = 1", f"{one} AND y = 2", schema=PLAIN).status == "DISCLOSES"


@pytest.mark.parametrize(
    ("secret", "view", "status"),
    [
        ("a > 5", "b < 3", "PRIVATE"),
        ("a > 5", "b < 7", "PRIVATE"),
        ("a > 5", "b < 8", "DISCLOSES"),
        ("c = 3", "a = 4", "PRIVATE"),
        ("c = 3", "a = 3", "DISCLOSES"),
        ("c IS NULL", "a = 4", "DISCLOSES"),
        ("c = 11", "a = 4", "DISCLOSES"),
        ("c = 3 AND a <> 3", "TRUE", "PRIVATE"),
    ],
)
@pytest.mark.parametrize("shown", ["SELECT b FROM r WHERE {}", "SELECT COUNT(*) FROM r WHERE {}"])
def test_rows_that_a_check_excludes_disclose_nothing(secret: str, view: str, status: str, shown: str) -> None:
    assert views.check(f"SELECT a FROM r WHERE {secret}", shown.format(view), schema=RULES).status == status


@pytest.mark.parametrize(
    "check", ["a IN (1, NULL)", "a > NULL OR a = 1", "NOT (a <> 1 AND NULL IS NOT NULL) OR a <> NULL"]
)
def test_a_check_that_may_be_unknown_for_a_filled_row_does_not_exclude_it(check: str) -> None:
    ddl = f"CREATE TABLE r (a INT NOT NULL, CHECK ({check}))"
    assert views.check("SELECT a FROM r WHERE a = 5", "SELECT COUNT(*) FROM r", schema=ddl).status == "DISCLOSES"


def test_a_check_that_older_rows_may_violate_excludes_nothing() -> None:
    ddl = "CREATE TABLE r (a INT NOT NULL); ALTER TABLE r ADD CONSTRAINT c CHECK (a > 0){}"
    texts = "SELECT a FROM r WHERE a < 0", "SELECT COUNT(*) FROM r"
    assert views.check(*texts, schema=ddl.format("")).status == "PRIVATE"
    assert views.check(*texts, schema=ddl.format(" NOT VALID")).status == "DISCLOSES"


def test_what_a_sample_shows_by_chance_is_no_witness() -> None:
    texts = "SELECT y FROM b", "SELECT x FROM a TABLESAMPLE SYSTEM (50)"
    assert views.check(*texts, schema=PLAIN).status == "UNKNOWN"


def test_a_check_that_cannot_be_read_is_asked_of_a_database_before_anything_is_said_to_disclose() -> None:
    odd = "CREATE TABLE r (a INT NOT NULL, CHECK (a * a = 4))"
    texts = ["SELECT a FROM r WHERE a = {}", "SELECT COUNT(*) FROM r WHERE a = {}"]
    assert views.check(texts[0].format(2), texts[1].format(2), schema=odd).status == "DISCLOSES"
    assert views.check(texts[0].format(3), texts[1].format(3), schema=odd).status == "UNKNOWN"
    assert views.check(texts[0].format(2), texts[1].format(3), schema=odd).status == "PRIVATE"


@pytest.mark.parametrize(
    ("ddl", "secret", "view"),
    [
        (SHOP, "SELECT id FROM orders WHERE customer = 1", "SELECT id FROM customer WHERE id = 1"),
        (SHOP, "SELECT id FROM customer", "SELECT text FROM log"),
        (SHOP, "SELECT id FROM customer", "SELECT COUNT(*) FROM customer"),
        (PLAIN, "SELECT y FROM b WHERE x = 1", "SELECT x FROM a WHERE x = 2"),
        (RULES, "SELECT a FROM r WHERE a > 5", "SELECT b FROM r WHERE b < 8"),
        (RULES, "SELECT a FROM r WHERE a > 5", "SELECT b FROM r WHERE b < 7"),
    ],
)
def test_certificates_know_the_constraints(ddl: str, secret: str, view: str) -> None:
    import json

    known, queries = prepare([secret, view], load_schema(ddl))
    checker = Checker(known)
    verdict = checker.check(*queries)
    certificate = read_certificate(json.dumps(certify(verdict, *queries, known)))
    assert verify(certificate).holds
    forgotten = {**certificate, "status": "PRIVATE" if verdict.status == "DISCLOSES" else "DISCLOSES"}
    assert not verify({**forgotten, "proof": {"kind": "decided"}}).holds


# Every database over {0, 1} is tried, in SQLite with the constraints on.

TABLES = {
    "parent": (
        "CREATE TABLE parent (k INT NOT NULL {k} CHECK (k IN (0, 1)), x INT NOT NULL CHECK (x IN (0, 1)){rule})",
        2,
    ),
    "child": (
        "CREATE TABLE child (f INT {null} CHECK (f IN (0, 1)){reference}, y INT NOT NULL CHECK (y IN (0, 1)){unique}{rule})",
        2,
    ),
    "leaf": ("CREATE TABLE leaf (g INT NOT NULL CHECK (g IN (0, 1)){reference})", 1),
}


def random_schema(rng: random.Random) -> tuple[list[str], dict[str, list[tuple[int | None, ...]]]]:
    """Tables with random constraints, and all rows that they could have."""
    referenced = rng.random() < 0.85
    rule = rng.choice(["", ", CHECK ({0} <> 1 OR {1} <> 1)", ", CHECK ({0} <= {1})", ", CHECK ({0} = {1})"])
    nullable = rng.random() < 0.3
    ddl = [
        TABLES["parent"][0].format(k="PRIMARY KEY", rule=rule.format("k", "x") if rng.random() < 0.3 else ""),
        TABLES["child"][0].format(
            null="" if nullable else "NOT NULL",
            reference=" REFERENCES parent (k)" if referenced else "",
            unique=rng.choice(["", ", UNIQUE (y)", ", UNIQUE (f, y)"]),
            rule=rule.format("f", "y") if rng.random() < 0.3 else "",
        ),
    ]
    rows: dict[str, list[tuple[int | None, ...]]] = {
        "parent": list(product((0, 1), repeat=2)),
        "child": list(product((0, 1, None) if nullable else (0, 1), (0, 1))),
    }
    if rng.random() < 0.4:
        reference = rng.choice(["", " REFERENCES parent (k)"])
        ddl.append(TABLES["leaf"][0].format(reference=reference))
        rows["leaf"] = [(0,), (1,)]
    return ddl, rows


def random_query(rng: random.Random, tables: Sequence[str]) -> str:
    columns = {"parent": "kx", "child": "fy", "leaf": "g"}
    name = rng.choice(tables)
    if name == "child" and rng.random() < 0.3:
        shown, where = (
            rng.choice(["p.x", "c.y", "p.k", "COUNT(*)"]),
            f"{rng.choice(['p.x', 'c.y', 'p.k'])} = {rng.randint(0, 1)}",
        )
        return f"SELECT {shown} FROM child c JOIN parent p ON p.k = c.f WHERE {where}"
    shown = rng.choice([*columns[name], "COUNT(*)", f"DISTINCT {columns[name][-1]}"])
    conditions = [f"{column} = {rng.randint(0, 1)}" for column in columns[name] if rng.random() < 0.6]
    return f"SELECT {shown} FROM {name}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def depend(
    ddl: Sequence[str], rows: dict[str, list[tuple[int | None, ...]]], texts: Sequence[str], rng: random.Random
) -> bool:
    """Whether two answers depend on each other, given the constraints, for rows of random odds: then they do for almost all odds, and otherwise for none."""
    facts = [(name, row, rng.randint(1, 10**6)) for name in rows for row in rows[name]]
    joint: Counter[tuple[str, str]] = Counter()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.execute("PRAGMA foreign_keys = ON")
        for statement in ddl:
            database.execute(statement)
        # Parents come first, so that a row which is refused stays impossible whatever follows.
        database.execute("BEGIN")

        def visit(place: int, weight: int) -> None:
            if place == len(facts):
                found = (repr(sorted(map(repr, database.execute(text).fetchall()))) for text in texts)
                joint[next(found), next(found)] += weight
                return
            visit(place + 1, weight)
            name, row, odds = facts[place]
            database.execute(f"SAVEPOINT s{place}")
            try:
                database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
                visit(place + 1, weight * odds)
            except sqlite3.IntegrityError:
                pass
            database.execute(f"ROLLBACK TO s{place}")

        visit(0, 1)
    sides = [Counter[str](), Counter[str]()]
    for answers, weight in joint.items():
        for side, answer in zip(sides, answers, strict=True):
            side[answer] += weight
    total = joint.total()
    return any(joint[one, other] * total != sides[0][one] * sides[1][other] for one in sides[0] for other in sides[1])


@pytest.mark.parametrize("seed", seeds(60))
def test_verdicts_are_those_of_all_databases_that_satisfy_the_constraints(seed: int) -> None:
    rng = random.Random(7000 + seed)
    found: Counter[tuple[str, bool]] = Counter()
    for _ in range(3):
        ddl, rows = random_schema(rng)
        texts = [random_query(rng, list(rows)) for _ in range(2)]
        status = views.check(*texts, schema=";".join(ddl)).status
        truth = depend(ddl, rows, texts, rng)
        assert status != ("PRIVATE" if truth else "DISCLOSES"), (ddl, texts)
        found[status, truth] += 1
    assert found
