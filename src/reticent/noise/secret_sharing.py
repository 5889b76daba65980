"""Verifiable secret sharing: a dealer gives every holder a share, and either all honest holders have consistent shares or the dealer is excluded.

*Guarantee*: t holders together learn nothing of an honest dealer's secrets. After acceptance the honest shares are on
one polynomial of degree t, which any 2t + 1 agreeing points determine. Each share is itself shared, so that all
together can open the share of one holder. *Adversary*: at most t of n >= 3t + 1 holders, and any dealer; unbounded
computing power (the links are encrypted, the sharing needs no assumption). *Cost*: two rounds and one broadcast if
nobody complains; 2 (t + 1) elements for each holder and 2 between each pair. *Source*: bivariate polynomials
[BenOr1988]; sharing by polynomials [Shamir1979]. All dealers deal all their secrets at once; a dealer is accepted or
excluded with all of them. Each holder also checks f_i(i) = g_i(i).

With S(x, y) of degree t in x and in y and S(0, 0) the secret, holder i (at point i) gets f_i(x) = S(x, i) and g_i(y) = S(i, y). Its share is f_i(0).
A holder complains about the first of many secrets on which it and another disagree: honest holders who disagree see the same first one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent.noise import field as gf
from reticent.noise.agreement import LONGEST, broadcast
from reticent.noise.field import Elements
from reticent.noise.network import Network, NoiseAborted, packed, to_all, unpacked

_A_COMPLAINT = 64
Check = Callable[[int, "HeldShares"], int | None]


@dataclass(frozen=True)
class HeldShares:
    """A holder's part of many shared values: coefficients of f_i and g_i, one column for each value."""

    rows: Elements
    columns: Elements

    @property
    def values(self) -> Elements:
        """The holder's shares themselves."""
        shares: Elements = self.rows[0]
        return shares

    def __getitem__(self, which: Any) -> HeldShares:
        """Select some of the values, by a slice or an index array over the last axis."""
        return HeldShares(self.rows[:, which], self.columns[:, which])

    def seen_by_other(self, other: int) -> Elements:
        """Return what this holder knows of the shares of holder ``other``: points, at this holder's coordinate, of the
        polynomials whose value at zero those shares are.
        """
        return gf.evaluate(self.columns, other + 1)


def share_polynomials(secrets: Elements, faults: int) -> Elements:
    """Return random polynomials of degree ``faults`` with the secrets at zero; the holders' shares are their values."""
    return np.concatenate([secrets[None] % gf.PRIME, gf.drawn(faults, len(secrets))])


@dataclass(frozen=True)
class DealerSide:
    """A dealer's own side: the coefficients of x^a y^b of its bivariate polynomials, never disclosed."""

    surface: Elements

    @staticmethod
    def of(polynomials: Elements) -> DealerSide:
        """Sample random surfaces S with S(0, y) the given share polynomials."""
        size, count = polynomials.shape
        return DealerSide(np.concatenate([polynomials[None], gf.drawn(size - 1, size, count)]))

    def part(self, holder: int) -> HeldShares:
        """Return the part of one holder."""
        rows = gf.evaluate(self.surface.swapaxes(0, 1), holder + 1)
        return HeldShares(rows, gf.evaluate(self.surface, holder + 1))

    def message(self, holder: int) -> bytes:
        """Return the serialised part of one holder."""
        part = self.part(holder)
        return gf.to_bytes(np.stack([part.rows, part.columns]))

    def messages(self, holders: int) -> dict[int, bytes]:
        """Return the serialised parts of all holders."""
        return {holder: self.message(holder) for holder in range(holders)}


@dataclass
class HolderShares:
    """Result of a dealing for one holder: its part from every accepted dealer, and why others are excluded. Both sets are
    the same for all honest holders.
    """

    accepted: dict[int, HeldShares] = field(default_factory=dict)
    out: dict[int, str] = field(default_factory=dict)
    complaints: dict[int, Complaints] = field(default_factory=dict)
    disputed: bool = False


