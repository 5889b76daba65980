"""Series in batches, beside boxes of k people: what is shown, what is promised, and what somebody learns from it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.methods.series.group_formation import Shuffler
from reticent.methods.series.method import divide_people
from reticent.release import open_public
from reticent.release.claims import check_claims
from reticent.table import FrameRows
from tests.methods.series.drafts import DraftedSeries, random_months
from tests.methods.series.examples import DOMAIN, MONTHS, UNSAFE_GROUPS
from tests.methods.series.test_publisher import MODES, facts_of
from tests.oracles.tau_rules import is_tau_safe
from tests.sampling import examples

SETTINGS = {"m": 2, "key": "id", "sensitive": "disease", "quasi": {"age": None, "zip": None}, "domain": DOMAIN}
RANGES = {"age": (0, 99, 5), "zip": (0, 99_999, 5_000)}


def begin(path, **settings):
    """A history with a ledger of its own."""
    return rt.republish.History.open(path, **settings, ledger=path / "ledger.sqlite")


@pytest.fixture(scope="module")
def thesis(tmp_path_factory):
    """Table 4.1 imported, then the months of Tables 4.4 and 4.5 in batches, beside boxes of three people."""
    history = begin(tmp_path_factory.mktemp("series") / "history", **SETTINGS, ranges=RANGES, k=3)
    history.import_release(MONTHS[0], UNSAFE_GROUPS[0])
    return history, [history.publish(month, insecure_seed=3) for month in MONTHS[1:]]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    domain, frames = random_months(2, 40, 4, 6)
    settings = {"m": 2, "key": "id", "sensitive": "job", "quasi": {"age": None, "town": None}, "domain": domain}
    history = begin(tmp_path_factory.mktemp("series") / "history", **settings, k=4)
    return history, [history.publish(frame, insecure_seed=number) for number, frame in enumerate(frames)], frames


def public_tables(folder):
    counted = {"batch": pl.Int64, "counterfeits": pl.Int64}
    return [
        pl.read_csv(folder / "public" / f"{name}.csv", schema_overrides=counted)
        for name in ("batches", "people", "counterfeits")
    ]


def test_the_series_of_the_thesis_has_the_same_batches_and_counterfeits(thesis):
    history, releases = thesis
    assert [each.counterfeits for each in releases] == [2, 1]
    shown = [
        Counter(frozenset(values) for (values,) in tables[0].group_by("batch").agg("disease").select("disease").rows())
        for tables in (public_tables(each.folder) for each in releases)
    ]
    wanted = [{"cataract", "pneumonia"}, {"flu", "glaucoma"}, {"flu", "gastritis"}, {"diarrhea", "gastritis"}]
    assert shown == [Counter(map(frozenset, wanted))] * 2
    assert rt.republish.check_tau_safety(history).holds


def test_the_series_of_the_thesis_has_sixteen_worlds_and_every_chance_is_one_half(thesis):
    learned = rt.attacks.series(thesis[0])
    assert learned.worlds == 16
    assert all(set(chances.values()) == {Fraction(1, 2)} for mine in learned.values() for chances in mine.values())


def test_each_release_and_the_whole_series_are_verified(thesis, published):
    for history, releases, *_ in (thesis, published):
        assert rt.verify(history.folders).holds
        for made in releases:
            claims = [check for check in rt.verify(made.folder).checks if check.claim]
            assert [check.status for check in claims] == ["holds", "holds"]
            assert "KAnonymity" in claims[1].name


def test_people_and_values_stand_in_tables_that_share_the_batch_only(published):
    history, releases, frames = published
    for release, made, frame in zip(history.series, releases, frames, strict=True):
        batches, people, made_up = public_tables(made.folder)
        assert (batches.columns, people.columns) == (["batch", "job"], ["batch", "age", "town"])
        assert people.height == len(release.people) == batches.height - made_up["counterfeits"].sum()
        assert people.group_by("age", "town").len()["len"].min() >= 4
        assert Counter(people["batch"].to_list()) + Counter(dict(made_up.rows())) == Counter(batches["batch"].to_list())
        assert people.sort("batch", "age", "town").equals(people)
        assert made.change["people"] + made.waiting == frame.height


@pytest.mark.parametrize("options", MODES.values(), ids=list(MODES))
def test_random_series_keep_the_rules_in_batches_and_boxes_hold_their_people(options):
    domain, frames = random_months(4, 40, 5, 9)
    drafted = DraftedSeries(3, domain, dict(options), k=5)
    for number, frame in enumerate(frames):
        drafted.publish(frame, number)
    assert is_tau_safe(*facts_of(drafted.series), 3)
    for release in drafted.series:
        points = drafted.series.positions(release.quasi)
        assert (release.low[release.box_of] <= points).all()
        assert (points <= release.high[release.box_of]).all()
        assert release.box_people.min() >= 5
        assert len(release.box_people) > 1


@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(1, 3))
@examples(60)
def test_buckets_have_k_people_or_up_to_twice_as_many(seed, k, columns):
    draw = np.random.default_rng(seed)
    points = draw.integers(0, draw.integers(1, 30), (int(draw.integers(k, 200)), columns)) / 30
    buckets = divide_people(points, k, Shuffler(Randomness(seed)))
    sizes = np.bincount(buckets)
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


def test_buckets_of_the_same_quasi_values_do_not_depend_on_sensitive_values_or_groups():
    """One seed, other values, so other groups, and the same number of draws: the same people look alike."""
    domain, frames = random_months(6, 60, 1, 6)
    rolled = frames[0].with_columns(job=pl.Series(np.roll(frames[0]["job"].to_list(), 1)))
    found = []
    for frame in (frames[0], rolled):
        drafted = DraftedSeries(2, domain, k=3)
        drafted.publish(frame, 5)
        found.append(drafted.states[0].release)
    alike = [
        {frozenset(each.people.filter(pl.Series(each.buckets == bucket))) for bucket in range(len(each.low))}
        for each in found
    ]
    parted = [
        {frozenset(each.people.filter(pl.Series(each.group_of == group))) for group in range(len(each))}
        for each in found
    ]
    assert parted[0] != parted[1]
    # People with equal values are parted at random; the quasi values that meet are the same.
    ages = dict(frames[0].select("id", pl.concat_str("age", "town")).rows())
    named = [Counter(frozenset(Counter(ages[who] for who in each).items()) for each in sets) for sets in alike]
    assert named[0] == named[1]


def test_whoever_knows_quasi_values_and_sees_one_release_gives_no_value_more_than_one_in_m(thesis):
    """Brute force over the public files: every way to give people the rows whose box holds them, and values to the people of a batch."""
    for month, made in zip(MONTHS[1:], thesis[1], strict=True):
        batches, people, _ = public_tables(made.folder)
        rows = [
            (batch, json.loads(age), json.loads(place))
            for batch, age, place in people.select("batch", "age", "zip").rows()
        ]
        values = dict(batches.group_by("batch").agg("disease").rows())
        who = month.select("age", "zip").rows()
        worlds, counts = 0, Counter()
        for order in permutations(range(len(rows))):
            mine = [rows[place] for place in order]
            if not all(
                box[0] <= age <= box[1] and zone[0] <= place <= zone[1]
                for (_, box, zone), (age, place) in zip(mine, who, strict=True)
            ):
                continue
            for chosen in product(*(values[batch] for batch, *_ in mine)):
                if len({(batch, value) for (batch, *_), value in zip(mine, chosen, strict=True)}) == len(mine):
                    worlds += 1
                    counts.update((person, value) for person, value in enumerate(chosen))
        assert worlds
        assert max(counts.values()) * 2 <= worlds


def test_counts_are_those_of_all_ways_to_give_values_to_people(published):
    """Bounds and estimate against every assignment of a batch's values to its people; counterfeits are left over."""
    _, releases, _ = published
    for made in releases[1:3]:
        batches, people, _ = public_tables(made.folder)
        public = open_public(made.folder)
        for value, edge in (("v1", 30), ("v3", 12), ("v0", 50)):
            low = high = mean = Fraction(0)
            for batch, shown in batches.group_by("batch").agg("job").rows():
                boxes = [
                    _met(json.loads(age), edge)
                    for (age,) in people.filter(pl.col("batch") == batch).select("age").rows()
                ]
                found = [
                    [(at, met) for at, met in zip(given, boxes, strict=True) if at == value]
                    for given in permutations(shown, len(boxes))
                ]
                low += min(sum(share == 1 for _, share in each) for each in found)
                high += max(sum(share > 0 for _, share in each) for each in found)
                mean += Fraction(sum(share for each in found for _, share in each), len(found))
            answer = public.count(f"job = '{value}' and age < {edge}")
            assert answer.bounds == (low, high)
            assert answer.value == pytest.approx(float(mean))


