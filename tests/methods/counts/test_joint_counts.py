"""The joint histogram as a kind of release: parties are processes, and the release tells what they did."""

from __future__ import annotations

import json

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.errors import DataError, PolicyError
from reticent.ledger import Ledger
from reticent.methods.counts.details import CountsDetails
from reticent.methods.counts.method import joint_cells
from reticent.methods.randomize import ViewDomain
from reticent.noise.cost_plan import plan
from reticent.noise.laws import HISTOGRAM, BinomialLaw
from reticent.noise.protocol import PartyResult

ILLNESSES = ["flu", "cold", "gout"]
PROMISE = rt.NoisyCounts(1, "1e-6")


def rows(parties: int = 4, many: int = 120) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "hospital": [f"H{i % parties}" for i in range(many)],
            "illness": [ILLNESSES[i * i % 3] for i in range(many)],
        }
    )


def table(frame: pl.DataFrame | None = None, **more: object) -> rt.Table:
    frame = rows() if frame is None else frame
    return rt.Table(frame, quasi=["hospital"], sensitive="illness", **more)  # type: ignore[arg-type]


def method(**more: object) -> rt.JointCounts:
    return rt.JointCounts("hospital", **{"domain": {"illness": ILLNESSES}, **more})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


def test_four_parties_make_a_release_that_goes_the_whole_way(tmp_path, ledger):
    release = rt.publish(table(dataset="region"), PROMISE, method())
    folder = release.save(tmp_path / "release")
    assert rt.verify(folder).holds
    details = CountsDetails.from_json(json.loads((folder / "public" / "manifest.json").read_text("utf-8"))["details"])
    assert details.run.as_json() == {"parties": 4, "faults": 1, "level": "byzantine", "rounds": 32, "excluded": 0}
    assert (details.law, details.hidden) == (BinomialLaw(200), BinomialLaw(150))
    for illness in ILLNESSES:
        answer = release.count(f"illness = '{illness}'")
        assert abs(answer.value - rows().filter(illness=illness).height) <= 8 * answer.standard_error
    transcript = pl.read_parquet(folder / "private" / "transcript.parquet")
    assert transcript["step"].to_list()[0] == "declare"
    assert transcript["step"].to_list()[-1] == "answer"
    assert not (folder / "public" / "transcript.parquet").exists()
    with Ledger(ledger) as book:
        assert dict(book.accounts.of("region").left) == {"epsilon": 0, "delta": 0}


def test_parties_who_only_look_and_exponential_noise():
    release = rt.publish(table(rows(3)), PROMISE, method(level="semi-honest", law="exponential"))
    details = CountsDetails.from_json(release.manifest.details)
    assert (
        details.law
        == details.hidden
        == plan(parties=3, faults=1, query="histogram", law="exponential", level="semi-honest").published_law
    )
    assert details.law.keeps(1, "1e-6", HISTOGRAM)
    assert "if all followed the protocol" in details.words()


def test_whose_rows_are_missing_is_told(monkeypatch):
    """A party that was caught is out with its rows and coins; the laws are those of the rest."""
    planned = plan(parties=4, faults=1, query="histogram")
    outcome = PartyResult((1, 2, 3), 3 * planned.quota, (0, 1, 3), {2: "lied"}, ({"step": "answer", "said": [1]},))
    made = joint_cells(planned, outcome, outcome.numbers, 32, ViewDomain.of({"illness": ILLNESSES}), {})
    assert (made.details.law, made.details.hidden) == (BinomialLaw(150), BinomialLaw(150))
    assert made.details.run.excluded == 1
    assert made.details.plan.keeps(PROMISE.amounts[0], PROMISE.amounts[1])


def test_parties_that_do_not_come_to_an_answer_leave_nothing(ledger):
    with pytest.raises(PolicyError, match="at least 4 parties, or level='semi-honest'"):
        rt.publish(table(rows(3), dataset="region"), PROMISE, method())
    with Ledger(ledger) as book:
        assert book.entries("region") == []


@pytest.mark.parametrize(
    ("frame", "definition", "more", "message"),
    [
        (None, rt.NoisyCounts(1), {}, "needs a delta above 0"),
        (None, rt.KAnonymity(3), {}, "cannot satisfy"),
        (rows().rename({"hospital": "clinic"}), PROMISE, {}, "no column 'hospital'"),
        (rows().with_columns(hospital=pl.when(pl.col("hospital") != "H1").then("hospital")), PROMISE, {}, "has no owner in 30 rows"),
        (None, PROMISE, {"faults": 2}, "Use at least 7 parties"),
        (None, PROMISE, {"domain": {"illness": ["flu"]}}, "not in the declared domain"),
    ],
)  # fmt: skip
def test_what_parties_cannot_count_is_refused(frame, definition, more, message):
    roles = {"quasi": ["clinic"]} if frame is not None and "clinic" in frame.columns else {"quasi": ["hospital"]}
    made = rt.Table(rows() if frame is None else frame, sensitive="illness", nulls="category", **roles)
    with pytest.raises((PolicyError, DataError), match=message):
        rt.publish(made, definition, method(**more))


@pytest.mark.parametrize(
    "wrong", [{"party": 3}, {"faults": -1}, {"law": "laplace"}, {"level": "honest"}, {"budget": {"epsilon": -1}}]
)
def test_parameters_are_checked_at_once(wrong):
    with pytest.raises(PolicyError, match=f"JointCounts: {next(iter(wrong))}"):
        rt.JointCounts(**{"domain": {"illness": ILLNESSES}, **wrong})


def test_a_method_can_be_made_again_from_its_description():
    made = method(faults=1, budget={"epsilon": 3}, level="byzantine")
    told = made.describe()
    assert told.pop("name") == "JointCounts"
    assert rt.JointCounts(**told).describe() == made.describe()


def test_a_run_that_is_interrupted_ends_its_processes(monkeypatch):
    """Whatever stops the caller, no party is left behind."""
    from reticent.noise import local_run as running

    started = []
    true = running.subprocess.Popen

    def noted(*arguments, **named):
        started.append(true(*arguments, **named))
        return started[-1]

    monkeypatch.setattr(running.subprocess, "Popen", noted)

    def interrupt(event):
        if event.stage == "computing jointly" and started:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        method().draft(table(), PROMISE, Context(listen=interrupt))
    assert len(started) == 4
    assert all(process.poll() is not None for process in started)
