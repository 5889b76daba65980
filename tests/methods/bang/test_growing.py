"""A table that grows: whoever holds all releases, knows everybody's quasi values and when each came, finds nobody new below what is promised."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Groups
from reticent.definitions import of_groups
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.methods.bang import growing_table as growing
from reticent.methods.bang.newcomers import Admission, CohortGuard, clusters_of, matched_at_once
from tests.sampling import examples, first

VALUES = ["flu", "cold", "gout"]


def people(n: int, seed: int = 1, values: list[str] = VALUES, width: int = 64) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": draw.permutation(10 * n)[:n],
            "x": draw.integers(0, width, n),
            "y": draw.integers(0, width, n),
            "illness": draw.choice(values, n),
        }
    )


def table_of(frame: pl.DataFrame, **options: object) -> rt.Table:
    return rt.Table(frame, quasi=["x", "y"], sensitive="illness", key="id", dataset="wards", **options)


class Place:
    """A folder with a ledger, in which a table is published as it grows."""

    def __init__(self, folder: Path, definition: rt.Definition, **options: object) -> None:
        self.folder, self.definition, self.options = folder, definition, options
        self.released: list[rt.Release] = []

    def publish(self, frame: pl.DataFrame) -> rt.Release:
        method = rt.Bang(grow=self.folder / "series", **self.options)
        found = rt.publish(table_of(frame), self.definition, method=method, ledger=self.folder / "ledger.sqlite")
        if found.entry.new:
            self.released.append(found)
        return found

    def saved(self) -> list[Path]:
        return [each.save(self.folder / f"release {at}") for at, each in enumerate(self.released, start=1)]


def paths(released: list[rt.Release], frame: pl.DataFrame) -> dict[int, tuple[int | None, ...]]:
    """The class of everybody in each release (None: not in it yet), as somebody finds it who knows quasi values and who came when: from the public table of regions."""
    found: dict[int, list[int | None]] = {key: [] for key in frame["id"]}
    for release in released:
        where = dict(zip(frame["id"], classes_of(release, frame), strict=True))
        where = {key: each for key, each in where.items() if key in _WHO[id(release)]}
        assert Counter(where.values()) == Counter(release.frame["group"].to_list())
        for key, mine in found.items():
            mine.append(where.get(key))
    return {key: tuple(each) for key, each in found.items()}


def classes_of(release: rt.Release, frame: pl.DataFrame) -> list[int]:
    """By the plain bounds: of all regions that hold somebody the one of the greatest level."""
    regions = release.tables["regions"]
    held = np.ones((frame.height, regions.height), dtype=bool)
    for name in ("x", "y"):
        low = regions[f"{name} from"].cast(pl.Float64).fill_null(-np.inf).to_numpy()
        high = regions[f"{name} below"].cast(pl.Float64).fill_null(np.inf).to_numpy()
        values = frame[name].to_numpy()[:, None]
        held &= (low <= values) & (values < high)
    innermost = np.where(held, regions["level"].to_numpy(), -1).argmax(axis=1)
    return regions["group"].to_numpy()[innermost].tolist()


_WHO: dict[int, set[int]] = {}


def remember(place: Place, release: rt.Release) -> None:
    """Who is in a release: the publisher's own state, which the adversary is supposed to know."""
    folder = place.folder / "series"
    newest = max(each.name for each in folder.iterdir())
    _WHO[id(release)] = set(pl.read_parquet(folder / newest / "people.parquet")["id"].to_list())


def grow(place: Place, frame: pl.DataFrame, ends: list[int]) -> None:
    for end in ends:
        before = len(place.released)
        release = place.publish(frame[:end])
        if len(place.released) > before:
            remember(place, release)


