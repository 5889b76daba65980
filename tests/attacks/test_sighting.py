"""Randomized releases are attacked too: who looks records up in them is stopped by a bound on belief, and by nothing less."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from reticent.attacks import Homogeneity, Sighting, attack, compare, hold_out, wilson
from reticent.cli.app import app
from reticent.definitions import KAnonymity
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize import AlphaBeta, Frapp, Series, plan
from reticent.release import publish
from reticent.reports import write_report
from reticent.table import Table

DOMAIN = {"age": range(20, 60), "zip": ["1", "2", "3", "4", "5"], "ill": ["flu", "gout", "HIV"]}
SIZE = 40 * 5 * 3


def frame(rows: int = 240) -> pl.DataFrame:
    random = np.random.default_rng(8)
    chosen = random.permutation(SIZE)[:rows]
    return pl.DataFrame(
        {
            "age": 20 + chosen // 15,
            "zip": [str(1 + each // 3 % 5) for each in chosen],
            "ill": [DOMAIN["ill"][each % 3] for each in chosen],  # type: ignore[index]  # a list
        }
    )


TABLE = Table(frame(), quasi=["age", "zip"], sensitive="ill")
WEAK = {
    "view": (BoundedBelief("1/10", "19/20"), AlphaBeta(domain=DOMAIN)),
    "records": (BoundedBelief("1/600", "9/10", "record"), Frapp(domain=DOMAIN)),
}
SAFE = {
    "view": (BoundedBelief("1/10", "2/5"), AlphaBeta(domain=DOMAIN)),
    "records": (BoundedBelief("1/600", "2/5", "record"), Frapp(domain=DOMAIN)),
}


def made(kinds: dict[str, tuple[Any, Any]], kind: str) -> Any:
    definition, method = kinds[kind]
    return publish(TABLE, definition, method, insecure_seed=4)


@pytest.mark.parametrize("kind", WEAK)
def test_a_bound_on_belief_stops_who_looks_records_up(kind: str, tmp_path: Path) -> None:
    weak, safe = made(WEAK, kind), made(SAFE, kind)
    weak.save(tmp_path / "weak")
    safe.save(tmp_path / "safe")
    for strong, weaker in ((safe, weak), (tmp_path / "safe", tmp_path / "weak")):
        won, lost = attack(weaker, Sighting(TABLE.frame))[0], attack(strong, Sighting(TABLE.frame))[0]
        assert won.succeeds
        assert won.interval is not None
        assert won.interval[0] > won.baseline  # type: ignore[operator]  # with a list there is one
        assert won.share > 0.4
        assert (lost.hits, lost.succeeds) == (0, False)
        assert Fraction(lost.details["belief_shown"]) <= Fraction(2, 5) < Fraction(won.details["belief_shown"])


@pytest.mark.parametrize("kind", WEAK)
def test_without_a_list_all_that_is_shown_is_believed_or_not(kind: str) -> None:
    weak, safe = made(WEAK, kind), made(SAFE, kind)
    assert attack(weak)[0].hits == weak.frame.height
    assert attack(safe)[0].hits == 0
    assert attack(safe)[0].people == safe.frame.height


def test_the_bound_is_met_exactly_at_the_promise_and_not_below() -> None:
    """Whoever holds a record for 1/10 likely before, gives it 2/5 after it was seen: not more, and less would be hit."""
    safe = made(SAFE, "view")
    found = [attack(safe, Sighting(TABLE.frame, threshold=each))[0] for each in ("2/5", "39/100")]
    assert found[0].details["belief_shown"] == "2/5"
    assert found[0].hits == 0
    assert found[1].hits == found[1].details["shown"] > 0
    sure = attack(safe, Sighting(TABLE.frame, prior="1/2"))[0]
    assert sure.hits > 0


def test_records_are_counted_one_by_one() -> None:
    """By hand: which rows of the table the view has, and Bayes for each."""
    weak = made(WEAK, "view")
    shown = set(weak.frame.rows())
    prior, s, beta = Fraction(1, 10), weak.reader.rates.s, weak.reader.rates.beta
    expected = 0
    for row in TABLE.frame.rows():
        one, other = (s, beta) if row in shown else (1 - s, 1 - beta)
        expected += prior * one / (prior * one + (1 - prior) * other) > Fraction(1, 2)
    assert attack(weak, Sighting(TABLE.frame))[0].hits == expected


@pytest.mark.parametrize("kind", WEAK)
def test_among_records_that_are_not_in_the_data_as_many_are_seen_as_the_baseline_says(kind: str) -> None:
    columns = [pl.DataFrame({name: list(values)}) for name, values in DOMAIN.items()]
    everything = columns[0].join(columns[1], how="cross").join(columns[2], how="cross")
    absent = everything.join(TABLE.frame, on=list(DOMAIN), how="anti")
    definition, method = WEAK[kind]
    found = [attack(publish(TABLE, definition, method, insecure_seed=seed), Sighting(absent))[0] for seed in range(40)]
    low, high = wilson(sum(each.hits for each in found), sum(each.people for each in found))
    assert low <= found[0].baseline <= high  # type: ignore[operator]  # with a list there is one
    assert sum(each.succeeds for each in found) <= 6  # by luck: about one in forty


@pytest.mark.parametrize("kind", WEAK)
def test_with_the_table_a_model_is_trained_on_what_is_shown(kind: str) -> None:
    found = {after.adversary: (before, after) for before, after in compare(TABLE, made(WEAK, kind))}
    assert list(found) == ["sighting", "inference"]
    before, after = found["sighting"]
    assert before is not None
    assert before.share == 1.0 > after.share
    assert (found["inference"][1].baseline_interval is not None) == (kind == "records")


def test_what_looks_at_groups_is_refused_where_there_are_none_and_the_other_way_round() -> None:
    with pytest.raises(PolicyError, match="has no groups"):
        attack(made(WEAK, "view"), Homogeneity())
    with pytest.raises(PolicyError, match="is not a randomized release"):
        attack(publish(TABLE, KAnonymity(2)), Sighting(TABLE.frame))
    with pytest.raises(DataError, match="no column 'zip'"):
        attack(made(WEAK, "view"), Sighting(TABLE.frame.drop("zip")))
    with pytest.raises(PolicyError, match="cannot serve as a control group"):
        hold_out(TABLE, made(WEAK, "view"))


def test_a_later_view_of_a_series_is_refused() -> None:
    series = Series(plan(n=240, domain=DOMAIN, d="1/10", gamma="1/2", views=2))
    series = series.publish(TABLE.frame, insecure_seed=1)
    later = series.publish(TABLE.frame, insecure_seed=2).views[-1]
    with pytest.raises(PolicyError, match="later views of a series"):
        attack(later, Sighting(TABLE.frame))


@pytest.mark.parametrize("kind", WEAK)
def test_without_a_list_the_example_is_a_record_that_is_shown(kind: str) -> None:
    release = made(WEAK, kind)
    (found,) = attack(release)
    first = ", ".join(str(value) for value in release.frame.sort(release.frame.columns).row(0))
    assert found.example.startswith(f"The record {first} is shown")


@pytest.mark.parametrize("target", [7, None, TABLE.frame])
def test_what_is_neither_a_table_nor_a_release_is_refused(target: object) -> None:
    with pytest.raises(PolicyError, match="Expected a table, a draft, a release or the folder of one"):
        attack(target)


def test_the_command_attacks_a_view_and_its_report_is_written(tmp_path: Path) -> None:
    made(WEAK, "view").save(tmp_path / "view")
    done = CliRunner().invoke(app, ["attack", str(tmp_path / "view")], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "Sighting knows whole records" in done.stdout
    written = write_report(tmp_path / "view", tmp_path / "report.html", public=True).read_text("utf-8")
    assert "BoundedBelief(d=1/10, gamma=19/20, adversary=independent)" in written
