"""Properties of every registered method, format and definition: whoever registers another one finds it tried here.

The publications are those of ``tests/seams/jobs.py``: at least one for each method, which needs an example only if it cannot be made without
parameters. The kinds that live in the tests alone go the same way.
"""

from __future__ import annotations

import hashlib
import html
import inspect
import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.base.context import Context, Event
from reticent.cli.app import app
from reticent.core import read_recoding
from reticent.definitions import Definition, definition_from
from reticent.errors import Cancelled, LedgerError, PolicyError, ReticentError
from reticent.ledger import Ledger
from reticent.policy import Policy, publish_policy
from reticent.propose import diversity_audits, exposures, risk_views
from reticent.registry import DEFINITIONS, FORMATS, METHODS, load
from reticent.release import adversary_view_of, generate_keys, open_public
from reticent.reports import write_report, write_stewards_report
from reticent.table import Meaning
from tests.cli.test_catalogue import EXAMPLES as DEFINITION_EXAMPLES
from tests.sampling import first, spread
from tests.seams.attackers import every_adversary
from tests.seams.counting_engine import CALLS, elsewhere
from tests.seams.jobs import DATASET, DISEASES, JOBS, OWN_METHODS, Job, people, registered, rows
from tests.seams.walk import command

REGISTERED = tuple(METHODS)
# One publication of each format, and those whose folders hold more than most.
KINDS = (
    "Lattice",
    "Lattice buckets",
    "Anatomy",
    "Angelization",
    "Lattice people",
    "Mondrian divided",
    "Panel",
    "Mondrian typical",
    "Suppress",
    "AlphaBeta",
    "Frapp",
    "Perturbation",
    "CentralCounts",
    "Gather",
    "GridSample",
    "GridCounts",
    "Bang merged",
    "Synthetic",
    "Marginals",
    "Statistics",
    "Republish",
    "Republish batches",
    *OWN_METHODS,
)
every_kind = pytest.mark.parametrize("job", [JOBS[name] for name in KINDS], ids=list(KINDS))
_OTHERS = [name for name in JOBS if name not in KINDS]
every_job = pytest.mark.parametrize(
    "job", first([JOBS[name] for name in (*KINDS, *_OTHERS)], len(KINDS) + len(_OTHERS) // 4), ids=[*KINDS, *_OTHERS]
)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The names of the seams, and a ledger of the test's own."""
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "own.sqlite"))
    CALLS.clear()
    with registered():
        yield


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Job], tuple[rt.Release, Path]]:
    """Each job's release and its folder, made once for all tests that only look at them."""
    made: dict[int, tuple[rt.Release, Path]] = {}

    def of(job: Job) -> tuple[rt.Release, Path]:
        if id(job) not in made:
            place = tmp_path_factory.mktemp("job")
            release = job.publish(ledger=place / "ledger.sqlite")
            made[id(job)] = release, release.save(place / "release")
        return made[id(job)]

    return of


def test_every_method_and_every_format_is_tried(releases):
    assert {type(job.method).__name__ for job in JOBS.values()} == {*REGISTERED, *OWN_METHODS}
    assert {releases(JOBS[name])[0].format for name in KINDS} == set(FORMATS)


# There and back.


@every_job
def test_what_was_saved_is_what_was_published(job, releases):
    release, folder = releases(job)
    opened = open_public(folder)
    assert opened.manifest.as_json() == release.manifest.as_json()
    assert opened.certificate == json.loads(json.dumps(release.certificate))
    assert list(opened.tables) == list(release.tables)
    for name, frame in release.tables.items():
        assert opened.tables[name].equals(frame)
    assert rt.verify([folder] if job.series else folder).holds
    claimed = [definition_from(each["definition"], each["parameters"]) for each in opened.certificate["claims"]]
    assert [part for claim in claimed for part in claim.parts()] == list(job.definition.parts())


@every_job
def test_a_meaning_survives_the_manifest(job, releases):
    for column in releases(job)[0].manifest.columns:
        for label, meaning in column.labels.items():
            read = Meaning.read(json.loads(json.dumps(meaning.as_json())), column.kind, label)
            assert (read, read.as_json()) == (meaning, meaning.as_json())


