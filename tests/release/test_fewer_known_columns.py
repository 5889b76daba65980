"""What a guarantee for any few columns would save: offered only where it saves much, with what it leaves open."""

from __future__ import annotations

import numpy as np
import polars as pl

import reticent as rt
from reticent.release import any_columns_offer

NAMES = list("abcdef")


def independent(rows: int, values: int = 5) -> rt.Table:
    draw = np.random.default_rng(1)
    return rt.Table(pl.DataFrame({name: draw.integers(0, values, rows) for name in NAMES}), quasi=NAMES)


def test_it_is_offered_with_what_both_lose_and_who_is_unique_beyond() -> None:
    table, method = independent(300), rt.Mondrian(values="ranges")
    offer = any_columns_offer(table, rt.KAnonymity(5), method)
    assert offer is not None
    assert offer.loss < 0.8 * offer.loss_of_all
    release = rt.publish(table, offer.definition, method=method)
    assert offer.loss == release.utility["loss"]
    assert offer.loss_of_all == rt.publish(table, rt.KAnonymity(5), method=method).utility["loss"]
    everything = release.frame.select(NAMES).is_unique().sum() / 300
    assert offer.unique[6] == everything
    assert list(offer.unique) == [each for each in (3, 5, 6) if each > offer.definition.known]
    assert f"knows any {offer.definition.known} of them" in offer.note()


def test_it_is_not_offered_where_it_saves_little() -> None:
    same = rt.Table(pl.DataFrame({name: [0, 1] * 50 for name in NAMES}), quasi=NAMES)
    assert any_columns_offer(same, rt.KAnonymity(5), rt.Mondrian(values="sets")) is None
    assert any_columns_offer(independent(3), rt.KAnonymity(5), rt.Mondrian(values="sets")) is None
