"""Random tables of every kind of column, for tests that compare engines."""

import datetime

import numpy as np
import polars as pl

from reticent.table import Hierarchy

DAYS = [datetime.date(2023, 1, 1) + datetime.timedelta(days=17 * number) for number in range(30)]
TREE = {"north": ["Ålesund", "Bergen"], "south": {"near": ["Como"], "far": ["Łódź", "Évora", 'a, "b"']}}
CITIES = ["Ålesund", "Bergen", "Como", "Łódź", "Évora", 'a, "b"']


def frame_of(rows: int, seed: int, missing: float = 0.0) -> pl.DataFrame:
    """Numbers, codes, dates, truths, categories and text; ``missing`` is the share of nulls and NaN in judged columns."""
    chance = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": chance.integers(18, 40, rows).astype(np.int16),
            "zip": [f"{number:04d}" for number in chance.integers(0, 12, rows)],
            "day": [DAYS[place] for place in chance.integers(0, len(DAYS), rows)],
            "city": [CITIES[place] for place in chance.integers(0, len(CITIES), rows)],
            "weight": chance.choice([50.5, 60.25, 71.0], rows),
            "member": chance.choice([True, False], rows),
            "illness": chance.choice(["flu", "", "cold", "ulcer"], rows),
            "cost": chance.choice([0.1, -0.0, 0.0, 1e6, 2.5], rows).astype(np.float32),
            "note": [f"note {number}" for number in chance.integers(0, 10**6, rows)],
            "stay": chance.integers(0, 5, rows).astype(np.uint64),
        }
    ).with_columns(pl.col("city").cast(pl.Categorical) if seed % 2 else pl.col("city"))
    if not missing:
        return frame
    for name in ("age", "city", "weight", "illness"):
        gone = pl.Series(chance.random(rows) < missing)
        frame = frame.with_columns(pl.when(~gone).then(pl.col(name)).alias(name))
    odd = pl.Series(chance.random(rows) < missing)
    return frame.with_columns(pl.when(odd).then(float("nan")).otherwise(pl.col("weight")).alias("weight"))


QUASI = {
    "age": Hierarchy.intervals([5, 10], domain=(0, 99)),
    "zip": Hierarchy.masking(4),
    "day": Hierarchy.dates(["month", "year"]),
    "city": Hierarchy.taxonomy(TREE),
    "weight": Hierarchy.cuts([[55, 65], [65]]),
    "member": None,
}