@pytest.mark.parametrize("few", ["wait", "merge"])
@pytest.mark.parametrize("guard", ["quasi", "sensitive"])
@pytest.mark.parametrize("seed", first(range(6), 1))
def test_whoever_subtracts_releases_finds_enough_people_every_time(seed, few, guard, tmp_path):
    frame = people(400, seed, ["flu"] * 3 + ["cold", "gout"], 32)
    place = Place(tmp_path, rt.KAnonymity(4) & rt.DistinctLDiversity(2), few=few, guard=guard)
    grow(place, frame, [200, 215, 260, 330, 400])
    assert len(place.released) >= 2
    where = paths(place.released, frame)
    illness = dict(zip(frame["id"], frame["illness"], strict=True))
    # Classes of any two releases are subtracted from each other: those who came in between are left.
    for one, other in combinations(range(-1, len(place.released)), 2):
        new: dict[int, list[str]] = defaultdict(list)
        for key, classes in where.items():
            if classes[other] is not None and (one < 0 or classes[one] is None):
                new[classes[other]].append(illness[key])
        assert all(len(each) >= 4 and len(set(each)) >= 2 for each in new.values())
    # Later classes are made of whole earlier ones.
    for one, other in combinations(range(len(place.released)), 2):
        pairs = {(each[one], each[other]) for each in where.values() if each[one] is not None}
        assert len(pairs) == len({then for then, _ in pairs})
    checked = rt.verify(place.saved())
    assert checked.holds, checked.failures
    assert "BCF-anonymity" in place.released[-1].entry.note


def possible_worlds(where: dict[int, tuple[int | None, ...]], illness: dict[int, str]) -> dict[int, Counter[str]]:
    """How often each person has which value in all assignments of values that give every release, by trying all of them."""
    everybody = [key for key, each in where.items() if each[-1] is not None]

    def shown(values: dict[int, str]) -> list[Counter[tuple[int, str]]]:
        return [
            Counter((where[key][at], values[key]) for key in everybody if where[key][at] is not None)
            for at in range(len(next(iter(where.values()))))
        ]

    told = shown(illness)
    found: dict[int, Counter[str]] = {key: Counter() for key in everybody}
    for each in set(permutations([illness[key] for key in everybody])):
        world = dict(zip(everybody, each, strict=True))
        if shown(world) == told:
            for key, value in world.items():
                found[key][value] += 1
    return found


@pytest.mark.parametrize("few", ["wait", "merge"])
@pytest.mark.parametrize("seed", first(range(12), 3))
def test_no_value_is_more_likely_than_promised_in_all_worlds_of_a_small_series(seed, few, tmp_path):
    """Brute force: all assignments of values to people that every release agrees with, each as likely as any other."""
    frame = people(9, seed, ["a", "b"], 4)
    place = Place(tmp_path, rt.ProbabilisticLDiversity(2), few=few, minimum=2)
    try:
        grow(place, frame, [4, 6, 8, 9])
    except rt.errors.Infeasible:
        return  # the first four are all alike
    worlds = possible_worlds(paths(place.released, frame), dict(zip(frame["id"], frame["illness"], strict=True)))
    for counts in worlds.values():
        assert max(Fraction(count, counts.total()) for count in counts.values()) <= Fraction(1, 2)


def read_off(where: dict[int, tuple[int | None, ...]], illness: dict[int, str]) -> int:
    """How many people of the last release who came after the first have a value that follows for certain by subtraction."""
    left: dict[int, list[int]] = defaultdict(list)
    for key, classes in where.items():
        if classes[-1] is not None and classes[0] is None:
            left[classes[-1]].append(key)
    return sum(len(keys) for keys in left.values() if len({illness[key] for key in keys}) == 1)


def test_without_the_guard_most_new_people_are_read_off_and_with_it_nobody(tmp_path, monkeypatch):
    """13.2: 5 % growth; each release alone is 5-anonymous and diverse."""
    frame = people(2100, 3, [f"illness {at}" for at in range(8)], 256)
    illness = dict(zip(frame["id"], frame["illness"], strict=True))
    wanted = rt.KAnonymity(5) & rt.DistinctLDiversity(3)
    guarded = Place(tmp_path / "guarded", wanted, few="merge")
    guarded.folder.mkdir()
    grow(guarded, frame, [2000, 2100])
    assert len(guarded.released) == 2
    assert guarded.released[-1].frame.height == 2100
    assert read_off(paths(guarded.released, frame), illness) == 0
    naive = Place(tmp_path / "naive", wanted)
    naive.folder.mkdir()
    let_everybody_in(monkeypatch)
    grow(naive, frame, [2000, 2100])
    assert all(each.groups.sizes.min() >= 5 for each in naive.released)
    assert read_off(paths(naive.released, frame), illness) >= 66
    # Each folder verifies alone; beside the first one, the second does not.
    folders = naive.saved()
    assert all(rt.verify(folder).holds for folder in folders)
    checked = rt.verify(folders)
    assert not checked.holds
    assert any("new since release 1 do not satisfy" in each.detail for each in checked.failures)


