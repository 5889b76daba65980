"""Independent oracles against the engine, on random pairs. The long runs are marked slow."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from reticent import views
from reticent.views.checker import Checker
from tests.oracles import views_queries as q
from tests.oracles import views_sat, views_sqlite
from tests.oracles.views_critical import Keys, all_rows, critical_by_definition, critical_by_witness, shares
from tests.oracles.views_independence import independent
from tests.sampling import campaign

RELATIONS = {"R": 2, "S": 1}
Case = tuple[q.Query, q.Query, q.Domains, Keys | None, dict[str, dict[int, list[Any]]] | None]


def _pair(rng: random.Random, share: float = 0.45, **options: Any) -> tuple[q.Query, q.Query]:
    settings: dict[str, Any] = {"relations": RELATIONS, "atoms": 4, "names": 3, "constants": [0, 1, 2], **options}
    first = q.random_query(rng, variable_share=share, **settings)
    return first, q.random_query(rng, variable_share=share - 0.1, **{**settings, "disjuncts": 1})


def _uses_r(*queries: q.Query) -> bool:
    return any(relation == "R" for query in queries for _, atoms, _ in query for relation, _ in atoms)


def _plain(rng: random.Random) -> Case:
    pair = _pair(rng)
    return *pair, q.large_domain(pair, RELATIONS, ordered=False), None, None


def _unions(rng: random.Random) -> Case:
    pair = _pair(rng, atoms=3, constants=[0, 1], disjuncts=3)
    return *pair, q.large_domain(pair, RELATIONS, ordered=False), None, None


def _keyed(rng: random.Random) -> Case:
    first, second, domains, _, _ = _plain(rng)
    keys = {"R": [rng.choice([(0,), (1,)])]} if _uses_r(first, second) else None
    return first, second, domains, keys, None


def _finite(rng: random.Random) -> Case:
    pair = _pair(rng, share=0.6, constants=[0, 1], disjuncts=2)
    domains: q.Domains = {
        ("R", 0): [0, 1],
        ("R", 1): [0, 1, 2][: rng.randint(2, 3)],
        ("S", 0): [0, 1, 2][: rng.randint(2, 3)],
    }
    used = {relation for query in pair for _, atoms, _ in query for relation, _ in atoms}
    declared: dict[str, dict[int, list[Any]]] = {}
    for (relation, position), values in domains.items():
        if relation in used:
            declared.setdefault(relation, {})[position] = values
    return *pair, domains, None, declared


def _finite_keyed(rng: random.Random) -> Case:
    first, second, domains, _, declared = _finite(rng)
    return first, second, domains, {"R": [(0,)]} if _uses_r(first, second) else None, declared


def _unequal(rng: random.Random) -> Case:
    pair = _pair(rng, share=0.6, atoms=3, constants=[0, 1], operators=("!=",))
    return *pair, q.large_domain(pair, RELATIONS, ordered=False), None, None


def _ordered(rng: random.Random) -> Case:
    pair = _pair(rng, share=0.6, atoms=3, names=2, constants=[0, 1], disjuncts=2, operators=("!=", "<", "<="))
    return *pair, q.large_domain(pair, RELATIONS, ordered=True), None, None


def _ordered_keyed(rng: random.Random) -> Case:
    first, second, domains, _, _ = _ordered(rng)
    return first, second, domains, {"R": [(0,)]} if _uses_r(first, second) else None, None


KINDS = [_plain, _unions, _keyed, _finite, _finite_keyed, _unequal, _ordered, _ordered_keyed]


def _statuses(case: Case) -> set[str]:
    """The engine's verdicts with and without fast paths and minimisation, and with the sides exchanged."""
    first, second, _, keys, declared = case
    found = set()
    for texts in ((q.text(first), q.text(second)), (q.text(second), q.text(first))):
        schema, (secret, view) = views.prepare(list(texts), None, keys=keys, domains=declared)
        for fast in (True, False):
            checker = Checker(schema, fast=fast, minimize=fast, replay="definition")
            found.add(checker.check(secret, view).status)
    return found


def _compare(kind: Callable[[random.Random], Case], seeds: range) -> None:
    private = 0
    for seed in seeds:
        case = kind(random.Random(seed))
        first, second, domains, keys, _ = case
        sharing = shares(critical_by_witness(first, domains, keys), critical_by_witness(second, domains, keys), keys)
        expected = "DISCLOSES" if sharing else "PRIVATE"
        assert _statuses(case) == {expected}, f"seed {seed}: {q.text(first)} against {q.text(second)}, keys {keys}"
        private += not sharing
    assert 0.05 * len(seeds) < private < 0.95 * len(seeds), "the random pairs are too one-sided to mean anything"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_the_engine_agrees_with_small_witnesses(kind: Callable[[random.Random], Case]) -> None:
    """O2."""
    _compare(kind, range(100 if campaign() else 40))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_the_engine_agrees_with_small_witnesses_on_thousands_of_pairs(kind: Callable[[random.Random], Case]) -> None:
    """O2, long."""
    _compare(kind, range(1_000, 5_000))


