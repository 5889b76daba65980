"""Byzantine broadcast: all honest parties end with the same value for every sender, and with an honest sender's own value.

*Guarantee*: termination after ``rounds_of_broadcast(faults)`` rounds; agreement among the honest; validity for honest
senders. *Adversary*: at most t of n >= 3t + 1 parties, who may send arbitrary messages to anyone. *Cost*: 3 + 3 (t + 1)
rounds, in which each value passes n times between each pair. *Source*: reduction to binary agreement by echoes and
proposals with quorums [Turpin1984]; phase-king binary agreement in t + 1 phases [Berman1989]. All senders broadcast at
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reticent.noise.network import Network, NoiseAborted, packed, to_all, unpacked

# Broadcast values are short (declarations, digests, votes): every party relays them to every other.
LONGEST = 4096
_UNDECIDED = 2


def rounds_of_broadcast(faults: int) -> int:
    """Return the number of rounds of one broadcast: sending, echoing, proposing, and three for each king."""
    return 3 + 3 * (faults + 1)


async def broadcast(
    network: Network, item: str, value: bytes, sources: Sequence[int] | None = None, longest: int = LONGEST
) -> dict[int, bytes | None]:
    """Broadcast ``value``, and return what every source broadcast; None for a source without a quorum for one value.

    Sources default to the holders; clients may be among them. Values of more than ``longest`` bytes count as none:
    their echoes would exceed the message limit.
    """
    sources = range(network.holders) if sources is None else sources
    outgoing = to_all(network, value) if network.me in sources else {}
    first = await network.exchange(f"{item}/send", outgoing, sources)
    values = [raw if raw is not None and len(raw) <= longest else None for raw in map(first.get, sources)]
    agreed = await _agreed_values(network, item, values, sources)
    network.record(item, {str(source + 1): None if raw is None else _readable(raw) for source, raw in agreed.items()})
    return agreed


def _readable(raw: bytes) -> str:
    return raw.decode() if raw.isascii() and raw.decode().isprintable() else raw.hex()


async def _agreed_values(
    network: Network, item: str, values: list[bytes | None], sources: Sequence[int]
) -> dict[int, bytes | None]:
    """Return the value that all parties agree each source broadcast; None for a source without one.

    They echo what they received, propose a value that a quorum echoed, and agree on a bit per source: whether a quorum
    proposed it.
    """
    quorum, minimum = network.holders - network.faults, network.faults + 1
    echoed = _columns(await network.exchange(f"{item}/echo", to_all(network, packed(values))), len(sources))
    proposals = [_most_frequent(column, quorum) for column in echoed]
    proposed = _columns(await network.exchange(f"{item}/propose", to_all(network, packed(proposals))), len(sources))
    bits = [int(_most_frequent(column, quorum) is not None) for column in proposed]
    bits = await agree(network, item, bits)
    agreed: dict[int, bytes | None] = {}
    for source, bit, column in zip(sources, bits, proposed, strict=True):
        agreed[source] = _most_frequent(column, minimum) if bit else None
        if bit and agreed[source] is None:
            raise NoiseAborted(
                f"The parties did not agree on what party {source + 1} broadcast: more than {network.faults} of them are faulty or late.",
                network.blamed,
            )
    return agreed


def _columns(arrived: dict[int, bytes], count: int) -> list[list[bytes]]:
    """Return, for each source, the parties' messages about it."""
    columns: list[list[bytes]] = [[] for _ in range(count)]
    for raw in arrived.values():
        for column, part in zip(columns, unpacked(raw, count) or (), strict=False):
            if part is not None:
                column.append(part)
    return columns


def _most_frequent(values: Iterable[bytes], at_least: int) -> bytes | None:
    most_common = Counter(values).most_common(1)
    return most_common[0][0] if most_common and most_common[0][1] >= at_least else None


async def agree(network: Network, item: str, bits: Sequence[int]) -> list[int]:
    """Return the agreed bits: those of all honest parties are equal, and a bit that they all began with is kept
    (phase-king protocol).

    In each phase a value held by n - t parties is proposed, a value proposed by more than t parties is adopted, and a
    party that saw fewer than n - t proposals of it adopts that of the phase's king.
    """
    quorum = network.holders - network.faults
    own_bits = list(bits)
    for king in range(network.faults + 1):
        phase = f"{item}/{king + 1}"
        values = await _votes(network, f"{phase}/value", own_bits)
        supported = [next((y for y in (0, 1) if votes[y] >= quorum), _UNDECIDED) for votes in values]
        proposals = await _votes(network, f"{phase}/support", supported)
        for index, votes in enumerate(proposals):
            own_bits[index] = next((z for z in (0, 1) if votes[z] > network.faults), own_bits[index])
        messages_from_king = await network.exchange(
            f"{phase}/king", to_all(network, bytes(own_bits)) if network.me == king else {}, [king]
        )
        ruling = messages_from_king.get(king)
        if ruling is not None and len(ruling) == len(own_bits):
            for index, votes in enumerate(proposals):
                if votes[own_bits[index]] < quorum and ruling[index] in (0, 1):
                    own_bits[index] = ruling[index]
    return own_bits


async def _votes(network: Network, item: str, own_bits: Sequence[int]) -> list[Counter[int]]:
    """Exchange bits with all parties, and return the number of votes by value for each bit; messages of another length
    are ignored.
    """
    arrived = await network.exchange(item, to_all(network, bytes(own_bits)))
    counts: list[Counter[int]] = [Counter() for _ in own_bits]
    for raw in arrived.values():
        if len(raw) == len(own_bits):
            for count, value in zip(counts, raw, strict=True):
                count[value] += 1
    return counts
