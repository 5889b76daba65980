"""Attacks on the wire of running parties: strangers, half-open sockets, wrong frames, prefixes of gigabytes, replayed handshakes. Honest parties finish in time.

All honest parties run in one process over real sockets; the corrupt party holds a valid key and writes bytes of its own.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct

import pytest

from reticent.noise import Identity, NoiseAborted, PartyAddress, PartySettings
from reticent.noise.channels import HandshakeFailed, LinkSession, connect
from reticent.noise.party import _run, bound
from reticent.noise.protocol import free
from tests.noise.worlds import small_task

ROWS = [[0, 1], [2, 2], [1, 1], [0, 2]]
LIAR = 3
PATIENCE = 4.0


class Table:
    """Everybody's keys and sockets; the liar has the highest number, so that it calls all others and nobody calls it."""

    def __init__(self, gathering: float = 3.0) -> None:
        self.task = small_task(4, 1, "histogram", 3)
        self.identities = [Identity.new() for _ in range(4)]
        self.keys = tuple(each.public for each in self.identities)
        self.sockets = [bound("127.0.0.1", 0) for _ in range(4)]
        self.places = tuple(PartyAddress(*each.getsockname()) for each in self.sockets)
        self.gathering = gathering

    def session(self, name: str | None = None) -> LinkSession:
        return LinkSession(name or self.task.session, LIAR, self.identities[LIAR], self.keys)

    async def honest(self, party: int):
        settings = PartySettings(
            self.task, party, self.identities[party], self.keys, self.places, PATIENCE, self.gathering
        )
        try:
            return (await _run(settings, ROWS[party], self.sockets[party], None, free))[0]
        except NoiseAborted as aborted:
            return aborted

    def play(self, attack) -> list:
        """Run three honest parties beside an attack; they must agree, and end long before the rounds' deadlines add up."""

        async def main():
            attacking = asyncio.create_task(attack(self))
            found = await asyncio.wait_for(asyncio.gather(*(self.honest(party) for party in range(LIAR))), 90)
            attacking.cancel()
            return found

        found = asyncio.run(main())
        for each in self.sockets:
            each.close()
        assert {(each.numbers, each.included) for each in found} == {((1, 3, 2), (0, 1, 2))}, found
        assert all(set(each.blamed) == {LIAR} for each in found)
        return found


async def _linked(table: Table) -> list:
    return [
        await connect(table.session(), peer, table.places[peer].host, table.places[peer].port, 1 << 20)
        for peer in range(LIAR)
    ]


async def nobody(table: Table) -> None:
    """The fourth party is not there."""


async def half_open(table: Table) -> None:
    """It connects, says nothing, and keeps the sockets open."""
    for place in table.places[:LIAR]:
        await asyncio.open_connection(place.host, place.port)
    await asyncio.sleep(60)


async def strangers(table: Table) -> None:
    """Two hundred sockets with random bytes, some of them half a hello."""
    for number in range(200):
        _, writer = await asyncio.open_connection(*_place(table, number % LIAR))
        writer.write((b"RTNOISE1" + secrets.token_bytes(90))[: number % 120])
    await asyncio.sleep(60)


async def silent(table: Table) -> None:
    """It shows who it is, and then says nothing."""
    links = await _linked(table)
    await asyncio.sleep(60)
    del links


async def long_prefix(table: Table) -> None:
    """Frames that announce four gigabytes, or far more than may be."""
    for link in await _linked(table):
        link.writer.write(struct.pack("<II", 2**32 - 1, 0) + b"x" * 1000)
    await asyncio.sleep(60)


async def far_ahead(table: Table) -> None:
    """Messages of rounds that nobody is in, a million bytes each."""
    for link in await _linked(table):
        for number in range(40):
            link.writer.write(struct.pack("<II", 1_000_000, number) + bytes(1_000_000))
        await link.writer.drain()
    await asyncio.sleep(60)


async def half_a_frame(table: Table) -> None:
    """Half of a message, and then nothing, with the socket open."""
    for link in await _linked(table):
        frame = link.sealed("declare/send", b"y" * 500)
        link.writer.write(frame[: len(frame) // 2])
    await asyncio.sleep(60)


async def empty_frames(table: Table) -> None:
    """Well-framed messages of no bytes at all, again and again."""
    for link in await _linked(table):
        link.writer.write(b"".join(struct.pack("<II", 0, number) for number in range(60)))
    await asyncio.sleep(60)


async def reset(table: Table) -> None:
    """Connections that are reset, not closed."""
    for link in await _linked(table):
        raw = link.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.writer.transport.abort()


async def other_run(table: Table) -> None:
    """It shows who it is, for another session."""
    for peer in range(LIAR):
        with pytest.raises((HandshakeFailed, asyncio.IncompleteReadError, OSError)):
            await connect(table.session("another run"), peer, *_place(table, peer), 1 << 20)
    await asyncio.sleep(60)


async def as_somebody_else(table: Table) -> None:
    """With its own key it claims to be party 2, before party 2 calls party 1."""
    forged = LinkSession(table.task.session, 1, table.identities[LIAR], table.keys)
    with pytest.raises((HandshakeFailed, asyncio.IncompleteReadError, OSError)):
        await connect(forged, 0, *_place(table, 0), 1 << 20)
    await asyncio.sleep(60)


async def twice(table: Table) -> None:
    """Two links to everybody: the second must not take the first one's place, and neither may say anything."""
    await _linked(table)
    await _linked(table)
    await asyncio.sleep(60)


def _place(table: Table, peer: int) -> tuple[str, int]:
    return table.places[peer].host, table.places[peer].port


QUICK = (long_prefix, reset, far_ahead)
SLOW = (nobody, half_open, strangers, silent, half_a_frame, empty_frames, other_run, as_somebody_else, twice)


@pytest.mark.parametrize("attack", QUICK, ids=lambda each: each.__name__)
def test_what_a_party_writes_on_the_wire_stops_nobody(attack):
    Table().play(attack)


@pytest.mark.slow
@pytest.mark.parametrize("attack", SLOW, ids=lambda each: each.__name__)
def test_whoever_keeps_quiet_or_is_a_stranger_stops_nobody(attack):
    Table().play(attack)