@dataclass(frozen=True)
class Complaints:
    """The complaints of one holder, as broadcast.

    ``missing``: dealers from whom no part came, or one with f_i(i) != g_i(i). ``differing``: (dealer, other holder,
    which value, f_i(j), g_i(j)). ``unproved``: (dealer, which value) where the dealer's proof does not hold.
    """

    missing: tuple[int, ...] = ()
    differing: tuple[tuple[int, int, int, int, int], ...] = ()
    unproved: tuple[tuple[int, int], ...] = ()

    def to_bytes(self) -> bytes:
        return json.dumps([self.missing, self.differing, self.unproved]).encode()

    def about(self, dealer: int) -> bytes:
        """Return the complaints about one dealer, to be forwarded to it."""
        missing = tuple(each for each in self.missing if each == dealer)
        return Complaints(missing, tuple(each for each in self.differing if each[0] == dealer)).to_bytes()

    @staticmethod
    def from_bytes(raw: bytes | None, holders: int, sizes: Mapping[int, int]) -> Complaints:
        """Parse a broadcast; anything but well-formed complaints about known dealers, holders and values counts as none."""
        try:
            missing, differing, unproved = json.loads(raw or b"")
            complaints = Complaints(
                tuple(_known(dealer, sizes) for dealer in missing),
                tuple(
                    (
                        _known(d, sizes),
                        _below(j, holders),
                        _below(q, sizes[d]),
                        _below(f, gf.PRIME),
                        _below(g, gf.PRIME),
                    )
                    for d, j, q, f, g in differing
                ),
                tuple((_known(dealer, sizes), _below(which, sizes[dealer])) for dealer, which in unproved),
            )
        except (ValueError, TypeError, KeyError, RecursionError):
            return Complaints()
        repeated = len({difference[:2] for difference in complaints.differing}) < len(complaints.differing)
        repeated |= len({dealer for dealer, _ in complaints.unproved}) < len(complaints.unproved)
        return Complaints() if repeated else complaints


def _known(dealer: Any, sizes: Mapping[int, int]) -> int:
    if type(dealer) is not int or dealer not in sizes:
        raise ValueError(dealer)
    return dealer


def _below(number: Any, bound: int) -> int:
    if type(number) is not int or not 0 <= number < bound:
        raise ValueError(number)
    return number


async def deal(
    network: Network,
    item: str,
    own: DealerSide | None,
    sizes: Mapping[int, int],
    check: Check | None = None,
    tell: Sequence[int] = (),
) -> HolderShares:
    """Deal one's own secrets, take part in checking everybody's, and return the parts of accepted dealers.

    ``sizes`` is the public number of values of each dealer. ``check`` returns the first value whose proof does not hold
    on one's own part; these complaints are broadcast too, and returned for :mod:`reticent.noise.proofs` to settle.
    Clients in ``tell`` receive the complaints about them.
    """
    outgoing = {} if own is None else own.messages(network.holders)
    arrived = await network.exchange(f"{item}/deal", outgoing, list(sizes))
    parts = {dealer: _read_part(network, arrived.get(dealer), size) for dealer, size in sizes.items()}
    differing = await _cross_check(network, item, parts, sizes)
    own_complaints = Complaints(
        tuple(dealer for dealer, part in parts.items() if part is None),
        differing,
        _unproved(parts, check),
    )
    longest = longest_complaint(len(sizes), network.holders)
    broadcasts = await broadcast(network, f"{item}/complain", own_complaints.to_bytes(), longest=longest)
    complaints = read_complaints(network, broadcasts, sizes)
    if tell:
        reports = {
            client: packed([complaints[holder].about(client) for holder in range(network.holders)]) for client in tell
        }
        await network.exchange(f"{item}/tell", reports, [])
    dealt = await settle(network, item, own, parts, sizes, complaints)
    dealt.complaints = complaints
    if dealt.disputed and check is not None:
        second_complaints = Complaints(unproved=_unproved(dealt.accepted, check))
        broadcasts = await broadcast(network, f"{item}/complain again", second_complaints.to_bytes(), longest=longest)
        dealt.complaints = read_complaints(network, broadcasts, sizes)
    return dealt


def longest_complaint(dealers: int, holders: int) -> int:
    """Return the maximum length of complaints about every dealer and every holder, in bytes."""
    return LONGEST + _A_COMPLAINT * dealers * holders


def longest_message(dealers: int, holders: int, faults: int, sharings: int) -> int:
    """Return the maximum length of any message of a run in which all dealers together share this many values, in bytes:
    forwarded reveals, or echoes.
    """
    return 8 * (faults + 1) ** 2 * sharings + (holders + 1) * (longest_complaint(dealers, holders) + LONGEST + dealers)


