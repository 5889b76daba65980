"""Sizes of classes of equal rows, whatever the rows are held in."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.table import FrameRows, RepeatedRows, StreamRows, class_sizes
from reticent.table import row_classes as module

VALUES = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]))
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), VALUES, st.integers(0, 2)), min_size=1, max_size=30)


def counted(rows: list[tuple], columns: list[int]) -> list[int]:
    shown = Counter(tuple("nan" if row[c] != row[c] else row[c] for c in columns) for row in rows)
    return sorted(shown.values())


@given(rows=ROWS, sliced=st.integers(1, 7))
def test_classes_are_those_of_equal_rows_in_memory_and_in_a_stream(rows: list[tuple], sliced: int) -> None:
    frame = pl.DataFrame(rows, schema={"q": pl.String, "x": pl.Float64, "hash": pl.Int64}, orient="row")
    streamed = StreamRows(frame.schema, lambda columns: (part.select(columns) for part in frame.iter_slices(sliced)))
    sets = {("x",): [0, 1], ("hash",): [0, 2], ("x", "hash"): [0, 1, 2], (): [0]}
    for held in (FrameRows(frame), streamed):
        found = class_sizes(held, ["q"], sets)
        assert {columns: sorted(sizes.tolist()) for columns, sizes in found.items()} == {
            columns: counted(rows, places) for columns, places in sets.items()
        }


def test_repeated_rows_count_as_often_as_they_are_there() -> None:
    rows = RepeatedRows(FrameRows(pl.DataFrame({"q": ["a", "b"], "x": [1, 2]})), np.array([3, 1]))
    assert sorted(class_sizes(rows, ["q"], [("x",)])["x",].tolist()) == [1, 3]


def test_without_labels_the_further_columns_alone_decide() -> None:
    found = class_sizes(FrameRows(pl.DataFrame({"x": [1, 1, 2]})), [], [("x",), ()])
    assert sorted(found["x",].tolist()) == [1, 2]
    assert found[()].tolist() == [3]


def test_a_collision_of_hashes_is_found_and_the_hashes_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    true, calls = module._hashed, []

    def colliding(*arguments):
        calls.append(arguments)
        hashes = true(*arguments)
        return {name: (one * (len(calls) > 1), two) for name, (one, two) in hashes.items()}

    monkeypatch.setattr(module, "_hashed", colliding)
    assert class_sizes(FrameRows(pl.DataFrame({"x": [1, 2, 3]})), [], [("x",)])["x",].tolist() == [1, 1, 1]
    assert len(calls) == 2
