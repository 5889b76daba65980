"""An adversary who controls up to t parties together, and rushes: it sees everything that honest parties send to its own in a round before it sends anything.

Independent of :mod:`reticent.noise.faults`: the corrupt parties run the honest program, and the adversary decides message by message what becomes of what it
would send: as it is, nothing, somebody else's message, an old one, bytes flipped, cut, repeated, elements shifted, or texts with one entry exchanged for something extreme.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent.noise.network import NoiseAborted
from reticent.noise.protocol import PartyResult, take_part
from reticent.noise.tasks import JointTask

_PRIME = 2**31 - 1
_EXTREMES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 3, 7, 10**6, 2**31, 2**62, 10**30, 1.5, "x", "", [], [[]], {}, [0] * 50, [[0, 1, 0, 1, 1]] * 3,
)  # fmt: skip


@dataclass
class World:
    """Where messages lie: by sender, receiver and number. Parties that ended are gone."""

    boxes: dict[tuple[int, int], dict[int, bytes | None]] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def box(self, sender: int, receiver: int) -> dict[int, bytes | None]:
        return self.boxes.setdefault((sender, receiver), {})


class Seat:
    """One party's network: numbered messages, no clock. Honest parties send at once and then wait."""

    def __init__(self, world: World, me: int, holders: int, faults: int, adversary: Adversary) -> None:
        self.world, self.me, self.holders, self.faults = world, me, holders, faults
        self.adversary = adversary
        self.blamed: dict[int, str] = {}
        self.transcript: list[dict[str, object]] = []
        self._sent: dict[int, int] = {}
        self._taken: dict[int, int] = {}

    async def exchange(
        self, item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        expected = list(range(self.holders) if senders is None else senders)
        sending: Mapping[int, bytes | None] = outgoing
        if self.me in self.adversary.corrupt:
            honest = [sender for sender in expected if sender not in self.adversary.corrupt]
            seen = {sender: await self._look(sender) for sender in honest}
            sending = self.adversary.choose(self.me, item, outgoing, seen)
        async with self.world.changed:
            for receiver in outgoing:
                number = self._sent[receiver] = self._sent.get(receiver, -1) + 1
                self.world.box(self.me, receiver)[number] = sending.get(receiver)
            self.world.changed.notify_all()
        arrived = {}
        for sender in expected:
            payload = await self._look(sender)
            self.world.box(sender, self.me).pop(self._taken.get(sender, -1) + 1, None)
            self._taken[sender] = self._taken.get(sender, -1) + 1
            if payload is None:
                self.blame(sender, f"sent nothing ({item})")
            else:
                arrived[sender] = payload
        return arrived

    async def _look(self, sender: int) -> bytes | None:
        """The next message of a sender, without taking it."""
        box, number = self.world.box(sender, self.me), self._taken.get(sender, -1) + 1
        async with self.world.changed:
            await self.world.changed.wait_for(lambda: number in box or sender in self.world.gone)
        return box.get(number)

    def expect(self, longest: int) -> None:
        """Messages have no length here."""

    def record(self, step: str, said: object) -> None:
        self.transcript.append({"step": step, "said": said})

    def blame(self, party: int, why: str) -> None:
        if party != self.me:
            self.blamed.setdefault(party, why)


class Adversary:
    """Chooses at random, by a seed, how each message of its parties is changed; ``rate`` of the messages are, from some round on."""

    def __init__(self, corrupt: Sequence[int], seed: int) -> None:
        self.corrupt = frozenset(corrupt)
        self.draw = random.Random(seed)
        self.rate = self.draw.choice((0.02, 0.1, 0.4, 1.0))
        self.rounds_before = self.draw.choice((0, 0, 5, 12, 20, 28))
        self.only = self.draw.choice(
            ("", "", "", "declare", "rows/deal", "rows/cross", "rows/complain", "coins", "digest", "/open")
        )
        self.kinds = self.draw.sample(list(_CHANGES), self.draw.randint(1, len(_CHANGES)))
        self._round: dict[int, int] = {}
        self.old: list[bytes] = []
        self.done: list[str] = []

    def choose(
        self, me: int, item: str, outgoing: Mapping[int, bytes], seen: Mapping[int, bytes | None]
    ) -> dict[int, bytes | None]:
        number = self._round[me] = self._round.get(me, 0) + 1
        chosen: dict[int, bytes | None] = {}
        for receiver, payload in outgoing.items():
            quiet = receiver == me or number <= self.rounds_before or self.only not in item
            if quiet or self.draw.random() >= self.rate:
                chosen[receiver] = payload
                continue
            kind = self.draw.choice(self.kinds)
            others = [each for each in seen.values() if each is not None]
            chosen[receiver] = _CHANGES[kind](self, payload, others)
            self.done.append(f"{item}: {me} to {receiver}: {kind}")
        self.old += list(outgoing.values())[:1]
        return chosen


def _drop(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    return None


def _copy(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    """What an honest party sends in the same round."""
    return adversary.draw.choice(others) if others else payload


def _replay(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    return adversary.draw.choice(adversary.old) if adversary.old else b""


def _flip(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    raw = bytearray(payload)
    for _ in range(adversary.draw.randint(1, 4)):
        if raw:
            raw[adversary.draw.randrange(len(raw))] ^= 1 << adversary.draw.randrange(8)
    return bytes(raw)


def _cut(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    return payload[: adversary.draw.randint(0, len(payload))]


def _longer(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    return payload + payload[: adversary.draw.randint(1, 64)] + bytes(adversary.draw.randint(0, 9))


def _noise(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    return adversary.draw.randbytes(len(payload))


def _elements(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    """One element exchanged for another one, still in the field or just beyond it."""
    if len(payload) < 4 or len(payload) % 4:
        return _flip(adversary, payload, others)
    words = np.frombuffer(payload, dtype="<u4").copy()
    value = adversary.draw.choice((0, 1, 2, _PRIME - 1, _PRIME, 2**32 - 1, adversary.draw.randrange(_PRIME)))
    words[adversary.draw.randrange(len(words))] = value
    return words.tobytes()


def _shift(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    """All elements shifted by the same amount: points of another polynomial."""
    if len(payload) % 4:
        return _flip(adversary, payload, others)
    words = np.frombuffer(payload, dtype="<u4").astype(np.int64) + adversary.draw.choice((1, 7, _PRIME - 1))
    return (words % _PRIME).astype("<u4").tobytes()


def _text(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    """A JSON text with one of its entries exchanged for something extreme."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return _flip(adversary, payload, others)
    extreme = adversary.draw.choice(_EXTREMES)
    if not isinstance(found, list) or not found or adversary.draw.random() < 0.1:
        return json.dumps(extreme).encode()
    inside: Any = found
    while isinstance(inside, list) and inside and isinstance(inside[-1], list) and adversary.draw.random() < 0.7:
        inside = adversary.draw.choice(inside) or inside
        if not isinstance(inside, list):
            return json.dumps(extreme).encode()
    inside[adversary.draw.randrange(len(inside))] = extreme
    return json.dumps(found).encode()


def _deep(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    return b"[" * 100_000


def _zeros(adversary: Adversary, payload: bytes, others: list[bytes]) -> bytes | None:
    return bytes(len(payload))


_CHANGES = {
    "drop": _drop, "copy": _copy, "replay": _replay, "flip": _flip, "cut": _cut, "longer": _longer, "noise": _noise,
    "elements": _elements, "shift": _shift, "text": _text, "deep": _deep, "zeros": _zeros,
}  # fmt: skip


def play(task: JointTask, rows: Sequence[Sequence[int]], adversary: Adversary) -> dict[int, PartyResult | Exception]:
    """What each honest party ends with; a run that hangs fails."""

    async def main() -> dict[int, PartyResult | Exception]:
        world = World()

        async def one(me: int) -> PartyResult | Exception:
            seat = Seat(world, me, task.parties, task.threshold, adversary)
            try:
                return await take_part(seat, task, rows[me])
            except NoiseAborted as aborted:
                return aborted
            except Exception as error:
                if me not in adversary.corrupt:
                    raise
                return error
            finally:
                world.gone.add(me)
                async with world.changed:
                    world.changed.notify_all()

        ended = await asyncio.wait_for(asyncio.gather(*(one(me) for me in range(task.parties))), timeout=300)
        return {me: result for me, result in enumerate(ended) if me not in adversary.corrupt}

    return asyncio.run(main())
