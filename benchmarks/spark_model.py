"""What a table of billions of rows needs on Spark, computed from a measurement. Run ``python -m benchmarks.spark_model [rows] [distinct] [cores] [figures]``.

``figures`` is a file with what ``python -m benchmarks.spark`` printed on two cores (``spark_figures.txt``: 50 million rows, a quiet machine). Steps that look at every row grow with the rows and shrink with the cores. What the
driver holds grows with the distinct rows of the quasi and sensitive columns alone; what it judges and copies grows with the public files. Shuffled are, at most, the distinct rows that
every task of the first stage finds (or all rows, where other columns are published).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_CORES = 2
_ROWS_IN_TASK = 1_000_000
_CELLS = 10
_BYTES_PER_CELL = 72
_FIGURES = Path(__file__).with_name("spark_figures.txt")


@dataclass(frozen=True)
class Measured:
    """The figures of a run by the names under which it printed them."""

    figures: dict[str, float]

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Lines of a name, a colon and a number; anything else is passed over."""
        pairs = (line.rpartition(": ") for line in path.read_text(encoding="utf-8").splitlines())
        return cls({name: float(value) for name, _, value in pairs if name and value.replace(".", "", 1).isdigit()})

    def __getitem__(self, name: str) -> float:
        return self.figures[name]


def needed(measured: Measured, rows: int, distinct: int, cores: int) -> dict[str, str]:
    """What ``rows`` with so many ``distinct`` ones need on ``cores``, each with its unit."""
    more, share = rows / measured["rows"], _CORES / cores
    judged = measured["verify s"]
    bytes_of_a_row = (
        1e6 * measured["shuffled by the bare group by, MB"] / (measured["points"] * measured["rows"] / _ROWS_IN_TASK)
    )
    shuffled = min(rows, distinct * max(rows / _ROWS_IN_TASK, 1)) * bytes_of_a_row
    # The driver at rest, and the distinct rows at the bytes that the engine reckons with.
    driver = 1e6 * measured["driver MB"] + distinct * _CELLS * _BYTES_PER_CELL
    return {
        "read and count": f"{measured['table (distinct rows) s'] * more * share:,.0f} s",
        "recode, sort and write": f"{(measured['publish s'] - judged) * more * share:,.0f} s",
        "judge the files (driver)": f"{judged * more:,.0f} s",
        "save (driver)": f"{measured['save s'] * more:,.0f} s",
        "shuffled, at most": f"{shuffled / 1e9:,.1f} GB",
        "memory of the driver": f"{driver / 1e9:,.1f} GB",
        "read from Parquet, twice": f"{measured['source MB'] * more / 1e3:,.0f} GB each",
        "public files": f"{measured['file MB'] * more / 1e3:,.0f} GB",
    }


def main(
    rows: str = "10000000000", distinct: str = "10000000", cores: str = "200", figures: str = str(_FIGURES)
) -> None:
    found = needed(Measured.read(Path(figures)), int(rows), int(distinct), int(cores))
    print(f"{int(rows):,} rows with {int(distinct):,} distinct ones, on {int(cores):,} cores:")
    for what, much in found.items():
        print(f"{what:32}{much:>16}")


if __name__ == "__main__":
    main(*sys.argv[1:])