def read_complaints(
    network: Network, said: Mapping[int, bytes | None], sizes: Mapping[int, int]
) -> dict[int, Complaints]:
    """Parse the complaints that each holder broadcast."""
    return {holder: Complaints.from_bytes(raw, network.holders, sizes) for holder, raw in said.items()}


def _read_part(network: Network, raw: bytes | None, size: int) -> HeldShares | None:
    """Parse a dealer's message as this holder's part; None if it is missing, malformed, or f_i(i) != g_i(i)."""
    coefficients = None if raw is None else gf.from_bytes(raw, 2, network.faults + 1, size)
    if coefficients is None:
        return None
    own_point = network.me + 1
    if (gf.evaluate(coefficients[0], own_point) != gf.evaluate(coefficients[1], own_point)).any():
        return None
    return HeldShares(coefficients[0], coefficients[1])


def _unproved(parts: Mapping[int, HeldShares | None], check: Check | None) -> tuple[tuple[int, int], ...]:
    """Return (dealer, index of a value) for each dealer with a value that fails the check; empty without a ``check``."""
    if check is None:
        return ()
    first = {dealer: check(dealer, part) for dealer, part in parts.items() if part is not None}
    return tuple((dealer, which) for dealer, which in first.items() if which is not None)


async def _cross_check(
    network: Network, item: str, parts: Mapping[int, HeldShares | None], sizes: Mapping[int, int]
) -> tuple[tuple[int, int, int, int, int], ...]:
    """Exchange f_i(j) and g_i(j) with every holder j, and return for each dealer and holder the first value on which the two disagree."""
    outgoing = {}
    for other in range(network.holders):
        outgoing[other] = packed(
            [None if part is None else gf.to_bytes(_crossing(part, other)) for part in parts.values()]
        )
    arrived = await network.exchange(f"{item}/cross", outgoing)
    differences = []
    for other, raw in arrived.items():
        if other == network.me:
            continue
        for (dealer, part), raw_values in zip(parts.items(), unpacked(raw, len(parts)) or (), strict=False):
            values = None if raw_values is None else gf.from_bytes(raw_values, 2, sizes[dealer])
            if part is None or values is None:
                continue
            own_values = _crossing(part, other)
            differs = (own_values[0] != values[1]) | (own_values[1] != values[0])
            if differs.any():
                first_difference = int(np.argmax(differs))
                differences.append(
                    (
                        dealer,
                        other,
                        first_difference,
                        int(own_values[0, first_difference]),
                        int(own_values[1, first_difference]),
                    )
                )
    return tuple(differences)


def _crossing(part: HeldShares, other: int) -> Elements:
    return np.stack([gf.evaluate(part.rows, other + 1), gf.evaluate(part.columns, other + 1)])


@dataclass
class Dispute:
    """Complaints about one dealer: holders without a part, and what pairs of holders claim about each other."""

    missing: set[int] = field(default_factory=set)
    said: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)

    @property
    def contradictions(self) -> list[tuple[int, int]]:
        """Return pairs of holders who name the same value and contradict each other: one of them, or the dealer, is faulty."""
        pairs = []
        for (first, second), (value_index, f, g) in self.said.items():
            reply = self.said.get((second, first))
            if first < second and reply is not None and reply[0] == value_index and (f, g) != (reply[2], reply[1]):
                pairs.append((first, second))
        return pairs

    def answered_by(self, revealed: Iterable[int]) -> bool:
        """True if revealing these holders' parts settles all complaints."""
        names = set(revealed)
        return self.missing <= names and all(first in names or second in names for first, second in self.contradictions)

    def answer(self, own: DealerSide) -> tuple[bytes, bytes]:
        """Return the dealer's broadcast, and the revealed parts that it sends to everyone."""
        names = self.to_reveal(own)
        blob = b"".join(own.message(name) for name in names)
        return json.dumps([names, hashlib.sha256(blob).hexdigest()]).encode(), blob

    def to_reveal(self, own: DealerSide) -> list[int]:
        """Return the holders whose parts the dealer reveals: those who miss their part, and those whose values are not what was dealt."""
        names = set(self.missing)
        for (holder, peer), (value_index, f, g) in self.said.items():
            part = DealerSide(own.surface[..., [value_index]]).part(holder)
            if [f, g] != [int(value) for value in _crossing(part, peer)[:, 0]]:
                names.add(holder)
        return sorted(names)


