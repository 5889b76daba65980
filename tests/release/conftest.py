"""Tables to publish, and a ledger of the test's own."""

from pathlib import Path

import polars as pl
import pytest

from reticent.release import KeyFiles, generate_keys
from reticent.table import Hierarchy, Table

PATIENTS = [
    (13053, 28, "Russian", "heart"),
    (13068, 29, "American", "heart"),
    (13068, 21, "Japanese", "viral"),
    (13053, 23, "American", "viral"),
    (14853, 50, "Indian", "cancer"),
    (14853, 55, "Russian", "heart"),
    (14850, 47, "American", "viral"),
    (14850, 49, "American", "viral"),
    (13053, 31, "American", "cancer"),
    (13053, 37, "Indian", "cancer"),
    (13068, 36, "Japanese", "cancer"),
    (13068, 35, "American", "cancer"),
]


def frame_of_patients() -> pl.DataFrame:
    """The twelve patients of spec 000b, G1, with an identifier and columns without a role."""
    frame = pl.DataFrame(PATIENTS, schema=["zip", "age", "nationality", "condition"], orient="row")
    return frame.with_columns(
        pl.Series("name", [f"person {number}" for number in range(12)]),
        pl.Series("ward", list("ABABABABABAB")),
        pl.Series("shoe size", range(36, 48)),
    )


def table_of_patients(**changes) -> Table:
    roles = {
        "quasi": {
            "zip": Hierarchy.masking(5),
            "age": Hierarchy.intervals([10, 20, 40], domain=(0, 99)),
            "nationality": None,
        },
        "sensitive": "condition",
        "identifiers": ["name"],
        "dataset": "patients",
    }
    frame = changes.pop("frame", None)
    return Table(frame if frame is not None else frame_of_patients(), **{**roles, **changes})


@pytest.fixture(autouse=True)
def ledger_file(tmp_path: Path, monkeypatch) -> Path:
    path = tmp_path / "ledger" / "ledger.sqlite"
    monkeypatch.setenv("RETICENT_LEDGER", str(path))
    return path


@pytest.fixture(scope="session")
def keys(tmp_path_factory) -> KeyFiles:
    return generate_keys(tmp_path_factory.mktemp("keys"))
