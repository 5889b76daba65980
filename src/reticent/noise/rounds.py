"""Rounds over encrypted links: everyone sends, and a round ends when all messages have arrived or at a deadline.

A party that misses a deadline is not waited for again: it counts towards t together with faulty ones. The deadline of a
round is also the total time a party may be waited for in all rounds, once all but t have arrived: a sender that is
nearly too late in every round is cut off in the second. Deadlines grow slightly with every round, since a faulty party
may delay some by one deadline and be on time for others: the most delayed must still reach the others in time. A run
that exceeds its total deadline is aborted, and the slowest parties are named.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from reticent.noise.channels import BUFFER, HandshakeFailed, Link, LinkSession, accept, connect
from reticent.noise.network import NoiseAborted

_GROWTH = 1 / 20
_LAST_WORDS = 5.0
_RETRY = 0.05


@dataclass(frozen=True)
class PartyAddress:
    """Address of a party."""

    host: str
    port: int


@dataclass
class LinkedNetwork:
    """The other parties over links: the :class:`reticent.noise.network.Network` of a process.

    ``patience`` is the deadline of the first round in seconds, ``total`` that of the whole run.
    """

    me: int
    holders: int
    faults: int
    patience: float
    total: float = float("inf")
    links: dict[int, Link] = field(default_factory=dict)
    blamed: dict[int, str] = field(default_factory=dict)
    transcript: list[dict[str, object]] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        self._arrived = asyncio.Event()
        self._began = time.monotonic()
        self._listening: list[asyncio.Task[None]] = []

    def expect(self, longest: int) -> None:
        """Set the maximum message length from now on."""
        for link in self.links.values():
            link.largest = longest

    @property
    def deadline(self) -> float:
        """The time limit of this round, in seconds."""
        return self.patience * (1 + _GROWTH * self.rounds)

    def add(self, link: Link) -> None:
        """Add a link; a second one to the same party is closed."""
        if link.peer in self.links:
            link.close()
            return
        self.links[link.peer] = link
        self._listening.append(asyncio.get_running_loop().create_task(link.listen(self._arrived)))

    async def exchange(
        self, item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        """Send, wait for all senders or the deadline, and return the valid messages."""
        self._check_total()
        self.rounds += 1
        for receiver, payload in outgoing.items():
            if receiver in self.links:
                self.links[receiver].send(item, payload)
        expected = range(self.holders) if senders is None else senders
        await self._wait([self.links[sender] for sender in expected if sender in self.links], item)
        messages = {sender: self._taken(sender, item, outgoing) for sender in expected}
        return {sender: payload for sender, payload in messages.items() if payload is not None}

    def _taken(self, sender: int, item: str, outgoing: Mapping[int, bytes]) -> bytes | None:
        """Return the message of a sender in this round; None, with the sender blamed, if there is no valid one."""
        if sender == self.me:
            return outgoing.get(sender)
        link = self.links.get(sender)
        if link is None:
            self.blame(sender, "did not connect")
            return None
        has_message = link.has_next
        payload = link.take(item)
        if payload is None:
            self.blame(sender, f"sent an invalid message ({item})" if has_message else f"left ({item})")
        return payload

    async def _wait(self, links: Sequence[Link], item: str) -> None:
        """Wait for a message on each link, at most until the deadline of this round, and of its total delay over all rounds."""
        began = time.monotonic()
        enough = max(len(links) - self.faults, 1)
        others_arrived: float | None = None
        while missing := [link for link in links if not (link.has_next or link.gone or link.late)]:
            if others_arrived is None and len(links) - len(missing) >= enough:
                others_arrived = time.monotonic()
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), self._left(missing, began, others_arrived))
            except TimeoutError:
                for link in missing:
                    if self._left([link], began, others_arrived) <= 0:
                        link.late = True
                        self.blame(link.peer, f"sent nothing in time ({item})")
            if others_arrived is not None:
                for link in missing:
                    if not link.late and (link.has_next or link.gone):
                        link.held_up += time.monotonic() - others_arrived

    def _left(self, links: Sequence[Link], began: float, others_arrived: float | None) -> float:
        """Return the seconds that the first of some links has left: of the round and, once the others have arrived, of its total delay."""
        now = time.monotonic()
        seconds_left = self.deadline - (now - began)
        if others_arrived is not None:
            seconds_left = min(
                seconds_left, min(self.deadline - link.held_up - (now - others_arrived) for link in links)
            )
        return max(seconds_left, 0.0)

    def _check_total(self) -> None:
        """Abort a run that exceeds its total deadline."""
        if time.monotonic() - self._began <= self.total:
            return
        slowest = max(self.links.values(), key=lambda link: link.held_up, default=None)
        if slowest is not None and slowest.held_up:
            self.blame(slowest.peer, f"held the others up for {slowest.held_up:.1f} s")
        raise NoiseAborted(
            f"The run exceeded its limit of {self.total:g} seconds and was aborted. Agree on a longer total, or run again without the named parties.",
            self.blamed,
        )

    def record(self, step: str, said: object) -> None:
        """Append to the transcript."""
        self.transcript.append({"step": step, "said": said})

    def blame(self, party: int, why: str) -> None:
        """Record the first fault of a party."""
        if party != self.me:
            self.blamed.setdefault(party, why)

    @property
    def bytes_sent(self) -> int:
        """Number of bytes sent on all links."""
        return sum(link.bytes_sent for link in self.links.values())

    async def leave(self) -> None:
        """Let others read what was sent, then close: closing with unread bytes would discard what they have not read yet."""
        for link in self.links.values():
            link.finish()
        if self._listening:
            await asyncio.wait(self._listening, timeout=min(_LAST_WORDS, self.patience))
        for task in self._listening:
            task.cancel()
        for link in self.links.values():
            link.close()


async def assemble(
    session: LinkSession,
    places: Sequence[PartyAddress],
    faults: int,
    listening: socket.socket | None,
    *,
    patience: float,
    gathering: float,
    largest: int,
    total: float = float("inf"),
) -> LinkedNetwork:
    """Connect to all parties within ``gathering`` seconds: call the holders with lower numbers, and answer calls from higher ones.

    ``places`` are the holders' addresses, with port 0 for one known to be absent; parties with higher numbers are
    clients, which connect but do not listen. Absent parties are skipped, and blamed in the first round.
    """
    network = LinkedNetwork(session.me, len(places), faults, patience, total)
    absent = {party for party, address in enumerate(places) if not address.port}
    others = {party for party in range(len(session.keys)) if party != session.me} - absent
    expected = others if session.me < len(places) else set(range(len(places))) - absent
    all_connected = asyncio.Event()
    if not expected:
        all_connected.set()

    def add(link: Link) -> None:
        """Add a connection, and signal when all are there."""
        network.add(link)
        if expected <= set(network.links):
            all_connected.set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Accept the call of a party; a failed handshake closes the connection."""
        try:
            async with asyncio.timeout(gathering):
                add(await accept(session, reader, writer, largest))
        except (HandshakeFailed, asyncio.IncompleteReadError, OSError, TimeoutError):
            writer.close()

    async def call(peer: int) -> None:
        """Call a party until it answers."""
        while True:
            with suppress(HandshakeFailed, asyncio.IncompleteReadError, OSError):
                add(await connect(session, peer, places[peer].host, places[peer].port, largest))
                return
            await asyncio.sleep(_RETRY)

    server = None
    if listening is not None:
        server = await asyncio.start_server(
            answer, sock=listening, limit=BUFFER, ssl=session.tls(calling=False), ssl_handshake_timeout=gathering
        )
    calls = [asyncio.create_task(call(peer)) for peer in sorted(expected) if peer < session.me]
    with suppress(TimeoutError):
        async with asyncio.timeout(gathering):
            await all_connected.wait()
    for task in calls:
        task.cancel()
    if server is not None:
        server.close()
    if len(network.links) + (session.me < len(places)) < len(places) - faults:
        await network.leave()
        missing = ", ".join(str(party + 1) for party in sorted(expected - set(network.links)))
        raise NoiseAborted(
            f"Only {len(network.links)} parties could be reached within {gathering:g} seconds; missing: {missing}.",
            dict.fromkeys(sorted(expected - set(network.links)), "did not connect"),
        )
    return network