def let_everybody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A publisher without the guard, for comparison."""
    monkeypatch.setattr(
        CohortGuard, "admit", lambda _, tree, clusters, fresh: Admission(clusters, np.ones(len(clusters), dtype=bool))
    )
    monkeypatch.setattr(growing._Growth, "_anonymity", lambda *_: 0)


def test_another_index_is_not_a_later_release(tmp_path):
    frame = people(300)
    one, other = (Place(tmp_path / name, rt.KAnonymity(5)) for name in ("one", "other"))
    for place, start in ((one, frame[:200]), (other, frame[60:260])):
        place.folder.mkdir()
        grow(place, start, [200])
        place.publish(frame if place is other else frame[:200])
    folders = [*one.saved(), *other.saved()[1:]]
    checked = rt.verify(folders)
    assert not checked.holds
    assert any("is not inside one class" in each.detail for each in checked.failures)


def test_who_waits_depends_on_quasi_values_alone_where_nothing_sensitive_is_promised(tmp_path):
    frame = people(400, 5, width=32)
    shuffled = frame.with_columns(pl.Series("illness", ["flu"] * 400))
    found = []
    for name, each in (("one", frame), ("other", shuffled)):
        place = Place(tmp_path / name, rt.KAnonymity(4))
        place.folder.mkdir()
        grow(place, each, [200, 300, 400])
        found.append([_WHO[id(release)] for release in place.released])
    assert found[0] == found[1]


def test_a_table_that_does_not_only_grow_is_refused_and_sent_to_republish(tmp_path):
    frame = people(200)
    place = Place(tmp_path, rt.KAnonymity(5))
    place.publish(frame)
    key = frame["id"][7]
    for wrong, told in (
        (frame.filter(pl.col("id") != key), f"1 people who are already published are not in the table, such as {key}"),
        (
            frame.with_columns(x=pl.when(pl.col("id") == key).then(pl.col("x") + 1).otherwise("x")),
            f"different values now, such as {key}",
        ),
        (
            frame.with_columns(illness=pl.when(pl.col("id") == key).then(pl.lit("new")).otherwise("illness")),
            "different values now",
        ),
        (pl.concat([frame, frame[:1]]), "treats every row as a different person"),
        (frame.cast({"x": pl.Float64}), "or their types differ"),
    ):
        with pytest.raises((DataError, PolicyError), match=told) as refused:
            place.publish(wrong)
        if "published already" in told:
            assert "reticent republish" in str(refused.value)
    with pytest.raises(PolicyError, match="have the same definition"):
        Place(tmp_path, rt.KAnonymity(6)).publish(frame)
    assert len(list((tmp_path / "series").iterdir())) == 1


@pytest.mark.parametrize(
    ("options", "definition", "told"),
    [
        ({"dataset": None}, rt.KAnonymity(3), "has no name"),
        ({"key": None}, rt.KAnonymity(3), "needs a key column"),
        ({"declared": {"note": "internal"}}, rt.KAnonymity(3), "only quasi and sensitive columns"),
        ({}, rt.TCloseness("0.3"), "compares classes with the whole table"),
    ],
)
def test_what_a_series_cannot_keep_is_refused_before_anything_is_written(options, definition, told, tmp_path):
    frame = people(60).with_columns(note=pl.lit("x"))
    given = {"quasi": ["x", "y"], "sensitive": "illness", "key": "id", "dataset": "wards", **options}
    with pytest.raises(PolicyError, match=told):
        rt.publish(
            rt.Table(frame, **given),
            definition,
            method=rt.Bang(grow=tmp_path / "series"),
            ledger=tmp_path / "ledger.sqlite",
        )
    assert not (tmp_path / "series").exists()


def test_settings_that_contradict_each_other_are_refused(tmp_path):
    with pytest.raises(PolicyError, match="Remove index or grow"):
        rt.Bang(grow=tmp_path, index=tmp_path)
    with pytest.raises(PolicyError, match="few must be one of wait, merge"):
        rt.Bang(few="drop")
    with pytest.raises(PolicyError, match="Remove compact or grow"):
        rt.publish(
            table_of(people(60)),
            rt.KAnonymity(3),
            method=rt.Bang(grow=tmp_path / "series", compact=True),
            ledger=tmp_path / "ledger.sqlite",
        )


def test_nothing_else_goes_out_beside_a_series(tmp_path):
    frame, book = people(200), tmp_path / "ledger.sqlite"
    place = Place(tmp_path, rt.KAnonymity(5))
    place.publish(frame)
    with pytest.raises(LedgerError, match="was released already"):
        rt.publish(table_of(frame), rt.KAnonymity(9), method=rt.Bang(), ledger=book)
    other = tmp_path / "other.sqlite"
    rt.publish(table_of(frame), rt.KAnonymity(9), method=rt.Bang(), ledger=other)
    with pytest.raises(LedgerError, match="was released already"):
        rt.publish(table_of(frame), rt.KAnonymity(5), method=rt.Bang(grow=tmp_path / "another"), ledger=other)


def test_the_same_table_is_the_same_release_and_a_damaged_state_is_told(tmp_path):
    frame = people(300)
    place = Place(tmp_path, rt.KAnonymity(5))
    grow(place, frame, [200, 300])
    again = place.publish(frame)
    assert (again.entry.number, again.entry.new) == (place.released[-1].entry.number, False)
    assert again.frame.equals(place.released[-1].frame)
    last = max((tmp_path / "series").iterdir())
    (last / "people.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match="Restore the folder from a backup"):
        place.publish(people(300))


def test_a_preview_shows_the_next_release_and_writes_nothing(tmp_path):
    frame = people(300)
    place = Place(tmp_path, rt.KAnonymity(5))
    place.publish(frame[:200])
    shown = rt.preview(table_of(frame), rt.KAnonymity(5), method=rt.Bang(grow=tmp_path / "series", few="merge"))
    assert shown.groups.sizes.sum() == 300
    assert len(list((tmp_path / "series").iterdir())) == 1


KILLED = """
import os, signal, sys
import polars as pl
import reticent as rt
from reticent.methods.bang.growing_table import GrowingFolder
from reticent.ledger.entries import Entries

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def after(function):
    def run(*given, **named):
        function(*given, **named)
        die()
    return run