@every_job
def test_a_count_is_the_same_from_memory_and_from_files(job, releases):
    release, folder = releases(job)
    for condition in ("illness = 'flu'", "illness in ('flu', 'cold')", "not illness = 'ulcer'"):
        one, other = release.count(condition), open_public(folder).count(condition)
        assert one.as_dict() == other.as_dict()
        assert one.bounds[0] <= one.bounds[1]
    told = command("query", folder, condition)["value"]
    assert float(Fraction(told)) == pytest.approx(float(one.value))


@every_job
def test_a_report_is_written_of_every_kind(job, releases, tmp_path):
    release, folder = releases(job)
    for target in (release, folder):
        for table in (None, job.table()):
            page = write_report(target, tmp_path / "report.html", table=table, public=table is None)
            assert page.read_text("utf-8").rstrip().endswith("</html>")


@pytest.mark.slow
@every_kind
def test_no_kind_shows_a_tick_above_attacks_that_succeed(job, releases, tmp_path):
    """The report runs the adversaries: its headline is at most as good as that of verify, and names each that succeeds."""
    release, folder = releases(job)
    table = job.table()
    found = () if table.streamed else rt.attack(release, raw=table).succeeding
    page = html.unescape(rt.report(release, tmp_path / "report.html", raw=table).read_text("utf-8"))
    state = re.search(r'<div class="verdict([^"]*)">.*?<strong>(.*?)</strong>', page, re.DOTALL)
    verified = rt.verify([folder] if job.series else folder).headline
    assert (state[1] == "") == (state[2] == "Holds.")
    if found or verified.reasons:
        assert state[2] != "Holds."
    # Where a claim is not shown to hold, that is said alone.
    for each in found if state[2].startswith("Holds") else ():
        assert each.reservation in page


# What is seen.


@every_job
def test_draft_release_and_folder_show_the_same(job, releases):
    release, folder = releases(job)
    shown = [adversary_view_of(target) for target in (release, release.public, folder, str(folder))]
    first = shown[0]
    for seen in shown:
        assert [each.name for each in seen.columns] == [each.name for each in first.columns]
        assert [each.texts for each in seen.columns] == [each.texts for each in first.columns]
        assert [each.meanings for each in seen.columns] == [each.meanings for each in first.columns]
        assert (seen.sizes.tolist(), seen.group_of.tolist()) == (first.sizes.tolist(), first.group_of.tolist())
        assert (seen.sets, seen.made, sorted(seen.reference)) == (first.sets, first.made, sorted(first.reference))
    drafted, recoding = job.method.draft(job.table(), job.definition, Context()), release.private.recoding
    if not release.private.evidence.groups:
        with pytest.raises(PolicyError, match="cannot be viewed before it is published"):
            adversary_view_of(drafted)
        return
    assert all(seen.looks() == first.looks() for seen in shown)
    # Who goes where may be drawn; how many look how may not.
    assert adversary_view_of(drafted).sizes.sum() == first.sizes.sum()
    drawn = release.format in ("series", "batch-series") or (
        recoding is not None and recoding.kind in ("allocation", "coupled", "dealt")
    )
    if not drawn:
        assert adversary_view_of(drafted).looks() == first.looks()
    if recoding is not None and recoding.kind == "levels" and not recoding.exact and not release.private.suppressed:
        assert adversary_view_of(job.table(), recoding.levels).looks() == first.looks()


@every_job
def test_a_release_shows_rows_of_its_table_and_nobody_else(job, releases):
    """Everybody who is published fits the group that they are in: the table's own rows cover the groups as often as these are large."""
    release, _ = releases(job)
    seen, table = adversary_view_of(release), job.table()
    if seen.groups is None:
        return
    place = seen.place(table.held.frame() if not table.streamed else rows())
    several = int((place == -2).sum())
    found = Counter(place[place >= 0].tolist())
    # Somebody who was left out may fit a cell that others are in, where cells overlap.
    more = release.private.suppressed
    for group, size in enumerate(seen.groups.sizes.tolist()):
        assert found[group] <= size + more or several == 0
        assert found[group] + several >= size


