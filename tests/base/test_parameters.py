"""Methods as plain data: what manifests and policies write down, and what makes the method again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import reticent as rt
from reticent.base.parameters import described, exact_text, made_from, parameter
from reticent.registry import METHODS

# As every method wrote itself by hand, before one function did it for all.
DESCRIBED: dict[str, dict[str, Any]] = {
    "Marginals(select='mst')": {"name": "Marginals", "select": "mst"},
    "Lattice()": {
        "name": "Lattice",
        "objective": "loss",
        "suppression": "0",
        "format": "generalize",
        "repair": "groups",
    },
    "Lattice(suppression='0.05', values='typical')": {
        "name": "Lattice",
        "objective": "loss",
        "suppression": "1/20",
        "values": "typical",
        "repair": "groups",
    },
    "Mondrian()": {"name": "Mondrian", "split": "span", "ties": "keep", "values": "ranges"},
    "Mondrian(split='loss', suppression=0.05, effort='best', seconds=2.5, weights={'age': 3})": {
        "name": "Mondrian",
        "split": "loss",
        "ties": "keep",
        "values": "ranges",
        "suppression": "1/20",
        "effort": "best",
        "seconds": 2.5,
        "weights": {"age": 3},
    },
    "Mondrian(suppression='0.0', weights={})": {
        "name": "Mondrian",
        "split": "span",
        "ties": "keep",
        "values": "ranges",
    },
    "Panel()": {"name": "Panel", "split": "loss", "values": "ranges"},
    "Panel(wave='year', suppression='1/20')": {
        "name": "Panel",
        "split": "loss",
        "values": "ranges",
        "wave": "year",
        "suppression": "1/20",
    },
    "Datafly()": {"name": "Datafly", "suppression": "0"},
    "Datafly('0.1', values='typical')": {"name": "Datafly", "suppression": "1/10", "values": "typical"},
    "RPlusTree()": {"name": "RPlusTree"},
    "RPlusTree(minimum=3)": {"name": "RPlusTree", "minimum": 3},
    "Suppress()": {"name": "Suppress"},
    "Suppress(k=3, weights={'age': '0.5'}, keep=('zip',), suppression='0.1')": {
        "name": "Suppress",
        "k": 3,
        "weights": {"age": "1/2"},
        "keep": ["zip"],
        "suppression": "1/10",
    },
    "Gather()": {"name": "Gather", "r": 5},
    "Gather(r=7, epsilon='1/9', weights={'age': 0.5}, places=(('lat', 'lon'),))": {
        "name": "Gather",
        "r": 7,
        "epsilon": "1/9",
        "weights": {"age": "1/2"},
        "places": [["lat", "lon"]],
    },
    "Cellular(setup=1.5, diameter=3)": {"name": "Cellular", "r": 5, "setup": "3/2", "diameter": 3},
    "Anatomy()": {"name": "Anatomy"},
    "Anatomy(l=3)": {"name": "Anatomy", "l": 3},
    "Angelization()": {"name": "Angelization", "buckets": "Mondrian", "values": "sets"},
    "Angelization(buckets='Lattice', l=2)": {"name": "Angelization", "buckets": "Lattice", "l": 2},
    "Bang()": {"name": "Bang"},
    "Bang(minimum=2, scales={'age': [0, 10.5, 20]}, grow='folder', few='merge', compact=True)": {
        "name": "Bang",
        "minimum": 2,
        "scales": {"age": [0, 10.5, 20]},
        "few": "merge",
        "compact": True,
    },
    "AlphaBeta()": {"name": "AlphaBeta", "preset": "tight", "duplicates": "refuse"},
    "AlphaBeta(domain={'age': [1, 2, 3]}, n_public=9, count=2, budget={'epsilon': 1})": {
        "name": "AlphaBeta",
        "preset": "tight",
        "duplicates": "refuse",
        "count": 2,
        "n_public": 9,
        "domain": {"age": {"from": 1, "to": 3, "step": 1}},
    },
    "Frapp(domain={'age': [1, 2]}, n_public=5)": {"name": "Frapp", "domain": {"age": {"from": 1, "to": 2, "step": 1}}},
    "Perturbation()": {"name": "Perturbation"},
    "Perturbation(keep=0.5, values=['a', 'b'], memory='kept')": {
        "name": "Perturbation",
        "keep": "1/2",
        "values": ["a", "b"],
    },
    "JointCounts()": {"name": "JointCounts", "party": "party", "law": "binomial", "level": "byzantine"},
    "JointCounts('site', domain={'age': [1, 2]}, faults=1)": {
        "name": "JointCounts",
        "domain": {"age": {"from": 1, "to": 2, "step": 1}},
        "party": "site",
        "faults": 1,
        "law": "binomial",
        "level": "byzantine",
    },
    "CentralCounts(domain={'age': [1, 2]}, budget={'epsilon': 1})": {
        "name": "CentralCounts",
        "domain": {"age": {"from": 1, "to": 2, "step": 1}},
    },
    "GridSample(grid={'age': [1, 2]}, sample='0.2', least=3)": {"name": "GridSample", "sample": "1/5", "least": 3},
    "GridCounts(grid={'age': [1, 2], 'zip': [3, 4]}, depth=2, histogram='age', share='1/3')": {
        "name": "GridCounts",
        "depth": 2,
        "histogram": "age",
        "share": "1/3",
    },
    "Statistics(queries=[{'statistic': 'mean', 'column': 'age'}], bounds={'age': [0, 120]})": {
        "name": "Statistics",
        "queries": [{"statistic": "mean", "column": "age", "by": [], "where": None, "at": [], "weight": "1"}],
    },
    "Synthetic(groups={'a': 2}, domain=['x'], keep='1/2', drawn=2)": {
        "name": "Synthetic",
        "mode": "tight",
        "delta_scope": "per_person",
        "rows_per_person": 1,
        "screen": False,
        "keep": "1/2",
        "drawn": "2",
    },
    "Republish(domain=['a', 'b'], choice='random', ranges={'age': (0, 9, 1)}, baseline='tau')": {
        "name": "Republish",
        "choice": "random",
        "balance": "filled",
        "baseline": "tau",
    },
}


@pytest.mark.parametrize("text", DESCRIBED)
def test_a_method_is_described_as_before(text: str) -> None:
    assert eval(f"rt.{text}", {"rt": rt}).describe() == DESCRIBED[text]


def test_every_method_is_described() -> None:
    assert {each["name"] for each in DESCRIBED.values()} == set(METHODS)


# The grid of a histogram, and the groups of synthetic data, are in the details of a release.
MADE_AGAIN = [text for text, told in DESCRIBED.items() if "histogram" not in told and told["name"] != "Synthetic"]


@pytest.mark.parametrize("text", MADE_AGAIN)
def test_what_is_described_makes_the_method_again(text: str) -> None:
    told = dict(DESCRIBED[text])
    assert made_from("method", told.pop("name"), told).describe() == DESCRIBED[text]


@dataclass(frozen=True)
class Example:
    """A method's parameters, one of each kind."""

    usual: int = 1
    spoken: str = parameter("word", stated="always")
    secret: str | None = parameter(None, stated="never")
    share: Any = parameter(0, written=exact_text)
    listed: tuple[int, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)
    _own: int = 0


def test_parameters_are_stated_where_they_differ_or_always_or_never() -> None:
    assert described(Example()) == {"name": "Example", "spoken": "word"}
    assert described(Example(share="0.0", secret="hidden", _own=3)) == {"name": "Example", "spoken": "word"}
    given = Example(2, "other", share=0.05, listed=(1, 2), weights={"age": 0.5})
    assert described(given) == {
        "name": "Example", "usual": 2, "spoken": "other", "share": "1/20", "listed": [1, 2], "weights": {"age": 0.5},
    }  # fmt: skip
