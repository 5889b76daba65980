"""Several cuts of one index: nested ones go out beside each other, others only if people who are together in all of them keep every promise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import LedgerError
from tests.sampling import seeds


def people(seed: int = 1, n: int = 300) -> rt.Table:
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": draw.integers(18, 90, n),
            "height": draw.integers(150, 200, n),
            "illness": draw.choice(["flu", "cold", "gout", "ulcer"], n, p=[0.7, 0.1, 0.1, 0.1]),
        }
    )
    return rt.Table(frame, quasi=["age", "height"], sensitive="illness", dataset="wards")


def test_cuts_for_several_k_go_out_beside_each_other(tmp_path):
    table, book = people(), tmp_path / "ledger.sqlite"
    for k in (5, 40, 12):
        release = rt.publish(table, rt.KAnonymity(k), method=rt.Bang(minimum=5), ledger=book)
        assert release.groups.sizes.min() >= k
        if k == 5:
            # Nothing is out beside the first one, and its certificate speaks of nothing else.
            assert "judged together" not in str(release.certificate["ledger"])
    assert release.entry is not None
    assert release.entry.number == 3
    assert "judged together" in release.entry.note


def test_another_index_or_another_method_is_refused_beside_a_cut(tmp_path):
    table, book = people(), tmp_path / "ledger.sqlite"
    rt.publish(table, rt.KAnonymity(5), method=rt.Bang(minimum=5), ledger=book)
    for method in (rt.Bang(minimum=6), rt.Bang(minimum=5, order="closest"), rt.Mondrian(values="sets")):
        with pytest.raises(LedgerError, match="was released already"):
            rt.publish(table, rt.KAnonymity(9), method=method, ledger=book)
    with pytest.raises(LedgerError, match="was released already"):
        rt.publish(people(2), rt.KAnonymity(9), method=rt.Bang(minimum=5), ledger=book)


@pytest.mark.parametrize("k", [5, 60])
def test_a_cut_for_diversity_and_one_for_k_may_give_people_away_together(k, tmp_path):
    """13.2: a k-cut beside an l-cut. The parts that both have in common must keep both promises."""
    table, book = people(), tmp_path / "ledger.sqlite"
    diverse = rt.DistinctLDiversity(3) & rt.KAnonymity(5)
    one = rt.publish(table, diverse, method=rt.Bang(minimum=5, guard="sensitive"), ledger=book)
    frame = table.held.frame()
    other = rt.publish(table, rt.KAnonymity(k), method=rt.Bang(minimum=5), ledger=tmp_path / "other.sqlite")
    classes = frame.with_columns(one=classes_of(one, frame), other=classes_of(other, frame))
    common = classes.group_by("one", "other").agg(pl.len(), pl.col("illness").n_unique())
    keeps = common["len"].min() >= 5 and common["illness"].min() >= 3
    assert keeps == (k == 60)
    if keeps:
        rt.publish(table, rt.KAnonymity(k), method=rt.Bang(minimum=5), ledger=book)
        return
    with pytest.raises(LedgerError, match="different values"):
        rt.publish(table, rt.KAnonymity(k), method=rt.Bang(minimum=5), ledger=book)


@pytest.mark.parametrize("seed", seeds(9))
def test_a_cut_goes_out_exactly_if_all_that_is_out_keeps_every_promise_together(seed, tmp_path):
    """Random cuts one after the other; who is together in all of them is counted row by row."""
    draw = np.random.default_rng(seed)
    table, out = people(seed, int(draw.integers(60, 200))), []
    frame = table.held.frame()
    for _ in range(4):
        k, least = int(draw.choice([5, 6, 8, 12, 20])), int(draw.choice([1, 2, 3]))
        wanted = rt.KAnonymity(k) if least == 1 else rt.KAnonymity(k) & rt.DistinctLDiversity(least)
        method = rt.Bang(minimum=5, guard=str(draw.choice(["quasi", "sensitive"])))  # type: ignore[arg-type]
        draft = method.draft(table, wanted)
        every = [*out, (k, least, draft.recoding.place(frame, "error")[0]["group"])]  # type: ignore[union-attr]
        common = pl.DataFrame([group.alias(str(at)) for at, (_, _, group) in enumerate(every)])
        parts = (
            common.with_columns(frame["illness"]).group_by(common.columns).agg(pl.len(), pl.col("illness").n_unique())
        )
        keeps = parts["len"].min() >= min(each[0] for each in every) and parts["illness"].min() >= max(
            each[1] for each in every
        )
        if keeps:
            rt.publish(table, wanted, method=method, ledger=tmp_path / "ledger.sqlite")
            out = every
        else:
            with pytest.raises(LedgerError, match="do not satisfy what is promised together"):
                rt.publish(table, wanted, method=method, ledger=tmp_path / "ledger.sqlite")


def classes_of(release: rt.Release, frame: pl.DataFrame) -> pl.Series:
    assert release.private.recoding is not None
    return release.private.recoding.place(frame, "error")[0]["group"]
