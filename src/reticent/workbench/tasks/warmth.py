"""Warm-up of a worker: imports and compilation before the first task, while the user is choosing a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reticent.base.context import Context
from reticent.workbench.tasks import columns, data, explore
from reticent.workbench.worker import Reporter

_FILE = "age,sex,town,illness\n" + "".join(
    f"{20 + n % 60},{'fm'[n % 2]},{10000 + n % 50},{('flu', 'cold', 'asthma', 'gout', 'none')[n % 5]}\n"
    for n in range(400)
)
_POLICY = """
[data]
source = "people.csv"
[roles]
quasi = ["age", "sex", "town"]
sensitive = ["illness"]
[hierarchies.age]
kind = "intervals"
widths = [5, 10]
[[definition]]
name = "KAnonymity"
k = 2
[[definition]]
name = "DistinctLDiversity"
l = 2
[method]
suppression = "0.05"
"""


class _Unheard(Reporter):
    """A reporter that discards all events."""

    def __init__(self) -> None:
        pass

    def context(self) -> Any:
        """A context without listeners."""
        return Context()

    def early(self, result: Any) -> None:
        """Discard a preliminary result."""


def warm(lane: str, asked: Callable[[], bool]) -> None:
    """Run the tasks that pages request first, on made-up rows, so that their imports and compiled functions are ready.

    Returns early once ``asked()`` is true: a request has arrived.
    """
    silent = _Unheard()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "people.csv").write_text(_FILE)
        look: tuple[Callable[[], object], ...] = (
            lambda: data.look(silent, folder, "people.csv", {}),
            lambda: data.rows(silent, folder, _POLICY, 0, 10),
            lambda: columns.profiles(silent, folder, _POLICY),
            lambda: columns.exposure(silent, folder, _POLICY),
        )
        search: tuple[Callable[[], object], ...] = (
            lambda: explore.candidate(silent, folder, _POLICY),
            lambda: explore.solutions(silent, folder, _POLICY),
        )
        for task in look if lane == "look" else search:
            if asked():
                return
            task()
