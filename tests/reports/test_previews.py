"""A preview is what publishing gives, without a record; a comparison is previews side by side."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.demo import hospital, hospital_policy_text
from reticent.errors import PolicyError
from reticent.ledger import Ledger


@pytest.fixture
def table() -> rt.Table:
    frame = pl.DataFrame(
        {
            "age": [20 + (7 * i) % 40 for i in range(120)],
            "town": [("Aix", "Apt", "Arles")[i % 3] for i in range(120)],
            "illness": [("flu", "cold", "asthma", "ulcer")[(i * i) % 4] for i in range(120)],
        }
    )
    age = rt.Hierarchy.intervals([5, 10, 20], domain=(0, 99))
    return rt.Table(frame, quasi={"age": age, "town": None}, sensitive="illness", dataset="wards")


@pytest.fixture
def never_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A place for the ledger, and a failure of the test if anything opens a ledger or any SQLite file."""
    place = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("RETICENT_LEDGER", str(place))

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("the ledger was opened")

    monkeypatch.setattr(Ledger, "__init__", opened)
    monkeypatch.setattr(sqlite3, "connect", opened)
    return place


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    hospital(400).write_csv(tmp_path / "hospital.csv")
    (tmp_path / "policy.toml").write_text(hospital_policy_text().replace("report = true", "report = false"))
    return tmp_path / "policy.toml"


def call(*arguments: object) -> dict[str, object]:
    done = CliRunner().invoke(app, [str(each) for each in (*arguments, "--json")])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "method", [rt.Lattice(suppression="0.05"), rt.Mondrian(values="sets"), rt.Datafly(suppression="0.05")]
)
def test_a_preview_is_what_is_published_then(table, method, tmp_path):
    found = rt.preview(table, rt.KAnonymity(4), method)
    release = rt.publish(table, rt.KAnonymity(4), method, ledger=tmp_path / "ledger.sqlite")
    assert dict(found.utility) == dict(release.utility)
    assert found.groups.sizes.tolist() == release.groups.sizes.tolist()
    assert found.frame.equals(release.public.sample(20))
    assert found.frame.join(release.frame, on=found.frame.columns, how="anti", nulls_equal=True).is_empty()
    assert found.rows + found.suppressed == 120
    assert found.method == release.manifest.method


def test_no_ledger_is_opened_and_no_file_is_left(table, never_opened, tmp_path):
    before = set(tmp_path.iterdir())
    found = rt.preview(table, rt.KAnonymity(3))
    assert found.attacks
    assert not never_opened.exists()
    assert set(tmp_path.iterdir()) == before


def test_a_preview_cannot_be_saved_and_has_no_certificate(table):
    found = rt.preview(table, rt.KAnonymity(3))
    for name in ("save", "certificate", "entry"):
        assert not hasattr(found, name)


def test_the_name_of_the_table_is_left_as_it_is(table):
    rt.preview(table, rt.KAnonymity(3))
    assert table.dataset == "wards"


def test_the_loss_is_the_mean_of_the_columns_losses(table):
    found = rt.preview(table, rt.KAnonymity(4), rt.Lattice())
    assert list(found.loss_by_column) == ["age", "town"]
    assert sum(found.loss_by_column.values()) / 2 == pytest.approx(found.utility["loss"])


def test_what_is_refused_by_publish_is_refused_here(table):
    with pytest.raises(rt.Infeasible):
        rt.preview(table, rt.KAnonymity(500))
    with pytest.raises(PolicyError, match="a Table"):
        rt.preview([1, 2], rt.KAnonymity(5))


def test_a_comparison_has_one_row_a_combination(table, never_opened):
    wanted = [rt.KAnonymity(3), rt.KAnonymity(6)]
    methods = [rt.Lattice(), rt.Mondrian(values="sets"), rt.Datafly()]
    found = rt.compare(table, wanted, methods=methods)
    assert found.table.height == 6
    assert found.table["method"].to_list() == ["Lattice", "Mondrian", "Datafly"] * 2
    assert found.table["definition"].to_list() == [str(each) for each in wanted for _ in methods]
    assert found.table["smallest"].min() >= 3
    losses = found.table["loss"].to_list()
    # The exact search is never worse than the greedy one; asking for more never costs less.
    assert losses[0] <= losses[2]
    assert losses[0] <= losses[3]
    assert [each.utility["loss"] for each in found.previews] == losses


