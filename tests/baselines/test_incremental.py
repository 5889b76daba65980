"""Publishers after Sweeney and Byun keep what they promise, and give away what the thesis says that they do."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.baselines import ByunGroups, SweeneyGroups, judge_models, publish_incrementally
from reticent.errors import DataError, Infeasible, PolicyError
from tests.sampling import examples

VALUES = [f"v{number}" for number in range(8)]


def growing(seed: int, sizes: tuple[int, ...], values: int = 6) -> list[pl.DataFrame]:
    rng = np.random.default_rng(seed)
    many = sum(sizes)
    rows = pl.DataFrame(
        {
            "id": np.arange(many),
            "age": rng.integers(18, 90, many),
            "town": rng.choice(["Aix", "Brest", "Caen", "Dax"], many),
            "job": rng.choice(VALUES[:values], many),
        }
    )
    return [rows[:end] for end in np.cumsum(sizes).tolist()]


def members(release) -> dict[int, list[dict]]:
    found = defaultdict(list)
    for row, group in zip(release.rows.rows(named=True), release.group.tolist(), strict=True):
        found[group].append(row)
    return found


@examples(30)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 4), policy=st.sampled_from(["never finer", "all quasi"]))
def test_sweeney_publishes_groups_of_k_that_never_get_finer(seed, k, policy):
    frames = growing(seed, (12, 5, 9))
    releases = publish_incrementally(SweeneyGroups(k, policy), frames, "id", ["age", "town"], "job")
    box: dict[int, tuple] = {}
    for release, frame in zip(releases, frames, strict=True):
        assert sorted([*release.rows["id"], *release.waiting["id"]]) == frame["id"].to_list()
        for rows in members(release).values():
            assert len(rows) >= k
            low, high = min(row["age"] for row in rows), max(row["age"] for row in rows)
            towns = {row["town"] for row in rows}
            for row in rows:
                if row["id"] in box:
                    assert low <= box[row["id"]][0]
                    assert high >= box[row["id"]][1]
                    assert towns >= box[row["id"]][2]
                box[row["id"]] = (low, high, towns)
            later = [row for row in rows if row["id"] >= 12]
            assert policy == "never finer" or len({row["job"] for row in later}) <= 1


@examples(30)
@given(seed=st.integers(0, 10_000), least=st.integers(2, 3))
def test_byun_leaves_l_values_for_everybody_over_all_releases(seed, least):
    """Counted row by row: a newcomer is known to be among those who came with the same release."""
    frames = growing(seed, (12, 4, 3, 8))
    releases = publish_incrementally(ByunGroups(least), frames, "id", ["age", "town"], "job")
    candidates: dict[int, set[str]] = {}
    came: dict[int, int] = {}
    for number, release in enumerate(releases):
        assert sorted([*release.rows["id"], *release.waiting["id"]]) == frames[number]["id"].to_list()
        for rows in members(release).values():
            for row in rows:
                came.setdefault(row["id"], number)
            for row in rows:
                together = {each["job"] for each in rows if came[each["id"]] == came[row["id"]]}
                assert len(together) >= least
                candidates[row["id"]] = candidates.get(row["id"], set(VALUES)) & {each["job"] for each in rows}
    assert all(len(each) >= least for each in candidates.values())


def imported(releases, tmp_path, m: int = 2):
    history = rt.republish.History.open(
        tmp_path / "history",
        ledger=tmp_path / "ledger.sqlite",
        m=m,
        key="id",
        sensitive="job",
        quasi={"age": None, "town": None},
        domain=VALUES,
    )
    for release in releases:
        history.import_release(release.rows, release.group.tolist())
    return history


def test_the_models_judge_the_publishers_as_promised(tmp_path):
    frames = growing(4, (24, 12, 12))
    for name, publisher in (("Sweeney", SweeneyGroups(2)), ("Byun", ByunGroups(2))):
        (tmp_path / name).mkdir()
        history = imported(publish_incrementally(publisher, frames, "id", ["age", "town"], "job"), tmp_path / name)
        verdict = {each.model: each for each in judge_models(history)}[name]
        assert (verdict.applies, verdict.holds) == (True, True)


def test_what_the_thesis_says_of_them_shows_in_attacks(tmp_path):
    """Sweeney's groups may be of one value (homogeneity), with all columns as quasi all later ones are; Byun's hold two values for everybody, but not at 1/2."""
    frames = growing(4, (24, 12, 12))
    chances = {}
    for publisher in (SweeneyGroups(2), SweeneyGroups(2, "all quasi"), ByunGroups(2)):
        folder = tmp_path / str(len(chances))
        folder.mkdir()
        history = imported(publish_incrementally(publisher, frames, "id", ["age", "town"], "job"), folder)
        chances[str(publisher)] = rt.attacks.series(history)
    sweeney, everything, byun = chances.values()
    assert len(sweeney.disclosed) > 0
    assert len(everything.disclosed) >= 15
    assert byun.disclosed == []
    assert byun.highest > 1 / 2


def test_byun_keeps_people_waiting_whose_values_are_too_few():
    rows = pl.DataFrame({"id": range(9), "age": range(9), "job": ["v0", "v1", "v2", "v3", *["v4"] * 5]})
    releases = publish_incrementally(ByunGroups(2), [rows[:4], rows[:6], rows], "id", ["age"], "job")
    assert [each.waiting.height for each in releases] == [0, 2, 5]
    assert releases[2].rows["id"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("frames", "problem"),
    [
        ([[0, 1, 2, 3], [0, 1, 2]], "only tables that grow"),
        ([[0, 0, 1, 2]], "more than once"),
    ],
)
def test_tables_that_do_not_only_grow_are_refused(frames, problem):
    tables = [pl.DataFrame({"id": ids, "age": ids, "job": [f"v{each % 2}" for each in ids]}) for ids in frames]
    with pytest.raises(DataError, match=problem):
        publish_incrementally(ByunGroups(2), tables, "id", ["age"], "job")


def test_too_few_rows_and_bad_parameters_are_refused():
    rows = pl.DataFrame({"id": [1, 2], "age": [1, 2], "job": ["v0", "v0"]})
    with pytest.raises(Infeasible, match=r"None of the 2 people can be published with ByunGroups\(l=2\)"):
        publish_incrementally(ByunGroups(2), [rows], "id", ["age"], "job")
    with pytest.raises(PolicyError, match="SweeneyGroups: k"):
        SweeneyGroups(1)
    with pytest.raises(PolicyError, match="never finer"):
        SweeneyGroups(2, "always")  # type: ignore[arg-type]
