"""Releases, answers and grants of one data set meet in the ledger, under whatever name (issue 14, 2)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.audit.service import AuditService
from reticent.base.disclosures import PersonFingerprints, unjudged
from reticent.errors import LedgerError
from reticent.ledger import Entry, Ledger
from reticent.policy.audit_policy import AuditPolicy
from reticent.table.person_marks import marks_of_columns, marks_of_people, people_marks, rows_marks
from reticent.views import load_schema
from reticent.views.authorizations import AccessControl
from tests.sampling import runs

FOUR = pl.DataFrame({"person": ["p1", "p2", "p3", "p4"], "zip": [1, 1, 2, 2], "salary": [100, 200, 1000, 5000]})
AUDIT = """\
dataset = "{name}"
ledger = "ledger.sqlite"
{beside}
[database]
source = "four.csv"
key = "person"
public = ["zip", "person"]

[sensitive.salary]
bounds = "ignored"
"""
SUM = "SELECT SUM(salary) FROM four WHERE person IN ('p1', 'p3')"


def bucketized(place: Path, name: str = "d", **options):
    table = rt.Table(FOUR, quasi=["zip"], sensitive="salary", identifiers=["person"], dataset=name)
    method = rt.Lattice(format="bucketize")
    return rt.publish(table, rt.DistinctLDiversity(2), method, ledger=place / "ledger.sqlite", **options)


def audited(place: Path, name: str = "d", beside: str = ""):
    FOUR.write_csv(place / "four.csv")
    (place / "audit.toml").write_text(AUDIT.format(name=name, beside=beside), encoding="utf-8")
    return AuditService(AuditPolicy.read(place / "audit.toml").settings)


@pytest.mark.parametrize("name", ["d", "D ", "another name"])
def test_an_audited_sum_after_a_release_is_denied_and_says_why(tmp_path: Path, name: str) -> None:
    bucketized(tmp_path)
    with audited(tmp_path, name) as service:
        (told,) = service.ask(SUM).rows[0].answers
        assert (told.answered, told.value, told.rule) == (False, None, "beside")
        assert "release 1" in told.reason
        assert not service.would_answer(SUM).rows[0].answers[0].answered
        assert service.ask("SELECT COUNT(*) FROM four").rows[0].answers[0].value == 4


def test_an_audited_sum_after_a_release_is_answered_if_allowed_and_the_promise_says_so(tmp_path: Path) -> None:
    bucketized(tmp_path)
    with audited(tmp_path, beside='beside = "allow"') as service:
        assert service.ask(SUM).rows[0].answers[0].value == 1100
        assert "release 1 of 'd'. They and this were not judged together" in service.guarantee("salary")[-1]


@pytest.mark.parametrize("name", ["d", "D ", "another name"])
def test_a_release_after_audited_answers_is_refused_and_allowed_never_says_that_there_was_nothing(
    tmp_path: Path, name: str
) -> None:
    with audited(tmp_path) as service:
        assert service.ask(SUM).rows[0].answers[0].value == 1100
    with pytest.raises(
        LedgerError,
        match=r"was released already: answers 1.*Audited answers then stop, until beside = 'allow' is in their own policy",
    ):
        bucketized(tmp_path, name)
    said = bucketized(tmp_path, name, again=True).certificate["ledger"]["statement"]
    assert "knew no earlier one" not in said
    assert "answers 1" in said
    assert "not judged together" in said
    # The answers that were given stay as they are; new ones would be beside the release.
    with audited(tmp_path) as service:
        assert service.ask(SUM).rows[0].answers[0].value == 1100
        assert not service.ask("SELECT SUM(salary) FROM four").rows[0].answers[0].answered


def test_a_granted_view_and_a_release_meet_too(tmp_path: Path) -> None:
    schema = load_schema("CREATE TABLE four (person TEXT PRIMARY KEY, zip INTEGER, salary INTEGER)")
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        control = AccessControl(ledger, "d", schema)
        control.define_view("zips", "SELECT zip FROM four", "steward")
        control.allow("zips", by="steward", user="alice")
        assert control.decide("alice", "zips").allowed
        assert [(each.kind, each.status) for each in ledger.entries("d")] == [("grant", "given out")]
    with pytest.raises(LedgerError, match="was released already: grant 1"):
        bucketized(tmp_path)
    bucketized(tmp_path, again=True)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        told = AccessControl(ledger, "d", schema).decide("alice", "zips")
        assert not told.allowed
        assert "release 2" in told.reason
        assert AccessControl(ledger, "d", schema, beside="allow").decide("alice", "zips").allowed


def many(seed: int, rows: int = 300) -> pl.DataFrame:
    ages = pl.Series("age", range(rows)).shuffle(seed=seed)
    return pl.DataFrame(
        {
            "id": [f"{seed}-{row}" for row in range(rows)],
            "age": ages,
            "zip": ages.shuffle(seed=seed + 1) % 50,
            "s": ["a", "b", "c"] * (rows // 3),
        }
    )


def publish_named(place: Path, frame: pl.DataFrame, name: str, **roles):
    table = rt.Table(frame, quasi=["age", "zip"], sensitive="s", dataset=name, **roles)
    return rt.publish(table, rt.KAnonymity(2), ledger=place / "ledger.sqlite")


@pytest.mark.parametrize("roles", [{"identifiers": ["id"]}, {"key": "id"}, {}])
def test_a_changed_copy_of_the_same_people_under_another_name_is_recognised(tmp_path: Path, roles) -> None:
    frame = many(1)
    publish_named(tmp_path, frame, "first", **roles)
    changed = frame.sample(200, seed=5).with_columns(
        pl.when(pl.col("age") < 30).then(pl.lit("c")).otherwise("s").alias("s")
    )
    with pytest.raises(
        LedgerError,
        match=r"The data set 'first' was released already.*'second' seems to be about the same people as 'first'",
    ):
        publish_named(tmp_path, changed, "second", **roles)
    assert publish_named(tmp_path, many(2), "third", **roles).certificate["ledger"]["release"] == 1


def test_rows_that_are_only_numbered_are_not_the_same_people(tmp_path: Path) -> None:
    for name, frame in (("first", many(1)), ("second", many(2))):
        publish_named(tmp_path, frame.with_columns(id=pl.int_range(1, 301)), name, identifiers=["id"])


def test_running_numbers_with_a_few_strays_identify_nobody() -> None:
    key = bytes(32)
    assert people_marks(pl.Series("id", [*range(1, 534), 1100]), key) is None
    assert people_marks(pl.Series("id", [*range(1, 30), 10**9]), key) is None
    assert people_marks(pl.Series("id", [n * n * 37 % 100_003 for n in range(1, 500)]), key) is not None


def test_two_files_of_the_same_name_are_two_data_sets_and_a_copy_is_not(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, frame in zip(folders, (many(1), many(2), many(1)), strict=True):
        folder.mkdir()
        frame.write_csv(folder / "data.csv")
    told = []
    for k, folder in enumerate(folders, start=2):
        table = rt.read(
            folder / "data.csv",
            quasi=["age", "zip"],
            sensitive="s",
            identifiers=["id"],
            dataset=str(folder / "data.csv"),
        )
        try:
            rt.publish(table, rt.KAnonymity(k), ledger=tmp_path / "ledger.sqlite")
            told.append("published")
        except LedgerError:
            told.append("refused")
    assert told == ["published", "published", "refused"]


KEY = b"k" * 32


@pytest.mark.parametrize("numbers", [[1, 2, 3, 4], ["1", "2", "3", "4"]])
def test_people_who_are_only_numbered_are_recognised_by_number_and_value(tmp_path: Path, numbers: list) -> None:
    """Every table has a row 1; that row 1 earns 100 and row 4 earns 5000 in both is no accident."""
    numbered = FOUR.with_columns(person=pl.Series(numbers))
    numbered.write_csv(tmp_path / "four.csv")
    table = rt.Table(numbered, quasi=["zip"], sensitive="salary", identifiers=["person"], dataset="d")
    rt.publish(table, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"), ledger=tmp_path / "ledger.sqlite")
    (tmp_path / "audit.toml").write_text(AUDIT.format(name="another name", beside=""), encoding="utf-8")
    text = "SELECT SUM(salary) FROM four WHERE person IN (1, 3)"
    with AuditService(AuditPolicy.read(tmp_path / "audit.toml").settings) as service:
        assert service.ask(text).rows[0].answers[0].rule == "beside"
    # Other people, with the same numbers.
    others = numbered.with_columns(salary=pl.col("salary") * 7 + 1)
    others.write_csv(tmp_path / "four.csv")
    (tmp_path / "audit.toml").write_text(AUDIT.format(name="a third name", beside=""), encoding="utf-8")
    with AuditService(AuditPolicy.read(tmp_path / "audit.toml").settings) as service:
        assert service.ask(text).rows[0].answers[0].answered


def real(shared_data: Path, name: str) -> pl.DataFrame:
    if name == "adult":
        return pl.read_csv(shared_data / "adult" / "adult.csv.gz", separator=";")
    if name == "cps":
        return pl.read_parquet(shared_data / "cps" / "cps.parquet").head(60_000)
    if name == "gss":
        return pl.read_parquet(shared_data / "gss" / "gss_wages.parquet")
    return pl.read_csv(shared_data / "sdcmicro" / f"{name}.csv.gz")


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("adult", 9),
        ("Tarragona", 4),
        *(
            pytest.param(name, columns, marks=pytest.mark.slow)
            for name in ("adult", "cps", "gss", "testdata")
            for columns in (3, 4, 6, 9)
        ),
    ],
)
def test_two_halves_of_a_real_population_are_different_people_and_a_changed_copy_is_not(
    shared_data: Path, name: str, columns: int
) -> None:
    frame = real(shared_data, name)[:, :columns].sample(fraction=1, shuffle=True, seed=4)
    half = frame.height // 2
    one, other = rows_marks(frame[:half], KEY), rows_marks(frame[half:], KEY)
    if one is None or other is None:
        pytest.skip("too few distinct rows to be marked")
    assert not one.overlaps(other)
    if columns < 6 and name != "Tarragona":
        return
    # A fifth of the rows is gone, and a fifth of the rest has another value in one column.
    last = frame.columns[-1]
    moved = pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.col(last).shift(7)).otherwise(last).alias(last)
    changed = rows_marks(frame.sample(fraction=0.8, seed=5).with_columns(moved), KEY)
    assert changed is not None
    assert changed.overlaps(rows_marks(frame, KEY)) == (name != "testdata" or columns > 6)


@pytest.mark.parametrize("rows", [40, 60, 100, 400])
@pytest.mark.parametrize("combinations", [60, 100, 400])
def test_small_samples_of_a_coarse_population_are_different_people(rows: int, combinations: int) -> None:
    """Where each combination occurs about once, two samples share most by chance."""
    merged = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, rows, combinations])
        one, other = (pl.DataFrame({"combination": rng.integers(combinations, size=rows)}) for _ in range(2))
        marks = [rows_marks(each, KEY) for each in (one, other)]
        merged += marks[0] is not None and marks[1] is not None and marks[0].overlaps(marks[1])
    assert merged <= 1


@pytest.mark.parametrize(("shared", "same"), [(30_000, True), (9_000, True), (300, False), (0, False)])
def test_overlaps_of_large_sets_are_estimated_from_a_sample(shared: int, same: bool) -> None:
    one = people_marks(pl.Series([f"person {number}" for number in range(30_000)]), KEY)
    other = people_marks(pl.Series([f"person {number}" for number in range(30_000 - shared, 60_000 - shared)]), KEY)
    assert one is not None
    assert other is not None
    assert len(one.hashes) <= 4096
    assert one.level > 0
    assert one.overlaps(other) == other.overlaps(one) == same


def test_a_small_part_of_a_large_set_is_found() -> None:
    everybody = pl.Series([f"person {number}" for number in range(20_000)])
    whole, part = people_marks(everybody, KEY), people_marks(everybody[500:700], KEY)
    assert whole is not None
    assert part is not None
    assert whole.overlaps(part)


def test_spelling_and_type_of_identifiers_do_not_matter_and_the_key_does() -> None:
    numbers = pl.Series([10_000_000, 45_343_003, 91_000_000_001])
    one, other = people_marks(numbers, KEY), people_marks(pl.Series(["45343003 ", "91000000001", "10000000"]), KEY)
    assert one == other
    assert people_marks(pl.Series(["Ann", "bob"]), KEY) == people_marks(pl.Series(["BOB", " ann"]), KEY)
    assert people_marks(numbers, b"another key") != one


def test_rows_with_missing_values_and_every_type_are_marked() -> None:
    frame = many(3).with_columns(
        day=pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 1) + pl.duration(days=299)),
        truth=pl.col("age") % 2 == 0,
        number=pl.when(pl.col("age") > 5).then(pl.col("age") / 7),
    )
    marks = rows_marks(frame, KEY)
    assert marks is not None
    assert marks == rows_marks(frame.sample(fraction=1, shuffle=True, seed=2), KEY)
    assert rows_marks(frame.head(2), KEY) is None


def visits(seed: int, rows: int = 400) -> pl.DataFrame:
    """Numbered people with coarse values, none of which anybody has alone."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": range(1, rows + 1),
            "age": rng.integers(20, 80, rows),
            "zip": rng.integers(100, 130, rows),
            "sex": rng.choice(["f", "m"], rows),
            "disease": rng.choice(["flu", "cold", "none"], rows, p=[0.2, 0.2, 0.6]),
        }
    )


