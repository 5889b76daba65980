"""Every registered method that publishes at random, with a table and a definition that it can keep: what holds for all of them is tested over this list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

import reticent as rt
from reticent.registry import METHODS, load

TOWNS, ILLNESSES = ["Aix", "Apt", "Arles"], ["flu", "cold", "asthma", "ulcer"]
FRAME = pl.DataFrame(
    {
        "person": [f"person {i:03d}" for i in range(120)],
        "town": [TOWNS[i % 3] for i in range(120)],
        "illness": [ILLNESSES[(i * i + i // 7) % 4] for i in range(120)],
        "party": ["abcd"[i % 4] for i in range(120)],
        "jobs": [1000 + i for i in range(120)],
    }
)
CELLS = {"town": TOWNS, "illness": ILLNESSES}


@dataclass(frozen=True)
class Case:
    """A method with a definition and the roles of its table."""

    method: Any
    definition: Any
    roles: dict[str, Any]

    def table(self, frame: pl.DataFrame = FRAME, **more: Any) -> rt.Table:
        return rt.Table(frame, **{**self.roles, **more})

    def with_budget(self, **budget: Any) -> Case:
        return replace(self, method=replace(self.method, budget=budget))


_QUASI = {"quasi": ["town", "illness"]}
_SENSITIVE = {"quasi": ["town"], "sensitive": {"illness": ILLNESSES}}
CASES = {
    "CentralCounts": Case(rt.CentralCounts(domain=CELLS), rt.NoisyCounts(1), _QUASI),
    "JointCounts": Case(
        rt.JointCounts(domain=CELLS), rt.NoisyCounts(1, "1e-3"), {"quasi": ["town", "illness", "party"]}
    ),
    "GridCounts": Case(rt.GridCounts(grid=CELLS, depth=2), rt.UnboundedDP(1), _QUASI),
    "GridSample": Case(rt.GridSample(grid=CELLS, sample="1/2"), rt.UnboundedDP(1, "1e-2"), _QUASI),
    "Marginals": Case(rt.Marginals(select=[["town", "illness"]], domain=CELLS), rt.UnboundedDP(1, "1e-6"), _QUASI),
    "Statistics": Case(
        rt.Statistics([{"statistic": "count", "by": ["town"]}], domain={"town": TOWNS}), rt.UnboundedDP(1), _QUASI
    ),
    "AlphaBeta": Case(
        rt.AlphaBeta(domain={"town": TOWNS, "illness": ILLNESSES, "jobs": list(range(900, 1300))}),
        rt.BoundedBelief("1/20", "1/2"),
        {"quasi": ["town", "illness", "jobs"]},
    ),
    "Frapp": Case(rt.Frapp(domain=CELLS), rt.BoundedBelief("1/5", "1/2", "record"), _QUASI),
    "Perturbation": Case(rt.Perturbation(), rt.LocalDP(1), _SENSITIVE),
    "Synthetic": Case(
        rt.Synthetic(groups={"Aix": 40, "Apt": 40, "Arles": 40}, domain=ILLNESSES),
        rt.ProbabilisticDP(3, "1e-2"),
        _SENSITIVE,
    ),
}
RANDOM = sorted(name for name in METHODS if "plan" in load("method", name).keeps)
