"""The format ``cells``: what is certified of starred cells, how damage is told, and the whole way of such a release."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.errors import DataError
from reticent.release import adversary_view_of, open_public
from reticent.release.manifest import Manifest
from reticent.reports import write_report
from reticent.table import Values
from tests.seams.walk import command, full_walk


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "own.sqlite"))


def people(many: int = 90) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + (7 * i) % 11 for i in range(many)],
            "town": [("Aix", "Apt", "Arles")[(i // 4) % 3] for i in range(many)],
            "illness": [("flu", "cold", "asthma", "ulcer")[(i * i + i // 3) % 4] for i in range(many)],
        }
    )


def table(frame: pl.DataFrame | None = None, **more: object) -> rt.Table:
    frame = people() if frame is None else frame
    return rt.Table(frame, quasi=["age", "town"], sensitive="illness", **{"dataset": "wards", **more})  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    release = rt.publish(table(), rt.KAnonymity(4) & rt.DistinctLDiversity(2), method=rt.Suppress())
    return release.save(tmp_path / "release")


def test_the_whole_way_of_starred_cells(tmp_path):
    walked = full_walk(
        table(),
        rt.KAnonymity(4) & rt.DistinctLDiversity(2),
        rt.Suppress(weights={"town": 2}),
        tmp_path,
        condition="age < 25 and illness = 'flu'",
        truth=float(people().filter(pl.col("age") < 25, pl.col("illness") == "flu").height),
        other=table(people(60)),
        people=people(),
    )
    assert walked.release.format == "cells"
    assert "read as a symbol of its own" in json.dumps([walked.release.certificate, _texts(walked.folder / "public")])


def _texts(folder: Path) -> list[str]:
    return [path.read_text("utf-8") for path in sorted(folder.iterdir()) if path.suffix in (".md", ".txt", ".json")]


def checked(folder: Path, change: Callable[[Manifest], Manifest]) -> str:
    """What the format says about a release whose manifest was changed."""
    side = open_public(folder)
    with pytest.raises(DataError) as caught:
        side.form.check(replace(side, manifest=change(side.manifest)))
    return str(caught.value)


def test_the_details_state_the_reading_and_a_wildcard_reading_is_refused_by_name(folder):
    assert open_public(folder).manifest.details == {"reading": "own symbol"}
    for forged in ({"reading": "wildcard"}, {}, {"reading": "own symbol", "k": 3}):
        said = checked(folder, lambda manifest, forged=forged: replace(manifest, details=forged))
        assert "Stars that are read as wildcards are refused" in said
    path = folder / "public" / "manifest.json"
    path.write_text(path.read_text("utf-8").replace("own symbol", "wildcard"), "utf-8")
    assert not rt.verify(folder).holds


def test_a_label_that_is_neither_value_nor_star_is_refused(folder):
    def listed(manifest: Manifest) -> Manifest:
        age, *others = manifest.columns
        labels = {**age.labels, "*": Values((20, 21))}
        return replace(manifest, columns=(replace(age, labels=labels), *others))

    assert "a label is a value, the missing value or a star" in checked(folder, listed)


def test_a_row_whose_star_is_taken_away_breaks_the_promise(folder):
    """Whoever puts the true value back leaves a class of one, which verify finds."""
    path = folder / "public" / "data.csv"
    shown = pl.read_csv(path, infer_schema=False)
    assert (shown["age"] == "*").any()
    place = int((shown["age"] == "*").arg_max() or 0)
    known = next(age for age in shown["age"] if age != "*")
    changed = shown.with_columns(
        age=pl.when(pl.int_range(pl.len()) == place).then(pl.lit(known)).otherwise("age"),
        town=pl.when(pl.int_range(pl.len()) == place).then(pl.lit("*")).otherwise("town"),
    )
    changed.write_csv(path)
    found = rt.verify(folder)
    assert not found.holds


def test_counts_have_certain_bounds_around_the_truth(folder):
    truth = people()
    side = open_public(folder)
    for condition, expected in (
        ("age = 20", truth.filter(pl.col("age") == 20).height),
        ("town = 'Aix'", truth.filter(pl.col("town") == "Aix").height),
        (
            "age between 22 and 26 and town <> 'Apt'",
            truth.filter(pl.col("age").is_between(22, 26), pl.col("town") != "Apt").height,
        ),
        ("illness = 'flu'", truth.filter(pl.col("illness") == "flu").height),
    ):
        found = side.count(condition)
        assert found.bounds[0] <= expected <= found.bounds[1]
        assert found.bounds[0] <= found.value <= found.bounds[1]


def test_everybody_fits_the_class_that_she_is_in(folder):
    seen = adversary_view_of(folder)
    asked, _ = seen.covering(people().select("age", "town"))
    fitting = Counter(asked.tolist())
    assert set(fitting) == set(range(people().height))
    assert int(seen.sizes.sum()) == people().height


def test_later_rows_are_starred_as_rows_with_their_values_were(folder):
    later = people(30)
    told = rt.apply(folder, later)
    assert told.height <= 30
    shown = {
        tuple(row)
        for row in pl.read_csv(folder / "public" / "data.csv", infer_schema=False).select("age", "town").rows()
    }
    assert {tuple(row) for row in told.select("age", "town").rows()} <= shown


def test_a_policy_names_method_weights_and_kept_columns(tmp_path):
    people().write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(
        '[data]\nsource = "people.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = "illness"\n'
        '[[definition]]\nname = "KAnonymity"\nk = 4\n[[definition]]\nname = "KAnonymity"\nk = 20\nquasi = ["town"]\n'
        '[method]\nname = "Suppress"\nkeep = ["town"]\nweights = { age = "1/2" }\n',
        "utf-8",
    )
    target = tmp_path / "release"
    done = command("publish", tmp_path / "policy.toml", "-o", target)
    assert done["ok"]
    assert command("verify", target)["holds"]
    assert command("query", target, "town = 'Aix'")["bounds"][0] == people().filter(pl.col("town") == "Aix").height
    assert command("attack", target)["ok"] is not None
    manifest = json.loads((target / "public" / "manifest.json").read_text("utf-8"))
    assert manifest["method"] == {"name": "Suppress", "weights": {"age": "1/2"}, "keep": ["town"]}
    page = tmp_path / "report.html"
    write_report(target, page)
    text = page.read_text("utf-8")
    assert "What was hidden beside the least possible" in text
    assert "Hidden cells by column" in text
    write_report(target, page, public=True)
    assert "beside the least possible" not in page.read_text("utf-8")


def test_preview_and_compare_take_it(tmp_path):
    found = rt.preview(table(), rt.KAnonymity(4), method=rt.Suppress())
    assert found.utility["loss"] > 0
    compared = rt.compare(table(), [rt.KAnonymity(4)], methods=[rt.Suppress(), rt.Mondrian(values="sets")]).table
    assert compared.height == 2
    assert not (tmp_path / "own.sqlite").exists()


def test_a_wrong_setting_in_a_policy_points_at_its_line(tmp_path):
    people().write_csv(tmp_path / "people.csv")
    text = (
        '[data]\nsource = "people.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = "illness"\n'
        '[[definition]]\nname = "KAnonymity"\nk = 4\n[method]\nname = "Suppress"\nalgorithm = "best"\n'
    )
    (tmp_path / "policy.toml").write_text(text, "utf-8")
    arguments = ["publish", str(tmp_path / "policy.toml"), "-o", str(tmp_path / "release"), "--json"]
    caught = CliRunner().invoke(app, arguments).exception
    assert isinstance(caught, rt.PolicyError)
    assert "policy.toml:11:1: Suppress: algorithm must be one of auto, forest, factor, patterns" in str(caught)
    assert not (tmp_path / "release").exists()
