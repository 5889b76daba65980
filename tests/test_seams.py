"""A definition, a mechanism, a history, overlapping groups and an engine of somebody else's, without a line changed in src.

Each lives in a module of ``tests/seams`` and is published, saved, reopened, verified, counted, attacked and reported.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.definitions import definition_from, judge
from reticent.errors import LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.policy import Policy
from reticent.release import adversary_view_of, open_public
from tests.cli.test_catalogue import EXAMPLES
from tests.seams import jobs
from tests.seams.counting_engine import CALLS, elsewhere
from tests.seams.evenness import Evenness
from tests.seams.jobs import registered
from tests.seams.largest_group import LargestGroup
from tests.seams.no_shrinking import NoShrinking, publish_next
from tests.seams.noisy_histogram import HistogramPlan, NoisyHistogram, OnePersonRatio
from tests.seams.shaped import Gathered, Holes
from tests.seams.starred import Starred
from tests.seams.walk import Walked, command, full_walk

TRUTH = "illness = 'flu'"
HALF = 120
"""Rows of a table whose noisy counts are never those of the whole one: the same counts again would be the same release, which is not refused."""


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The names of the seams, and a ledger of the test's own."""
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "own.sqlite"))
    CALLS.clear()
    with registered():
        yield


def rows(many: int = 240) -> pl.DataFrame:
    return jobs.rows(many)


def people(frame: object = None, **more: object) -> rt.Table:
    return jobs.people(rows() if frame is None else frame, **more)


def flu(frame: pl.DataFrame) -> int:
    return frame.filter(pl.col("illness") == "flu").height


def walk(table: rt.Table, definition: object, method: object, place: Path, **more: Any) -> Walked:
    """The whole way, with what most walks have in common."""
    given = {"condition": TRUTH, "truth": flu(rows()), "other": people(rows(239)), "people": rows(), **more}
    return full_walk(table, definition, method, place, **given)


# A definition of groups.


@pytest.mark.parametrize(
    ("method", "more"),
    [
        (rt.Lattice(suppression="0.1"), {}),
        (rt.Mondrian(values="sets"), {}),
        (rt.Lattice(suppression="0.1", format="bucketize"), {}),
        (rt.Lattice(suppression="0.1"), {"quasi_sets": [["age"], ["town"]]}),
        (rt.Lattice(suppression="0.1"), {"engine": "streaming"}),
    ],
    ids=["lattice", "mondrian", "buckets", "two sets", "streamed"],
)
def test_a_definition_goes_the_whole_way(method, more, tmp_path):
    wanted = Evenness() if getattr(method, "format", "") == "bucketize" else rt.KAnonymity(4) & Evenness()
    walked = walk(people(**more), wanted, method, tmp_path, other=people(rows(239), **more))
    claims = walked.release.certificate["claims"]
    read = definition_from(claims[-1]["definition"], claims[-1]["parameters"])
    assert Evenness() in read.parts()
    assert rt.assess(walked.folder, wanted).holds


