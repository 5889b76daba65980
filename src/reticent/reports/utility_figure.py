"""Chart of information loss against k, with one line per compared method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reticent.base.charts import ChartAxis, ChartLine, line_chart, png
from reticent.base.files import write_whole
from reticent.errors import PolicyError, did_you_mean

KINDS = (".svg", ".png")
MEASURES = {
    "loss": "loss (0: exact values, 1: nothing is left)",
    "ncp": "mean share of a column that labels cover",
    "discernibility": "sum of squared group sizes",
    "average_group_size": "people in a group, on average",
    "kl": "divergence from the table (KL, nats)",
    "groups": "groups",
}


def save_utility_chart(path: str | Path, compared: pl.DataFrame, ks: Sequence[int | None], measure: str) -> Path:
    """Plot ``measure`` against k with one line per method, save it as SVG or PNG and return the path. ``ks`` holds the k of each row of ``compared``, or None."""
    target = Path(path)
    if target.suffix not in KINDS:
        raise PolicyError(f"A chart is written as one of {', '.join(KINDS)}, but {str(target)!r} has another suffix.")
    if measure not in MEASURES:
        raise PolicyError(
            f"There is no measure {measure!r}.{did_you_mean(measure, MEASURES)} Choose one of {', '.join(MEASURES)}."
        )
    names = _names(compared)
    plotted = compared.with_columns(k=pl.Series(ks, dtype=pl.Int64), name=pl.Series(names)).drop_nulls(["k", measure])
    if plotted["k"].n_unique() < 2:
        raise PolicyError(
            "A chart of utility against k needs definitions with two or more different k that can be satisfied, such as [rt.KAnonymity(k) for k in (5, 10, 50)]."
        )
    lines = []
    for (name,), method_rows in plotted.sort("k").group_by("name", maintain_order=True):
        points = [(float(k), float(value)) for k, value in method_rows.select("k", measure).rows()]
        lines.append(ChartLine(str(name), points, [f"{name}, k = {k:,.0f}: {value:,.4g}" for k, value in points]))
    lowest, highest, largest = int(plotted["k"].min()), int(plotted["k"].max()), float(plotted[measure].max())  # type: ignore[arg-type]
    svg = line_chart(
        sorted(lines, key=lambda line: names.index(line.name)),
        ChartAxis("k, people in the smallest group", lowest, highest, log=highest >= 10 * lowest),
        ChartAxis(MEASURES[measure], 0, 1.05 * largest if largest > 0 else 1.0),
        title="What k costs",
    )
    write_whole(target, png(svg) if target.suffix == ".png" else svg.encode())
    return target


def _names(compared: pl.DataFrame) -> list[str]:
    """Return a legend label per row: the method name, plus its parameters where the name alone is ambiguous."""
    method_parameters = [
        (name, frozenset(parameters.split(", "))) for name, parameters in compared.select("method", "parameters").rows()
    ]
    common = {
        name: frozenset.intersection(
            *(parameters for other_name, parameters in method_parameters if other_name == name)
        )
        for name, _ in method_parameters
    }
    distinguishing = [(name, ", ".join(sorted(parameters - common[name]))) for name, parameters in method_parameters]
    return [f"{name} ({parameters})" if parameters else name for name, parameters in distinguishing]