def _met(ends, edge):
    """The share of the whole numbers of a range that lie below the edge."""
    return Fraction(min(max(edge - ends[0], 0), ends[1] - ends[0] + 1), ends[1] - ends[0] + 1)


def test_true_counts_lie_within_the_bounds(published):
    history, releases, _ = published
    for release, made in zip(history.series, releases, strict=True):
        jobs = np.array(history.settings.domain)[release.value_of]
        for condition, met in (
            ("job = 'v2'", jobs == "v2"),
            ("job = 'v2' and age < 30", (jobs == "v2") & (release.quasi["age"].to_numpy() < 30)),
            ("age < 30 or job = 'v4'", (jobs == "v4") | (release.quasi["age"].to_numpy() < 30)),
            ("town = 'Aix'", (release.quasi["town"] == "Aix").to_numpy()),
        ):
            answer = open_public(made.folder).count(condition)
            assert answer.bounds[0] <= int(met.sum()) <= answer.bounds[1]
            assert answer.counterfeits == made.counterfeits


def test_a_history_in_batches_is_opened_again(published):
    history, *_ = published
    again = rt.republish.History.open(history.path)
    assert str(again.settings.definition) == "TauSafety(m=2) & KAnonymity(k=4)"
    for one, other in zip(again.series, history.series, strict=True):
        assert np.array_equal(one.box_of, other.box_of)
        assert np.array_equal(one.low, other.low)
    assert again.check().holds
    assert json.loads((history.path / "history.json").read_text())["layout"] == 2
    with pytest.raises(PolicyError, match="k was fixed by the first release: it is 4"):
        rt.republish.History.open(history.path, k=5)