folder, moment = sys.argv[1:]
if moment == "before the state": GrowingFolder.write = die
if moment == "after the state": GrowingFolder.write = after(GrowingFolder.write)
if moment == "in the transaction": Entries._keep = die
if moment == "after the ledger": Entries.record = after(Entries.record)
frame = pl.read_parquet(folder + "/frame.parquet")
table = rt.Table(frame, quasi=["x", "y"], sensitive="illness", key="id", dataset="wards")
rt.publish(table, rt.KAnonymity(5), method=rt.Bang(grow=folder + "/series", few="merge"), ledger=folder + "/ledger.sqlite")
"""


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        pytest.param("before the state", 2, marks=pytest.mark.slow),
        ("after the state", 2),
        pytest.param("in the transaction", 2, marks=pytest.mark.slow),
        pytest.param("after the ledger", 2, marks=pytest.mark.slow),
    ],
)
def test_a_killed_process_leaves_the_series_before_or_after_a_release(moment, number, tmp_path):
    frame = people(300)
    place = Place(tmp_path, rt.KAnonymity(5), few="merge")
    place.publish(frame[:200])
    frame.write_parquet(tmp_path / "frame.parquet")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), moment], env=os.environ, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    again = place.publish(frame)
    assert (again.entry.number, again.frame.height) == (number, 300)
    assert again.entry.new == (moment != "after the ledger")
    # What was written and never recorded is swept away with the next release.
    more = pl.concat([frame, people(60, 9).with_columns(pl.col("id") + 10_000)])
    place.publish(more)
    numbers = sorted(int(each.name[:4]) for each in (tmp_path / "series").iterdir())
    assert numbers == [1, 2, 3]


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from("abc"), st.booleans()), min_size=12, max_size=60
    ),
    few=st.sampled_from(["wait", "merge"]),
    by_class=st.booleans(),
    l=st.integers(1, 3),
)
@examples(300, few=40)
def test_new_people_pass_in_every_class_that_they_enter(rows, few, by_class, l):  # noqa: E741
    """The guard by itself: classes stay whole, and counts of new people alone decide where only counts are promised."""
    old = [row for row in rows if not row[3]][:40] or rows[:1]
    frame = pl.DataFrame({"x": [row[0] for row in old], "y": [row[1] for row in old]})
    scales = {"x": list(range(1, 8)), "y": list(range(1, 8))}
    index = rt.Bang(minimum=2, scales=scales).build(rt.Table(frame, quasi=["x", "y"]))
    tree = index.dendrogram
    clusters = clusters_of(tree, index.at(3).group) if len(old) >= 3 else np.array([2 * len(tree) - 2])
    new = [row for row in rows if row[3]]
    cells = np.array([row[:2] for row in new], dtype=np.int64).reshape(-1, 2).T
    region = index.directory.holding(index.space.keys_at(cells))
    column = Groups.from_histograms([{"a": 1, "b": 1, "c": 1}]).domain.columns
    fresh = Groups.of_rows(region, len(tree), column, [np.array(["abc".index(row[2]) for row in new], dtype=np.int64)])
    definition = of_groups(rt.KAnonymity(2) & rt.DistinctLDiversity(l), "Bang")
    found = CohortGuard(definition, definition.least_rows(), by_class, few).admit(tree, clusters, fresh)
    now, then = tree.classes(found.clusters), tree.classes(clusters)
    assert len({(one, other) for one, other in zip(then.tolist(), now.tolist(), strict=True)}) == len(clusters)
    told: dict[int, list[str]] = defaultdict(list)
    for row, at in zip(new, region.tolist(), strict=True):
        told[int(now[at])].append(row[2])
    for at, enters in enumerate(found.enters.tolist()):
        if enters:
            assert len(told[at]) >= max(2, l)
            assert len(set(told[at])) >= l
    if l == 1:
        many = Counter(now[region].tolist())
        if few == "wait":
            assert found.enters.tolist() == [many[at] >= 2 for at in range(len(found.clusters))]
        elif len(new) >= 2:
            assert all(found.enters[at] for at in many)


@given(
    old=st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1), min_size=1, max_size=5),
    new=st.dictionaries(st.integers(0, 2), st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1)),
    data=st.data(),
)
@examples(80, few=20)
def test_bcf_anonymity_is_that_of_the_attack(old, new, data):
    """Nested classes as boxes on a line: the flows of the attack find the same."""
    from reticent.methods.series import EventKind, SeriesRelease

    inside = sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(old), max_size=len(old))))
    inside = [sorted(set(inside)).index(at) for at in inside]
    classes = max(inside) + 1
    later = [Counter() for _ in range(classes)]
    for at, each in zip(inside, old, strict=True):
        later[at].update(each)
    for at, each in new.items():
        later[at % classes].update(each)
    labels = ["a", "b", "c"]
    before, after = (Groups.from_histograms(each, labels) for each in (old, later))
    found = matched_at_once(before, after, np.array(inside))

    def release(groups: list, boxes: list[tuple[int, int]], first: int) -> SeriesRelease:
        rows = [
            (at, "abc".index(value))
            for at, each in enumerate(groups)
            for value in sorted(each)
            for _ in range(each[value])
        ]
        sizes = np.bincount([at for at, _ in rows], minlength=len(groups))
        return SeriesRelease(
            number=first, people=pl.Series("id", range(len(rows))), group_of=np.array([at for at, _ in rows]),
            value_of=np.array([value for _, value in rows]), quasi=pl.DataFrame({"x": [0] * len(rows)}),
            events=np.full(len(rows), int(EventKind.INSERTED), dtype=np.uint8), left=pl.Series("id", [], dtype=pl.Int64),
            offsets=np.concatenate([[0], np.cumsum(sizes)]), values=np.array([value for _, value in rows]),
            counterfeits=np.zeros(len(groups), dtype=np.int64),
            low=np.array([[low] for low, _ in boxes]), high=np.array([[high] for _, high in boxes]),
        )  # fmt: skip

    ends = [
        (
            min(at for at, each in enumerate(inside) if each == group),
            max(at for at, each in enumerate(inside) if each == group),
        )
        for group in range(classes)
    ]
    one = release(old, [(at, at) for at in range(len(old))], 1)
    two = release(later, ends, 2)
    # The same people have the same values in both: they are numbered by class and value.
    taken: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key, at, value in zip(range(len(one.people)), one.group_of.tolist(), one.value_of.tolist(), strict=True):
        taken[inside[at], value].append(key)
    fresh = iter(range(len(one.people), 1000))
    keys = [
        taken[at, value].pop(0) if taken[at, value] else next(fresh)
        for at, value in zip(two.group_of.tolist(), two.value_of.tolist(), strict=True)
    ]
    from dataclasses import replace

    attacked = rt.attacks.bcf_of_releases(one, replace(two, people=pl.Series("id", keys)))
    assert found == (attacked.forward, attacked.backward)


def test_a_policy_publishes_a_table_that_grows(tmp_path):
    from reticent.policy import Policy, publish_policy

    frame = people(300)
    (tmp_path / "policy.toml").write_text(
        'dataset = "wards"\n[data]\nsource = "people.csv"\n[roles]\nkey = "id"\nquasi = ["x", "y"]\nsensitive = ["illness"]\n'
        '[[definition]]\nname = "KAnonymity"\nk = 5\n[method]\nname = "Bang"\ngrow = "series"\nfew = "merge"\n[release]\nledger = "ledger.sqlite"\n'
    )
    folders = []
    for number, end in enumerate((200, 300), start=1):
        frame[:end].write_csv(tmp_path / "people.csv")
        folders.append(publish_policy(Policy.read(tmp_path / "policy.toml"), tmp_path / f"release {number}").path)
    assert rt.verify(folders).holds
    assert (tmp_path / "series").is_dir()


def test_a_release_that_was_withdrawn_leaves_a_gap_in_the_ledger_and_none_in_the_series(tmp_path):
    frame = people(400)
    place = Place(tmp_path, rt.KAnonymity(5), few="merge")
    grow(place, frame, [200, 300])
    with rt.ledger.Ledger(tmp_path / "ledger.sqlite") as book:
        book.withdraw(place.released.pop().entry, "never saved")
    grow(place, frame, [400])
    assert [each.entry.number for each in place.released] == [1, 3]
    folders = place.saved()
    assert rt.verify(folders).holds
    # The second release of the series is judged beside the first, although the ledger gave it another number.
    let_through = [folders[1], folders[0]]
    assert not rt.verify(let_through).holds


def test_another_ledger_and_an_older_one_do_not_begin_the_series_again(tmp_path):
    """Under another HOME the ledger is another one, and a second "release 1" went out."""
    frame = people(400)
    place = Place(tmp_path, rt.KAnonymity(5), few="merge")
    grow(place, frame, [200])
    before = {each.name: each.read_bytes() for each in tmp_path.glob("ledger.sqlite*")}
    method = rt.Bang(grow=tmp_path / "series", few="merge")
    with pytest.raises(LedgerError, match=r"series of at least 1 releases, but the ledger has none of them"):
        rt.publish(table_of(frame[:300]), rt.KAnonymity(5), method=method, ledger=tmp_path / "other.sqlite")
    grow(place, frame, [300, 400])
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(LedgerError, match="at least 3 releases, but the ledger has 1 of them"):
        place.publish(frame)
    assert len(list((tmp_path / "series").iterdir())) == 3


@pytest.mark.parametrize("name", ["people.parquet", "clusters.parquet", "state.json"])
def test_a_state_that_was_changed_is_refused(tmp_path, name):
    frame = people(300)
    place = Place(tmp_path, rt.KAnonymity(5), few="merge")
    grow(place, frame, [200])
    (state,) = (tmp_path / "series").iterdir()
    (state / name).write_bytes((state / name).read_bytes() + b" ")
    with pytest.raises(DataError, match="missing or damaged"):
        place.publish(frame)


def test_a_job_that_was_killed_after_its_folder_was_written_can_be_repeated(tmp_path, monkeypatch):
    from reticent.ledger import Ledger
    from reticent.policy import Policy, publish_policy

    frame = people(300)
    (tmp_path / "policy.toml").write_text(
        'dataset = "wards"\n[data]\nsource = "people.csv"\n[roles]\nkey = "id"\nquasi = ["x", "y"]\nsensitive = ["illness"]\n'
        '[[definition]]\nname = "KAnonymity"\nk = 5\n[method]\nname = "Bang"\ngrow = "series"\nfew = "merge"\n[release]\nledger = "ledger.sqlite"\n'
    )
    target = tmp_path / "release"
    frame[:200].write_csv(tmp_path / "people.csv")

    class KilledError(BaseException):
        pass

    def die(*_):
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "give_out", die)
        with pytest.raises(KilledError):
            publish_policy(Policy.read(tmp_path / "policy.toml"), target)
    written = (target / "public" / "certificate.json").read_bytes()
    again = publish_policy(Policy.read(tmp_path / "policy.toml"), target)
    assert (again.release.entry.number, again.release.entry.new) == (1, False)
    assert (target / "public" / "certificate.json").read_bytes() == written
    with Ledger(tmp_path / "ledger.sqlite") as book:
        assert [each.status for each in book.entries("wards")] == ["given out"]
    with pytest.raises(DataError, match="exists already"):
        publish_policy(Policy.read(tmp_path / "policy.toml"), target)
