"""Measuring histograms is light: no tables, no compiler, no pictures are loaded for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"numba", "altair", "vl_convert", "polars", "duckdb", "scipy", "pandas"}


@pytest.mark.parametrize(
    "statement",
    [
        "import reticent.knowledge",
        "import reticent as rt; rt.knowledge.curve([(2, 2, 1), (2, 1, 1, 1)], 3); rt.knowledge.witness([(2, 2, 1)] * 1000, 1)",
    ],
)
def test_measuring_loads_nothing_heavy(statement):
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.partition(".")[0] for name in done.stdout.split()} & HEAVY


def test_unknown_names_are_refused_and_known_ones_found():
    import reticent.knowledge as room

    for name in room.__all__:
        assert getattr(room, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'curves'"):
        _ = room.curves