def disputed(complaints: Mapping[int, Complaints]) -> dict[int, Dispute]:
    """Return the dealers with complaints to settle: a missing part, or two holders who contradict each other."""
    disputes: dict[int, Dispute] = {}
    for holder, complaint in sorted(complaints.items()):
        for dealer in complaint.missing:
            disputes.setdefault(dealer, Dispute()).missing.add(holder)
        for dealer, other, which, f, g in complaint.differing:
            if other == holder:
                disputes.setdefault(dealer, Dispute()).missing.add(holder)
            else:
                disputes.setdefault(dealer, Dispute()).said[holder, other] = (which, f, g)
    return {
        dealer: dispute for dealer, dispute in sorted(disputes.items()) if dispute.missing or dispute.contradictions
    }


@dataclass
class _Reveal:
    """The reveal of a disputed dealer: whose parts, the broadcast digest, and the parts themselves (None until received)."""

    holders: list[int]
    digest: str
    raw: bytes | None = None
    parts: Elements | None = None

    def take(self, raw: bytes | None, faults: int, size: int) -> None:
        """Accept the parts from bytes that match the digest."""
        if self.parts is None and raw is not None and hashlib.sha256(raw).hexdigest() == self.digest:
            self.raw, self.parts = raw, gf.from_bytes(raw, len(self.holders), 2, faults + 1, size)

    def part(self, holder: int) -> HeldShares | None:
        """Return the part of a holder that the dealer revealed; None if nothing was revealed."""
        if self.parts is None:
            return None
        polynomials = self.parts[self.holders.index(holder)]
        return HeldShares(polynomials[0], polynomials[1])


async def settle(
    network: Network,
    item: str,
    own: DealerSide | None,
    parts: Mapping[int, HeldShares | None],
    sizes: Mapping[int, int],
    complaints: Mapping[int, Complaints],
) -> HolderShares:
    """Settle complaints: dealers reveal, holders vote, and n - t votes accept.

    Acceptance follows from broadcasts alone, so all honest holders agree. Undisputed dealers are accepted without a
    vote, since every honest holder's vote follows from the same broadcasts.
    """
    disputes = disputed(complaints)
    dealt = HolderShares(disputed=bool(disputes))
    reveals: dict[int, _Reveal] = {}
    if disputes:
        reveals = await reveal(network, item, own, sizes, disputes)
        dealt.out = await _voted_out(network, item, parts, disputes, reveals)
        reveals = {dealer: reveal for dealer, reveal in reveals.items() if dealer not in dealt.out and reveal.holders}
        await _pass_on(network, item, reveals, sizes)
    for dealer, part in parts.items():
        if dealer in dealt.out:
            continue
        if dealer in reveals and network.me in reveals[dealer].holders:
            part = reveals[dealer].part(network.me)
        if part is None:
            raise NoiseAborted(
                f"This party has no share from party {dealer + 1}, which all others accepted: more than {network.faults} are faulty, or this party was late.",
                network.blamed,
            )
        dealt.accepted[dealer] = part
    return dealt


async def reveal(
    network: Network, item: str, own: DealerSide | None, sizes: Mapping[int, int], disputes: Mapping[int, Dispute]
) -> dict[int, _Reveal]:
    """Let disputed dealers broadcast whom they reveal, with a digest, and send the parts themselves to everyone.

    An honest dealer reveals the parts of holders who complain with wrong values or claim to have received nothing:
    never an honest holder's part, except after its own failure. Returns the reveals that settle the complaints; an
    honest dealer needs at most t.
    """
    own_header, blob = b"", b""
    if own is not None and network.me in disputes:
        own_header, blob = disputes[network.me].answer(own)
    dealers = list(disputes)
    arrived = await network.exchange(f"{item}/reveal", to_all(network, blob) if own_header else {}, dealers)
    broadcasts = await broadcast(network, f"{item}/revealed", own_header, dealers)
    settling = {}
    for dealer, raw in broadcasts.items():
        revealed = _read_reveal(raw, network)
        if revealed is not None and disputes[dealer].answered_by(revealed.holders):
            revealed.take(arrived.get(dealer), network.faults, sizes[dealer])
            settling[dealer] = revealed
    return settling


