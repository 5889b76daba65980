"""One run of a party, from its rows to the noisy answer.

*Guarantee*: with at most t faulty or late parties of n >= 3t + 1, all honest parties end with the same answer: the sum
of the rows of all parties that were not excluded, plus noise of the planned distribution of which at least the planned
number of coins is unknown to any t parties. With more, they abort or an opening fails; no wrong answer is accepted.
Nothing but the answer is disclosed. *Adversary*: at most t malicious parties, who lie, collude or crash. At level
``semi-honest``: t of n >= 2t + 1 who follow the protocol but pool what they see. *Cost*:
:func:`reticent.noise.cost_plan.rounds_of`.

The order matters: coins are shared before public coins are opened, all parties agree on a digest of all broadcasts
before the answer is opened, and every party charges its budget in between. An abort before that is free; after it the
budget is spent, and a new run is a new answer with new noise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reticent.noise import field as gf
from reticent.noise.agreement import LONGEST, broadcast
from reticent.noise.circuits import exponential_noise
from reticent.noise.coins import bits_of, extracted, flipped
from reticent.noise.field import Elements
from reticent.noise.multiplication import CheckedArithmetic, PassiveArithmetic, hidden_bits, unknown_triples
from reticent.noise.network import Network, NoiseAborted, unpacked
from reticent.noise.proofs import BatchLayout, dealing, proved_bits, proved_triples, settle_proofs
from reticent.noise.secret_sharing import (
    DealerSide,
    HeldShares,
    deal,
    disputed,
    longest_message,
    open_points,
    read_complaints,
    share_polynomials,
)
from reticent.noise.tasks import JointTask

Charge = Callable[[], None]


@dataclass(frozen=True)
class PartyResult:
    """Result of a party: the noisy numbers, the number of coins in each, the participants, the faulty parties, and all broadcasts."""

    numbers: tuple[int, ...]
    coins: int
    included: tuple[int, ...]
    blamed: dict[int, str] = field(default_factory=dict)
    transcript: tuple[dict[str, object], ...] = ()


def free() -> None:
    """Charge nothing: the party has no budget."""


async def take_part(network: Network, task: JointTask, rows: Sequence[int], charge: Charge = free) -> PartyResult:
    """Run the protocol as one of the parties."""
    if task.level == "semi-honest":
        return await _passively(network, task, rows, charge)
    declared = await _declare(network, task, len(rows))
    layouts = {dealer: task.layout(count, dealer) for dealer, count in declared.items()}
    sharings = sum(layout.size for layout in layouts.values())
    network.expect(longest_message(len(layouts), task.parties, task.threshold, sharings))
    shares_by_dealer = await _share(network, task, rows, layouts)
    shares_by_dealer = await _check_counts(network, task, shares_by_dealer, declared, layouts)
    answer = sum(
        (
            task.released(task.counted(layouts[dealer].values(part, 0)[0], declared[dealer]))
            for dealer, part in shares_by_dealer.items()
        ),
        np.zeros(task.outputs, dtype=np.int64),
    )
    parts = {dealer: part for dealer, part in shares_by_dealer.items() if dealer < task.parties}
    noise, coins = await _noise(network, task, parts, layouts)
    numbers = await _open(network, task, (answer + noise) % gf.PRIME, coins, charge)
    return PartyResult(
        numbers,
        coins,
        included=tuple(sorted(shares_by_dealer)),
        blamed=network.blamed,
        transcript=tuple(network.transcript),
    )


async def take_part_as_client(network: Network, task: JointTask, rows: Sequence[int]) -> None:
    """Share one's rows with the parties and leave once they are verified (facilitators): a client holds no shares and deals no coins."""
    await network.exchange("declare/send", dict.fromkeys(range(task.parties), _declaration(task, len(rows))), [])
    layout = task.layout(len(rows), network.me)
    own_dealing = dealing([proved_bits(task.input_bits(rows), task.threshold)])
    await network.exchange("rows/deal", own_dealing.messages(task.parties), [])
    arrived = await network.exchange("rows/tell", {})
    complaints_heard = _told(arrived, task)
    disputes = disputed(read_complaints(network, complaints_heard, {network.me: layout.size}))
    if network.me in disputes:
        reveal_header, blob = disputes[network.me].answer(own_dealing)
        await network.exchange("rows/reveal", dict.fromkeys(range(task.parties), blob), [])
        await network.exchange("rows/revealed/send", dict.fromkeys(range(task.parties), reveal_header), [])


