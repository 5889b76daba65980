"""A run ends in time whoever is slow, and cells cannot wrap around the field."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from reticent.errors import DataError
from reticent.noise import Identity, NoiseAborted, PartyAddress
from reticent.noise import field as gf
from reticent.noise.channels import LinkSession
from reticent.noise.party import bound
from reticent.noise.rounds import LinkedNetwork, assemble
from reticent.noise.tasks import JointTask
from tests.noise.worlds import small_task

PATIENCE = 1.0


def rounds(parties: int, faults: int, many: int, delay: dict[int, float], total: float = 60.0) -> list[Any]:
    """So many rounds over real links; some parties send each message ``delay`` seconds after the others. For each party whom it blames in the end, and the rounds after which it blames somebody."""

    async def play(me: int, network: LinkedNetwork) -> tuple[set[int], list[int]]:
        caught = []
        try:
            for number in range(1, many + 1):
                await asyncio.sleep(delay.get(me, 0))
                await network.exchange(f"round {number}", dict.fromkeys(range(parties), bytes([me])))
                caught += [number] if network.blamed else []
        finally:
            await network.leave()
        return set(network.blamed), caught

    async def main() -> list[Any]:
        identities = [Identity.new() for _ in range(parties)]
        keys = tuple(each.public for each in identities)
        sockets = [bound("127.0.0.1", 0) for _ in range(parties)]
        places = [PartyAddress("127.0.0.1", each.getsockname()[1]) for each in sockets]
        networks = await asyncio.gather(
            *(
                assemble(
                    LinkSession("run", me, identities[me], keys), places, faults, sockets[me],
                    patience=PATIENCE, gathering=20, largest=1000, total=total,
                )
                for me in range(parties)
            )
        )  # fmt: skip
        playing = (play(me, each) for me, each in enumerate(networks))
        return await asyncio.gather(*playing, return_exceptions=True)

    return asyncio.run(main())


def test_a_sender_that_is_nearly_late_in_every_round_is_cut_off_in_the_second() -> None:
    """At 85 % of every deadline it used to stretch 30 rounds to 30 deadlines."""
    found = rounds(4, 1, 30, {3: 0.85 * PATIENCE})
    for blamed, caught in found[:3]:
        assert blamed == {3}
        assert caught[0] <= 2


def test_a_run_beyond_its_total_deadline_is_ended() -> None:
    found = rounds(4, 1, 50, dict.fromkeys(range(4), 0.1), total=1.0)
    assert all(isinstance(each, NoiseAborted) and "exceeded its limit of 1 seconds" in str(each) for each in found)


@pytest.mark.parametrize("cells", [1, 2, 3, 256, 1000, 100_000])
def test_cells_that_wrap_around_the_field_cannot_be_shared(cells: int) -> None:
    """Declared rows are compared with shared cells in the field: the largest sum of cells must be below its size."""
    task = small_task(4, 1, "histogram", cells)
    width = task.row_limit.bit_length()
    assert cells * ((1 << width) - 1) < gf.PRIME


def test_ten_million_declared_rows_in_256_cells_are_refused() -> None:
    """They gave a total of 2,157,483,647, with nobody blamed."""
    task = small_task(4, 1, "histogram", 256)
    assert isinstance(task, JointTask)
    assert task.row_limit < 10_000_000
    with pytest.raises(DataError, match="fit in the field"):
        task.check_rows(np.zeros(task.room + 1, dtype=np.int64).tolist(), "Party 1")
