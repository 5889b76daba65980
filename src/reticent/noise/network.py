"""A party's view of the network: synchronous rounds in which everyone sends, and then has what arrived in time.

The protocol is written against :class:`Network` alone. :mod:`reticent.noise.rounds` implements it over encrypted links
between processes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Protocol

from reticent.errors import ReticentError

_LENGTH = struct.Struct("<I")
_NOTHING = (1 << 32) - 1


class NoiseAborted(ReticentError):
    """A joint computation ended without an answer: ``blamed`` lists each faulty party with the reason; ``opened``:
    shares of the answer were already sent, so the budget is spent."""

    exit_code = 1

    def __init__(self, message: str = "", blamed: Mapping[int, str] | None = None, *, opened: bool = False) -> None:
        super().__init__(message)
        self.blamed = dict(blamed or {})
        self.opened = opened


class Network(Protocol):
    """One party's view: it is number ``me`` among the ``holders`` of shares (from 0), of whom ``faults`` may be faulty;
    clients have the next numbers."""

    @property
    def me(self) -> int: ...
    @property
    def holders(self) -> int: ...
    @property
    def faults(self) -> int: ...
    @property
    def blamed(self) -> dict[int, str]:
        """The parties that this party knows to be faulty, with the reason."""

    @property
    def transcript(self) -> list[dict[str, object]]:
        """Everything broadcast or opened to all, in order: the same for all honest parties."""

    async def exchange(
        self, item: str, outgoing: Mapping[int, bytes], senders: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        """Send ``outgoing[j]`` to each party j, and return what ``senders`` (default: the holders) sent in the same round, by the deadline.

        A sender missing in the result sent nothing authentic in time: an erasure, never a value.
        """

    def expect(self, longest: int) -> None:
        """Set the maximum message length from now on; a party that sends more is disconnected."""

    def record(self, step: str, said: object) -> None:
        """Append public information to the transcript, as plain data."""

    def blame(self, party: int, why: str) -> None:
        """Record that a party is faulty."""


def to_all(network: Network, payload: bytes) -> dict[int, bytes]:
    """Return the same payload for every holder."""
    return dict.fromkeys(range(network.holders), payload)


def packed(parts: Sequence[bytes | None]) -> bytes:
    """Serialise several byte strings, some of them None, as one."""
    return b"".join(_LENGTH.pack(_NOTHING) if part is None else _LENGTH.pack(len(part)) + part for part in parts)


def unpacked(raw: bytes, count: int) -> list[bytes | None] | None:
    """Parse what :func:`packed` wrote; None if there are not exactly ``count`` parts."""
    parts: list[bytes | None] = []
    offset = 0
    for _ in range(count):
        if offset + _LENGTH.size > len(raw):
            return None
        (length,) = _LENGTH.unpack_from(raw, offset)
        offset += _LENGTH.size
        if length == _NOTHING:
            parts.append(None)
            continue
        if offset + length > len(raw):
            return None
        parts.append(raw[offset : offset + length])
        offset += length
    return parts if offset == len(raw) else None