def _told(arrived: Mapping[int, bytes], task: JointTask) -> dict[int, bytes | None]:
    """Return the complaints that more than t parties report to a client identically."""
    reports = list(arrived.values())
    for report in reports:
        parts = unpacked(report, task.parties)
        if parts is not None and reports.count(report) > task.threshold:
            return dict(enumerate(parts))
    return {}


def _declaration(task: JointTask, rows: int) -> bytes:
    return json.dumps([task.digest, rows]).encode()


async def _declare(network: Network, task: JointTask, rows: int) -> dict[int, int]:
    """Agree on who takes part with how many rows."""
    declarations = await broadcast(network, "declare", _declaration(task, rows), range(task.parties + task.clients))
    return _read_declarations(network, task, declarations, needed=task.parties - task.threshold)


def _read_declarations(
    network: Network, task: JointTask, declarations: Mapping[int, bytes | None], needed: int
) -> dict[int, int]:
    """Return the number of rows of everyone who was set up for this task; others are excluded."""
    row_counts: dict[int, int] = {}
    for party, raw in declarations.items():
        try:
            digest, count = json.loads(raw or b"")
        except (ValueError, TypeError, RecursionError):
            network.blame(party, "sent an unreadable declaration")
            continue
        if digest != task.digest:
            network.blame(party, "was set up for another task")
        elif type(count) is not int or not 0 <= count <= task.row_limit:
            network.blame(party, "declared an impossible number of rows")
        else:
            row_counts[party] = count
    _require(network, task, row_counts, needed, "declared the same task")
    return row_counts


def _require(network: Network, task: JointTask, parties: Mapping[int, object], needed: int, what: str) -> None:
    present = sum(party < task.parties for party in parties)
    if present < needed:
        raise NoiseAborted(f"Only {present} of {task.parties} parties {what}; {needed} are needed.", network.blamed)


def _require_enough(network: Network, task: JointTask, parties: Mapping[int, object], what: str) -> None:
    _require(network, task, parties, task.parties - task.threshold, what)


async def _share(
    network: Network, task: JointTask, rows: Sequence[int], layouts: Mapping[int, BatchLayout]
) -> dict[int, HeldShares]:
    """Share rows, coins and random numbers, all verified and proved; a dealer who fails is excluded entirely."""

    def check(dealer: int, part: HeldShares) -> int | None:
        return layouts[dealer].first_unproved(network.me + 1, part)

    own = None
    if network.me in layouts:
        if layouts[network.me] != task.layout(len(rows), network.me):
            raise NoiseAborted("The parties agreed on a number of rows that is not this party's.", network.blamed)
        own = _dealing(task, rows, layouts[network.me])
    sizes = {dealer: layout.size for dealer, layout in layouts.items()}
    dealt = await deal(network, "rows", own, sizes, check, tell=range(task.parties, task.parties + task.clients))
    await settle_proofs(network, "rows", dealt, layouts)
    for dealer, why in dealt.out.items():
        network.blame(dealer, why)
    _require_enough(network, task, dealt.accepted, "shared their rows as they should")
    return dict(sorted(dealt.accepted.items()))


