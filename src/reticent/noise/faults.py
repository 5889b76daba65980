"""Named faults for tests and trials: a party that follows the protocol except in one respect (``run_local(..., behaviours={party: name})``).

A faulty party runs the same code as the others. Its network alters outgoing messages, so that it can do anything a
malicious party could: different bytes for each receiver, nothing at all, or invalid frames. No other code knows about
it. ``name@item`` starts with the first round whose item starts with ``item``.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reticent.errors import PolicyError, did_you_mean
from reticent.noise import field as gf
from reticent.noise.network import Network
from reticent.noise.rounds import LinkedNetwork

Changed = bytes | None
Lie = Callable[["FaultyNetwork", str, int, bytes], Changed]


class LeftOnPurpose(Exception):
    """Raised when a faulty party leaves."""


@dataclass(frozen=True)
class PartyFault:
    """A fault: how each message is altered from the first round whose item starts with ``begin``; its own copies only if it lies consistently."""

    change: Lie
    begin: str = ""
    help: str = ""
    to_itself: bool = False


class FaultyNetwork:
    """A network that forwards everything except for what its fault alters."""

    def __init__(self, inner: Network, threshold: int, behaviour: PartyFault) -> None:
        self.inner, self.threshold, self._behaviour = inner, threshold, behaviour
        self._begun = False
        self.last: dict[int, bytes] = {}

    @property
    def me(self) -> int:
        return self.inner.me

    @property
    def holders(self) -> int:
        return self.inner.holders

    @property
    def faults(self) -> int:
        return self.inner.faults

    @property
    def blamed(self) -> dict[int, str]:
        return self.inner.blamed

    @property
    def transcript(self) -> list[dict[str, object]]:
        return self.inner.transcript

    def expect(self, longest: int) -> None:
        self.inner.expect(longest)

    def record(self, step: str, said: object) -> None:
        self.inner.record(step, said)

    def blame(self, party: int, why: str) -> None:
        self.inner.blame(party, why)

    @property
    def links(self) -> LinkedNetwork | None:
        """The real links, if any."""
        return self.inner if isinstance(self.inner, LinkedNetwork) else None

    async def exchange(
        self, item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        """Run the round with altered messages."""
        self._begun = self._begun or item.startswith(self._behaviour.begin)
        if not self._begun:
            return await self.inner.exchange(item, outgoing, senders)
        if self._behaviour.change is hold_up and self.links is not None and outgoing:
            await asyncio.sleep(self.links.deadline * 1.5)
            return await self.inner.exchange(item, outgoing, senders)
        changed = {receiver: self._changed(item, receiver, payload) for receiver, payload in sorted(outgoing.items())}
        sent = {receiver: payload for receiver, payload in changed.items() if payload is not None}
        self.last = dict(outgoing)
        return await self.inner.exchange(item, sent, senders)

    def _changed(self, item: str, receiver: int, payload: bytes) -> Changed:
        """Return what a faulty party sends instead of a payload; None if it sends nothing."""
        if receiver == self.me and not self._behaviour.to_itself:
            return payload
        changed = self._behaviour.change(self, item, receiver, payload)
        if changed is None and self.links is not None and receiver in self.links.links:
            # A message that is not sent still uses its number.
            self.links.links[receiver].sent += 1
        return changed


def crash(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Stop at once; the operating system closes the links."""
    raise LeftOnPurpose


