"""The method where none is named: drafted, compared, and the cheapest taken; the comparison stays with the steward."""

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.base.context import Context
from reticent.definitions import KAnonymity
from reticent.errors import Infeasible, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import Cheapest, default_method, methods_compared, publish
from reticent.release import cheapest_method as choosing
from reticent.reports import preview
from reticent.table import Hierarchy, Table


def table(rows: int = 400, quasi: int = 4, **more: Any) -> Table:
    """People with a few independent attributes, which full-domain generalization has to give up."""
    draw = random.Random(1)
    frame = pl.DataFrame(
        {
            **{f"q{number}": [draw.randrange(12) for _ in range(rows)] for number in range(quasi)},
            "secret": [draw.choice(["flu", "cold", "ulcer"]) for _ in range(rows)],
        }
    )
    ladder = {f"q{number}": Hierarchy.intervals(widths=[3, 6], origin=0, domain=(0, 12)) for number in range(quasi)}
    return Table(frame, quasi=ladder, sensitive="secret", **more)


def tidy() -> Table:
    """People who look alike already."""
    frame = pl.DataFrame({"sex": ["f", "m"] * 50, "secret": ["a", "b", "c", "d"] * 25})
    return Table(frame, quasi={"sex": Hierarchy.suppression()}, sensitive="secret")


def test_without_a_method_the_cheaper_of_full_domain_and_local_recoding_is_published() -> None:
    release = publish(table(), KAnonymity(5))
    found = Cheapest(
        (
            Lattice(),
            Mondrian(values="ranges"),
        )
    ).compared(table(), KAnonymity(5))
    losses = {each.name: each.loss or 0.0 for each in found.costs}
    assert release.manifest.method["name"] == "Mondrian"
    assert release.utility["loss"] <= min(losses.values())
    assert losses["Mondrian"] < losses["Lattice"]


def test_full_domain_recoding_wins_where_it_costs_nothing_more() -> None:
    assert publish(tidy(), KAnonymity(5)).manifest.method["name"] == "Lattice"


def test_full_domain_recoding_loses_beyond_its_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Cheapest(
        (
            Lattice(),
            Mondrian(values="ranges"),
        )
    ).compared(table(), KAnonymity(5))
    assert found.best.name == "Mondrian"
    assert found.costs[0].uniform
    assert not found.costs[1].uniform
    monkeypatch.setattr(choosing, "_MARGIN", 1.0)
    assert (
        Cheapest(
            (
                Lattice(),
                Mondrian(values="ranges"),
            )
        )
        .compared(table(), KAnonymity(5))
        .best.name
        == "Lattice"
    )


def test_the_public_side_names_the_method_and_not_the_comparison(tmp_path: Path) -> None:
    release = publish(table(), KAnonymity(5))
    release.save(tmp_path / "release")
    public = "\n".join(file.read_text() for file in sorted((tmp_path / "release" / "public").iterdir()))
    assert '"Mondrian"' in public
    assert "Lattice" not in public
    assert "compared" not in public
    kept = json.loads((tmp_path / "release" / "private" / "search.json").read_text())
    assert [each["method"]["name"] for each in kept["compared"]["methods"]][:2] == ["Lattice", "Mondrian"]
    assert any("chosen by looking at the data" in risk for risk in release.certificate["residual_risks"])


def test_python_and_a_policy_take_the_same_method_with_the_same_parameters() -> None:
    plain = default_method(table(), KAnonymity(5))
    assert isinstance(plain, Cheapest)
    assert {str(each.describe().get("suppression", "0")) for each in plain.candidates} == {"0"}
    allowed = default_method(table(), KAnonymity(5), {"suppression": "0.05"})
    assert isinstance(allowed, Cheapest)
    assert {str(each.describe()["suppression"]) for each in allowed.candidates} == {"1/20"}


def test_a_parameter_that_one_method_has_rules_the_others_out() -> None:
    assert default_method(table(), KAnonymity(5), {"objective": "discernibility"}) == Lattice(
        objective="discernibility"
    )
    local = default_method(table(), KAnonymity(5), {"values": "hierarchy"})
    assert isinstance(local, Cheapest)
    assert {type(each) for each in local.candidates} == {Mondrian}
    with pytest.raises(PolicyError, match=r"no parameter 'supression'.*suppression"):
        default_method(table(), KAnonymity(5), {"supression": 0})


