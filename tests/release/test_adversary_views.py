"""One shape for what an adversary sees: of a table, a draft, a release and its folder alike, and without loading large releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.attacks import attack
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.belief import beliefs_of
from reticent.core import NOWHERE, SEVERAL, AdversaryView
from reticent.errors import PolicyError
from reticent.knowledge import Subject, watch, what_if
from reticent.release import adversary_view_of
from reticent.table import StoredRows, Table
from reticent.table.meaning import Interval, Missing, Value, Values
from tests.sampling import examples


def frame(rows: int = 200, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    ages = [None if random.random() < 0.05 else int(age) for age in random.integers(20, 60, rows)]
    ills = [None if random.random() < 0.05 else str(ill) for ill in random.choice(["flu", "gout", "HIV"], rows)]
    return pl.DataFrame({"age": ages, "sex": random.choice(["f", "m"], rows), "ill": ills})


def table(**more: Any) -> Table:
    quasi = {
        "age": rt.Hierarchy.intervals([10, 20], origin=20, domain=(20, 59)),
        "sex": rt.Hierarchy.suppression(["f", "m"]),
    }
    return Table(frame(), quasi=quasi, sensitive="ill", nulls="category", **more)


METHODS = {"lattice": rt.Lattice(), "buckets": rt.Lattice(format="bucketize"), "mondrian": rt.Mondrian(values="sets")}


@pytest.mark.parametrize("method", METHODS)
def test_draft_release_public_side_and_folder_look_alike(method: str, tmp_path: Path) -> None:
    definition = rt.DistinctLDiversity(2)
    release = rt.publish(table(), definition, METHODS[method], insecure_seed=3)
    release.save(tmp_path / "release")
    draft = METHODS[method].draft(table(), definition, Context(Randomness(3)))
    looks = [
        adversary_view_of(target).looks()
        for target in (
            draft,
            release,
            release.public,
            tmp_path / "release",
            str(tmp_path / "release" / "public"),
        )
    ]
    assert all(each == looks[0] for each in looks)
    opened, made = adversary_view_of(tmp_path / "release"), adversary_view_of(release)
    assert opened.group_of.tolist() == made.group_of.tolist()
    assert [each.codes.tolist() for each in opened.columns] == [each.codes.tolist() for each in made.columns]


@pytest.mark.parametrize("engine", ["local", "streaming"])
def test_groups_are_numbered_in_the_order_of_their_labels(engine: Any) -> None:
    seen = adversary_view_of(rt.publish(table(engine=engine), rt.KAnonymity(3)))
    shown = list(zip(*(each.codes.tolist() for each in seen.columns), strict=True))
    assert shown == sorted(shown)
    assert all(each.labels.to_list() == sorted(each.labels.to_list()) for each in seen.columns)
    assert seen.group_of.tolist() == list(range(len(shown)))


def test_everybody_is_placed_where_they_were_published() -> None:
    """The age and sex that arithmetic gives each row name its group."""
    release = rt.publish(table(), rt.KAnonymity(1), rt.Lattice(node={"age": 1, "sex": 0}))
    seen, rows = adversary_view_of(release), frame()
    expected = [
        ("(missing)" if age is None else f"[{age // 10 * 10}, {age // 10 * 10 + 10})", sex)
        for age, sex, _ in rows.rows()
    ]
    found = [tuple(seen.describe(group).values()) for group in seen.place(rows).tolist()]
    assert found == expected


MEANINGS = {
    "age": {"20s": Interval(20, 30), "25-34": Interval(25, 35), "?": Missing()},
    "sex": {"f": Value("f"), "any": Values(("f", "m"))},
}
COVERS = {
    "age": {"20s": range(20, 30), "25-34": range(25, 35), "?": [None]},
    "sex": {"f": ["f"], "any": ["f", "m"]},
}


@examples(60)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["20s", "25-34", "?"]), st.sampled_from(["f", "any"])), min_size=1, max_size=8
    ),
    people=st.lists(st.tuples(st.none() | st.integers(18, 36), st.sampled_from(["f", "m"])), min_size=1, max_size=8),
)
def test_where_labels_overlap_people_fit_what_trying_every_pair_finds(rows: list[Any], people: list[Any]) -> None:
    seen = AdversaryView.in_rows(
        pl.DataFrame(rows, schema={"age": pl.String, "sex": pl.String}, orient="row"), None, MEANINGS, []
    )
    listed = pl.DataFrame(people, schema={"age": pl.Int64, "sex": pl.String}, orient="row")
    cells = [tuple(seen.describe(cell).values()) for cell in range(len(seen.sizes))]
    fits = [
        [
            cell
            for cell, (age, sex) in enumerate(cells)
            if person[0] in COVERS["age"][age] and person[1] in COVERS["sex"][sex]
        ]
        for person in people
    ]
    pairs = list(zip(*(each.tolist() for each in seen.covering(listed)), strict=True))
    assert pairs == [(person, cell) for person, mine in enumerate(fits) for cell in mine]
    expected = [NOWHERE if not mine else mine[0] if len(mine) == 1 else SEVERAL for mine in fits]
    assert seen.place(listed).tolist() == expected
    whole = [mine for person, mine in zip(people, fits, strict=True) if person[0] is not None]
    if whole:
        counted = seen.with_population(listed.drop_nulls())
        assert counted.true_groups.extras["population"].tolist() == [
            sum(cell in mine for mine in whole) for cell in range(len(cells))
        ]


@pytest.mark.parametrize("target", [7, None, frame(3), [1, 2]])
def test_whatever_looks_at_releases_refuses_other_things_with_one_message(target: Any) -> None:
    calls = [
        lambda: adversary_view_of(target),
        lambda: attack(target),
        lambda: rt.assess(target, rt.KAnonymity(2)),
        lambda: beliefs_of(target, frame()),
        lambda: what_if(target, [], "a=flu"),
        lambda: Subject.of(target),
        lambda: watch(target, None, "0.9", 1),
    ]
    for call in calls:
        with pytest.raises(PolicyError, match="Expected a table, a draft, a release or the folder of one, but got a"):
            call()


def test_a_release_of_a_streamed_table_is_attacked_believed_and_watched_without_loading_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = rt.publish(table(engine="streaming"), rt.KAnonymity(3))
    assert isinstance(release.public.rows["data"], StoredRows)
    people = frame().drop_nulls("age")
    expected = [found.as_dict() for found in attack(rt.publish(table(), rt.KAnonymity(3)))]

    def refuse(self: StoredRows) -> pl.DataFrame:
        raise AssertionError(f"{self.path} was loaded")

    monkeypatch.setattr(StoredRows, "frame", refuse)
    assert [found.as_dict() for found in attack(release)] == expected
    assert beliefs_of(release, people)
    assert rt.assess(release.public, rt.KAnonymity(3)).holds
    assert watch(release, None, "0.999", 1).rows == 0
    assert Subject.of(release).explain(1).facts()
