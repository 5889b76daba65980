"""What a table of billions of rows needs on Spark, computed from measurements. Run ``python -m benchmarks.spark_model [rows] [points] [cores]``.

The measurements are those of ``benchmarks.spark`` in RESULTS.md: seconds of a core for each million rows of every step, and bytes for each distinct row. Steps that
look at every row grow with the rows and shrink with the cores. What the driver holds, and the search, grow with the distinct rows of the quasi and sensitive columns
alone. Shuffled are the distinct rows that every task of the first stage finds, at most; where other columns are published, all published rows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One run of ``benchmarks.spark``: rows x 9 columns on so many cores."""

    rows: int = 50_000_000
    cores: int = 2
    distinct: int = 0
    sketch_and_count: float = 0.0
    recode_and_write: float = 0.0
    judge_on_driver: float = 0.0
    save: float = 0.0
    source_bytes: int = 0
    file_bytes: int = 0
    driver_bytes: int = 0
    driver_bytes_at_rest: int = 0
    rows_in_task: int = 1_000_000


@dataclass(frozen=True)
class Needed:
    """What a table needs; seconds are of the wall clock."""

    scan: float
    write: float
    judge: float
    save: float
    shuffled: float
    driver: float
    source: float
    files: float

    def lines(self) -> list[str]:
        return [
            f"reading, sketch and count       {self.scan:12,.0f} s",
            f"recoding, sorting and writing   {self.write:12,.0f} s",
            f"judging the files (driver)      {self.judge:12,.0f} s",
            f"saving (driver, copies)         {self.save:12,.0f} s",
            f"shuffled, at most               {self.shuffled / 1e9:12,.1f} GB for each of two shuffles",
            f"memory of the driver            {self.driver / 1e9:12,.1f} GB",
            f"read from Parquet, twice or more{self.source / 1e9:12,.0f} GB each time",
            f"public files                    {self.files / 1e9:12,.0f} GB",
        ]


_BYTES_OF_A_DISTINCT_ROW_SHUFFLED = 150
_BYTES_OF_A_DISTINCT_ROW_HELD = 9 * 72


def needed(measured: Measured, rows: int, distinct: int, cores: int) -> Needed:
    """What ``rows`` with so many ``distinct`` ones need on ``cores``."""
    more, share = rows / measured.rows, measured.cores / cores
    tasks = max(rows / measured.rows_in_task, 1)
    return Needed(
        scan=measured.sketch_and_count * more * share,
        write=measured.recode_and_write * more * share,
        judge=measured.judge_on_driver * more,
        save=measured.save * more,
        shuffled=min(rows, distinct * tasks) * _BYTES_OF_A_DISTINCT_ROW_SHUFFLED,
        driver=measured.driver_bytes_at_rest + distinct * _BYTES_OF_A_DISTINCT_ROW_HELD,
        source=measured.source_bytes * more,
        files=measured.file_bytes * more,
    )


MEASURED = Measured()


def main(rows: str = "10000000000", distinct: str = "10000000", cores: str = "200") -> None:
    found = needed(MEASURED, int(rows), int(distinct), int(cores))
    print(f"{int(rows):,} rows with {int(distinct):,} distinct ones, on {int(cores):,} cores:")
    print("\n".join(found.lines()))


if __name__ == "__main__":
    main(*sys.argv[1:])
