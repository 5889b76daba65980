"""The history of a series: settings, changes, what a killed process leaves, and what must never be public."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.base.disclosures import unjudged
from reticent.errors import DataError, Infeasible, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.methods.series.history_folder import HistoryFolder
from reticent.release import Release, open_public
from tests.methods.series.drafts import random_months

DOMAIN, FRAMES = random_months(2, 40, 4, 6)
SETTINGS = {"m": 2, "key": "id", "sensitive": "job", "quasi": {"age": None, "town": None}, "domain": DOMAIN}


def begin(path, **more):
    """A history with a ledger of its own: people of tests are the same ones again and again."""
    return rt.republish.History.open(path, **{**SETTINGS, "ledger": path / "ledger.sqlite", **more})


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    history = begin(tmp_path_factory.mktemp("series") / "history")
    return history, [history.publish(frame, insecure_seed=number) for number, frame in enumerate(FRAMES[:3])]


def test_releases_are_saved_and_verified_as_one_series(published):
    history, releases = published
    assert [each.number for each in releases] == [1, 2, 3]
    assert history.folders == tuple(each.folder for each in releases)
    found = rt.verify(history.folders)
    assert found.holds
    claims = [check for check in found.checks if check.claim]
    assert all("invariance not judged (needs the history)" in check.detail for check in claims)
    alone = rt.verify(releases[1].folder)
    assert (alone.holds, alone.headline.state) == (True, "holds, but")
    assert "claim TauSafety(m=2), all of it, was not re-checked" in alone.headline.reasons[0]
    assert alone.recomputed == ("In every release each group shows at least 2 different values, each of them once.",)
    assert alone.unchecked[1].startswith("No person's value has a probability above 1/2 for an attacker who knows all")


def test_a_history_is_opened_again_by_its_path(published):
    history, _ = published
    again = rt.republish.History.open(history.path)
    assert again.settings.as_json() == history.settings.as_json()
    assert len(again) == len(again.series) == 3
    assert again.check().holds
    assert again.facts()[2]["people"] == len(again.series[2].people)


def test_a_release_that_is_left_out_or_exchanged_breaks_the_chain(published, tmp_path):
    folders = published[0].folders
    assert not rt.verify([folders[0], folders[2]]).holds
    assert not rt.verify([folders[1], folders[0]]).holds


def test_the_same_table_is_not_published_twice(published):
    history, releases = published
    again = history.publish(FRAMES[2].sample(fraction=1, shuffle=True, seed=1))
    assert (again.new, again.number, again.folder) == (False, 3, releases[2].folder)
    assert len(history) == 3


def test_counts_are_scaled_by_the_share_of_people_and_bounded_by_counterfeits(published):
    history, releases = published
    for number, made in enumerate(releases):
        release = history.series[number]
        public = open_public(made.folder)
        for value in DOMAIN:
            answer = public.count(f"job = '{value}'")
            true = int((release.value_of == DOMAIN.index(value)).sum())
            assert answer.bounds[0] <= true <= answer.bounds[1]
        whole = public.count("age >= -1000")
        assert whole.value == pytest.approx(len(release.people))
        assert whole.bounds == (len(release.people), len(release.people))


def test_nothing_private_is_in_a_public_file(published):
    history, releases = published
    for number, made in enumerate(releases):
        release = history.series[number]
        public = made.folder / "public"
        assert sorted(path.name for path in public.iterdir()) == [
            "STATEMENT.txt",
            "certificate.json",
            "counterfeits.csv",
            "data.csv",
            "manifest.json",
        ]
        data = pl.read_csv(public / "data.csv")
        made_up = pl.read_csv(public / "counterfeits.csv", schema_overrides=[pl.Int64, pl.Int64])
        assert data.columns == ["group", "age", "town", "job"]
        assert made_up.columns == ["group", "counterfeits"]
        assert data.height == len(release.people) + made_up["counterfeits"].sum()
        # Which value is made up, how many people wait, and what counterfeits were needed are told nowhere.
        words = (public / "manifest.json").read_text() + (public / "certificate.json").read_text()
        for secret in ("needed", "waiting", "held", "fresh", "deleted", "supply", "eligibility"):
            assert f'"{secret}' not in words
        assert set(json.loads((public / "manifest.json").read_text())["details"]) == {
            "m", "number", "follows", "choice", "balance", "baseline",
        }  # fmt: skip


def test_the_numbers_of_groups_tell_nothing_from_release_to_release(published):
    history, _ = published
    first, second = history.series[0], history.series[1]
    now = dict(zip(second.people.to_list(), second.group_of.tolist(), strict=True))
    kept = [
        now[person] == group
        for person, group in zip(first.people.to_list(), first.group_of.tolist(), strict=True)
        if person in now
    ]
    assert sum(kept) < len(kept) / 2


def test_deleted_people_are_kept_under_a_keyed_hash(published):
    history, _ = published
    folder = HistoryFolder(history.path)
    last = history._chain()[-1]
    gone = folder.read_state(last.version, last.details["files"]).gone
    left = [person for release in history.series for person in release.left]
    assert len(gone) <= len(left)
    assert set(gone.marks) <= set(folder.marks().of(pl.Series(left)))
    assert not any(str(person) == mark for person in left for mark in gone.marks)
    for path in history.path.rglob("*"):
        if path.is_file() and "public" not in path.parts:
            assert path.stat().st_mode & 0o077 == 0, path


def test_changes_give_the_same_release_as_the_snapshot(tmp_path):
    one, other = begin(tmp_path / "one"), begin(tmp_path / "apart" / "other")
    for history in (one, other):
        history.publish(FRAMES[0], insecure_seed=1)
    then, now = FRAMES[0], FRAMES[1]
    feed = pl.concat(
        [
            then.join(now, on="id", how="anti").with_columns(change=pl.lit("delete")),
            now.join(then, on="id", how="anti").with_columns(change=pl.lit("insert")),
            now.join(then, on=now.columns, how="anti")
            .join(then, on="id", how="semi")
            .with_columns(change=pl.lit("update")),
        ]
    )
    assert sorted(other.current()["id"].to_list()) == then["id"].to_list()
    from_feed, from_snapshot = other.publish(changes=feed, insecure_seed=3), one.publish(now, insecure_seed=3)
    assert from_feed.change["events"] == from_snapshot.change["events"]
    assert sorted(other.current().rows()) == sorted(now.rows()) == sorted(one.current().rows())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"change": "replace"}, "It must be insert, update or delete"),
        ({"change": "insert"}, "use update"),
        ({"id": 999}, "is not in the table"),
    ],
)
def test_changes_that_make_no_sense_are_refused(published, change, problem):
    history, _ = published
    row = {**history.current().row(0, named=True), "change": "update", **change}
    with pytest.raises(DataError, match=problem):
        history.preview(changes=pl.DataFrame([row]))
    with pytest.raises(DataError, match="no column 'change'"):
        history.preview(changes=history.current())


def test_a_preview_writes_nothing(published):
    history, _ = published
    before = sorted(history.path.rglob("*"))
    found = history.preview(FRAMES[3])
    assert found["number"] == 4
    assert sum(found["events"].values()) >= FRAMES[3].height
    assert sorted(history.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"m": 3}, "at least 8"),
        ({"m": 1}, "m "),
        ({"domain": [*DOMAIN, DOMAIN[0]]}, "twice"),
        ({"domain": None}, "domain is missing"),
        ({"key": "job"}, "two roles"),
        ({"quasi": {}}, "at least one quasi column"),
        ({"choice": "best"}, "choice must be one of"),
        ({"ranges": {"town": (1, 2)}}, "ranges has 'town'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, change, problem):
    with pytest.raises(PolicyError, match=problem):
        begin(tmp_path / "new", **change).publish(FRAMES[0])
    assert not (tmp_path / "new" / "releases").exists()


def test_settings_are_fixed_with_the_first_release_but_the_domain_may_grow(tmp_path):
    history = begin(tmp_path / "history")
    assert begin(tmp_path / "history", choice="random").settings.choice == "random"
    history = begin(tmp_path / "history", choice="near")
    history.publish(FRAMES[0])
    with pytest.raises(PolicyError, match="choice was fixed by the first release"):
        begin(history.path, choice="random")
    with pytest.raises(PolicyError, match="declared values must stay"):
        begin(history.path, domain=[*DOMAIN[1:], "v9"])
    grown = rt.republish.History.open(history.path, domain=[*DOMAIN, "v9"])
    grown.publish(
        FRAMES[1].with_columns(job=pl.when(pl.col("id") == FRAMES[1]["id"][0]).then(pl.lit("v9")).otherwise("job"))
    )
    assert grown.check().holds


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (FRAMES[0].drop("age"), "no column 'age'"),
        (FRAMES[0].with_columns(job=pl.lit(None, pl.String)), "no value in row 1"),
        (
            FRAMES[0].with_columns(age=pl.when(pl.col("id") == 3).then(None).otherwise("age")),
            "'age' has no value in row 4",
        ),
        (pl.concat([FRAMES[0], FRAMES[0][:1]]), "more than once"),
        (FRAMES[0].with_columns(job=pl.lit("v77")), "not in the declared domain"),
        (FRAMES[0].clear(), "no rows"),
    ],
)
def test_tables_that_cannot_be_published_are_refused_and_leave_nothing(tmp_path, broken, problem):
    history = begin(tmp_path / "history")
    with pytest.raises(DataError, match=problem):
        history.publish(broken)
    assert (len(history), history.folders) == (0, ())


def test_columns_of_another_type_are_read_as_before_or_refused(published):
    history, _ = published
    texts = FRAMES[3].with_columns(pl.col("id", "age").cast(pl.String))
    assert history.preview(texts)["events"] == history.preview(FRAMES[3])["events"]
    with pytest.raises(DataError, match="'age' has type String, and Int64 in the release before"):
        history.preview(texts.with_columns(age=pl.lit("old")))


def test_a_release_without_anybody_is_infeasible(published):
    history, _ = published
    new = FRAMES[0][:3].with_columns(id=pl.col("id") + 9000, job=pl.lit("v0"))
    with pytest.raises(Infeasible, match="Nobody of this table can be published yet"):
        history.publish(new)
    assert len(history) == 3


def test_an_infeasible_first_release_leaves_nothing(tmp_path):
    history = begin(tmp_path / "history")
    with pytest.raises(Infeasible):
        history.publish(FRAMES[0].with_columns(job=pl.lit("v0")))
    assert len(begin(tmp_path / "history")) == 0


def test_what_else_is_out_about_the_same_people_stops_the_series(tmp_path):
    history = begin(tmp_path / "history")
    history.publish(FRAMES[0])
    with Ledger(history.path / "ledger.sqlite") as book:
        entry = book.record(history.settings.dataset, "0" * 64, lambda _: "", kind="answers", beside=unjudged)
        book.give_out(entry)
    with pytest.raises(LedgerError, match="judged together with its own releases only"):
        history.publish(FRAMES[1])
    assert len(history) == 1
    # The state of the release that was refused is gone again.
    assert len(list((history.path / "states").iterdir())) == 1


def test_a_draft_writes_nothing(tmp_path):
    history = begin(tmp_path / "history")
    history.publish(FRAMES[0], insecure_seed=1)
    before = sorted(tmp_path.rglob("*"))
    assert history.preview(FRAMES[1])["number"] == 2
    assert sorted(tmp_path.rglob("*")) == before


class Killed(BaseException):
    """The process ends here: nobody catches it."""


_STEPS = {
    "the state is written": (HistoryFolder, "write_state", 1),
    "the ledger recorded it": (Ledger, "record", 1),
    "the folder is written": (Release, "_write", 2),
    "the ledger gave it out": (Ledger, "give_out", 2),
}


@pytest.mark.parametrize("step", _STEPS)
def test_a_process_that_ends_at_any_step_leaves_the_history_before_or_after(step, tmp_path, monkeypatch):
    history = begin(tmp_path / "history")
    history.publish(FRAMES[0], insecure_seed=1)
    owner, name, expected = _STEPS[step]
    true = getattr(owner, name)

    def ends(*arguments, **named):
        true(*arguments, **named)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, ends)
        with pytest.raises(Killed):
            history.publish(FRAMES[1], insecure_seed=2)
    again = rt.republish.History.open(tmp_path / "history")
    assert len(again) == len(again.folders) == expected
    assert len(list((again.path / "states").iterdir())) == 2
    assert again.check().holds
    made = again.publish(FRAMES[1], insecure_seed=2)
    assert len(list((again.path / "states").iterdir())) == 2
    assert (made.number, made.new) == (2, expected == 1)
    assert rt.verify(again.folders).holds


def test_a_state_that_was_half_written_is_swept_away(tmp_path):
    history = begin(tmp_path / "history")
    history.publish(FRAMES[0], insecure_seed=1)
    left = history.path / "states" / ".0002-0123.partial-abcdefgh"
    left.mkdir()
    (left / "people.parquet").write_bytes(b"half")
    assert len(rt.republish.History.open(history.path)) == 1
    assert left.exists()
    history.publish(FRAMES[1], insecure_seed=2)
    assert not left.exists()


def test_who_opens_a_history_while_another_publishes_takes_nothing_away(tmp_path, monkeypatch):
    history = begin(tmp_path / "history")
    history.publish(FRAMES[0], insecure_seed=1)
    true, opened = Ledger.record, []

    def record(*arguments, **named):
        # The state is written aside, and the ledger has not heard of it.
        opened.append(len(rt.republish.History.open(tmp_path / "history")))
        found = true(*arguments, **named)
        opened.append(len(rt.republish.History.open(tmp_path / "history").series))
        return found

    monkeypatch.setattr(Ledger, "record", record)
    monkeypatch.setattr("reticent.methods.series.history._PATIENCE", 0.05)
    assert history.publish(FRAMES[1], insecure_seed=2).new
    assert opened == [1, 1]
    with HistoryFolder(history.path).turn(1), pytest.raises(LedgerError, match="Another process is publishing"):
        history.publish(FRAMES[2])
    assert rt.verify(history.folders).holds


_WORKER = """
import signal, sys, tempfile, time, polars as pl, reticent as rt
history = rt.republish.History.open(sys.argv[1])
# What is loaded and compiled with a first publication is not what is to be interrupted: the second one says what a publication takes.
with tempfile.TemporaryDirectory() as folder:
    own = history.settings
    warm = rt.republish.History.open(
        folder + "/warm", own.m, own.key, own.sensitive, own.quasi, own.domain, ledger=folder + "/ledger.sqlite"
    )
    for path in sys.argv[3:5]:
        began = time.process_time()
        warm.publish(pl.read_parquet(path))
