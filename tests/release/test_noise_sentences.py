"""What releases with noise promise, read back and computed from the scales that their manifest states, by own arithmetic: for records, people and households."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError
from reticent.release.statements import ONE_RECORD

pytest.importorskip("opendp")

UNITS: dict[str, tuple[dict[str, Any], int, str]] = {
    "row": ({}, 1, "a person's record"),
    "person": ({"key": "person", "rows_per_person": 2}, 2, "all records of a person"),
    "household": ({"household": "home", "rows_per_person": 3}, 3, "all records of a household"),
}
DOMAIN = {"sex": ["f", "m"], "ill": ["flu", "gout"]}
METHODS: dict[str, Any] = {
    "Statistics": lambda **more: rt.Statistics(
        [{"statistic": "count", "by": ["ill"]}, {"statistic": "count", "by": ["sex"]}], domain=DOMAIN, **more
    ),
    "Marginals": lambda **more: rt.Marginals(select=[["sex"], ["ill"]], domain=DOMAIN, **more),
}
DEFINITIONS: dict[str, Any] = {
    "Laplace, added": lambda: rt.UnboundedDP(1),
    "Gauss, added": lambda: rt.UnboundedDP(1, "1e-6"),
    "Gauss, replaced": lambda: rt.BoundedDP(1, "1e-6"),
    "concentrated, added": lambda: rt.ConcentratedDP("1/10"),
}


def people(rows: int = 240) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "person": [row // 2 for row in range(rows)],
            "home": [row // 3 for row in range(rows)],
            "sex": ["f", "m", "m"] * (rows // 3),
            "ill": ["flu", "gout"] * (rows // 2),
        }
    )


def table(unit: str) -> rt.Table:
    roles, _, _ = UNITS[unit]
    kept = [name for name in ("person", "home") if name in roles.values()]
    return rt.Table(people().select(*kept, "sex", "ill"), quasi=["sex"], sensitive="ill", **roles)


def scales_of(details: Any) -> list[Fraction]:
    """The scale of the noise on each published histogram, as either manifest writes it."""
    steps = details["noise"] if "noise" in details else details["plan"]["steps"]
    return [Fraction(step["scale"]) for step in steps]


def least_factor(scales: list[Fraction], rows: int, *, replaced: bool, gauss: bool, delta: float) -> float:
    """How much likelier an output may become: one unit moves each histogram by all of its records, from one cell to another where it is replaced."""
    cells = 2 if replaced else 1
    if not gauss:
        return math.exp(sum(cells * rows / float(scale) for scale in scales))
    rho = sum(cells * rows**2 / (2 * float(scale) ** 2) for scale in scales)
    orders = [1 + step / 1000 for step in range(1, 60_000)]
    return math.exp(
        min(
            order * rho + (math.log(1 / delta) + order * math.log(1 - 1 / order) - math.log(order - 1)) / (order - 1)
            for order in orders
        )
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", DEFINITIONS)
@pytest.mark.parametrize("method", METHODS)
def test_what_noise_is_said_to_hide_it_hides(method: str, kind: str, unit: str, tmp_path: Path) -> None:
    release = rt.publish(
        table(unit),
        DEFINITIONS[kind](),
        METHODS[method](),
        ledger=tmp_path / "ledger.sqlite",
        insecure_seed=3,
    )
    manifest, (claim,) = release.public.manifest, release.certificate["claims"]
    _, rows, hidden = UNITS[unit]
    assert manifest.unit == unit
    replaced = "replaced" in kind
    assert (f"with one content of {hidden} as" if replaced else f"with {hidden} in the table as") in claim["covers"]
    factor = float(re.search(r"at most (\d+(?:\.\d+)?) times", claim["covers"])[1])  # type: ignore[index]
    scales = scales_of(manifest.details)
    assert len(scales) == 2
    moved: dict[str, Any] = {"replaced": replaced, "gauss": "Laplace" not in kind, "delta": 1e-6}
    least = least_factor(scales, rows, **moved)
    # Rounded up to a hundredth, and the noise is no larger than the words need.
    assert 0.98 * factor <= least + 0.01 <= factor + 0.02
    assert least_factor([scale / 2 for scale in scales], rows, **moved) > factor
    assert least_factor(scales, rows + 1, **moved) > factor
    open_ends = claim["does_not_cover"]
    assert bool(re.search("Several (rows|records) of one person", open_ends)) == (unit == "row")
    if replaced:
        number = {"row": "records is public", "person": "people is not hidden", "household": "households is not hidden"}
        assert open_ends.startswith(f"The number of {number[unit]}.")
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.holds
    assert found.headline == release.headline


@pytest.mark.parametrize("method", METHODS)
def test_noise_for_one_record_is_no_promise_about_people(method: str, tmp_path: Path) -> None:
    """The publisher chose it: the sentence is about a record, and the headline says so. A manifest that says people is refused."""
    records = rt.Table(people().select("person", "sex", "ill"), quasi=["sex"], sensitive="ill", key="person")
    release = rt.publish(
        records,
        rt.UnboundedDP(1, "1e-6"),
        METHODS[method](unit="row"),
        ledger=tmp_path / "ledger.sqlite",
        insecure_seed=3,
    )
    assert release.public.manifest.unit == "row"
    assert "with a person's record in the table" in release.certificate["claims"][0]["covers"]
    assert release.headline.state == "holds, but"
    assert ONE_RECORD in release.headline.reasons
    assert rt.verify(release.save(tmp_path / "release")).headline == release.headline
    side = release.public
    with pytest.raises(DataError, match="noise hides the unit 'row'"):
        side.form.check(replace(side, manifest=replace(side.manifest, unit="person")))


@pytest.mark.parametrize("method", METHODS)
def test_whether_somebody_has_several_rows_is_in_no_file(method: str, tmp_path: Path) -> None:
    """The unit is declared with the key and the bound: a table in which nobody has two rows says the same."""
    alone = people().unique("person", maintain_order=True).select("person", "sex", "ill")
    once = rt.Table(alone, quasi=["sex"], sensitive="ill", key="person", rows_per_person=2)
    manifests = [
        rt.publish(
            each,
            rt.UnboundedDP(1, "1e-6"),
            METHODS[method](),
            ledger=tmp_path / f"{place}.sqlite",
            insecure_seed=3,
        ).public.manifest
        for place, each in enumerate((table("person"), once))
    ]
    assert manifests[0].unit == manifests[1].unit == "person"
    assert manifests[0].as_json() == manifests[1].as_json()
