"""The methods AlphaBeta and Frapp of publish, and verify and query on what they make."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import textwrap
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from reticent import Cancelled, Context, Lattice, compare, preview
from reticent.cli.app import app
from reticent.definitions import KAnonymity
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.methods import randomize
from reticent.methods.randomize import AlphaBeta, Frapp, Series, frapp_plan, open_published, perturb, publish_to
from reticent.release import generate_keys, publish, verify
from reticent.release.canonical_json import readable
from reticent.table import Hierarchy, Table
from tests.methods.randomize.examples import scores_domain, scores_frame, scores_plan

VALUES = {"age": list(range(20, 40)), "nationality": ["British", "Indian", "American"], "score": list(range(81, 101))}


def _table(dataset: str | None = None) -> Table:
    return Table(scores_frame(), quasi=["age", "nationality"], sensitive="score", dataset=dataset)


def test_alpha_beta_is_a_method_of_publish_and_its_view_is_verified_and_queried(tmp_path):
    promise = BoundedBelief("1/200", "1/3")
    made = publish(
        _table("scores"), promise, method=AlphaBeta(domain=VALUES), ledger=tmp_path / "book", insecure_seed=1
    )
    assert made.certificate["claims"][0]["parameters"] == {"d": "1/200", "gamma": "1/3", "adversary": "independent"}
    assert made.reader.plan.worst_posterior == Fraction(1, 3)
    made.save(tmp_path / "view")
    assert verify(tmp_path / "view").holds
    done = CliRunner().invoke(app, ["query", str(tmp_path / "view"), "score < 3*age", "--json"], catch_exceptions=False)
    assert Fraction(json.loads(done.stdout)["value"]) == made.count("score < 3*age").value
    with pytest.raises(LedgerError):
        publish(_table("scores"), promise, method=AlphaBeta(domain=VALUES), ledger=tmp_path / "book")


def test_what_could_not_be_saved_is_refused_before_anything_is_recorded(tmp_path):
    # It once recorded the release, handed over to a pipeline of its own, and could then never be saved.
    book, promise = tmp_path / "book", BoundedBelief("1/200", "1/3")
    with pytest.raises(PolicyError, match="files must be one of csv, parquet"):
        publish(_table("scores"), promise, method=AlphaBeta(domain=VALUES), ledger=book, files="xml")
    with pytest.raises(PolicyError, match="files must be one of csv, parquet"):
        randomize.publish(scores_frame(), scores_plan(), dataset="scores", ledger=book, files="xml")
    publish(_table("scores"), promise, method=AlphaBeta(domain=VALUES), ledger=book)


def test_a_tampered_view_does_not_verify(tmp_path):
    made = publish(_table(), BoundedBelief("1/200", "1/3"), method=AlphaBeta(domain=VALUES), insecure_seed=1)
    made.save(tmp_path / "view")
    path = tmp_path / "view" / "public" / "certificate.json"
    path.write_text(path.read_text().replace('"gamma": "1/3"', '"gamma": "1/4"'))
    assert not verify(tmp_path / "view").holds


def test_declared_hierarchies_are_the_domain_and_others_are_refused():
    leaves = {name: Hierarchy.suppression(values) for name, values in VALUES.items()}
    made = publish(
        Table(scores_frame(), quasi=leaves), BoundedBelief("1/200", "1/3"), method=AlphaBeta(), insecure_seed=1
    )
    assert made.reader.domain.size == 1200
    with pytest.raises(PolicyError, match="from the data only"):
        publish(_table(), BoundedBelief("1/200", "1/3"), method=AlphaBeta())
    with pytest.raises(PolicyError, match="AlphaBeta cannot satisfy it"):
        publish(_table(), KAnonymity(2), method=AlphaBeta(domain=VALUES))


def test_frapp_is_a_method_of_publish_for_beliefs_about_records(tmp_path):
    made = publish(_table(), BoundedBelief("1/1200", "1/3", "record"), method=Frapp(domain=VALUES), insecure_seed=1)
    assert len(made.frame) == 6
    assert made.reader.plan.kept == Fraction(1, 3)
    made.save(tmp_path / "records")
    assert open_published(tmp_path / "records").count("score > 90") == made.count("score > 90")
    with pytest.raises(PolicyError, match="adversary='record'"):
        publish(_table(), BoundedBelief("1/1200", "1/3"), method=Frapp(domain=VALUES))


def test_a_signed_view_proves_its_origin_and_any_change_is_found(tmp_path):
    keys = generate_keys(tmp_path, "office")
    promise = BoundedBelief("1/200", "1/3")
    made = publish(
        _table(), promise, method=AlphaBeta(domain=VALUES), signing_key=keys.private, files="parquet", insecure_seed=1
    )
    made.save(tmp_path / "view")
    found = verify(tmp_path / "view", key=keys.public)
    assert found.holds
    assert found.signed
    manifest = tmp_path / "view" / "public" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"duplicates": "refuse"', '"duplicates": "dedupe"'))
    assert not verify(tmp_path / "view", key=keys.public).holds


def test_an_identifier_or_a_private_column_in_the_domain_is_refused():
    named = scores_frame().with_columns(name=pl.Series([f"p{row}" for row in range(6)]), note=pl.lit("x"))
    table = Table(named, quasi=["age", "nationality"], sensitive="score", identifiers=["name"], private=["note"])
    for column, values in {"name": [f"p{row}" for row in range(9)], "note": ["x", "y"]}.items():
        for method, promise in ((AlphaBeta, BoundedBelief("1/20000", "1/3")), (Frapp, RECORDS)):
            with pytest.raises(PolicyError, match=f"domain names the column '{column}'"):
                publish(table, promise, method=method(domain=VALUES | {column: values}), insecure_seed=1)


def test_an_entry_that_was_forged_into_an_unsigned_manifest_is_found(tmp_path):
    made = publish(_table(), BoundedBelief("1/200", "1/3"), method=AlphaBeta(domain=VALUES), insecure_seed=1)
    made.save(tmp_path / "view")
    assert verify(tmp_path / "view").holds
    public = tmp_path / "view" / "public"
    before = (public / "manifest.json").read_bytes()
    written = json.loads(before)
    forged = readable(written | {"details": written["details"] | {"approximation": "1/3"}})
    (public / "manifest.json").write_bytes(forged)
    certificate = (public / "certificate.json").read_text()
    old, new = (hashlib.sha256(each).hexdigest() for each in (before, forged))
    assert old in certificate
    (public / "certificate.json").write_text(certificate.replace(old, new))
    assert not verify(tmp_path / "view").holds


RECORDS = BoundedBelief("1/1200", "1/3", "record")


def _records(tmp_path, **options):
    return publish(_table("records"), RECORDS, method=Frapp(domain=VALUES), ledger=tmp_path / "book", **options)


@pytest.mark.parametrize("files", ["csv", "parquet"])
def test_perturbed_records_are_a_release_like_any_other(tmp_path, files):
    keys = generate_keys(tmp_path, "office")
    made = _records(tmp_path, signing_key=keys.private, files=files)
    assert made.certificate["claims"][0]["parameters"] == {"d": "1/1200", "gamma": "1/3", "adversary": "record"}
    assert made.certificate["randomness"]["releasable"]
    made.save(tmp_path / "records")
    found = verify(tmp_path / "records", key=keys.public)
    assert found.holds
    assert found.signed
    again = open_published(tmp_path / "records")
    assert again.frame.equals(made.frame)
    assert again.count("score < 3*age") == made.count("score < 3*age")
    with pytest.raises(LedgerError, match="released already"):
        _records(tmp_path)
    with pytest.raises(LedgerError, match="released already"):
        publish(
            _table("records"), BoundedBelief("1/200", "1/3"), method=AlphaBeta(domain=VALUES), ledger=tmp_path / "book"
        )


def test_what_changes_in_perturbed_records_is_found(tmp_path):
    def saved(name: str) -> Path:
        made = publish(_table(), RECORDS, method=Frapp(domain=VALUES), insecure_seed=1)
        return made.save(tmp_path / name) / "public"

    changes = {
        "records.csv": lambda text: text.replace("American", "Indian", 1),
        "manifest.json": lambda text: text.replace('"n": 6', '"n": 7'),
        "certificate.json": lambda text: text.replace('"releasable": false', '"releasable": true'),
        "STATEMENT.txt": lambda text: text.replace("at most", "far less than"),
    }
    for name, change in changes.items():
        folder = saved(name)
        before = (folder / name).read_text()
        (folder / name).write_text(change(before))
        assert change(before) != before
        assert not verify(folder.parent).holds
    folder = saved("kept")
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(manifest.replace('"kept": "1/3"', '"kept": "1/2"'))
    assert not verify(folder.parent).holds
    with pytest.raises(DataError, match="posterior"):
        open_published(folder)
    (folder / "manifest.json").write_text(manifest.replace('"layout": 4', '"layout": 1'))
    with pytest.raises(DataError, match="earlier version"):
        open_published(folder)
    (folder / "manifest.json").write_text(manifest)
    (folder / "notes.txt").write_text("not ours")
    assert "notes.txt is not part of the release" in verify(folder.parent).failures[0].detail


def test_records_perturbed_for_comparison_promise_nothing_and_cannot_be_saved(tmp_path):
    made = perturb(scores_frame(), frapp_plan(6, scores_domain(), 1, "1/3"), insecure_seed=1)
    with pytest.raises(PolicyError, match="promises nothing"):
        made.save(tmp_path / "records")
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(
    ("method", "d", "adversary"), [("AlphaBeta", "1/200", "independent"), ("Frapp", "1/1200", "record")]
)
def test_a_policy_publishes_verifies_and_queries_on_the_command_line(tmp_path, method, d, adversary):
    scores_frame().write_csv(tmp_path / "scores.csv")
    keys = generate_keys(tmp_path, "office")
    policy = f"""
        dataset = "scores"
        [data]
        source = "scores.csv"
        [roles]
        quasi = ["age", "nationality"]
        sensitive = ["score"]
        [[definition]]
        name = "BoundedBelief"
        d = "{d}"
        gamma = "1/3"
        adversary = "{adversary}"
        [method]
        name = "{method}"
        domain = {{ age = {{ from = 20, to = 39 }}, nationality = ["British", "Indian", "American"], score = {{ from = 81, to = 100 }} }}
        """
    (tmp_path / "policy.toml").write_text(textwrap.dedent(policy))

    def run(*words: object) -> dict:
        book = {"RETICENT_LEDGER": str(tmp_path / "book")}
        return json.loads(
            CliRunner().invoke(app, [*map(str, words), "--json"], env=book, catch_exceptions=False).stdout
        )

    out = tmp_path / "out"
    made = run("publish", tmp_path / "policy.toml", "-o", out, "--sign", keys.private)
    assert (made["ok"], made["worst_posterior"]) == (True, "1/3")
    assert run("verify", out, "--key", keys.public)["ok"]
    found = run("query", out, "score < 3*age and nationality = 'Indian'")
    assert found["domain_count"] == 183
    assert found["interval"][0] <= found["interval"][1]
    assert run("randomize", "estimate", out, "score < 3*age and nationality = 'Indian'")["value"] == found["value"]
    with pytest.raises(LedgerError, match="released already"):
        run("publish", tmp_path / "policy.toml", "-o", tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert run("report", out, "-o", tmp_path / "report.html")["ok"]
    assert "Holds" in (tmp_path / "report.html").read_text("utf-8")


def test_a_view_is_previewed_and_compared_like_any_release():
    promise = BoundedBelief("1/200", "1/3")
    found = preview(_table("scores"), promise, AlphaBeta(domain=VALUES), insecure_seed=1)
    assert (found.format, found.groups) == ("view", None)
    assert found.utility["expected_rows"] > 0
    assert found.frame.height == 0
    methods = [AlphaBeta(domain=VALUES), AlphaBeta(domain=VALUES, preset="max-utility"), Lattice()]
    rows = compare(_table(), promise, methods, insecure_seed=1).table
    assert rows["possible"].to_list() == [True, True, False]
    assert rows["groups"].null_count() == 3


def test_a_view_says_what_it_counts_and_counts_people_where_records_repeat(tmp_path):
    rows = pl.concat([scores_frame(), scores_frame().head(2), scores_frame().head(1)])
    table = Table(rows, quasi=["age", "nationality"], sensitive="score")
    promise = BoundedBelief("1/200", "1/3", "both")
    dedupe = AlphaBeta(domain=VALUES, duplicates="dedupe")
    distinct = publish(table, BoundedBelief("1/200", "1/3"), method=dedupe, insecure_seed=1)
    assert distinct.count("score > 90").counts == "distinct records"
    assert "distinct records" in distinct.count("score > 90").lines()[0]
    assert "people who agree in all columns count once" in distinct.public.form.words(distinct.public).what
    with pytest.raises(PolicyError, match="counts distinct tuples"):
        distinct.count("score > 90", "people")
    counted = publish(
        table, promise, method=AlphaBeta(domain=VALUES, duplicates="count", count=3), insecure_seed=1
    ).save(tmp_path / "view")
    found = CliRunner().invoke(app, ["query", str(counted), "score > 90", "--estimator", "people", "--json"])
    opened = open_published(counted)
    assert json.loads(found.stdout)["counts"] == "people"
    assert Fraction(json.loads(found.stdout)["value"]) == opened.rows_estimate("score > 90").value
    values = [
        publish(table, promise, AlphaBeta(domain=VALUES, duplicates="count", count=3), insecure_seed=seed)
        .count("true", "people")
        .value
        for seed in range(60)
    ]
    assert abs(sum(values) / 60 - 9) < 5 * math.sqrt(statistics.variance(map(float, values)) / 60)


def test_a_view_with_a_count_column_is_recorded_and_saved(tmp_path):
    rows = pl.concat([scores_frame(), scores_frame().head(2)])
    made = randomize.plan(n=8, domain=scores_domain(), k=1, gamma="1/2", adversary="both", count=2)
    view = randomize.publish(rows, made, dataset="scores", duplicates="count", ledger=tmp_path / "book")
    view.save(tmp_path / "view")
    assert verify(tmp_path / "view").holds
    assert open_published(tmp_path / "view").rows_estimate() == view.rows_estimate()


def test_drawing_reports_progress_and_stops_when_it_is_asked_to():
    events = []
    made = publish(
        _table(), BoundedBelief("1/200", "1/3"), AlphaBeta(domain=VALUES), context=Context(listen=events.append)
    )
    assert [(each.stage, each.done) for each in events if each.stage == "drawing"] == [("drawing", made.public.height)]
    with pytest.raises(Cancelled):
        publish(_table(), BoundedBelief("1/200", "1/3"), AlphaBeta(domain=VALUES), context=Context(stop=lambda: True))


def test_a_recorded_view_is_saved_as_it_was_published(tmp_path):
    made = randomize.publish(scores_frame(), scores_plan(), dataset="scores", ledger=tmp_path / "book")
    with pytest.raises(PolicyError, match="fixed at publication"):
        made.save(tmp_path / "view", files="parquet")
    made.save(tmp_path / "view")
    with Ledger(tmp_path / "book") as ledger:
        assert [(each.kind, each.status) for each in ledger.entries("scores")] == [("release", "given out")]


def test_a_view_that_cannot_be_saved_is_withdrawn(tmp_path):
    (tmp_path / "view").write_text("in the way")
    with pytest.raises(DataError, match="exists already"):
        publish_to(scores_frame(), scores_plan(), tmp_path / "view", dataset="scores", ledger=tmp_path / "book")
    with Ledger(tmp_path / "book") as ledger:
        assert [each.status for each in ledger.entries("scores")] == ["withdrawn"]
    publish_to(scores_frame(), scores_plan(), tmp_path / "other", dataset="scores", ledger=tmp_path / "book")


def test_a_series_keeps_its_state_in_the_transaction_that_records_a_view(tmp_path):
    book = tmp_path / "book"
    series = Series(randomize.plan(n=8, domain=scores_domain(), k=1, gamma="1/2", views=2))
    for index in (1, 2):
        series = series.publish(scores_frame(), "scores", ledger=book)
        with Ledger(book) as ledger:
            state = ledger.state("scores", "randomized views")
            assert len(ledger.entries("scores")) == index
        assert state.details == {"index": index, "views": 2}
        assert (state.follows is None) == (index == 1)
    told = series.views[-1].certificate["ledger"]
    assert "view 2 of 2 that were planned and judged together" in told["statement"]
    series.save(tmp_path / "series")
    folders = [tmp_path / "series" / f"view-{index}" for index in (1, 2)]
    assert all(verify(folder).holds for folder in folders)
    assert verify(folders).holds
    with pytest.raises(LedgerError, match="released already"):
        publish(_table("scores"), BoundedBelief("1/200", "1/3"), method=AlphaBeta(domain=VALUES), ledger=book)