def test_a_process_that_does_not_know_the_definition_does_not_say_that_it_holds(tmp_path):
    rt.publish(people(), rt.KAnonymity(4) & Evenness(), rt.Mondrian(values="sets"), ledger=tmp_path / "l.sqlite").save(
        tmp_path / "release"
    )
    code = (
        "import sys, reticent as rt; found = rt.verify(sys.argv[1]); "
        "print(found.holds, sorted({check.status for check in found.checks if check.claim}), [c.name for c in found.checks if c.status == 'fails'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "release")], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("False ['holds', 'not re-checked'] []"), done.stdout


def test_a_policy_names_the_definition_and_a_mistake_points_at_its_line(tmp_path):
    rows().write_csv(tmp_path / "rows.csv")
    text = (
        'dataset = "wards"\n[data]\nsource = "rows.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = "illness"\n'
        '[[definition]]\nname = "Evenness"\n[method]\nname = "Mondrian"\n'
    )
    (tmp_path / "policy.toml").write_text(text)
    done = command("publish", tmp_path / "policy.toml", "-o", tmp_path / "release", "--ledger", tmp_path / "l.sqlite")
    assert done["certificate"]["claims"][0]["definition"] == "Evenness"
    with pytest.raises(PolicyError, match=r"policy.toml:9:1: Evenness has no parameter 'k'"):
        Policy.parse(text.replace('"Evenness"\n', '"Evenness"\nk = 3\n'), "policy.toml")


# A mechanism with its definition and its format.


def noisy(**more: object) -> NoisyHistogram:
    return NoisyHistogram("illness", jobs.DISEASES, **more)


def test_a_mechanism_goes_the_whole_way(tmp_path):
    walked = walk(people(), OnePersonRatio(2), noisy(), tmp_path, other=people(rows(HALF)))
    assert walked.release.format == "noisy histogram"
    assert open_public(walked.folder).frame.columns == ["illness", "noisy_count"]
    assert adversary_view_of(walked.folder).groups is None


@pytest.mark.parametrize(
    ("definition", "method"),
    [
        (rt.KAnonymity(5), noisy()),
        (OnePersonRatio(2), rt.Lattice()),
        (rt.KAnonymity(2) & OnePersonRatio(2), rt.Mondrian(values="sets")),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row_is_scanned(definition, method):
    table = people(elsewhere(rows()))
    CALLS.clear()
    with pytest.raises(PolicyError, match="cannot satisfy it"):
        rt.publish(table, definition, method)
    assert CALLS == []


def test_a_plan_that_is_not_good_enough_is_refused():
    with pytest.raises(PolicyError, match="does not satisfy the definition"):
        rt.publish(people(), OnePersonRatio("3/2"), noisy())


def test_a_budget_is_spent_once_and_the_next_release_is_refused(tmp_path):
    book = tmp_path / "ledger.sqlite"
    rt.publish(people(), OnePersonRatio(2), noisy(budget="100"), ledger=book).save(tmp_path / "one")
    with Ledger(book) as ledger:
        budget = ledger.budgets.of("wards", "histogram")
        assert (budget.total, budget.spent) == (100, 70)
    with pytest.raises(LedgerError):
        rt.publish(people(rows(HALF)), OnePersonRatio(2), noisy(budget="100"), ledger=book, again=True)
    with Ledger(book) as ledger:
        assert ledger.budgets.of("wards", "histogram").spent == 70


@pytest.mark.parametrize("ratio", ["2", "3/2", "5"])
def test_the_law_of_the_noise_is_exact(ratio):
    plan = HistogramPlan("illness", jobs.DISEASES, Fraction(ratio), 12)
    laws = [plan.law(count) for count in range(13)]
    assert all(sum(law) == 1 for law in laws)
    worst = max(
        max(one / other, other / one)
        for earlier, later in pairwise(laws)
        for one, other in zip(earlier, later, strict=True)
    )
    assert worst == plan.ratio


def test_what_is_published_follows_the_law():
    plan, drawn, table = HistogramPlan("illness", jobs.DISEASES, Fraction(2), 150), [], people(dataset=None)
    for seed in range(300):
        draft = noisy(most=150).draft(table, OnePersonRatio(2), Context(Randomness(seed)))
        drawn.append(draft.tables["histogram"].frame()["noisy_count"][0])
    expected = flu(rows())
    assert abs(sum(drawn) / 300 - expected) < 5 * (plan.variance / 300) ** 0.5


# A definition on histories.


def test_a_series_is_judged_together_and_its_state_is_in_the_ledger(tmp_path):
    wanted = rt.KAnonymity(3) & NoShrinking()
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        folders = [
            publish_next(people(rows(many)), wanted, ledger).save(tmp_path / f"release{many}")
            for many in (120, 180, 240)
        ]
        assert rt.verify(folders).holds
        assert not rt.verify(folders[::-1]).holds
        assert not rt.verify(folders[-1]).holds
        # Whoever has the last two only cannot judge the series, and is told so; nothing fails.
        some = rt.verify(folders[1:])
        assert (some.holds, some.failures) == (False, ())
        assert "release 2, claim NoShrinking()" in [
            check.name for check in some.checks if check.status == "not re-checked"
        ]
        state = ledger.state("wards", "growing")
        assert state is not None
        assert (state.version, [sum(each) for each in state.details["sizes"]]) == ("3", [120, 180, 240])
        with pytest.raises(PolicyError, match="Release 4 has 60 rows, the one before 240"):
            publish_next(people(rows(60)), wanted, ledger)
        assert len(ledger.entries("wards")) == 3


def test_a_release_that_went_out_meanwhile_forces_a_second_judgement(tmp_path, monkeypatch):
    wanted = rt.KAnonymity(3) & NoShrinking()
    with Ledger(tmp_path / "ledger.sqlite") as mine, Ledger(tmp_path / "ledger.sqlite") as theirs:
        publish_next(people(rows(120)), wanted, mine)
        draft = rt.Lattice.draft

        def interrupted(self, *arguments):
            monkeypatch.setattr(rt.Lattice, "draft", draft)
            publish_next(people(rows(180)), wanted, theirs)
            return draft(self, *arguments)

        monkeypatch.setattr(rt.Lattice, "draft", interrupted)
        with pytest.raises(LedgerError):
            publish_next(people(rows(150)), wanted, mine)
        assert [entry.number for entry in mine.entries("wards")] == [1, 2]
        with pytest.raises(PolicyError, match="Release 3 has 150 rows, the one before 180"):
            publish_next(people(rows(150)), wanted, mine)


def test_a_history_cannot_be_claimed_of_a_single_release():
    with pytest.raises(PolicyError, match="cannot satisfy it"):
        rt.publish(people(), rt.KAnonymity(3) & NoShrinking(), rt.Lattice())


def test_a_release_of_a_series_goes_the_whole_way(tmp_path):
    from tests.seams.no_shrinking import Growing

    walk(people(), rt.KAnonymity(3) & NoShrinking(), Growing(), tmp_path, series=True)


# A method with overlapping groups.


def towns() -> rt.Table:
    """A third of those above forty is missing, so that their cells are rare, but not all of them together."""
    rare = (pl.col("age") >= 40) & (pl.int_range(pl.len()) % 3 == 0)
    return jobs.towns(rows().filter(~rare))


def test_overlapping_groups_go_the_whole_way_for_a_definition_shown_right_for_them(tmp_path):
    method = Starred(20, "age")
    kept = rt.publish(towns(), rt.KAnonymity(20), method, ledger=tmp_path / "other.sqlite").frame
    people = towns().held.frame()
    walked = walk(
        towns(), rt.KAnonymity(20), method, tmp_path, other=jobs.towns(rows(200)), truth=flu(kept), people=people
    )
    assert "*" in walked.release.frame["age"].to_list()


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "KAnonymity"])
def test_every_other_definition_of_the_catalogue_is_refused_by_name(name):
    draft = Starred(20, "age").draft(towns(), rt.KAnonymity(20))
    with pytest.raises(PolicyError, match=f"{name} is not proven for rows with wildcards"):
        judge(definition_from(name, EXAMPLES[name]), draft.evidence)


@pytest.mark.parametrize("definition", [rt.DistinctLDiversity(2), rt.KAnonymity(5) & rt.TCloseness("0.5"), Evenness()])
def test_publish_refuses_what_was_not_shown_right(definition):
    with pytest.raises(PolicyError, match="is not proven"):
        rt.publish(towns(), definition, Starred(20, "age"))


def test_a_person_who_fits_several_kinds_is_not_placed():
    from reticent.core import NOWHERE, SEVERAL

    frame = pl.DataFrame(
        {
            "age": ["30"] * 5 + ["40"] * 5 + ["50", "60", "70"],
            "town": ["Aix"] * 13,
            "illness": list("abcde" * 2 + "abc"),
        }
    )
    table = rt.Table(frame, quasi=["age", "town"], sensitive="illness")
    seen = adversary_view_of(rt.publish(table, rt.KAnonymity(3), Starred(3, "age")))
    places = seen.place(pl.DataFrame({"age": ["30", "99", "50"], "town": ["Aix", "Aix", "Apt"]}))
    found = [int(each) for each in (places[0] if isinstance(places, tuple) else places)]
    assert found[0] == SEVERAL
    assert found[1] >= 0
    assert found[2] == NOWHERE


# Groups that are no boxes.


@pytest.mark.parametrize("method", [Holes(((30, 40), (150, 170))), Gathered(9)], ids=["holes", "clusters"])
def test_shapes_go_the_whole_way(method, tmp_path):
    table = jobs.tall(rows())
    walked = walk(table, rt.KAnonymity(5), method, tmp_path, other=jobs.tall(rows(200)), people=table.held.frame())
    assert len(adversary_view_of(walked.folder).shapes) == len(walked.release.groups)


# An engine.


def test_rows_that_lie_elsewhere_go_the_whole_way(tmp_path):
    other = people(elsewhere(rows(239)))
    walk(people(elsewhere(rows())), rt.KAnonymity(4), rt.Lattice(suppression="0.1"), tmp_path, other=other)


# An adversary.


def test_an_adversary_of_ones_own_runs_beside_the_others(tmp_path):
    release = rt.publish(people(), rt.KAnonymity(4), rt.Lattice(suppression="0.1"))
    folder = release.save(tmp_path / "release")
    published = release.frame.group_by("age", "town").agg(pl.len(), pl.col("illness"))
    size = int(published["len"].max())
    for target in (release, folder):
        (found,) = rt.attack(target, LargestGroup())
        assert (found.adversary, found.people) == ("largest group", size)
        assert any(
            len(each) == size and max(each.count(value) for value in set(each)) == found.hits
            for each in published["illness"].to_list()
        )