# Recodings.


@every_job
def test_a_recoding_gives_the_rows_of_its_table_what_was_published(job, releases, tmp_path):
    release, folder = releases(job)
    recoding = release.private.recoding
    if recoding is None:
        with pytest.raises(ReticentError):
            rt.apply(folder, rows())
        return
    table = job.table()
    own = rows() if table.streamed else table.held.frame()
    placed, kept = recoding.place(own, "error")
    assert int(kept.sum()) == release.public.height == own.height - release.private.suppressed
    saved = read_recoding(json.loads(json.dumps(recoding.as_json())), recoding.stored(), "here")
    again, also = saved.place(own, "error")
    assert again.sort(pl.all()).equals(placed.sort(pl.all()))
    assert int(also.sum()) == int(kept.sum())
    if release.format == "bucketize":
        # Exact values are published beside a bucket: what the recoding tells is who is in one bucket.
        mine = sorted(Counter(placed.rows()).values())
        assert mine == sorted(release.frame["bucket"].value_counts()["count"].to_list())
        return
    # Sensitive values that stand in a table of their own are not beside the labels.
    names = [name for name in (*recoding.names, *table.sensitive) if name in release.frame.columns]
    told = rt.apply(folder, own).select(*dict.fromkeys(names))
    assert Counter(told.rows()) == Counter(release.frame.select(told.columns).rows())


# Attacks.


@every_job
def test_every_adversary_runs_or_says_why_not(job, releases):
    (release, folder), table = releases(job), job.table()
    every_adversary(release, folder, table, rows() if table.streamed else table.held.frame())


# Stopping.


def _counted(run: Callable[[Context], Any], scratch: Path) -> int:
    """How often a run asks whether it should stop."""
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return False

    run(Context(stop=stop, scratch=scratch))
    return asked[0]


def _stopped_at(number: int, scratch: Path) -> Context:
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] >= number

    return Context(stop=stop, scratch=scratch)


def _cancelled(run: Callable[[], Any]) -> Cancelled | None:
    try:
        run()
    except Cancelled as stopped:
        return stopped
    return None


@every_job
def test_a_stop_at_any_step_records_and_leaves_nothing(job, tmp_path):
    scratch, book = tmp_path / "scratch", tmp_path / "ledger.sqlite"
    scratch.mkdir()
    steps = _counted(lambda context: job.publish(ledger=tmp_path / "other.sqlite", context=context), scratch)
    assert steps >= 3
    for number in spread(range(1, steps + 1), 4):
        caught = _cancelled(lambda: job.publish(ledger=book, context=_stopped_at(number, scratch)))  # noqa: B023
        if caught is None:
            # This run ended before it asked so often.
            assert job.varies
            assert number > 1
            book = tmp_path / f"ledger {number}.sqlite"
            continue
        assert "Nothing was recorded and nothing was written" in str(caught)
        assert caught.stage
        assert list(scratch.iterdir()) == []
        with Ledger(book) as ledger:
            assert ledger.entries(DATASET) == []
    # What was stopped leaves nothing that the next publication would meet.
    release = job.publish(ledger=book, context=Context(scratch=scratch))
    assert release.entry is not None
    assert release.entry.number == 1


def _policy(place: Path) -> Policy:
    rows().write_csv(place / "rows.csv")
    text = (
        f'dataset = "{DATASET}"\n[data]\nsource = "rows.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = "illness"\n'
        '[[definition]]\nname = "KAnonymity"\nk = 3\n[method]\nname = "Mondrian"\n'
    )
    return Policy.parse(text, "policy.toml", place)


def test_a_policy_that_is_stopped_at_any_step_leaves_no_folder_and_no_entry(tmp_path):
    policy, book = _policy(tmp_path), tmp_path / "ledger.sqlite"
    steps = _counted(
        lambda context: publish_policy(policy, tmp_path / "first", ledger=tmp_path / "other.sqlite", context=context),
        tmp_path,
    )
    before = sorted(tmp_path.iterdir())
    for number in spread(range(1, steps + 1), 6):
        with pytest.raises(Cancelled):
            publish_policy(policy, tmp_path / "release", ledger=book, context=_stopped_at(number, tmp_path))
        left = [path for path in sorted(tmp_path.iterdir()) if path not in before and path.stem != "ledger"]
        assert [path for path in left if not path.name.startswith("ledger")] == []
        with Ledger(book) as ledger:
            assert ledger.entries(DATASET) == []