@pytest.mark.parametrize("keyed", [False, True], ids=["no key", "key"])
def test_small_witnesses_agree_with_the_literal_definition(keyed: bool) -> None:
    """O1 = O2, so that both are to be believed."""
    domains: q.Domains = {("R", 0): [0, 1], ("R", 1): [0, 1, 2], ("S", 0): [0, 1]}
    keys: Keys | None = {"R": [(0,)]} if keyed else None
    for seed in range(40):
        rng = random.Random(seed)
        query = q.random_query(
            rng, relations=RELATIONS, atoms=3, names=3, constants=[0, 1], disjuncts=2, operators=("!=", "<")
        )
        assert critical_by_definition(query, domains, keys) == critical_by_witness(query, domains, keys)


@pytest.mark.parametrize("keyed", [False, True], ids=["no key", "key"])
def test_private_means_independent_and_disclosing_means_dependent(keyed: bool) -> None:
    """O3: the probabilistic definition, exactly."""
    domains: q.Domains = {("R", 0): [0, 1], ("R", 1): [0, 1], ("S", 0): [0, 1]}
    rows = all_rows(domains)
    keys: Keys | None = {"R": [(0,)]} if keyed else None
    seen = set()
    for seed in range(60):
        rng = random.Random(seed)
        first, second = _pair(rng, share=0.6, atoms=3, names=2, constants=[0, 1], disjuncts=2)
        used = {relation for query in (first, second) for _, atoms, _ in query for relation, _ in atoms}
        declared = {name: {key: [0, 1] for key in range(RELATIONS[name])} for name in used}
        verdict = views.check(
            q.text(first), q.text(second), domains=declared, keys=keys if keys and "R" in used else None
        )
        free = independent(
            lambda instance, query=first: q.answers(query, instance),
            [lambda instance, query=second: q.answers(query, instance)],
            rows,
            keys=keys,
        )
        assert verdict.status == ("PRIVATE" if free else "DISCLOSES"), f"seed {seed}"
        seen.add(verdict.status)
    assert seen == {"PRIVATE", "DISCLOSES"}


def test_bags_that_are_private_are_independent() -> None:
    """Independence by its definition, on bag answers."""
    rows: list[q.Row] = [("R", (a, b)) for a in (0, 1) for b in (0, 1)]
    ddl = "CREATE TABLE R (a INT NOT NULL CHECK (a IN (0,1)), b INT NOT NULL CHECK (b IN (0,1)))"
    seen = set()
    for seed in range(60):
        rng = random.Random(seed)
        pair = [
            q.random_query(rng, relations={"R": 2}, atoms=2, names=2, constants=[0, 1], variable_share=0.4)
            for _ in (0, 1)
        ]
        texts = [_as_sql(query) for query in pair]
        verdict = views.check(texts[0], texts[1], schema=ddl)
        free = independent(
            lambda instance, query=pair[0]: q.bag_answers(query, instance),
            [lambda instance, query=pair[1]: q.bag_answers(query, instance)],
            rows,
        )
        assert verdict.status == ("PRIVATE" if free else "DISCLOSES"), f"seed {seed}: {texts}"
        seen.add(verdict.status)
    assert seen == {"PRIVATE", "DISCLOSES"}


def _as_sql(query: q.Query) -> str:
    ((head, atoms, _),) = query
    home: dict[str, str] = {}
    conditions = []
    for number, (_, terms) in enumerate(atoms):
        for column, term in zip("ab", terms, strict=True):
            place = f"t{number}.{column}"
            if not isinstance(term, str):
                conditions.append(f"{place} = {term}")
            elif term in home:
                conditions.append(f"{place} = {home[term]}")
            else:
                home[term] = place
    shown = ", ".join(home.get(term, str(term)) for term in head) or "1"
    tables = ", ".join(f"R t{number}" for number in range(len(atoms)))
    return f"SELECT {shown} FROM {tables}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def test_views_that_are_private_one_by_one_are_private_together() -> None:
    """Collusion resistance, by O3 on tuples of answers (GT-46 among them)."""
    domains: q.Domains = {("R", 0): [0, 1], ("R", 1): [0, 1, 2]}
    rows = all_rows(domains)
    declared = {"R": {0: [0, 1], 1: [0, 1, 2]}}
    tried = 0
    for seed in range(60):
        rng = random.Random(seed)
        secret, *shown = (
            q.random_query(rng, relations={"R": 2}, atoms=2, names=1, constants=[0, 1, 2], variable_share=0.3)
            for _ in range(3)
        )
        verdict = views.check(q.text(secret), [q.text(view) for view in shown], domains=declared)
        free = independent(
            lambda instance, query=secret: q.answers(query, instance),
            [lambda instance, query=view: q.answers(query, instance) for view in shown],
            rows,
            seeds=(1,),
        )
        assert verdict.private == free, f"seed {seed}"
        tried += free
    assert tried > 5