def test_a_large_table_is_compared_on_a_sample_and_published_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MOST_ROWS", 200)
    release = publish(table(), KAnonymity(5))
    compared = release.private.search["compared"]
    assert (compared["rows"], compared["total"]) == (200, 400)
    assert release.public.height == 400


def test_methods_are_not_tried_on_columns_that_are_published_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """They cost the same whatever the method, and may be long texts."""
    tried: list[Table] = []
    draft = Lattice.draft

    def watched(method: Lattice, given: Table, *arguments: Any) -> Any:
        tried.append(given)
        return draft(method, given, *arguments)

    monkeypatch.setattr(choosing, "MOST_ROWS", 200)
    monkeypatch.setattr(Lattice, "draft", watched)
    whole = table()
    noted = Table(
        whole.frame.with_columns(note=pl.lit("x")),
        quasi=whole.quasi,
        sensitive=whole.sensitive,
        declared={"note": "internal"},
    )
    assert "note" in publish(noted, KAnonymity(5)).frame.columns
    assert tried[0].rows == 200
    assert "note" not in tried[0].frame.columns


def test_too_many_generalizations_are_not_searched_beside_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_MOST_NODES", 10)
    found = Cheapest(
        (
            Lattice(),
            Mondrian(values="ranges"),
        )
    ).compared(table(), KAnonymity(5))
    assert found.costs[0].problem == "256 possible generalizations are too many to search."
    assert Cheapest((Lattice(),)).compared(table(), KAnonymity(5)).best.name == "Lattice"


def test_where_no_method_is_possible_the_first_ones_error_is_told() -> None:
    with pytest.raises(Infeasible) as first:
        Lattice().draft(table(), KAnonymity(401))
    with pytest.raises(Infeasible) as found:
        publish(table(), KAnonymity(401))
    assert str(found.value) == str(first.value)


def test_a_slow_way_to_choose_cuts_is_tried_on_small_tables_only() -> None:
    def splits(rows: int) -> set[str]:
        tried = default_method(table(rows), KAnonymity(5))
        assert isinstance(tried, Cheapest)
        return {each.split for each in tried.candidates if isinstance(each, Mondrian)}

    assert splits(400) == {"span", "loss"}
    assert splits(70_000) == {"span"}


def test_a_choice_from_nothing_is_refused() -> None:
    with pytest.raises(PolicyError, match="at least one method"):
        Cheapest(())


def test_a_method_that_was_made_is_shown_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    made = preview(table(), KAnonymity(5), Mondrian(values="ranges"))
    found = methods_compared(table(), KAnonymity(5), made.cost, Context())
    assert found is not None
    assert found["methods"][found["chosen"]]["loss"] == made.utility["loss"]
    assert [each["method"]["name"] for each in found["methods"]] == ["Mondrian", "Lattice", "Mondrian", "Bang"]
    monkeypatch.setattr(choosing, "FEW_ROWS", 100)
    sampled = methods_compared(table(), KAnonymity(5), made.cost, Context())
    assert sampled is not None
    assert sampled["rows"] <= 101
    assert sampled["methods"][0]["loss"] > made.utility["loss"]


def test_a_publication_drafts_no_other_method_where_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing._Tried, "of", None)
    assert "compared" not in publish(table(), KAnonymity(5), Mondrian(values="ranges")).private.search


def test_mondrian_by_itself_shows_values_as_the_default_does() -> None:
    """One default: whoever names Mondrian and whoever names no method see the same labels where Mondrian is taken."""
    found = default_method(table(), KAnonymity(5))
    assert isinstance(found, Cheapest)
    shown = {each.values for each in found.candidates if isinstance(each, Mondrian)}
    assert shown == {Mondrian().values} == {"ranges"}
    chosen = publish(table(), KAnonymity(5))
    assert chosen.manifest.method["name"] == "Mondrian"
    named = publish(table(), KAnonymity(5), Mondrian(split=chosen.manifest.method["split"]))
    assert named.frame.equals(chosen.frame)
