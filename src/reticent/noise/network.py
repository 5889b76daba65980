"""What a party sees of the others: rounds in which everybody sends and then everybody has what arrived in time.

The protocol is written against :class:`Network` alone. :mod:`reticent.noise.rounds` has it over encrypted links between processes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Protocol

from reticent.errors import ReticentError

_LENGTH = struct.Struct("<I")
_NOTHING = (1 << 32) - 1


class NoiseAborted(ReticentError):
    """A joint computation that ended without an answer: ``blamed`` names each party at fault with the reason, ``opened`` says whether shares of the
    answer were sent already, so that the budget is spent."""

    exit_code = 1

    def __init__(self, message: str = "", blamed: Mapping[int, str] | None = None, *, opened: bool = False) -> None:
        super().__init__(message)
        self.blamed = dict(blamed or {})
        self.opened = opened


class Network(Protocol):
    """One party's view: it is ``me`` among ``holders`` who hold shares (numbered from 0), of whom ``faults`` may be faulty; clients follow after them."""

    @property
    def me(self) -> int: ...
    @property
    def holders(self) -> int: ...
    @property
    def faults(self) -> int: ...
    @property
    def blamed(self) -> dict[int, str]:
        """Whom this party knows to be at fault, and why."""

    @property
    def transcript(self) -> list[dict[str, object]]:
        """Everything that was broadcast or opened to all, in order: the same for all honest parties."""

    async def exchange(
        self, item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        """Send ``outgoing[j]`` to each party j, and return what ``senders`` (by default the holders) sent in the same round, by the deadline.

        A sender that is not in the answer sent nothing in time, or nothing that could be authenticated: an erasure, never a value.
        """

    def expect(self, longest: int) -> None:
        """Let messages have so many bytes from now on; whoever sends more is cut off."""

    def record(self, step: str, said: object) -> None:
        """Add to the transcript what all honest parties know, as plain data."""

    def blame(self, party: int, why: str) -> None:
        """Note that a party is at fault."""


def to_all(network: Network, payload: bytes) -> dict[int, bytes]:
    """The same payload for every holder."""
    return dict.fromkeys(range(network.holders), payload)


def packed(parts: Sequence[bytes | None]) -> bytes:
    """Several byte strings, some of them missing, as one."""
    return b"".join(_LENGTH.pack(_NOTHING) if part is None else _LENGTH.pack(len(part)) + part for part in parts)


def unpacked(raw: bytes, count: int) -> list[bytes | None] | None:
    """What :func:`packed` wrote; None if these are not exactly ``count`` parts."""
    parts: list[bytes | None] = []
    place = 0
    for _ in range(count):
        if place + _LENGTH.size > len(raw):
            return None
        (length,) = _LENGTH.unpack_from(raw, place)
        place += _LENGTH.size
        if length == _NOTHING:
            parts.append(None)
            continue
        if place + length > len(raw):
            return None
        parts.append(raw[place : place + length])
        place += length
    return parts if place == len(raw) else None
