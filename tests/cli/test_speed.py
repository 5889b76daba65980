"""Nobody waits for the command line. Processor time is measured, so that a busy machine does not decide; wall time is bounded loosely."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import PATIENTS, POLICY


def cost(program: Callable[..., subprocess.Popen[str]], *arguments: object) -> tuple[float, float]:
    """Processor and wall seconds of a run that ends well."""
    start = time.perf_counter()
    started = program(*arguments)
    assert started.stdout is not None
    assert started.stderr is not None
    output, told = started.stdout.read(), started.stderr.read()
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    assert started.returncode == 0, output + told
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start


@pytest.mark.slow
def test_help_comes_at_once(program: Callable[..., subprocess.Popen[str]]) -> None:
    """The best of eight runs has been 0.30 to 0.33 seconds of processor time beside eight other busy processes on two cores."""
    assert min(cost(program, "--help")[0] for _ in range(8)) < 0.5


@pytest.mark.slow
def test_help_costs_little_more_than_the_library_that_draws_it(program: Callable[..., subprocess.Popen[str]]) -> None:
    """A ratio in one run: even processor time depends on what else the machine does. `benchmarks/process.py` has the seconds."""

    def floor() -> subprocess.Popen[str]:
        code = "import typer, typer.rich_utils, rich.console, rich.table, rich.panel"
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    pairs = [(cost(floor)[0], cost(program, "--help")[0]) for _ in range(6)]
    assert min(ours for _, ours in pairs) < 2.5 * min(least for least, _ in pairs)


@pytest.mark.slow
def test_a_thousand_rows_are_published_within_three_seconds(
    place: Path, program: Callable[..., subprocess.Popen[str]]
) -> None:
    pl.concat([PATIENTS] * 9).head(1000).write_csv(place / "patients.csv")
    (place / "policy.toml").write_text(POLICY)
    processor, wall = cost(program, "publish", "policy.toml", "-o", "release")
    assert processor < 3
    assert wall < 12


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from reticent.cli.app import app; print(sorted({'polars', 'numpy', 'pydantic', 'numba', 'duckdb'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_publication_loads_no_compiler_and_no_optimizer() -> None:
    """Importing numba and scipy's optimizers takes longer than publishing a small table; rooms import them where they are called."""
    code = (
        "import sys, reticent.attacks, reticent.audit.service, reticent.policy, reticent.reports; "
        "print(sorted({'numba', 'scipy.optimize', 'scipy.stats', 'duckdb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_command_imports_little_that_it_does_not_use() -> None:
    """Each module costs about a thousandth of a second: a verification needs no proposal, and one command no other."""
    code = (
        "import sys; from reticent.cli.app import app_for; app_for(['verify']); "
        "from reticent.release import verify; from reticent.policy import Policy, publish_policy; "
        "loaded = {'.'.join(name.split('.')[:3]) for name in sys.modules}; "
        "print(sorted(loaded & {'reticent.propose', 'reticent.reports', 'reticent.cli.publish', 'reticent.definitions.risk', 'pyarrow'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