def _read_reveal(raw: bytes | None, network: Network) -> _Reveal | None:
    """Return a received reveal; None if it is malformed, or names more holders than there may be faults."""
    try:
        names, digest = json.loads(raw or b"")
        holders = [_below(name, network.holders) for name in names]
    except (ValueError, TypeError, RecursionError):
        return None
    ordered = holders == sorted(set(holders)) and len(holders) <= network.faults
    return _Reveal(holders, digest) if ordered and isinstance(digest, str) else None


async def _voted_out(
    network: Network,
    item: str,
    parts: Mapping[int, HeldShares | None],
    disputes: Mapping[int, Dispute],
    reveals: Mapping[int, _Reveal],
) -> dict[int, str]:
    """Return the disputed dealers to exclude, with the reason: those for whom fewer than n - t holders vote."""
    votes = [int(dealer in reveals and _approves(network, parts[dealer], reveals[dealer])) for dealer in disputes]
    broadcasts = await broadcast(network, f"{item}/vote", bytes(votes))
    ballots = [raw for raw in broadcasts.values() if raw is not None and len(raw) == len(votes)]
    needed = network.holders - network.faults
    return {
        dealer: "dealt inconsistent shares"
        for index, dealer in enumerate(disputes)
        if sum(raw[index] == 1 for raw in ballots) < needed
    }


def _approves(network: Network, own_part: HeldShares | None, revealed: _Reveal) -> bool:
    """True if this holder was not revealed and every revealed part agrees with its own."""
    if own_part is None or network.me in revealed.holders or (revealed.holders and revealed.parts is None):
        return False
    for holder in revealed.holders:
        part = revealed.part(holder)
        assert part is not None
        at_itself = gf.evaluate(part.rows, holder + 1) == gf.evaluate(part.columns, holder + 1)
        with_mine = _crossing(part, network.me) == _crossing(own_part, holder)[::-1]
        if not (at_itself.all() and with_mine.all()):
            return False
    return True


async def _pass_on(network: Network, item: str, reveals: Mapping[int, _Reveal], sizes: Mapping[int, int]) -> None:
    """Forward revealed parts to holders who did not receive them: of n - t voters at least t + 1 are honest and have them."""
    if not reveals:
        return
    requests = await network.exchange(
        f"{item}/ask", to_all(network, bytes(reveal.parts is None for reveal in reveals.values()))
    )
    outgoing = {}
    for other in range(network.holders):
        requested = requests.get(other, b"")
        requested = requested if len(requested) == len(reveals) else bytes(len(reveals))
        outgoing[other] = packed(
            [reveal.raw if is_wanted else None for reveal, is_wanted in zip(reveals.values(), requested, strict=True)]
        )
    arrived = await network.exchange(f"{item}/pass on", outgoing)
    for raw in arrived.values():
        for (dealer, reveal_of_dealer), raw_part in zip(
            reveals.items(), unpacked(raw, len(reveals)) or (), strict=False
        ):
            reveal_of_dealer.take(raw_part, network.faults, sizes[dealer])


async def open_points(network: Network, item: str, own_points: Elements) -> Elements:
    """Open shared values to everyone: all send their points, and the value is what 2t + 1 of them agree on. Senders of wrong points are blamed.

    ``own_points`` are this holder's shares, or what it knows of another holder's (:meth:`HeldShares.seen_by_other`). With
    fewer agreeing points the run aborts: a missing share is an erasure, never a zero.
    """
    arrived = await network.exchange(f"{item}/open", to_all(network, gf.to_bytes(own_points)))
    points, values = [], []
    for holder, raw in sorted(arrived.items()):
        points_of_holder = gf.from_bytes(raw, *own_points.shape)
        if points_of_holder is None:
            network.blame(holder, f"sent malformed shares ({item})")
        else:
            points.append(holder + 1)
            values.append(points_of_holder)
    enough = 2 * network.faults + 1
    decoded = None
    if len(points) >= enough:
        decoded = gf.decode(points, np.stack(values), network.faults, network.faults, enough)
    if decoded is None:
        raise NoiseAborted(
            f"Fewer than {enough} of {network.holders} parties sent consistent shares ({item}): more than {network.faults} are faulty or late.",
            network.blamed,
        )
    for point in decoded.wrong:
        network.blame(point - 1, f"sent wrong shares ({item})")
    return decoded.at_zero