def cut(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Send half of a message and close all links."""
    if liar.links is not None:
        link = liar.links.links[receiver]
        frame = link.sealed(item, payload)
        link.write(frame[: len(frame) // 2])
        for other_link in liar.links.links.values():
            other_link.close()
    raise LeftOnPurpose


def nothing(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Send nothing any more, with all links open."""
    return None


def hold_up(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Send everything after the deadline (without real links: not at all)."""
    return None


def garbage(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Random bytes of the right length."""
    return secrets.token_bytes(len(payload))


def short(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Half of every message."""
    return payload[: len(payload) // 2]


def flood(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """A thousand times more than there should be."""
    return payload * 1000 + bytes(1000) if len(payload) < 1000 else payload * 3


def scramble(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Send random bytes instead of a frame."""
    if liar.links is not None:
        link = liar.links.links.get(receiver)
        if link is not None:
            frame = link.sealed(item, payload)
            link.write(frame[:8] + secrets.token_bytes(len(frame) - 8))
            link.sent -= 1
    return None


def replay(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Send the message of the previous round, labelled for that round, instead of this one's."""
    if liar.links is None:
        return liar.last.get(receiver, payload)
    link = liar.links.links.get(receiver)
    if link is not None and link.sent:
        number = link.sent
        link.sent -= 1
        old = link.sealed(item, liar.last.get(receiver, payload))
        link.write(old[:4] + number.to_bytes(4, "little") + old[8:])
    return None


def _to_some(change: Lie) -> Lie:
    """Apply the fault to every second receiver only."""

    def changed(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
        return change(liar, item, receiver, payload) if (receiver - liar.me) % 2 else payload

    return changed


def _only(begin: str, end: str, change: Lie) -> Lie:
    """Apply the fault to items with the given prefix and suffix only."""

    def changed(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
        return change(liar, item, receiver, payload) if item.startswith(begin) and item.endswith(end) else payload

    return changed


def _shifted(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Add one to every element."""
    elements = gf.from_bytes(payload, len(payload) // 4)
    return payload if elements is None else gf.to_bytes((elements + 1) % gf.PRIME)


def _flipped(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Flip every bit of an agreement."""
    return bytes(1 - value if value in (0, 1) else value for value in payload)


def _reworded(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """Send a different text to each receiver."""
    return payload + b" " * (receiver + 1)


def _deal(change: Callable[[FaultyNetwork, int, np.ndarray[tuple[int, ...], np.dtype[np.int64]]], None]) -> Lie:
    """Return the misbehaviour of altering the shares that the party deals: ``change`` edits the coefficients for one
    receiver in place.
    """

    def changed(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
        """Return the message with altered shares."""
        size = len(payload) // 8 // (liar.threshold + 1)
        parts = gf.from_bytes(payload, 2, liar.threshold + 1, size)
        assert parts is not None
        change(liar, receiver, parts)
        return gf.to_bytes(parts % gf.PRIME)

    return _only("rows/deal", "", changed)


def _others_part(liar: FaultyNetwork, receiver: int, parts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    parts[:] = gf.drawn(*parts.shape)


def _next_one(liar: FaultyNetwork, receiver: int, parts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    """Deal a wrong share to one receiver: the dealer has to reveal it."""
    if receiver == (liar.me + 1) % liar.holders:
        parts[:, 0, 0] += 1


def _column(liar: FaultyNetwork, receiver: int, parts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    """Deal another column polynomial to one receiver, which agrees at the points of t others."""
    if receiver != (liar.me + 1) % liar.holders:
        return
    difference = np.array([1], dtype=object)
    for point in [holder + 1 for holder in range(liar.holders) if holder not in (receiver, liar.me)][: liar.threshold]:
        difference = np.convolve(difference, np.array([-point, 1], dtype=object))
    parts[1, :, 0] = (parts[1, :, 0] + np.array([int(each) % gf.PRIME for each in difference])) % gf.PRIME


def _seven(place: float) -> Callable[[FaultyNetwork, int, np.ndarray[tuple[int, ...], np.dtype[np.int64]]], None]:
    """Return a change that deals a consistent sharing of a value that is too large by 7; ``place`` (0 to 1) selects the
    value.
    """

    def change(liar: FaultyNetwork, receiver: int, parts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
        """Add 7 to the constant coefficients of the selected value."""
        parts[:, 0, int(place * (parts.shape[-1] - 1))] += 7

    return change


def _said(replace: Callable[[FaultyNetwork, bytes], bytes]) -> Lie:
    """Alter a broadcast, consistently for every receiver."""

    def changed(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
        return replace(liar, payload)

    return changed


def _accusing(liar: FaultyNetwork, payload: bytes) -> bytes:
    everybody = [holder for holder in range(liar.holders) if holder != liar.me]
    differing = [[dealer, other, 0, 1, 2] for dealer in everybody for other in everybody]
    return json.dumps([everybody, differing, []]).encode()


def _accusing_proofs(liar: FaultyNetwork, payload: bytes) -> bytes:
    return json.dumps([[], [], [[holder, 0] for holder in range(liar.holders) if holder != liar.me]]).encode()


def _more_rows(liar: FaultyNetwork, payload: bytes) -> bytes:
    digest, rows = json.loads(payload)
    return json.dumps([digest, rows + 1]).encode()


def _countless_rows(liar: FaultyNetwork, payload: bytes) -> bytes:
    return json.dumps([json.loads(payload)[0], 10**12]).encode()


def _another_task(liar: FaultyNetwork, payload: bytes) -> bytes:
    return payload.replace(b'"', b'"0', 1)


def anything(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
    """At random: drop, truncate, garble, alter one byte of, or replace a message."""
    choice = secrets.randbelow(24)
    if choice == 0:
        return None
    if choice == 1:
        return payload[: secrets.randbelow(len(payload) + 1)]
    if choice == 2:
        return secrets.token_bytes(len(payload))
    if choice == 3 and payload:
        position = secrets.randbelow(len(payload))
        return payload[:position] + secrets.token_bytes(1) + payload[position + 1 :]
    if choice == 4:
        return liar.last.get(receiver, payload)
    return payload


def _chain(*lies: Lie) -> Lie:
    """Return a fault that applies several in sequence: each alters what the previous one would send."""

    def changed(liar: FaultyNetwork, item: str, receiver: int, payload: bytes) -> Changed:
        """Return the message after all faults; None if one drops it."""
        result: Changed = payload
        for lie in lies:
            result = None if result is None else lie(liar, item, receiver, result)
        return result

    return changed


BEHAVIOURS: dict[str, PartyFault] = {
    "crash": PartyFault(crash, "rows/cross", "ends in the middle of a run"),
    "disconnect": PartyFault(cut, "rows/cross", "closes its links in the middle of a message"),
    "stall": PartyFault(nothing, "rows/cross", "sends nothing any more"),
    "stall some": PartyFault(_to_some(nothing), "rows/cross", "sends nothing any more to every second party"),
    "absent": PartyFault(nothing, "", "never sends anything"),
    "late": PartyFault(hold_up, "rows/cross", "sends everything after the deadline"),
    "garbage": PartyFault(garbage, "", "sends random bytes"),
    "short": PartyFault(short, "", "sends half of every message"),
    "flood": PartyFault(flood, "rows/cross", "sends far more than it should"),
    "scramble": PartyFault(scramble, "rows/cross", "sends random bytes where a message should be"),
    "replay": PartyFault(replay, "rows/cross", "sends old messages again"),
    "equivocate": PartyFault(
        _only("", "/send", _to_some(_reworded)), "", "broadcasts different things to different parties"
    ),
    "lie in echoes": PartyFault(
        _chain(_only("", "/echo", garbage), _only("", "/propose", garbage)), "", "garbles what others broadcast"
    ),
    "lie as king": PartyFault(
        _chain(*(_only("", end, _to_some(_flipped)) for end in ("/value", "/support", "/king"))),
        "",
        "turns votes round",
    ),
    "lie in shares": PartyFault(_deal(_others_part), "", "deals shares that do not fit together"),
    "deal one wrong": PartyFault(_deal(_next_one), "", "deals one party a wrong share"),
    "deal a column": PartyFault(_deal(_column), "", "deals one party a wrong column that others cannot see"),
    "withhold": PartyFault(_only("rows/deal", "", _to_some(nothing)), "", "deals nothing to every second party"),
    "refuse to reveal": PartyFault(
        _chain(_deal(_next_one), _only("rows/reveal", "", nothing)),
        "",
        "deals a wrong share and does not answer for it",
    ),
    "reveal something else": PartyFault(
        _chain(_deal(_next_one), _only("rows/reveal", "reveal", garbage)), "", "deals a wrong share and reveals another"
    ),
    "lie in checks": PartyFault(_only("rows/cross", "", garbage), "", "sends wrong values to be compared"),
    "accuse": PartyFault(_only("rows/complain", "/send", _said(_accusing)), "", "complains of every dealer"),
    "accuse proofs": PartyFault(
        _only("rows/complain", "/send", _said(_accusing_proofs)), "", "complains of every proof"
    ),
    "vote no": PartyFault(
        _only("rows/vote", "/send", _said(lambda _, payload: bytes(len(payload)))), "", "votes against everybody"
    ),
    "lie in proofs": PartyFault(_deal(_seven(0.0)), "", "shares a seven as a bit", to_itself=True),
    "lie in coins": PartyFault(_deal(_seven(0.5)), "", "shares something else than it should", to_itself=True),
    "miscount": PartyFault(_only("declare", "/send", _said(_more_rows)), "", "declares a row that it does not have"),
    "boast": PartyFault(
        _only("declare", "/send", _said(_countless_rows)), "", "declares more rows than there are people"
    ),
    "other task": PartyFault(_only("declare", "/send", _said(_another_task)), "", "was set up for something else"),
    "lie in openings": PartyFault(_only("", "/open", _shifted), "", "opens wrong shares"),
    "lie in some openings": PartyFault(
        _only("", "/open", _to_some(_shifted)), "", "opens wrong shares to every second party"
    ),
    "lie in digests": PartyFault(
        _only("digest", "/send", _said(lambda _, payload: payload[::-1])), "", "claims another state"
    ),
    "anything": PartyFault(anything, "", "any of these, now and then"),
}


def misbehaving(network: Network, name: str, threshold: int) -> FaultyNetwork:
    """Return a network with the named fault."""
    return FaultyNetwork(network, threshold, behaviour(name))


def behaviour(name: str) -> PartyFault:
    """Return the fault ``name`` or ``name@item``."""
    fault_name, _, begin = name.partition("@")
    if fault_name not in BEHAVIOURS:
        raise PolicyError(
            f"There is no behaviour {fault_name!r}.{did_you_mean(fault_name, BEHAVIOURS)} The behaviours are: {', '.join(BEHAVIOURS)}.",
            setting=("behaviours",),
            value=name,
        )
    fault = BEHAVIOURS[fault_name]
    return replace(fault, begin=begin) if begin else fault