def publish_columns(place: Path, frame: pl.DataFrame, name: str, k: int = 2, **roles):
    quasi = [column for column in frame.columns if column not in ("id", "name", "disease")]
    table = rt.Table(frame, quasi=quasi, sensitive="disease", dataset=name, **roles)
    return rt.publish(table, rt.KAnonymity(k), rt.Mondrian(values="sets"), ledger=place / "ledger.sqlite")


def further(frame: pl.DataFrame) -> pl.DataFrame:
    rng = np.random.default_rng(9)
    return frame.with_columns(job=pl.Series(rng.choice(["nurse", "cook", "clerk"], frame.height)))


@pytest.mark.parametrize("rows", [6, 12, 400])
@pytest.mark.parametrize(
    "change",
    [
        further,
        lambda frame: further(frame).drop("zip"),
        lambda frame: further(frame).sample(fraction=0.75, seed=4),
    ],
)
def test_numbered_people_with_other_columns_are_recognised(tmp_path: Path, rows: int, change) -> None:
    publish_columns(tmp_path, visits(1, rows), "first", identifiers=["id"])
    with pytest.raises(LedgerError, match="'second' seems to be about the same people as 'first'"):
        publish_columns(tmp_path, change(visits(1, rows)), "second", identifiers=["id"])
    publish_columns(tmp_path, further(visits(2, rows)), "other people", identifiers=["id"])


