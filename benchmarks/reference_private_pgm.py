"""AIM and MST as their authors wrote them, in the package `dpmm`, on records that `benchmarks marginals prepare` wrote; see there.

`dpmm` carries the mechanisms and the inference of the repository private-pgm. It runs in an environment of its own (``pip install dpmm polars``) and imports nothing of ours. One process does everything, so that
processor seconds are comparable.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pandas
import polars
from dpmm.models.aim import AIM
from dpmm.models.mst import MST

DELTA = 1e-6


def main(folder: str, name: str, epsilon: str, select: str, seed: str) -> None:
    """Write as many synthetic records as there are records, drawn from one release with the settings of the authors."""
    root = Path(folder)
    sizes = json.loads((root / f"{name}.json").read_text())["sizes"]
    coded = polars.read_parquet(root / f"{name}.parquet")
    records = pandas.DataFrame({each: coded[each].to_numpy() for each in coded.columns})
    mechanism = {"aim": AIM, "mst": MST}[select](epsilon=float(epsilon), delta=DELTA, domain=sizes, n_jobs=1)
    began, wall = time.process_time(), time.perf_counter()
    mechanism.fit(records)
    made = mechanism.generate(n_records=len(records))
    seconds = {"processor": time.process_time() - began, "clock": time.perf_counter() - wall}
    to = root / "records" / f"{name}-{epsilon}-authors-{select}-{seed}.parquet"
    to.parent.mkdir(exist_ok=True)
    polars.DataFrame({each: made[each].to_numpy().astype("int64") for each in coded.columns}).write_parquet(to)
    to.with_suffix(".json").write_text(json.dumps(seconds))
    print(to.stem, seconds, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