def _interrupted(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Let the given call of a function be interrupted as by Ctrl-C."""
    module, _, attribute = name.rpartition(".")
    owner = import_module(module)
    true, calls = getattr(owner, attribute), [0]

    def interrupted(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            raise KeyboardInterrupt
        return true(*arguments, **named)

    monkeypatch.setattr(owner, attribute, interrupted)


@pytest.mark.parametrize("number", range(1, 9))
def test_a_folder_that_is_interrupted_at_any_file_is_not_there_and_its_entry_is_withdrawn(
    number, tmp_path, monkeypatch
):
    policy, book = _policy(tmp_path), tmp_path / "ledger.sqlite"
    _interrupted(monkeypatch, "reticent.release.release.write_new", number)
    with pytest.raises(Cancelled, match="was withdrawn"):
        publish_policy(policy, tmp_path / "release", ledger=book)
    assert not (tmp_path / "release").exists()
    with Ledger(book) as ledger:
        assert [entry.status for entry in ledger.entries(DATASET)] == ["withdrawn"]


def test_an_interrupt_after_the_folder_is_there_withdraws_nothing(tmp_path, monkeypatch):
    policy, book = _policy(tmp_path), tmp_path / "ledger.sqlite"

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "give_out", interrupted)
    with pytest.raises(Cancelled, match="was written"):
        publish_policy(policy, tmp_path / "release", ledger=book)
    monkeypatch.undo()
    assert rt.verify(tmp_path / "release").holds
    with Ledger(book) as ledger:
        assert [entry.status for entry in ledger.entries(DATASET)] == ["reserved"]


_KILLED = """
import os, signal, sys
from tests.seams.jobs import JOBS, register_all
register_all()
JOBS[sys.argv[1]].publish(ledger=sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    "name", [name if name == "Lattice" else pytest.param(name, marks=pytest.mark.slow) for name in KINDS]
)
def test_a_release_whose_process_was_killed_before_it_was_written_can_be_withdrawn(name, tmp_path):
    job, book = JOBS[name], tmp_path / "ledger.sqlite"
    killed = subprocess.run([sys.executable, "-c", _KILLED, name, str(book)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Ledger(book) as ledger:
        assert [entry.status for entry in ledger.entries(DATASET)] == ["reserved"]
    with pytest.raises(LedgerError):
        rt.publish(_other(job), rt.KAnonymity(2), rt.Mondrian(values="sets"), ledger=book)
    done = command("ledger", "withdraw", DATASET, "1", "--reason", "the power failed", "--ledger", book)
    assert done["status"] == "withdrawn"
    # A version of a series is used once, even by a release that was withdrawn.
    anew = replace(job.method, version="2") if job.series else job.method
    release = replace(job, method=anew).publish(ledger=book)
    assert (release.entry.number, release.save(tmp_path / "release")) == (2, tmp_path / "release")
    assert rt.verify([tmp_path / "release"] if job.series else tmp_path / "release").checks
    with Ledger(book) as ledger:
        assert [entry.status for entry in ledger.entries(DATASET)] == ["withdrawn", "given out"]


def _other(job: Job) -> rt.Table:
    """The data set of a job, for another release of it."""
    return people()


# What runs long can be stopped, and says how far it is.


def _faces(folder: Path, table: rt.Table, place: Path) -> dict[str, Callable[[Context], Any]]:
    """Whatever looks at a release or a table and may take long."""
    return {
        "open": lambda context: open_public(folder, context=context),
        "verify": lambda context: rt.verify(folder, context=context),
        "attack": lambda context: rt.attacks.attack(folder, context=context),
        "compare": lambda context: rt.attacks.compare(table, folder, context=context),
        "report": lambda context: write_report(folder, place / "report.html", public=True, context=context),
        "steward's report": lambda context: write_stewards_report(
            folder, place / "report.html", table, context=context
        ),
        "preview": lambda context: rt.preview(table, rt.KAnonymity(3), rt.Mondrian(values="sets"), context=context),
        "inspect": lambda context: rt.inspect(rows(), context=context),
        "exposures": lambda context: exposures(table, (rt.KAnonymity(3),), context=context),
        "risk": lambda context: risk_views(table, context=context),
        "audits": lambda context: diversity_audits(table, context=context),
    }


@pytest.mark.parametrize("face", list(_faces(Path(), people(), Path())))
def test_whatever_runs_long_stops_at_any_step_and_writes_nothing(face, releases, tmp_path):
    folder, table = releases(JOBS["Lattice"])[1], people()
    run = _faces(folder, table, tmp_path)[face]
    told: list[Event] = []
    run(Context(listen=told.append))
    assert told
    assert all(event.share is None or 0 <= event.share <= 1 for event in told)
    (tmp_path / "report.html").unlink(missing_ok=True)
    for number in spread(range(1, _counted(run, tmp_path) + 1), 5):
        (tmp_path / "report.html").unlink(missing_ok=True)
        with pytest.raises(Cancelled):
            run(_stopped_at(number, tmp_path))
        assert not (tmp_path / "report.html").exists()


def test_a_claim_that_the_deadline_leaves_no_time_for_is_not_rechecked(releases):
    folder = releases(JOBS["Lattice"])[1]
    found = rt.verify(folder, context=Context(deadline=0.0))
    assert (found.holds, found.failures) == (False, ())
    assert {check.detail for check in found.checks if check.claim} == {"The time limit was reached."}


def test_no_deadline_keeps_publish_from_judging_what_the_files_show(monkeypatch):
    """A table whose public side fails is not published, however late it is."""
    monkeypatch.setattr("reticent.release.publication._judge_draft", lambda *_: None)
    with pytest.raises(PolicyError, match="does not satisfy the definition"):
        rt.publish(people(dataset=None), rt.KAnonymity(61), _Careless(), context=Context(deadline=0.0))


@dataclass(frozen=True)
class _Careless:
    """Drafts for another definition than it was asked for."""

    keeps = frozenset({"groups"})
    streams = False

    def refusal(self, table: rt.Table, definition: Definition) -> str | None:
        return None

    def draft(self, table: rt.Table, definition: Definition, context: Context | None = None) -> Any:
        return rt.Lattice().draft(table, rt.KAnonymity(2))

    def describe(self) -> dict[str, Any]:
        return {"name": "Lattice"}


def _commands(place: Path) -> dict[str, list[str]]:
    """Every command that may run long, ready to run in a folder with rows, a policy, a plan and a release."""
    return {
        "publish": ["publish", "policy.toml", "-o", "new"],
        "publish --dry-run": ["publish", "policy.toml", "--dry-run"],
        "preview": ["preview", "policy.toml", "--compare"],
        "verify": ["verify", "release"],
        "attack": ["attack", "release", "--raw", "policy.toml"],
        "report": ["report", "release", "-o", "told.html"],
        "report --policy": ["report", "release", "-o", "told.html", "--policy", "policy.toml"],
        "inspect": ["inspect", "rows.csv", "-o", "proposed.toml"],
        "assess": ["assess", "policy.toml"],
        "query": ["query", "release", "illness = 'flu'"],
        "randomize publish": [
            "randomize",
            "publish",
            "records.csv",
            "--plan",
            "plan.json",
            "-o",
            "new",
            "--dataset",
            "records",
        ],
    }


@pytest.mark.parametrize("name", list(_commands(Path())))
def test_every_command_that_runs_long_can_be_stopped(name, tmp_path, monkeypatch):
    policy = _policy(tmp_path)
    (tmp_path / "policy.toml").write_text(policy.places.text)
    publish_policy(policy, tmp_path / "release", ledger=tmp_path / "first.sqlite")
    plan = rt.randomize.plan(n=11, domain={"town": ["Aix", "Apt", "Arles"], "illness": DISEASES}, d="1/3", gamma="9/10")
    (tmp_path / "plan.json").write_text(json.dumps(plan.as_json()))
    rows().select("town", "illness").unique(maintain_order=True).write_csv(tmp_path / "records.csv")
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    monkeypatch.setattr("reticent.cli.console._Interrupts.asked", lambda self: True)
    done = CliRunner().invoke(app, [*_commands(tmp_path)[name], "--json"])
    assert isinstance(done.exception, Cancelled), (done.output, done.exception)
    after = sorted(path.name for path in tmp_path.rglob("*") if not path.name.startswith("own.sqlite"))
    assert after == before


# Settings.

_NONSENSE = '[[[["never"]]]]'


_EXAMPLES = {
    **DEFINITION_EXAMPLES,
    "BoundedBelief": {"d": "1/4", "gamma": "1/2"},
    "LocalDP": {"epsilon": 1},
    "NoisyCounts": {"epsilon": 1},
    "ProbabilisticDP": {"epsilon": 1},
    "UnboundedDP": {"epsilon": 1},
    "BoundedDP": {"epsilon": 1},
    "ConcentratedDP": {"rho": 1},
    "CrowdBlending": {"k": 3},
    "TauSafety": {"m": 2},
    "MInvariance": {"m": 2},
}


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def _written(section: str, name: str, settings: dict[str, str]) -> str:
    lines = "\n".join(f"{key} = {value}" for key, value in settings.items())
    own = f'name = "{name}"\n{lines}\n'
    definition = own if section == "definition" else 'name = "KAnonymity"\nk = 3\n'
    method = own if section == "method" else ""
    return (
        f'[data]\nsource = "rows.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = "illness"\n'
        f"[[definition]]\n{definition}[method]\n{method}"
    )


def _parameters(kind: str, name: str) -> list[str]:
    return [each for each in inspect.signature(load(kind, name)).parameters if not each.startswith("_")]


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, each) for name in REGISTERED for each in _parameters("method", name)]
)
def test_a_parameter_of_a_method_that_makes_no_sense_is_told_with_its_line(name, parameter, tmp_path):
    rows().write_csv(tmp_path / "rows.csv")
    text = _written("method", name, {parameter: _NONSENSE})
    policy = Policy.parse(text, "policy.toml", tmp_path)
    line = text[: text.index(f"{parameter} = {_NONSENSE}")].count("\n") + 1
    with pytest.raises(ReticentError) as caught:
        policy.named_method()
    assert str(caught.value).startswith(f"policy.toml:{line}:"), caught.value
    assert parameter in str(caught.value)


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, each) for name in DEFINITIONS for each in _parameters("definition", name)]
)
def test_a_parameter_of_a_definition_that_makes_no_sense_is_told_with_its_line(name, parameter, tmp_path):
    rows().write_csv(tmp_path / "rows.csv")
    given = {key: _toml(value) for key, value in _EXAMPLES[name].items()}
    text = _written("definition", name, {**given, parameter: _NONSENSE})
    line = text[: text.index(f"{parameter} = {_NONSENSE}")].count("\n") + 1
    with pytest.raises(ReticentError) as caught:
        Policy.parse(text, "policy.toml", tmp_path)
    assert str(caught.value).startswith(f"policy.toml:{line}:"), caught.value