def test_what_is_not_possible_keeps_its_row_and_says_why(table):
    found = rt.compare(table, [rt.KAnonymity(500), rt.KAnonymity(3)], methods=[rt.Lattice()], attacks=False)
    assert found.table["possible"].to_list() == [False, True]
    assert "500" in found.table["problem"][0]
    assert found.table["loss"][0] is None
    assert found.previews[0] is None
    assert found.table["succeeding"].null_count() == 2


def test_a_comparison_counts_the_rows_once(table, monkeypatch):
    from reticent.engine.local import LocalEngine

    counted = []
    count = LocalEngine.count
    monkeypatch.setattr(
        LocalEngine, "count", lambda self, *args, **more: counted.append(1) or count(self, *args, **more)
    )
    rt.compare(table, [rt.KAnonymity(k) for k in (2, 3, 4)], methods=[rt.Lattice(), rt.Datafly()], attacks=False)
    assert len(counted) == 1


def test_nothing_to_compare_is_refused(table):
    with pytest.raises(PolicyError, match="at least one definition and one method"):
        rt.compare(table, [], methods=[rt.Lattice()])


def test_the_command_previews_without_a_record(policy, never_opened):
    found = call("preview", policy, "--no-attacks")
    assert found["recorded"] is False
    assert found["utility"]["loss"] > 0
    assert found["loss_by_column"].keys() == {"age", "sex", "postcode", "nationality", "admitted"}
    assert len(found["frame"]) == 20
    assert not never_opened.exists()


def test_a_dry_run_of_publish_is_the_preview(policy, never_opened):
    shown = call("preview", policy, "--no-attacks", "--suppression", "0.02")
    dry = call("publish", policy, "--dry-run", "--suppression", "0.02", "-o", policy.parent / "release")
    assert dry == shown
    assert not (policy.parent / "release").exists()


def test_the_command_compares_methods(policy, never_opened):
    found = call("preview", policy, "--compare", "--no-attacks")
    assert [row["method"] for row in found["compared"]][:1] == ["Lattice"]
    assert {"Mondrian", "Datafly"} <= {row["method"] for row in found["compared"]}


def test_people_get_tables_of_eighty_columns(policy, never_opened):
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["preview", str(policy), "--compare"])
    assert done.exit_code == 0, done.output
    assert "Nothing was recorded" in done.output
    assert "given up" in done.output
    assert max(map(len, done.output.splitlines())) <= 100


def test_what_k_costs_is_drawn_for_every_method(table, tmp_path):
    """Utility against k for Bang, Mondrian, an R+-tree and Lattice (004)."""
    methods = [
        rt.Bang(minimum=2),
        rt.Mondrian(values="ranges"),
        rt.Mondrian(values="sets"),
        rt.RPlusTree(2),
        rt.Lattice(),
    ]
    found = rt.compare(table, [rt.KAnonymity(k) for k in (2, 5, 40)], methods=methods, attacks=False)
    drawn = found.chart(tmp_path / "loss.svg").read_text("utf-8")
    for name in ("Bang", "Mondrian (values=ranges)", "Mondrian (values=sets)", "RPlusTree", "Lattice"):
        assert f">{name}</text>" in drawn
    told = re.findall(r"<title>Bang, k = ([\d,]+): ([\d.]+)</title>", drawn)
    losses = found.table.filter(pl.col("method") == "Bang").select("loss").to_series().to_list()
    assert [(k, float(value)) for k, value in told] == [
        (k, float(f"{loss:.4g}")) for k, loss in zip(("2", "5", "40"), losses, strict=True)
    ]
    assert found.chart(tmp_path / "kl.png", "kl").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("ks", "name", "measure", "said"),
    [
        ((2, 5), "loss.pdf", "loss", "one of .svg, .png"),
        ((2, 5), "loss.svg", "los", "Did you mean 'loss'"),
        ((2,), "loss.svg", "loss", "two or more different k"),
        ((2, 10**6), "loss.svg", "loss", "two or more different k"),
    ],
)
def test_a_chart_that_cannot_be_drawn_says_what_it_needs(ks, name, measure, said, table, tmp_path):
    found = rt.compare(table, [rt.KAnonymity(k) for k in ks], methods=[rt.Bang(minimum=2)], attacks=False)
    with pytest.raises(rt.PolicyError, match=said):
        found.chart(tmp_path / name, measure)
    assert not list(tmp_path.iterdir())