def test_hard_instances_disclose_iff_both_formulas_hold_together() -> None:
    """The reduction from satisfiability against brute-force satisfiability; Algorithm 2 would answer 'share' every time."""
    outcomes = set()
    for seed in range(60):
        rng = random.Random(seed)
        count = rng.randint(2, 4)
        first, second = (views_sat.random_cnf(rng, count, rng.randint(1, 4)) for _ in (0, 1))
        secret, view = views_sat.queries(first, second, count)
        binary = {"R": {key: [0, 1] for key in range(count + 2)}}
        verdict = views.check(secret, view, domains=binary)
        together = views_sat.satisfiable(first + second, count)
        assert verdict.status == ("DISCLOSES" if together else "PRIVATE")
        assert views.check(secret, view).status == "DISCLOSES"
        outcomes.add(together)
    assert outcomes == {True, False}


def test_the_generator_makes_example_2_3() -> None:
    """GT-15: the CNFs printed under Theorem 2.6 have x1 and x2 swapped; these give exactly GT-10's queries."""
    secret, view = views_sat.queries([[-1], [2, 3], [2, -3]], [[-1], [-2, 3], [-2, -3]], 3)
    assert secret.replace(" ", "").replace("b,0)", "b4,0)") == (
        "Q(a1,a2,a3):-R(a1,a2,a3,b4,0),R(1,a2,a3,0,0),R(a1,0,0,0,0),R(a1,0,1,0,0)"
    )
    assert view.replace(" ", "").replace("1,b)", "1,b5)") == (
        "Q(a1,a2,a3):-R(a1,a2,a3,1,b5),R(1,a2,a3,1,1),R(a1,1,0,1,1),R(a1,1,1,1,1)"
    )


def _compare_with_sqlite(seeds: range) -> set[str]:
    worlds = {
        n: views_sqlite.World({"R": ["a", "b"], "S": ["a"]}, views_sqlite.possible_rows(n)) for n in (True, False)
    }
    schemas = {nullable: views.load_schema(views_sqlite.schema(nullable)) for nullable in (True, False)}
    seen = set()
    for seed in seeds:
        rng = random.Random(seed)
        nullable = rng.random() < 0.5
        texts = [views_sqlite.random_sql(rng), views_sqlite.random_sql(rng)]
        first, second = (worlds[nullable].critical(text) for text in texts)
        schema, (secret, view) = views.prepare(texts, schemas[nullable], dialect="sqlite")
        verdict = Checker(schema).check(secret, view)
        seen.add(verdict.status)
        if verdict.status == "UNKNOWN":
            assert secret.inexact or view.inexact
        else:
            assert verdict.private == (not first & second), f"seed {seed}: {texts}: {verdict.reason}"
    return seen


def test_random_sql_agrees_with_every_instance_in_sqlite() -> None:
    """The definition with a real SQL engine: NULLs, outer joins, subqueries, unions and aggregates included."""
    assert _compare_with_sqlite(range(40)) >= {"PRIVATE", "DISCLOSES"}


def test_a_table_joined_to_an_empty_full_join_is_not_forgotten() -> None:
    """Found by the long run: seed 35338."""
    assert _compare_with_sqlite(range(35_338, 35_339)) == {"DISCLOSES"}


@pytest.mark.slow
def test_thousands_of_random_sql_pairs_agree_with_every_instance_in_sqlite() -> None:
    assert _compare_with_sqlite(range(10_000, 13_000)) >= {"PRIVATE", "DISCLOSES"}


@pytest.mark.parametrize(
    ("arity", "keys", "values"),
    [(2, [(0,), (1,)], [0, 1, 2]), (3, [(0, 1), (0, 2)], [0, 1])],
    ids=["two", "overlapping"],
)
def test_several_keys_agree_with_the_probabilistic_definition(
    arity: int, keys: list[tuple[int, ...]], values: list[int]
) -> None:
    """The common columns of all keys are a sound rule; by the definition it is exact on these pairs."""
    rows = all_rows({("R", place): values for place in range(arity)})
    seen = set()
    for seed in range(25):
        rng = random.Random(seed)
        first, second = (
            q.random_query(rng, relations={"R": arity}, atoms=2, names=2, constants=values, variable_share=0.3)
            for _ in (0, 1)
        )
        declared = {"R": dict.fromkeys(range(arity), values)}
        verdict = views.check(q.text(first), q.text(second), keys={"R": keys}, domains=declared)
        free = independent(
            lambda instance, query=first: q.answers(query, instance),
            [lambda instance, query=second: q.answers(query, instance)],
            rows,
            keys={"R": keys},
            seeds=(1,),
        )
        assert verdict.private == free, f"seed {seed}"
        seen.add(free)
    assert seen == {True, False}