# Once.


@every_job
def test_a_publication_prepares_its_table_once_for_each_part(job, monkeypatch, tmp_path):
    prepared: list[str] = []
    for part in job.definition.parts():
        true = type(part).counting

        def counting(self: Definition, table: rt.Table, true: Any = true) -> rt.Table:
            prepared.append(self.name)
            return true(self, table)

        monkeypatch.setattr(type(part), "counting", counting)
    job.publish(ledger=tmp_path / "ledger.sqlite")
    assert prepared == [part.name for part in job.definition.parts()]


@pytest.mark.parametrize(
    "name", ["Lattice", "Lattice compared", "Lattice two sets", "Mondrian", "Mondrian nodes", "Datafly"]
)
def test_a_publication_scans_its_table_once_for_each_thing(name, tmp_path):
    job = JOBS[name]
    own = job.table()
    table = people(elsewhere(rows()), quasi_sets=own.quasi_sets)
    CALLS.clear()
    release = rt.publish(table, job.definition, job.method, ledger=tmp_path / "a.sqlite")
    assert Counter(CALLS) == {"count": 1, "recode": 1, "write": 1}
    saved = release.save(tmp_path / "one")
    assert Counter(CALLS) == {"count": 1, "recode": 1, "write": 1}
    other = job.publish(ledger=tmp_path / "b.sqlite").save(tmp_path / "other")
    for path in sorted((saved / "public").glob("*.csv")):
        assert path.read_bytes() == (other / "public" / path.name).read_bytes()