def _dealing(task: JointTask, rows: Sequence[int], layout: BatchLayout) -> DealerSide:
    """Return the shares that a dealer sends: its inputs, noise coins, random numbers and multiplication triples, with proofs."""
    _, coins, plain, randoms, triples = (section.count for section in layout.sections)
    return dealing(
        [
            proved_bits(task.input_bits(rows), task.threshold),
            proved_bits(gf.drawn_bits(coins), task.threshold),
            share_polynomials(gf.drawn(plain), task.threshold),
            share_polynomials(gf.drawn(randoms), task.threshold),
            proved_triples(triples, task.threshold),
        ]
    )


async def _check_counts(
    network: Network,
    task: JointTask,
    shares_by_dealer: dict[int, HeldShares],
    declared: Mapping[int, int],
    layouts: Mapping[int, BatchLayout],
) -> dict[int, HeldShares]:
    """Return the shares without dealers whose total number of rows, opened from the shares of their cells (section 0 of
    a batch), differs from what they declared; that number is public.
    """
    if task.query == "sum":
        return shares_by_dealer
    totals = [
        int(task.counted(layouts[dealer].values(part, 0)[0], declared[dealer]).sum() % gf.PRIME)
        for dealer, part in shares_by_dealer.items()
    ]
    opened = await open_points(network, "counts", np.array(totals, dtype=np.int64))
    network.record("counts", [int(value) for value in opened])
    for dealer, total in zip(list(shares_by_dealer), opened, strict=True):
        if total != declared[dealer]:
            network.blame(dealer, "shared cells that do not add up to its rows")
            del shares_by_dealer[dealer]
    _require_enough(network, task, shares_by_dealer, "shared as many rows as they declared")
    return shares_by_dealer


async def _noise(
    network: Network, task: JointTask, shares_by_dealer: Mapping[int, HeldShares], layouts: Mapping[int, BatchLayout]
) -> tuple[Elements, int]:
    """Return shares of the noise of every number, without the mean of binomial noise, and the number of coins in each.

    Exponential noise is made from sections 3 (random numbers) and 4 (products) of the dealers' batches.
    """
    if task.law == "binomial":
        return await _binomial(network, task, shares_by_dealer, layouts)
    known_faults = task.threshold - (task.parties - len(shares_by_dealer))
    triples = await unknown_triples(
        network,
        "triples",
        [(dealer, layouts[dealer].values(part, 4)) for dealer, part in shares_by_dealer.items()],
        known_faults,
    )
    arithmetic = CheckedArithmetic(network, triples)
    randoms = _extracted(task, shares_by_dealer, layouts, 3)[: task.randoms]
    bits = await hidden_bits(arithmetic, "bits", randoms, task.hidden_bits)
    noise = await exponential_noise(arithmetic, "noise", bits, task.thresholds, task.precision, task.outputs)
    return noise, 0


def _extracted(
    task: JointTask, shares_by_dealer: Mapping[int, HeldShares], layouts: Mapping[int, BatchLayout], section_index: int
) -> Elements:
    """Return shares of random numbers that no ``threshold`` parties know, extracted from one section of all dealers'
    batches.

    The sections of a batch are those of :meth:`JointTask.layout`: 0 rows, 1 coins, 2 public coins, 3 random numbers, 4
    products.
    """
    any_layout = next(layouts[dealer] for dealer in shares_by_dealer)
    zeros = np.zeros(any_layout.sections[section_index].count, dtype=np.int64)
    parts = [
        layouts[party].values(shares_by_dealer[party], section_index)[0] if party in shares_by_dealer else zeros
        for party in range(task.parties)
    ]
    return extracted(parts, task.parties, task.threshold)