# The kernel ends the process when it has worked for that long, whoever else works beside it: nothing is closed, nothing cleaned up.
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[2]) * (time.process_time() - began))
for path in sys.argv[3 + len(history):]:
    history.publish(pl.read_parquet(path))
"""


def _campaign(folder: Path, kills: int) -> list[int]:
    """Publish months in a process that is ended after 0 to 2.5 publications' work, again and again; the number of releases after each end."""
    months = []
    for number, frame in enumerate(FRAMES):
        months.append(str(folder / f"{number}.parquet"))
        frame.write_parquet(months[-1])
    history, found = begin(folder / "history"), []
    for attempt in range(kills):
        share = 0.02 + 2.5 * (attempt * 0.381966 % 1)
        done = subprocess.run([sys.executable, "-c", _WORKER, str(history.path), str(share), *months], check=False)
        history = rt.republish.History.open(history.path)
        assert done.returncode in ((0, -signal.SIGPROF) if len(history) == len(FRAMES) else (-signal.SIGPROF,))
        assert len(history) == len(history.folders)
        if len(history):
            assert history.check().holds
            assert rt.verify(history.folders).holds
        found.append(len(history))
        if len(history) == len(FRAMES):
            shutil.rmtree(history.path)
            history = begin(history.path)
    return found