def test_a_state_without_its_boxes_is_damaged(published, tmp_path):
    shutil.copytree(published[0].path, tmp_path / "copy")
    for place in (tmp_path / "copy" / "states").iterdir():
        (place / "buckets.parquet").unlink()
    copy = rt.republish.History.open(tmp_path / "copy")
    with pytest.raises(DataError, match="is missing"):
        copy.preview(published[2][0])


def test_forged_tables_are_refused(published):
    public = open_public(published[1][2].folder)
    people = public.rows["people"].frame()

    def checked(**tables):
        public.form.check(replace(public, rows={**public.rows, **{n: FrameRows(each) for n, each in tables.items()}}))

    checked()
    with pytest.raises(DataError, match="values that are not counterfeits"):
        checked(people=people.slice(1))
    with pytest.raises(DataError, match="values that are not counterfeits"):
        checked(people=people.with_columns(batch=pl.col("batch").clip(lower_bound=2)))
    with pytest.raises(DataError, match="missing values"):
        checked(people=people.with_columns(age=pl.when(pl.col("batch") == 1).then(None).otherwise("age")))
    details = {name: value for name, value in public.manifest.details.items() if name != "k"}
    other = replace(public, manifest=replace(public.manifest, details=details))
    with pytest.raises(DataError, match="k belongs to releases in batches"):
        public.form.check(other)


def test_a_box_of_fewer_people_fails_the_claim(published):
    public = open_public(published[1][1].folder)
    people = public.rows["people"].frame()
    label = people["age"].value_counts(sort=True)["age"][0]
    moved = people.with_columns(age=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(label)).otherwise("age"))
    forged = replace(public, rows={**public.rows, "people": FrameRows(moved)})
    found = {each.name: each.status for each in check_claims(forged, None, None, Context()) if each.claim}
    assert found["claim KAnonymity(k=4)"] == "fails"


@pytest.mark.parametrize(
    ("more", "problem"),
    [({"k": 1}, "k must be"), ({"k": 3, "baseline": "tau"}, "without a baseline")],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, more, problem):
    with pytest.raises(PolicyError, match=problem):
        begin(tmp_path / "history", **SETTINGS, **more)
    assert not (tmp_path / "history" / "history.json").exists()


def test_a_method_keeps_k_anonymity_for_all_quasi_columns_only():
    table = rt.Table(MONTHS[0], quasi=["age", "zip"], sensitive="disease", identifiers=["id"], key="id")
    method = rt.Republish(list(DOMAIN))
    for other in (rt.KAnonymity(2, quasi=["age"]), rt.KAnonymity(1), rt.DistinctLDiversity(2)):
        assert "Republish supports" in method.refusal(table, rt.TauSafety(2) & other)
    assert method.refusal(table, rt.TauSafety(2) & rt.KAnonymity(3)) is None


def test_fewer_than_k_people_are_not_published(tmp_path):
    history = begin(tmp_path / "history", **SETTINGS, k=7)
    with pytest.raises(Infeasible, match="6 people, fewer than k = 7"):
        history.publish(MONTHS[0])
    assert len(history) == 0
    assert not list((tmp_path / "history").glob("releases/*"))


def test_boxes_are_smaller_than_those_of_groups_and_the_attacks_run(published, tmp_path):
    history, _, frames = published
    settings = {**{name: getattr(history.settings, name) for name in ("m", "key", "sensitive", "quasi", "domain")}}
    grouped = begin(tmp_path / "history", **settings)
    for number, frame in enumerate(frames):
        grouped.publish(frame, insecure_seed=number)
    measured = [
        rt.reports.measure_series(each.series, rt.attacks.series(each, mode="fixpoint"), queries=40)
        for each in (history, grouped)
    ]
    for one, other in zip(*measured, strict=True):
        assert one.cp < other.cp
        assert one.dcp == one.dcp_true
        assert 0 <= one.kl <= one.kl_sensitive
    assert rt.attacks.series(history, mode="join").highest <= Fraction(1, 2)
    assert {each.model: each.holds for each in rt.baselines.judge_models(history)}["Byun"]


def test_bcf_anonymity_is_not_about_buckets(published):
    with pytest.raises(DataError, match="boxes of buckets"):
        rt.attacks.bcf_of_releases(*published[0].series[:2])