async def _binomial(
    network: Network, task: JointTask, shares_by_dealer: Mapping[int, HeldShares], layouts: Mapping[int, BatchLayout]
) -> tuple[Elements, int]:
    """Return shares of the sum of the coins of all remaining dealers, and how many coins that are.

    Each coin (section 1 of a dealer's batch) is flipped by a public coin (from section 2) that was unknown when it was
    shared.
    """
    if not task.quota:
        return np.zeros(task.outputs, dtype=np.int64), 0
    elements = await open_points(network, "coins", _extracted(task, shares_by_dealer, layouts, 2))
    network.record("coins", hashlib.sha256(gf.to_bytes(elements)).hexdigest())
    coins_per_dealer = task.quota * task.outputs
    coins = bits_of(elements, coins_per_dealer * len(shares_by_dealer))
    if coins is None:
        raise NoiseAborted("There are fewer public coins than can happen by chance.", network.blamed)
    bits = np.concatenate([layouts[dealer].values(part, 1)[0] for dealer, part in shares_by_dealer.items()])
    shares = flipped(bits, coins).reshape(len(shares_by_dealer) * task.quota, task.outputs)
    return shares.sum(axis=0) % gf.PRIME, len(shares_by_dealer) * task.quota


async def _open(network: Network, task: JointTask, shares: Elements, coins: int, charge: Charge) -> tuple[int, ...]:
    """Agree on the transcript, charge, and open the answer."""
    own_digest = hashlib.sha256(json.dumps(network.transcript, sort_keys=True).encode()).hexdigest().encode()
    digests = await broadcast(network, "digest", own_digest)
    if sum(digest == own_digest for digest in digests.values()) < task.parties - task.threshold:
        raise NoiseAborted(
            "The parties do not agree on what was broadcast, so nothing is opened and nobody is charged.",
            network.blamed,
        )
    for party, digest in digests.items():
        if digest != own_digest:
            network.blame(party, "does not agree on what was broadcast")
    return _shown(network, await _charged(charge, lambda: open_points(network, "answer", shares)), coins)


async def _charged(charge: Charge, opening: Callable[[], Awaitable[Elements]]) -> Elements:
    """Charge the budget, and only then open: an abort from here on has a cost."""
    charge()
    try:
        return await opening()
    except NoiseAborted as aborted:
        aborted.opened = True
        raise


def _shown(network: Network, opened: Elements, coins: int) -> tuple[int, ...]:
    numbers = tuple(int(number) - coins // 2 for number in gf.signed(opened))
    network.record("answer", list(numbers))
    return numbers


async def _declare_passively(network: Network, task: JointTask, rows: int) -> dict[int, int]:
    """Agree on the participants: everyone, or nothing is computed."""
    arrived = await network.exchange("declare", dict.fromkeys(range(task.parties), _declaration(task, rows)))
    network.record("declare", {str(party + 1): raw.decode(errors="replace") for party, raw in sorted(arrived.items())})
    return _read_declarations(
        network, task, {party: arrived.get(party) for party in range(task.parties)}, needed=task.parties
    )


async def _passively(network: Network, task: JointTask, rows: Sequence[int], charge: Charge) -> PartyResult:
    """Level ``semi-honest``: every party shares its counts together with its own noise, and all sums are opened."""
    declared = await _declare_passively(network, task, len(rows))
    network.expect(4 * (task.products + task.outputs) + LONGEST)
    arithmetic = PassiveArithmetic(network)
    own = task.released(task.counted(task.input_bits(rows), len(rows)))
    own = own + gf.drawn_bits(task.quota * task.outputs).reshape(task.quota, task.outputs).sum(axis=0)
    shares = sum(await arithmetic.share("rows", own), np.zeros(task.outputs, dtype=np.int64))
    coins = task.quota * task.parties
    if task.law == "exponential":
        randoms = (
            sum(await arithmetic.share("randoms", gf.drawn(task.randoms)), np.zeros(task.randoms, dtype=np.int64))
            % gf.PRIME
        )
        bits = await hidden_bits(arithmetic, "bits", randoms, task.hidden_bits)
        shares = shares + await exponential_noise(
            arithmetic, "noise", bits, task.thresholds, task.precision, task.outputs
        )
    numbers = _shown(network, await _charged(charge, lambda: arithmetic.open("answer", shares % gf.PRIME)), coins)
    return PartyResult(
        numbers, coins, included=tuple(sorted(declared)), blamed=network.blamed, transcript=tuple(network.transcript)
    )