@pytest.mark.slow
def test_a_process_that_is_killed_at_random_moments_never_leaves_a_history_between(tmp_path):
    found = _campaign(tmp_path, kills=40)
    assert len(set(found)) > 1
    # Some ends came before the next release was there.
    assert any(later == earlier for earlier, later in pairwise(found))


EVERYBODY = pl.DataFrame(
    {
        "id": range(8),
        "age": [20, 21, 30, 31, 40, 41, 50, 51],
        "town": ["a", "b"] * 3 + ["c", "Zzyzx"],
        "job": DOMAIN[:4] * 2,
    }
)


def test_people_who_were_forgotten_stay_out_for_good(tmp_path):
    away = EVERYBODY.filter(pl.col("id") != 7)
    with pytest.warns(UserWarning, match=r"forgotten after 1 release: .* are excluded from the series"):
        history = begin(tmp_path / "history", retention=1)
    made = [history.publish(frame, again=True) for frame in (EVERYBODY, away, EVERYBODY, away)]
    assert [each.change["events"]["returned"] for each in made] == [0, 0, 1, 0]
    assert (made[3].change["deleted_map"], made[3].change["forgotten"]) == (1, 0)
    made.append(history.publish(away.with_columns(age=pl.col("age") + 1)))
    assert (made[4].change["deleted_map"], made[4].change["forgotten"]) == (0, 1)
    for retention in (None, 0):
        again = rt.republish.History.open(history.path, retention=retention)
        made.append(again.publish(EVERYBODY.with_columns(age=pl.col("age") + 2 + (retention == 0))))
        assert (made[-1].change["kept_out"], made[-1].change["events"]["inserted"]) == (1, 0)
        assert 7 not in again.series[-1].people.to_list()
    assert len(again.series.event_lists()) == 8
    assert "idrd___" in again.series.event_lists().values()
    for release in made[5:]:
        # The last one was made after forgetting was switched off, and people were forgotten all the same.
        public = open_public(release.folder)
        assert public.manifest.details["retention"] == 1
        assert any(
            "forgotten 1 release later. People who come back" in each for each in public.certificate["residual_risks"]
        )
    assert rt.verify(again.folders).holds
    assert again.check().holds
    assert rt.attacks.series(again).highest <= 1 / 2
    with pytest.raises(PolicyError, match="those of 1 people of this series were forgotten"):
        rt.attacks.series(again, mode="join")
    assert begin(tmp_path / "empty").check().holds