def test_two_keys_tie_rows_that_agree_on_neither() -> None:
    """Uniform weights give P(both) = 1/7, not 4/49."""
    rows: list[q.Row] = [("R", (a, b)) for a in (1, 2) for b in (1, 2)]
    keys: Keys = {"R": [(0,), (1,)]}
    good = [
        frozenset(row for index, row in enumerate(rows) if mask >> index & 1)
        for mask in range(16)
        if _respects(frozenset(row for index, row in enumerate(rows) if mask >> index & 1), keys)
    ]
    both = sum(("R", (1, 1)) in item and ("R", (2, 2)) in item for item in good)
    one = sum(("R", (1, 1)) in item for item in good)
    assert (Fraction(both, len(good)), Fraction(one, len(good)) ** 2) == (Fraction(1, 7), Fraction(4, 49))
    assert not independent(lambda i: ("R", (1, 1)) in i, [lambda i: ("R", (2, 2)) in i], rows, keys=keys)


def _respects(instance: frozenset[q.Row], keys: Keys) -> bool:
    from tests.oracles.views_critical import respects

    return respects(instance, keys)


def test_a_nullable_unique_column_still_ties_rows() -> None:
    """Such a constraint is no key; rows with a filled value exclude each other all the same."""
    rows: list[q.Row] = [("R", (a, b)) for a in (0, None) for b in (1, 2)]

    def possible(instance: frozenset[q.Row]) -> bool:
        filled = [row[0] for _, row in instance if row[0] is not None]
        return len(set(filled)) == len(filled)

    def select(wanted: int) -> Callable[[frozenset[q.Row]], Any]:
        return lambda instance: frozenset(row[0] for _, row in instance if row[1] == wanted)

    assert not independent(select(1), [select(2)], rows, possible=possible)
    ddl = "CREATE TABLE R (a INT UNIQUE, b INT NOT NULL)"
    pair = ["SELECT DISTINCT a FROM R WHERE b = 1", "SELECT DISTINCT a FROM R WHERE b = 2"]
    assert views.check(*pair, schema=ddl).status == "DISCLOSES"
    assert views.check(*(f"{text} AND a IS NULL" for text in pair), schema=ddl).status == "PRIVATE"


def test_random_sql_over_a_nullable_unique_column_agrees_with_the_probabilistic_definition() -> None:
    """Partial keys, NULLs and duplicates together, by O3 with SQLite giving the answers."""
    rows: list[q.Row] = [("R", (a, b)) for a in (0, 1, None) for b in (0, 1)]
    ddl = "CREATE TABLE R (a INT UNIQUE CHECK (a IN (0,1)), b INT NOT NULL CHECK (b IN (0,1)))"
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE R (a, b)")

    def possible(instance: frozenset[q.Row]) -> bool:
        filled = [row[0] for _, row in instance if row[0] is not None]
        return len(set(filled)) == len(filled)

    def answer(text: str) -> Callable[[frozenset[q.Row]], Any]:
        def of(instance: frozenset[q.Row]) -> Any:
            connection.execute("DELETE FROM R")
            connection.executemany("INSERT INTO R VALUES (?, ?)", [row for _, row in instance])
            return tuple(sorted(map(repr, connection.execute(text).fetchall())))

        return of

    def condition(rng: random.Random, columns: list[str]) -> str:
        left = rng.choice(columns)
        right = rng.choice([*columns, "0", "1"])
        return rng.choice([f"{left} = {right}", f"{left} <> {right}", f"{left} IS NULL", f"{left} IS NOT NULL"])

    seen = set()
    for seed in range(60):
        rng = random.Random(seed)
        texts = []
        for _ in (0, 1):
            aliases = ["x", "y"][: rng.randint(1, 2)]
            columns = [f"{alias}.{column}" for alias in aliases for column in "ab"]
            tests = " AND ".join(condition(rng, columns) for _ in range(rng.randint(1, 3)))
            shown = rng.choice(["", "DISTINCT "]) + rng.choice([*columns, "1"])
            texts.append(f"SELECT {shown} FROM {', '.join(f'R {alias}' for alias in aliases)} WHERE {tests}")
        verdict = views.check(*texts, schema=ddl)
        free = independent(answer(texts[0]), [answer(texts[1])], rows, possible=possible, seeds=(1,))
        assert verdict.private == free, f"seed {seed}: {texts}"
        seen.add(free)
    assert seen == {True, False}