# Damage.


def _damages(path: Path, others: list[Path]) -> Iterator[tuple[str, bytes | None]]:
    """What may happen to a file: each with a name, and the bytes after it (None: the file is gone)."""
    content = path.read_bytes()
    yield "gone", None
    yield "empty", b""
    yield "half", content[: len(content) // 2]
    yield "one byte less", content[:-1]
    yield "a line more", content + b"1,2,3\n"
    yield "twice", content * 2
    yield "zeros", bytes(len(content))
    for place in (0, len(content) // 3, len(content) // 2, len(content) - 2):
        yield f"byte {place}", content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    for other in others:
        if other != path:
            yield f"swapped for {other.name}", other.read_bytes()
    lines = content.splitlines(keepends=True)
    if len(lines) > 2:
        yield (
            "lines exchanged",
            b"".join([*lines[:-2], lines[-1].rstrip(b"\n") + b"\n", lines[-2].rstrip(b"\n") + b"\n"]),
        )


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


@every_kind
def test_any_change_of_a_public_file_is_found_with_the_key(job, tmp_path):
    keys = generate_keys(tmp_path / "keys")
    folder = job.publish(signing_key=keys.private).save(tmp_path / "release")
    files = sorted((folder / "public").iterdir())
    for path in files:
        for how, content in spread(list(_damages(path, files)), 3):
            if content == path.read_bytes():
                continue
            damaged = tmp_path / "damaged"
            shutil.copytree(folder, damaged)
            _put(damaged / "public" / path.name, content)
            found = rt.verify([damaged] if job.series else damaged, key=keys.public)
            assert not found.holds, (path.name, how)
            assert found.failures, (path.name, how)
            for look in (open_public, adversary_view_of, rt.attacks.attack):
                with suppress(ReticentError):
                    look(damaged)
            shutil.rmtree(damaged)


@every_kind
def test_damage_that_the_certificate_was_made_to_fit_never_breaks_verification(job, releases, tmp_path):
    """A forger can write any hash: whatever the files hold then, it is a failure with a reason, or it still holds."""
    _, folder = releases(job)
    files = sorted((folder / "public").iterdir())
    for path in files:
        if path.name == "certificate.json":
            continue
        for how, content in spread(list(_damages(path, files)), 3):
            if content is None or content == path.read_bytes():
                continue
            damaged = tmp_path / "damaged"
            shutil.copytree(folder / "public", damaged / "public")
            _put(damaged / "public" / path.name, content)
            certificate = json.loads((folder / "public" / "certificate.json").read_text("utf-8"))
            certificate["files"][path.name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            written = json.dumps(certificate, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            (damaged / "public" / "certificate.json").write_text(written, "utf-8")
            found = rt.verify([damaged] if job.series else damaged)
            if path.suffix == ".txt":
                assert not found.holds, (path.name, how)
            assert all(check.detail for check in found.checks), (path.name, how)
            shutil.rmtree(damaged)


@every_kind
def test_a_damaged_private_file_never_concerns_verification(job, releases, tmp_path):
    _, folder = releases(job)
    files = sorted((folder / "private").iterdir())
    for path in files:
        for _, content in _damages(path, files):
            damaged = tmp_path / "damaged"
            shutil.copytree(folder, damaged)
            _put(damaged / "private" / path.name, content)
            if path.stem == "recoding":
                with suppress(ReticentError):
                    rt.apply(damaged, rows(), unseen="suppress")
            shutil.rmtree(damaged)
    shutil.copytree(folder, damaged)
    shutil.rmtree(damaged / "private")
    assert rt.verify([damaged] if job.series else damaged).holds