@pytest.mark.parametrize("rows", [6, 12, 400])
def test_people_without_identifiers_are_recognised_by_the_columns_that_both_tables_have(
    tmp_path: Path, rows: int
) -> None:
    frame = visits(1, rows).drop("id")
    publish_columns(tmp_path, frame, "first")
    with pytest.raises(LedgerError, match="'second' seems to be about the same people as 'first'"):
        publish_columns(tmp_path, further(frame).sample(fraction=1, shuffle=True, seed=3), "second")
    publish_columns(tmp_path, further(visits(2, rows)).drop("id"), "other people")


def test_people_with_names_are_recognised_where_only_numbers_are_left(tmp_path: Path) -> None:
    named = visits(1).with_columns(name=pl.format("person {}", "id")).drop("id")
    publish_columns(tmp_path, named, "first", identifiers=["name"])
    with pytest.raises(LedgerError, match="'second' seems to be about the same people as 'first'"):
        publish_columns(tmp_path, further(visits(1)), "second", identifiers=["id"])


def test_a_table_of_four_rows_is_recognised_without_identifiers(tmp_path: Path) -> None:
    for name, salaries in (("first", 1), ("second", 1), ("third", 7)):
        table = rt.Table(
            FOUR.with_columns(salary=pl.col("salary") * salaries), quasi=["zip"], sensitive="salary", dataset=name
        )
        published = partial(
            rt.publish, table, rt.KAnonymity(2 if name == "first" else 3), ledger=tmp_path / "ledger.sqlite"
        )
        if name == "second":
            with pytest.raises(LedgerError, match="'second' seems to be about the same people as 'first'"):
                published()
        else:
            published()


