"""Releases of typical values: numbers stay numbers, whatever is judged goes by the ranges behind, and files that say otherwise are found out."""

import datetime
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.attacks import Linkage, SinglingOut
from reticent.baselines.datafly import Datafly
from reticent.definitions import DistinctLDiversity, KAnonymity, KMap
from reticent.errors import DataError, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import adversary_view_of, apply, default_method, open_public, publish, verify
from reticent.table import Hierarchy, Interval, Table, Values
from tests.oracles.typical import commonest, grid_days, grid_places, middle

FIRST = datetime.date(1950, 1, 1)


def people(rows: int = 400, seed: int = 3) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [draw.randrange(17, 91) for _ in range(rows)],
            "sex": [draw.choice("mf") for _ in range(rows)],
            "wage": [round(draw.lognormvariate(9, 1), 2) for _ in range(rows)],
            "born": [FIRST + datetime.timedelta(days=draw.randrange(20_000)) for _ in range(rows)],
            "ill": [draw.choice(["flu", "cold", "ulcer"]) for _ in range(rows)],
        }
    )


def table(frame: pl.DataFrame | None = None, **more: Any) -> Table:
    ladders = {
        "age": Hierarchy.intervals([5, 10, 20, 40, 80], domain=(0, 99)),
        "sex": None,
        "wage": Hierarchy.intervals([5_000, 10_000, 50_000]),
        "born": Hierarchy.dates(),
    }
    return Table(people() if frame is None else frame, **{"quasi": ladders, "sensitive": "ill", **more})


METHODS = {
    "Mondrian": Mondrian(values="typical"),
    "Mondrian divided": Mondrian(values="typical", ties="divide"),
    "Lattice": Lattice(values="typical", suppression="0.1"),
    "Datafly": Datafly(values="typical", suppression="0.1"),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))


@every_method
def test_every_column_keeps_its_own_type(method: Any, tmp_path: Path) -> None:
    raw = people()
    release = publish(table(raw), KAnonymity(5), method)
    for frame in (release.frame, open_public(release.save(tmp_path / "release")).frame):
        assert {name: frame.schema[name] for name in raw.columns} == dict(raw.schema)
    assert verify(tmp_path / "release").holds


@pytest.mark.parametrize("kind", ["parquet", "dta", "sav"])
def test_statistics_programs_read_numbers_and_dates(kind: Any, tmp_path: Path) -> None:
    if kind != "parquet":
        pytest.importorskip("pyreadstat")
    release = publish(table(), KAnonymity(5), Mondrian(values="typical"), files=kind)
    folder = release.save(tmp_path / "release")
    assert verify(folder).holds
    frame = open_public(folder).frame
    assert frame["age"].dtype.is_integer()
    assert frame["wage"].dtype.is_float()
    assert frame["born"].dtype == pl.Date
    if kind == "dta":
        import pyreadstat

        read, _ = pyreadstat.read_dta(str(folder / "public" / "data.dta"))
        assert read["wage"].mean() == pytest.approx(release.frame["wage"].mean())


@every_method
def test_a_typical_value_is_the_median_or_the_mode_of_its_group_on_the_grid_of_its_range(method: Any) -> None:
    raw = people()
    release = publish(table(raw), KAnonymity(5), method)
    labels = {row["group"]: row for row in release.tables["groups"].iter_rows(named=True)}
    shown = {row["group"]: row for row in release.frame.iter_rows(named=True)}
    if isinstance(method, Mondrian) and method.ties == "divide":
        return  # whose row is where is not told
    placed = (
        raw.with_columns(group=apply(release, raw, unseen="suppress")["group"])
        if release.private.suppressed == 0
        else None
    )
    if placed is None:
        kept = [apply(release, raw[place : place + 1])["group"].to_list() for place in range(raw.height)]
        placed = raw.with_columns(group=pl.Series([each[0] if each else None for each in kept])).drop_nulls()
    for (number,), members in placed.group_by("group"):
        for column in ("age", "wage", "born"):
            meaning = release.meanings[column][labels[number][column]]
            if not isinstance(meaning, Interval):
                assert shown[number][column] in (None, *members[column].to_list())
                continue
            low, high = meaning.low, meaning.high
            if meaning.closed != "both":
                high = high - 1 if column == "age" else high - 1e-9 if column == "wage" else high
            places: list[Any] = grid_days(low, high) if column == "born" else [float(p) for p in grid_places(low, high)]
            median = middle(members[column].to_list())
            value = shown[number][column]
            distance = (
                (lambda one, other: abs((one - other).days))
                if column == "born"
                else (lambda one, other: abs(one - other))
            )
            assert distance(value, median) <= min(distance(place, median) for place in places) + 1e-6 * (
                float(high - low) if column != "born" else 0
            )
        assert shown[number]["sex"] in commonest(members["sex"].to_list())