@pytest.mark.parametrize("name", ["state.json", "people.parquet", "groups.parquet", "gone.parquet"])
def test_a_damaged_state_is_told_in_words(published, tmp_path, name):
    history, _ = published
    shutil.copytree(history.path, tmp_path / "copy")
    last = sorted((tmp_path / "copy" / "states").iterdir())[-1]
    (last / name).write_bytes((last / name).read_bytes()[:20])
    with pytest.raises(DataError, match=r"Restore (it|the history) from a backup"):
        rt.republish.History.open(tmp_path / "copy").publish(FRAMES[3])


def test_an_imported_release_without_m_unique_groups_cannot_be_continued(tmp_path):
    history = begin(tmp_path / "history")
    history.import_release(FRAMES[0], list(range(FRAMES[0].height)), FRAMES[0]["id"].to_list())
    assert not history.check().holds
    with pytest.raises(PolicyError, match="start a new series"):
        history.publish(FRAMES[1])


@pytest.mark.parametrize(
    ("groups", "people", "problem"),
    [([1, 2], None, "rows and 2 groups"), ([[0, 1]], None, "is in no group"), (None, [1], "people. Pass a key")],
)
def test_imports_that_do_not_fit_are_refused(tmp_path, groups, people, problem):
    history = begin(tmp_path / "history")
    with pytest.raises(DataError, match=problem):
        history.import_release(FRAMES[0], groups or [0] * FRAMES[0].height, people)
    assert len(history) == 0