@pytest.mark.parametrize("rows", [8, 40, 400])
def test_other_people_of_the_same_population_are_other_people(rows: int) -> None:
    """Numbered from one, sorted or not: what agrees by chance or by the order of rows is no evidence."""
    merged = 0
    for seed in range(runs(200)):
        for order in ("id", "age"):
            tables = [
                visits(number, rows).sort(order).with_columns(id=pl.int_range(1, rows + 1))
                for number in (2 * seed, 2 * seed + 1)
            ]
            marks = [marks_of_columns([each["id"]], [each[name] for name in each.columns[1:]], KEY) for each in tables]
            merged += any(one.overlaps(other) for one in marks[0] for other in marks[1])
    assert merged <= runs(200) // 25


def coarse(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({name: rng.integers(0, most, 80_000) for name, most in (("a", 900), ("b", 900), ("c", 9))})


def test_a_part_of_a_large_table_is_found_by_its_columns() -> None:
    whole, part, other = (
        marks_of_columns([], [frame[name] for name in frame.columns], KEY)
        for frame in (coarse(5), further(coarse(5)[:50_000]), further(coarse(6)))
    )
    assert any(mine.overlaps(theirs) for mine in whole for theirs in part)
    assert not any(mine.overlaps(theirs) for mine in whole for theirs in other)


def test_a_design_in_which_everything_occurs_equally_often_is_no_evidence() -> None:
    design = pl.DataFrame(
        [(dose, arm, day) for dose in range(3) for arm in "ab" for day in range(7)] * 5,
        schema=["dose", "arm", "day"],
        orient="row",
    )
    one, other = (
        design.with_columns(effect=np.random.default_rng(seed).normal(size=design.height)) for seed in range(2)
    )
    marks = [marks_of_columns([], [each[name] for name in each.columns], KEY) for each in (one, other)]
    assert not any(mine.overlaps(theirs) for mine in marks[0] for theirs in marks[1])


def test_the_ledger_names_the_data_sets_about_some_people(tmp_path: Path) -> None:
    publish_columns(tmp_path, visits(1), "first", identifiers=["id"])
    publish_columns(tmp_path, visits(2), "second", identifiers=["id"])
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        table = rt.Table(further(visits(2)), quasi=["age", "job"], sensitive="disease", identifiers=["id"])
        assert ledger.about(marks_of_people(table, ledger.people_key)) == ["second"]


def test_marks_of_different_kinds_never_overlap() -> None:
    assert not PersonFingerprints("people", 0, (1, 2)).overlaps(PersonFingerprints("rows", 0, (1, 2)))


def test_the_same_people_are_found_whoever_was_first(tmp_path: Path) -> None:
    def certify(entry: Entry) -> str:
        return ""

    marks = marks_of_people(rt.Table(many(1), quasi=["age"], sensitive="s", identifiers=["id"]), KEY)
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.record("one", "a", certify)
        ledger.know("one", marks)
        ledger.know("one", marks)
        with pytest.raises(LedgerError, match="'one' was released already"):
            ledger.record("two", "b", certify, people=marks)
        assert "release 1 of 'one'." in ledger.record("two", "b", certify, people=marks, beside=unjudged).note
        assert ledger.refusal("one", "answers", lambda given: unjudged(given) if len(given) == 2 else 1 / 0) is None


def test_a_table_that_changes_a_little_is_written_down_once_and_is_known_after_it_changed_much(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        for first in range(0, 400, 4):
            ledger.know("one", [PersonFingerprints("people", 0, tuple(range(first, first + 100)))])
        with ledger._store.reading() as reading:
            assert 10 <= reading.count("people") <= 50
        ledger.record("one", "a", lambda entry: "")
        for first in (0, 200, 396):
            with pytest.raises(LedgerError, match="'one' was released already"):
                ledger.record(
                    "two",
                    "b",
                    lambda entry: "",
                    people=[PersonFingerprints("people", 0, tuple(range(first, first + 100)))],
                )


def test_a_budget_that_is_set_already_suggests_no_way_around_it(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.budgets.open("people", "epsilon", 2)
        with pytest.raises(LedgerError, match="Continue with 2, of which 2 is left") as refused:
            ledger.budgets.open("people", "epsilon", 5)
    assert "name" not in str(refused.value)
