"""The methods AlphaBeta and Frapp of publish, and verify and query on what they make."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
import typer
from typer.testing import CliRunner

from reticent.cli import query as query_command
from reticent.data import Hierarchy, Table
from reticent.definitions import KAnonymity
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import LedgerError, PolicyError
from reticent.randomize import AlphaBeta, Frapp, open_published, plan
from reticent.randomize import publish as publish_view
from reticent.release import generate_keys, publish, verify
from tests.randomize.examples import scores_domain, scores_frame

VALUES = {"age": list(range(20, 40)), "nationality": ["British", "Indian", "American"], "score": list(range(81, 101))}


def _table(dataset: str | None = None) -> Table:
    return Table(scores_frame(), quasi=["age", "nationality"], sensitive="score", dataset=dataset)


def test_alpha_beta_is_a_method_of_publish_and_its_view_is_verified_and_queried(tmp_path):
    promise = BoundedBelief("1/200", "1/3")
    made = publish(
        _table("scores"), promise, method=AlphaBeta(domain=VALUES), ledger=tmp_path / "book", insecure_seed=1
    )
    assert made.certificate["claims"][0]["parameters"] == {"d": "1/200", "gamma": "1/3", "adversary": "independent"}
    assert made.plan.worst_posterior == Fraction(1, 3)
    made.save(tmp_path / "view")
    assert verify(tmp_path / "view").holds
    app = typer.Typer()
    query_command.register(app)
    app.callback()(lambda: None)
    done = CliRunner().invoke(app, ["query", str(tmp_path / "view"), "score < 3*age", "--json"], catch_exceptions=False)
    assert Fraction(json.loads(done.stdout)["value"]) == made.count("score < 3*age").value
    with pytest.raises(LedgerError):
        publish(_table("scores"), promise, method=AlphaBeta(domain=VALUES), ledger=tmp_path / "book")


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
    assert made.domain.size == 1200
    with pytest.raises(PolicyError, match="from the data only"):
        publish(_table(), BoundedBelief("1/200", "1/3"), method=AlphaBeta())
    with pytest.raises(PolicyError, match="AlphaBeta keeps BoundedBelief"):
        publish(_table(), KAnonymity(2), method=AlphaBeta(domain=VALUES))


def test_frapp_is_a_method_of_publish_for_beliefs_about_records(tmp_path):
    made = publish(_table(), BoundedBelief("1/1200", "1/3", "record"), method=Frapp(domain=VALUES), insecure_seed=1)
    assert len(made.frame) == 6
    assert made.plan.kept == Fraction(1, 3)
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


def test_non_uniform_noise_claims_only_what_its_uniform_share_covers():
    made = publish_view(
        scores_frame(),
        plan(n=6, domain=scores_domain(), k=1, gamma="1/3"),
        source={"nationality": [6, 3, 1]},
        insecure_seed=1,
    )
    claimed = made.manifest.definition
    assert claimed.d == Fraction(1, 200) / 20
    assert made.manifest.assess().holds
    # A promise for the average density would be false: a tuple that the source finds unlikely has too little noise.
    assert not BoundedBelief("1/200", "1/3").assess_plan(made.source_rates).holds
    with pytest.raises(PolicyError, match="independent"):
        publish_view(
            scores_frame(),
            plan(n=6, domain=scores_domain(), k=1, gamma="1/3", adversary="both"),
            source={"nationality": [6, 3, 1]},
        )