def test_adversaries_see_what_they_see_in_ranges() -> None:
    """Two groups with the same typical values are told apart by their numbers, so that they are judged apart, each by its ranges."""
    frame = people(800).with_columns(wage=pl.col("wage") // 9000, born=pl.lit(FIRST), age=pl.col("age") // 20)
    definition = KAnonymity(5) & DistinctLDiversity(2)
    typical, ranges = (
        publish(table(frame), definition, Mondrian(values=style, ties="divide"), insecure_seed=1)
        for style in ("typical", "ranges")
    )
    quasi = list(typical.meanings)
    assert typical.frame.select(quasi).n_unique() < typical.frame["group"].n_unique()
    assert adversary_view_of(typical).looks() == adversary_view_of(ranges).looks()
    for condition in ("age between 30 and 40 and sex = 'm'", "wage > 20000", "ill = 'flu' and born < '1970-01-01'"):
        assert typical.count(condition) == ranges.count(condition)
    assert rt.assess(typical, definition).value == rt.assess(ranges, definition).value
    assert typical.utility["loss"] == ranges.utility["loss"]
    known = frame.drop("ill").sample(200, seed=1).with_row_index("who")
    for one, other in zip(
        *(rt.attacks.attack(each, Linkage(known), SinglingOut()) for each in (typical, ranges)), strict=True
    ):
        assert one.as_dict() == other.as_dict()


def test_numbers_of_groups_tell_nothing_but_the_order_of_their_labels() -> None:
    frame = people()
    first = publish(table(frame), KAnonymity(5), Mondrian(values="typical"))
    second = publish(table(frame.sample(fraction=1.0, shuffle=True, seed=9)), KAnonymity(5), Mondrian(values="typical"))
    assert first.tables["groups"].equals(second.tables["groups"])
    assert first.frame.equals(second.frame)
    labels = first.tables["groups"].drop("group")
    assert labels.rows() == sorted(labels.rows())


@every_method
def test_later_rows_get_the_values_and_the_group_of_the_first_ones(method: Any, tmp_path: Path) -> None:
    raw = people()
    release = publish(table(raw), KAnonymity(5), method)
    folder = release.save(tmp_path / "release")
    placed = apply(folder, raw)
    assert placed.sort(pl.all()).equals(release.frame.select(placed.columns).sort(pl.all()))
    alone = apply(folder, raw.drop("ill").head(20), unseen="suppress")
    if not (isinstance(method, Mondrian) and method.ties == "divide"):
        assert alone.equals(apply(folder, raw.head(20)).drop("ill"))


def test_a_table_that_has_a_column_called_group_gets_another_name_for_the_numbers() -> None:
    raw = people().with_columns(group=pl.lit("treated"), group_2=pl.lit(1))
    release = publish(table(raw, declared={"group": "nobody knows it"}), KAnonymity(5), Mondrian(values="typical"))
    assert release.manifest.named("group") == ("group_3",)
    assert release.frame["group"].unique().to_list() == ["treated"]


def test_few_people_show_the_middle_of_their_range_and_no_value_of_theirs() -> None:
    raw = pl.DataFrame({"age": [10, 19, 30, 31, 32, 39] * 1, "ill": ["a", "b", "a", "b", "c", "a"]})
    given = Table(raw, quasi={"age": Hierarchy.intervals([10], domain=(0, 99))}, sensitive="ill")
    release = publish(given, KAnonymity(2), Lattice(values="typical", node={"age": 1}))
    assert sorted(set(release.frame["age"].to_list())) == [14, 32]


def test_a_rare_category_is_not_named_where_the_label_does_not_name_it() -> None:
    tree = Hierarchy.taxonomy({"south": ["Aix", "Apt", "Arles", "Nice"], "north": ["Lille", "Brest"]})
    raw = pl.DataFrame({"town": ["Aix", "Apt", "Arles"] + ["Lille"] * 4 + ["Brest"], "ill": ["a", "b"] * 4})
    release = publish(Table(raw, quasi={"town": tree}, sensitive="ill"), KAnonymity(3), Lattice(values="typical"))
    assert release.tables["groups"]["town"].to_list() == ["north", "south"]
    assert dict(release.frame.select("group", "town").unique().rows()) == {1: "Lille", 2: None}


def test_columns_cut_apart_show_values_of_their_own_groups_only() -> None:
    """With two sets of columns, a row's combination of groups may be one person: values are those of each set's group."""
    raw = people(60)
    given = Table(raw, quasi=["age", "wage"], sensitive="ill", quasi_sets=[["age"], ["wage"]])
    release = publish(given, KAnonymity(5), Mondrian(values="typical"))
    assert (release.frame["group"].value_counts()["count"] < 5).any()
    for name in ("age", "wage"):
        assert (
            release.frame.join(release.tables["groups"], on="group", suffix=" range")
            .select(name, f"{name} range")
            .n_unique()
            == release.tables["groups"][name].n_unique()
        )


def test_what_typical_values_would_give_away_is_refused() -> None:
    known = people().drop("ill")
    with pytest.raises(PolicyError, match="who of a population"):
        publish(table(), KMap(5, known), Mondrian(values="typical"))
    with pytest.raises(PolicyError, match="a single set of quasi columns"):
        publish(table(quasi_sets=[["age", "sex"], ["wage", "born"]]), KAnonymity(5), Lattice(values="typical"))
    with pytest.raises(PolicyError, match="bucketize"):
        Lattice(values="typical", format="bucketize")
    with pytest.raises(PolicyError, match="labels"):
        Datafly(values="means")  # type: ignore[arg-type]
    coarse = {"age": Hierarchy.intervals([5, 10], domain=(0, 99)).limited(min_level=1)}
    for method in METHODS.values():
        with pytest.raises(PolicyError, match="may not be published below level 1"):
            publish(Table(people(), quasi=coarse, sensitive="ill"), KAnonymity(5), method)
    risks = publish(table(), KAnonymity(5), Mondrian(values="typical")).certificate["residual_risks"]
    assert any("half of its people" in risk for risk in risks)


def test_missing_values_are_typical_only_where_most_are_missing() -> None:
    raw = people(300).with_columns(wage=pl.when(pl.int_range(300) % 3 == 0).then(None).otherwise(pl.col("wage")))
    release = publish(table(raw, nulls="category"), KAnonymity(5), Mondrian(values="typical"))
    assert release.frame["wage"].dtype == pl.Float64
    placed = raw.with_columns(group=apply(release, raw)["group"])
    shown = dict(release.frame.select("group", "wage").unique().rows())
    for (number,), members in placed.group_by("group"):
        assert (shown[number] is None) == (2 * members["wage"].null_count() > members.height)


def test_values_without_a_name_are_compared_among_methods_that_have_them() -> None:
    method = default_method(table(), KAnonymity(5), {"values": "typical"})
    names = [each.describe() for each in method.candidates]  # type: ignore[attr-defined]
    assert {each["name"] for each in names} == {"Lattice", "Mondrian"}
    assert {each["values"] for each in names} == {"typical"}
    with pytest.raises(PolicyError, match="values"):
        default_method(table(), KAnonymity(5), {"values": "means"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return publish(table(), KAnonymity(5), Mondrian(values="typical")).save(tmp_path / "release")


def broken(folder: Path) -> str:
    """What verify finds first, certificate and hashes apart."""
    with pytest.raises(DataError) as error:
        open_public(folder)
    assert not verify(folder).holds
    return str(error.value)


def changed(folder: Path, name: str, change: pl.Expr) -> None:
    place = folder / "public" / f"{name}.csv"
    pl.read_csv(place, try_parse_dates=name == "data").with_columns(change).write_csv(place)


def test_verify_finds_a_value_outside_of_its_range(folder: Path) -> None:
    changed(folder, "data", pl.lit(16).alias("age"))
    assert "typical value 16" in broken(folder)


def test_verify_finds_a_value_that_is_not_rounded(folder: Path) -> None:
    changed(folder, "data", pl.col("wage") + 0.01)
    assert "not rounded" in broken(folder)


def test_verify_finds_rows_of_a_group_that_differ(folder: Path) -> None:
    changed(folder, "data", pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.col("age")).alias("age"))
    assert "different typical values" in broken(folder)


def test_verify_finds_groups_that_are_not_there(folder: Path) -> None:
    changed(folder, "groups", pl.col("group") + 1)
    assert "not those of the rows" in broken(folder)


def test_verify_finds_a_group_twice(folder: Path) -> None:
    changed(folder, "groups", pl.lit(1).alias("group"))
    assert "number of its own" in broken(folder)


def test_verify_finds_a_manifest_that_calls_values_labels(folder: Path) -> None:
    place = folder / "public" / "manifest.json"
    place.write_text(place.read_text().replace('"published": "typical"', '"published": "labels"'))
    broken(folder)
    said = json.loads(place.read_text())
    said["columns"][0]["published"] = "guesses"
    place.write_text(json.dumps(said))
    assert "guesses" in broken(folder)


def test_a_set_of_values_stays_exact_behind_a_mode() -> None:
    raw = pl.DataFrame({"job": ["cook", "smith", "smith", "clerk", "maid", "maid"] * 2, "ill": list("abcabc") * 2})
    release = publish(Table(raw, quasi=["job"], sensitive="ill"), KAnonymity(5), Mondrian(values="typical"))
    for row in release.tables["groups"].iter_rows(named=True):
        meaning = release.meanings["job"][row["job"]]
        shown = release.frame.filter(pl.col("group") == row["group"])["job"][0]
        assert shown in (meaning.values if isinstance(meaning, Values) else raw["job"].to_list())


@pytest.mark.slow
def test_a_streamed_table_shows_what_one_in_memory_does() -> None:
    frame = people(20_000)
    local = publish(table(frame), KAnonymity(5), Mondrian(values="typical"))
    streamed = publish(table(frame, engine="streaming"), KAnonymity(5), Mondrian(values="typical"))
    assert streamed.frame.equals(local.frame)
    assert streamed.count("age < 30") == local.count("age < 30")
