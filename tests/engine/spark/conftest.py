"""One Spark session for all tests of this room: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.errors import MissingPackage
from tests.sampling import campaign

FAST = {
    "spark.sql.shuffle.partitions": 2,
    "spark.default.parallelism": 2,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.worker.reuse": True,
    # Jobs of a few rows: the time goes into compiling them, not into running them.
    # The database of a test would write its log into the working folder.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.stream.error.file=/dev/null",
}

# Nor is a plan of a few rows worth a program of its own, or a second look at it. `make test-all` runs on what Spark does by itself.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": False,
}


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The session; tests are skipped where Spark or Java is missing."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    from reticent.engine.spark.session import check_java, session_from

    try:
        check_java()
    except MissingPackage as missing:
        pytest.skip(str(missing))
    place = tmp_path_factory.mktemp("warehouse")
    started = session_from(
        {
            "master": "local[2]",
            "conf": {**FAST, **({} if campaign() else INTERPRETED), "spark.sql.warehouse.dir": str(place)},
        }
    )
    yield started
    started.stop()


@pytest.fixture
def to_spark(session: Any) -> Callable[[pl.DataFrame], Any]:
    """A frame as Spark has it, in two partitions."""

    def made(frame: pl.DataFrame) -> Any:
        plain = frame.with_columns(
            pl.col(pl.Categorical, pl.Enum).cast(pl.String), pl.col(pl.UInt64, pl.UInt32).cast(pl.Int64)
        )
        return session.createDataFrame(plain.to_arrow()).repartition(2)

    return made


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger and a folder for temporary files of the test's own."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder
