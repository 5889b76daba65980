"""One small publication for every registered method, and for every way in which a method publishes: what the properties of all kinds run over.

A method that is registered and can be made without parameters is tried by itself; one that needs parameters needs an example here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

import reticent as rt
from reticent.registry import DEFINITIONS, ENGINES, FORMATS, METHODS, load
from tests.seams.no_shrinking import Growing, NoShrinking
from tests.seams.noisy_histogram import NoisyHistogram, OnePersonRatio
from tests.seams.shaped import Gathered, Holes
from tests.seams.starred import Starred

SEAMS = "tests.seams"
DISEASES = ("flu", "cold", "asthma", "ulcer")
DATASET = "wards"
_TOWNS = ("Aix", "Apt", "Arles")
_ILL = {"illness": DISEASES}
_DOMAIN = {"town": _TOWNS, **_ILL}
_GRID = {"age": {"from": 0, "to": 100, "step": 50}, **_ILL}
_TOTALS = {"epsilon": 10, "delta": "0.5"}
_BUDGET: dict[str, Any] = {"budget": {"epsilon": 10, "delta": "0.1"}}


@dataclass(frozen=True)
class Job:
    """A table, what it must keep, and the method; ``series``: what is claimed is about a series of releases; ``varies``: it asks
    whether to stop more or less often, because it waits for other processes, or fits noisy answers until nothing changes."""

    table: Callable[..., rt.Table]
    definition: Any
    method: Any
    series: bool = False
    varies: bool = False

    def publish(self, **options: Any) -> rt.Release:
        return rt.publish(self.table(), self.definition, self.method, **options)


def rows(many: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + (7 * i) % 40 for i in range(many)],
            "town": [_TOWNS[(i // 2) % 3] for i in range(many)],
            "illness": [DISEASES[(i * i + i // 3) % 4] for i in range(many)],
        }
    )


def people(frame: object = None, **more: object) -> rt.Table:
    age = rt.Hierarchy.intervals([5, 10, 20, 40], domain=(0, 99))
    return rt.Table(
        rows() if frame is None else frame,
        quasi={"age": age, "town": None},
        sensitive="illness",
        **{"dataset": DATASET, **more},  # type: ignore[arg-type]
    )


def towns(frame: pl.DataFrame | None = None, **more: object) -> rt.Table:
    """Ages as texts of ten years: cells that can be starred."""
    frame = (rows() if frame is None else frame).with_columns(age=(pl.col("age") // 10 * 10).cast(pl.String))
    return rt.Table(frame, quasi=["age", "town"], sensitive="illness", **{"dataset": DATASET, **more})  # type: ignore[arg-type]


def tall(frame: pl.DataFrame | None = None, **more: object) -> rt.Table:
    """Two columns of whole numbers."""
    frame = (rows() if frame is None else frame).with_columns(height=140 + (pl.int_range(pl.len()) * 13) % 60)
    return rt.Table(frame, quasi=["age", "height"], sensitive="illness", **{"dataset": DATASET, **more})  # type: ignore[arg-type]


def visits(**more: object) -> rt.Table:
    """Several rows a person, whose age grows, a weight and a column that is declared unknown."""
    person = pl.int_range(pl.len()) // 2
    frame = rows().with_columns(
        person=person,
        weight=pl.lit(1.5),
        ward=pl.lit("A"),
        age=pl.col("age").first().over(person) + pl.int_range(pl.len()) % 2,
    )
    roles = {"identifiers": ["person"], "key": "person", "unit": "person"}
    return people(frame, **{**roles, "weight": "weight", "declared": {"ward": "internal"}, **more})


def waves(**more: object) -> rt.Table:
    """Two rows a person, one at each wave, linked by a pseudonym."""
    person = pl.int_range(pl.len()) // 2
    frame = rows().with_columns(
        person=person, wave=pl.int_range(pl.len()) % 2, town=pl.col("town").first().over(person)
    )
    roles = {"identifiers": ["person"], "pseudonyms": ["person"], "dataset": DATASET}
    return rt.Table(frame, quasi=["wave", "age", "town"], sensitive="illness", **{**roles, **more})  # type: ignore[arg-type]


def distinct(**more: object) -> rt.Table:
    """Every record once, as a view needs them."""
    frame = rows().select("town", "illness").unique(maintain_order=True)
    return rt.Table(frame, quasi=["town"], sensitive="illness", **{"dataset": DATASET, **more})  # type: ignore[arg-type]


def wards(**more: object) -> rt.Table:
    """Towns whose sizes are public, with an illness a row."""
    return rt.Table(rows(), quasi=["town"], sensitive="illness", **{"dataset": DATASET, **more})  # type: ignore[arg-type]


_SIZES = {"Aix": 20, "Apt": 20, "Arles": 20}
_K = rt.KAnonymity(3)
_BOTH = _K & rt.DistinctLDiversity(2)
EXAMPLES: dict[str, dict[str, Job]] = {
    "Lattice": {
        "": Job(people, _BOTH, rt.Lattice(suppression="0.1")),
        "compared": Job(people, _K & rt.TCloseness("0.5"), rt.Lattice(suppression="0.1")),
        "buckets": Job(people, rt.DistinctLDiversity(2), rt.Lattice(suppression="0.1", format="bucketize")),
        "two sets": Job(lambda **m: people(**{"quasi_sets": [["age"], ["town"]], **m}), _K, rt.Lattice()),
        "streamed": Job(lambda **m: people(**{"engine": "streaming", **m}), _K, rt.Lattice(suppression="0.1")),
        "people": Job(visits, _K, rt.Lattice(suppression="0.2")),
        "typical": Job(people, _BOTH, rt.Lattice(suppression="0.1", values="typical")),
    },
    "Mondrian": {
        "": Job(people, _BOTH, rt.Mondrian(values="sets")),
        "nodes": Job(people, _K, rt.Mondrian(values="hierarchy")),
        "divided": Job(people, _K, rt.Mondrian(ties="divide", values="sets")),
        "streamed": Job(lambda **m: people(**{"engine": "streaming", **m}), _K, rt.Mondrian(values="sets")),
        "typical": Job(people, _BOTH, rt.Mondrian(values="typical")),
        "typical people": Job(visits, _K, rt.Mondrian(values="typical", suppression="0.1")),
        "typical divided": Job(people, _K, rt.Mondrian(values="typical", ties="divide")),
        "typical streamed": Job(lambda **m: people(**{"engine": "streaming", **m}), _K, rt.Mondrian(values="typical")),
    },
    "Panel": {
        "": Job(waves, _BOTH, rt.Panel()),
        "unlinked": Job(lambda **m: waves(**{"pseudonyms": (), **m}), _K, rt.Panel(split="span", values="sets")),
    },
    "Datafly": {
        "": Job(people, _K, rt.Datafly(suppression="0.2")),
        "typical": Job(people, _K, rt.Datafly(suppression="0.2", values="typical")),
    },
    "Suppress": {
        "": Job(people, _K, rt.Suppress()),
        "judged": Job(people, _BOTH, rt.Suppress(weights={"age": "1/2"})),
        "compared": Job(people, _K & rt.TCloseness("0.5"), rt.Suppress(suppression="0.2")),
        "nodes": Job(people, _K, rt.Suppress(hiding="hierarchy")),
        "two sets": Job(lambda **m: people(**{"quasi_sets": [["age"], ["town"]], **m}), _K, rt.Suppress()),
        "streamed": Job(lambda **m: people(**{"engine": "streaming", **m}), _K, rt.Suppress(keep=("town",))),
    },
    "Gather": {
        "": Job(people, _BOTH, rt.Gather(r=3)),
        "outliers": Job(people, _K & rt.TCloseness("0.5"), rt.Gather(r=4, epsilon="0.1")),
        "means": Job(people, _K, rt.Gather(r=3, grouping="neighbours", numbers="mean")),
        "records": Job(tall, _K, rt.Gather(r=3, centres="records", norm="L1")),
    },
    "Cellular": {"": Job(people, _BOTH, rt.Cellular(r=3)), "points": Job(tall, _K, rt.Cellular(r=3, epsilon="0.1"))},
    "Anatomy": {
        "": Job(people, rt.DistinctLDiversity(3), rt.Anatomy()),
        "compared": Job(
            lambda **m: people(**{"quasi_sets": [["age"], ["town"]], **m}),
            rt.ProbabilisticLDiversity(2) & rt.TCloseness("0.5"),
            rt.Anatomy(l=3),
        ),
    },
    "Angelization": {
        "": Job(people, _K & rt.DistinctLDiversity(3), rt.Angelization()),
        "levels": Job(people, _K & rt.TCloseness("0.5"), rt.Angelization(buckets="Lattice")),
    },
    "Bang": {
        "": Job(people, _BOTH, rt.Bang()),
        "merged": Job(tall, rt.KAnonymity(9), rt.Bang(minimum=3)),
        "guarded": Job(people, _K & rt.TCloseness("0.5"), rt.Bang(guard="sensitive", order="gridclus")),
        "streamed": Job(lambda **m: people(**{"engine": "streaming", **m}), _K, rt.Bang(order="closest")),
    },
    "AlphaBeta": {"": Job(distinct, rt.BoundedBelief("1/3", "9/10"), rt.AlphaBeta(domain=_DOMAIN))},
    "Frapp": {"": Job(lambda **m: people(**m), rt.BoundedBelief("1/4", "9/10", "record"), rt.Frapp(domain=_DOMAIN))},
    "Perturbation": {
        "": Job(people, rt.LocalDP(2), rt.Perturbation(values=DISEASES)),
        "record": Job(people, rt.BoundedBelief("1/4", "9/10", "record"), rt.Perturbation("1/2", DISEASES)),
    },
    "JointCounts": {
        "": Job(
            people,
            rt.NoisyCounts(1, "0.01"),
            rt.JointCounts("town", domain=_ILL, level="semi-honest", **_BUDGET),
            varies=True,
        )
    },
    "CentralCounts": {"": Job(people, rt.NoisyCounts(1), rt.CentralCounts(domain=_DOMAIN, **_BUDGET))},
    "GridSample": {
        "": Job(people, rt.UnboundedDP(2, "0.1"), rt.GridSample(_GRID, sample="0.5", budget=_TOTALS)),
        "nothing": Job(people, rt.UnboundedDP(1, "1e-6"), rt.GridSample(_GRID, sample="0.5")),
        "all rows": Job(people, rt.CrowdBlending(3), rt.GridSample({"age": 2, **_ILL})),
    },
    "GridCounts": {
        "": Job(people, rt.UnboundedDP(1), rt.GridCounts(_GRID, depth=3, stop=4, histogram="illness", budget=_TOTALS)),
        "boxes": Job(people, rt.UnboundedDP(1), rt.GridCounts({"age": 1, **_ILL}, depth=3, stop=1)),
    },
    "Statistics": {
        "": Job(
            people,
            rt.UnboundedDP(2, "1e-6"),
            rt.Statistics(
                [
                    {"statistic": "count", "by": ["town", "illness"]},
                    {"statistic": "mean", "column": "age", "by": ["illness"]},
                ],
                {"town": _DOMAIN["town"], **_ILL},
                {"age": [0, 100]},
                **_BUDGET,
            ),
        ),
    },
    "Marginals": {
        "": Job(
            people,
            rt.UnboundedDP(2, "1e-6"),
            rt.Marginals([["town", "illness"]], {"town": _DOMAIN["town"], **_ILL}, **_BUDGET),
            varies=True,
        ),
    },
    "Synthetic": {
        "": Job(
            wards, rt.ProbabilisticDP(2, "0.01"), rt.Synthetic(groups=_SIZES, domain=DISEASES, public="bed counts")
        ),
        "streamed": Job(
            lambda **m: wards(**{"engine": "streaming", **m}),
            rt.ProbabilisticDP(1),
            rt.Synthetic(groups=_SIZES, domain=dict.fromkeys(DISEASES, 2) | {"other": 1}, elsewhere="other"),
        ),
    },
    "Republish": {
        "": Job(people, rt.TauSafety(2), rt.Republish(domain=(*DISEASES, "gout"))),
        "batches": Job(people, rt.TauSafety(2) & rt.KAnonymity(3), rt.Republish(domain=(*DISEASES, "gout"))),
        "random": Job(
            tall, rt.TauSafety(2), rt.Republish(domain=(*DISEASES, "gout"), choice="random", balance="blind")
        ),
    },
    "NoisyHistogram": {"": Job(people, OnePersonRatio(2), NoisyHistogram("illness", DISEASES))},
    "Starred": {"": Job(towns, _K, Starred(3, "age"))},
    "Holes": {"": Job(tall, _K, Holes(((30, 40), (150, 170))))},
    "Gathered": {"": Job(tall, _K, Gathered(6))},
    "Growing": {"": Job(people, _K & NoShrinking(), Growing(), series=True)},
}
# Names that the tests register for themselves.
OWN_METHODS = ("NoisyHistogram", "Starred", "Holes", "Gathered", "Growing")


def register_all() -> None:
    """Register what the modules of this folder add."""
    rt.register("definition", "Evenness", f"{SEAMS}.evenness", "no value above half plus one")
    rt.register(
        "definition", "OnePersonRatio", f"{SEAMS}.noisy_histogram", "one row changes no chance by more than a factor"
    )
    rt.register("definition", "NoShrinking", f"{SEAMS}.no_shrinking", "releases do not shrink")
    rt.register("method", "NoisyHistogram", f"{SEAMS}.noisy_histogram")
    rt.register("method", "Starred", f"{SEAMS}.starred")
    rt.register("method", "Growing", f"{SEAMS}.no_shrinking")
    rt.register("method", "Holes", f"{SEAMS}.shaped")
    rt.register("method", "Gathered", f"{SEAMS}.shaped")
    rt.register("format", "holes", f"{SEAMS}.shaped", attribute="HOLES")
    rt.register("format", "balls", f"{SEAMS}.shaped", attribute="BALLS")
    rt.register("format", "noisy histogram", f"{SEAMS}.noisy_histogram", attribute="NOISY_HISTOGRAM")
    rt.register("format", "starred", f"{SEAMS}.starred", attribute="STARRED")
    rt.register("format", "grown", f"{SEAMS}.no_shrinking", attribute="GROWN")
    rt.register("engine", "counting", f"{SEAMS}.counting_engine", attribute="CountingEngine")


@contextmanager
def registered() -> Iterator[None]:
    """The names of the seams, forgotten after the block."""
    every = (DEFINITIONS, METHODS, FORMATS, ENGINES)
    before = [dict(names) for names in every]
    register_all()
    try:
        yield
    finally:
        for names, old in zip(every, before, strict=True):
            names.clear()
            names.update(old)


def _by_itself(name: str) -> dict[str, Job]:
    """The publication of a method that has no example: with its defaults, under k-anonymity."""
    try:
        return {"": Job(people, _K, load("method", name)())}
    except TypeError as error:
        raise AssertionError(
            f"{name} needs parameters ({error}): add an example of it to tests/seams/jobs.py"
        ) from None


JOBS: dict[str, Job] = {
    f"{name} {how}".strip(): job
    for name in (*METHODS, *OWN_METHODS)
    for how, job in (EXAMPLES[name] if name in EXAMPLES else _by_itself(name)).items()
}
