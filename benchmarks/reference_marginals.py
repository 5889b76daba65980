"""AIM and MST of `opendp.extras.mbi` on records that `benchmarks marginals prepare` wrote; see there. It runs in an environment of its own (``pip install 'opendp[mbi]'``) and imports nothing of ours."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import opendp.prelude as dp
import polars as pl


def main(folder: str, name: str, epsilon: str, select: str, seed: str) -> None:
    """Write as many synthetic records as there are records, drawn from one release."""
    dp.enable_features("contrib")
    root = Path(folder)
    public = json.loads((root / f"{name}.json").read_text())
    data = pl.scan_parquet(root / f"{name}.parquet")
    rho = public["rho"][epsilon]
    keys = {column: list(range(size)) for column, size in public["sizes"].items()}
    algorithm = dp.mbi.AIM() if select == "aim" else dp.mbi.MST()
    began, wall = time.process_time(), time.perf_counter()
    table = None
    # Its sums of shares may exceed a budget by the last bit; then a budget that is smaller by a millionth is tried.
    for less in range(100):
        paid = rho * (1 - less * 1e-6)
        context = dp.Context.compositor(
            data=data, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=paid)
        )
        try:
            table = context.query(rho=paid).contingency_table(keys=keys, algorithm=algorithm).release()
            break
        except dp.OpenDPException as problem:
            if "insufficient budget" not in str(problem):
                raise
    assert table is not None
    records = table.synthesize(rows=data.select(pl.len()).collect().item())
    seconds = {"processor": time.process_time() - began, "clock": time.perf_counter() - wall}
    to = root / "records" / f"{name}-{epsilon}-opendp-{select}-{seed}.parquet"
    to.parent.mkdir(exist_ok=True)
    # It has a cell for missing values in every column, of which there are none here.
    records.drop_nulls().select(pl.all().cast(pl.Int64)).write_parquet(to)
    to.with_suffix(".json").write_text(json.dumps(seconds))
    print(to.stem, seconds, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
