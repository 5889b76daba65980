"""A control group made from the table itself: what a model knows about people in general is not called a leak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reticent.attacks import Findings, Inference, compare, hold_out
from reticent.baselines.datafly import Datafly
from reticent.definitions import DistinctLDiversity, KAnonymity, KMap, TCloseness
from reticent.errors import DataError, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import adversary_view_of, publish
from reticent.table import Hierarchy, Table

HIERARCHIES = {"age": Hierarchy.intervals([5, 10, 20], domain=(20, 79)), "zip": Hierarchy.masking(3)}


def population(rows: int, seed: int = 5) -> pl.DataFrame:
    """People whose income goes with their age, for everybody alike."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, rows)
    rich = random.random(rows) < np.where(age < 50, 0.1, 0.9)
    return pl.DataFrame(
        {
            "age": age,
            "zip": random.choice(["130", "131", "142", "148", "149", "250"], rows),
            "income": np.where(rich, "high", "low"),
        }
    )


def table_of(frame: pl.DataFrame, **options: Any) -> Table:
    return Table(frame, quasi=HIERARCHIES, sensitive="income", **options)


METHODS = [
    (Lattice(), KAnonymity(50)),
    (Mondrian(values="sets"), KAnonymity(100)),
    (Lattice(format="bucketize"), DistinctLDiversity(2) & TCloseness("0.45")),
    (Datafly(), KAnonymity(50)),
]


@pytest.mark.parametrize(("method", "definition"), METHODS, ids=["lattice", "mondrian", "bucketize", "datafly"])
def test_what_holds_for_everybody_is_no_leak_although_the_guesses_are_good(method: Any, definition: Any) -> None:
    """Against the most frequent value the model would seem to win; against people who were held out it does not."""
    frame = population(3000)
    table = table_of(frame)
    release = publish(table, definition, method)
    alone = Inference(frame).attack(adversary_view_of(release))
    assert alone.succeeds
    found = {after.adversary: after for _, after in compare(table, release)}
    after = found["inference"]
    assert after.share > 0.7
    assert after.baseline is not None
    assert after.baseline > 0.7
    assert after.excess[0] <= 0 <= after.excess[1]
    assert not after.succeeds
    assert "1,500 people who were held out of a release made in the same way" in after.knows
    assert "percentage points" in after.summary()


def test_small_groups_leak_about_their_members_only() -> None:
    random = np.random.default_rng(1)
    frame = population(1600).with_columns(income=pl.Series(random.choice(["low", "high"], 1600)))
    table = table_of(frame)
    _, after = compare(table, publish(table, KAnonymity(2), Mondrian(values="sets")))[-1]
    assert after.adversary == "inference"
    assert after.succeeds
    assert after.excess[0] > 0.1


def test_half_of_the_people_are_held_out_and_nobody_is_on_both_sides() -> None:
    frame = population(401).with_columns(income=pl.Series([str(number) for number in range(401)]))
    table = table_of(frame)
    trial = hold_out(table, publish(table, KAnonymity(3)))
    members, others = set(trial.members.frame["income"]), set(trial.held_out["income"])
    assert (len(members), len(others)) == (200, 201)
    assert not members & others
    assert int(trial.release.sizes.sum()) <= 200
    assert trial.release.groups.sizes.min() >= 3
    again = hold_out(table, publish(table, KAnonymity(3)))
    assert set(again.held_out["income"]) == others
    assert set(hold_out(table, publish(table, KAnonymity(3)), seed=1).held_out["income"]) != others


def test_people_with_several_rows_are_held_out_with_all_of_them() -> None:
    one = population(100).with_columns(person=pl.int_range(100))
    frame = pl.concat([one, one.with_columns(income=pl.lit("low"))])
    table = table_of(frame, key="person", unit="person")
    trial = hold_out(table, publish(table, KAnonymity(2)))
    inside, outside = set(trial.members.frame["person"]), set(trial.held_out["person"])
    assert (len(inside), len(outside)) == (50, 50)
    assert not inside & outside


def test_nothing_of_a_trial_reaches_the_ledger(tmp_path: Path) -> None:
    table = table_of(population(200), dataset="incomes")
    release = publish(table, KAnonymity(3), ledger=tmp_path / "ledger.sqlite")
    release.save(tmp_path / "release")
    size = (tmp_path / "ledger.sqlite").read_bytes()
    trial = hold_out(table, tmp_path / "release")
    assert trial.members.dataset is None
    assert (tmp_path / "ledger.sqlite").read_bytes() == size


def test_what_cannot_be_made_again_is_refused_and_compared_with_the_most_frequent_value() -> None:
    frame = population(300)
    table = table_of(frame)
    release = publish(table, KMap(3, population(2000, seed=9)))
    with pytest.raises(PolicyError, match=r"KMap.* cannot be repeated"):
        hold_out(table, release)
    after = next(each for _, each in compare(table, release) if each.adversary == "inference")
    assert "compared with always guessing" in after.knows
    with pytest.raises(PolicyError, match="at least two people"):
        hold_out(table_of(population(1)), publish(table, KAnonymity(3)))
    with pytest.raises(DataError, match="There is no release"):
        hold_out(table, "nowhere")


def test_of_people_with_several_rows_the_published_records_are_counted_and_called_so() -> None:
    one = population(100).with_columns(person=pl.int_range(100))
    table = table_of(pl.concat([one, one]), key="person", unit="person")
    for _, found in compare(table, publish(table, KAnonymity(2))):
        assert found.unit == "records" or found.people <= 100, str(found)
    homogeneity = next(
        found for _, found in compare(table, publish(table, KAnonymity(2))) if found.adversary == "homogeneity"
    )
    assert (homogeneity.people, homogeneity.unit) == (200, "records")


def test_sentences_keep_the_names_of_columns_and_have_no_zero_below_zero() -> None:
    found = Findings("homogeneity of HIV", "labels", "are found", 1, 1000, "", baseline=0.001)
    assert found.reservation.startswith("Homogeneity of HIV succeeds: ")
    assert found.card().title.startswith("Homogeneity of HIV ")
    nobody = Findings("singling out", "labels", "are found", 0, 1000, "", baseline=0.0000001)
    assert nobody.points == "+0.0 to +0.4"
