"""Verifiable secret sharing: secrecy by enumeration, the attack of 7.1, and openings with liars."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from reticent.noise import field as gf
from reticent.noise.network import NoiseAborted
from reticent.noise.secret_sharing import (
    Complaints,
    DealerSide,
    Dispute,
    deal,
    disputed,
    open_points,
    share_polynomials,
)
from tests.noise.lockstep import play
from tests.oracles import noise_sharing as oracle


def enumerated(monkeypatch: pytest.MonkeyPatch, prime: int, draws: int) -> int:
    """Let every random element take every value, all combinations at once: one column for each."""
    columns = np.array(list(itertools.product(range(prime), repeat=draws)), dtype=np.int64).T
    left = iter(columns)

    def drawn(*shape: int):
        return np.stack([next(left) for _ in range(int(np.prod(shape[:-1])))]).reshape(shape)

    monkeypatch.setattr(gf, "PRIME", prime)
    monkeypatch.setattr(gf, "drawn", drawn)
    return columns.shape[1]


@pytest.mark.parametrize(("prime", "holder"), list(itertools.product([5, 7], [0, 1, 2, 3])))
def test_one_share_of_one_fault_says_nothing_about_the_secret(monkeypatch, prime, holder):
    """Every view of a holder occurs equally often for every secret: all polynomials over GF(5) and GF(7), t = 1."""
    views = []
    for secret in range(prime):
        with monkeypatch.context() as patch:
            count = enumerated(patch, prime, 3)
            part = DealerSide.of(share_polynomials(np.full(count, secret), 1)).part(holder)
            views.append(Counter(map(tuple, np.concatenate([part.rows, part.columns]).T.tolist())))
    assert all(view == views[0] for view in views)


def test_two_shares_of_two_faults_say_nothing_about_the_secret(monkeypatch):
    """t = 2 over GF(7), share polynomials: all pairs of holders."""
    for pair in itertools.combinations(range(1, 7), 2):
        views = []
        for secret in range(7):
            with monkeypatch.context() as patch:
                count = enumerated(patch, 7, 2)
                polynomials = share_polynomials(np.full(count, secret), 2)
                views.append(Counter(zip(*(gf.evaluate(polynomials, point).tolist() for point in pair), strict=True)))
        assert all(view == views[0] for view in views)


def sharing(secrets, holders=4, faults=1, behaviours=None):
    """Everybody deals its secrets; returns for each holder who was accepted with which shares, and what opening them gave."""

    async def one(network):
        own = DealerSide.of(share_polynomials(np.array(secrets[network.me]), faults))
        dealt = await deal(network, "rows", own, {dealer: len(secrets[dealer]) for dealer in range(holders)})
        opened = {
            dealer: await open_points(network, "all", part.values) for dealer, part in sorted(dealt.accepted.items())
        }
        return sorted(dealt.accepted), {dealer: values.tolist() for dealer, values in opened.items()}, dealt

    return play([one] * holders, holders, faults, behaviours)


def test_what_honest_dealers_share_is_what_everybody_opens():
    secrets = [[1, 2], [3], [0, gf.PRIME - 1, 5], [7]]
    for accepted, opened, _ in sharing(secrets):
        assert accepted == [0, 1, 2, 3]
        assert opened == dict(enumerate(secrets))


@pytest.mark.parametrize(
    "lie",
    ["lie in shares", "deal one wrong", "deal a column", "withhold", "refuse to reveal", "reveal something else", "lie in checks", "accuse", "equivocate",
     "vote no", "garbage", "crash", "anything"],
)  # fmt: skip
@pytest.mark.parametrize("holders", [4, 7])
def test_honest_dealers_are_accepted_and_faulty_ones_share_one_value_or_are_out(holders, lie):
    faults = (holders - 1) // 3
    liars = {2 * k + 1: lie for k in range(faults)}
    secrets = [[party, 10 * party] for party in range(holders)]
    found = [each for party, each in enumerate(sharing(secrets, holders, faults, liars)) if party not in liars]
    accepted, opened, _ = found[0]
    assert all(each[:2] == (accepted, opened) for each in found)
    for party in range(holders):
        if party not in liars:
            assert opened[party] == secrets[party]
    for dealer in accepted:
        points = {
            party + 1: int(found[k][2].accepted[dealer].values[0])
            for k, party in enumerate(p for p in range(holders) if p not in liars)
        }
        assert oracle.on_one_polynomial(points, faults, gf.PRIME)


def test_the_sharing_as_printed_accepts_shares_on_no_polynomial_and_ours_does_not():
    """A dealer alters the column polynomial of one holder off the points of the others. Printed: all vote OK. Ours: f_a(a) != g_a(a) is seen."""
    accepted_as_printed = accepted_here = 0
    for _ in range(50):
        dealing = DealerSide.of(share_polynomials(np.array([5]), 1))
        parts = {}
        for holder in range(4):
            part = dealing.part(holder)
            parts[holder + 1] = ([int(c) for c in part.rows[:, 0]], [int(c) for c in part.columns[:, 0]])
        # Holder 4 is the dealer's accomplice; holder 1 gets a column that agrees with holders 2 and 3 only if they were dealt rows that fit it.
        shift = int(gf.drawn(1)[0]) or 1
        rows, columns = parts[1]
        for other in (2, 3):
            their_rows, their_columns = parts[other]
            parts[other] = (_through(their_rows, 1, shift, other), their_columns)
        parts[1] = (rows, [(columns[0] + shift) % gf.PRIME, columns[1]])
        votes = [
            oracle.printed_vote(holder, {k: v for k, v in parts.items() if k != 4}, gf.PRIME) for holder in (1, 2, 3)
        ]
        shares = {holder: parts[holder][0][0] for holder in (1, 2, 3)}
        accepted_as_printed += all(votes) and not oracle.on_one_polynomial(shares, 1, gf.PRIME)
        seen = [_at(parts[h][0], h) == _at(parts[h][1], h) for h in (1, 2, 3)]
        accepted_here += all(votes) and all(seen) and not oracle.on_one_polynomial(shares, 1, gf.PRIME)
    assert accepted_as_printed == 50
    assert accepted_here == 0


def _through(rows, point, shift, other):
    """Rows changed by ``shift`` at ``point`` and by nothing at the third honest holder."""
    third = ({2, 3} - {other}).pop()
    slope = shift * gf.inverse(point - third) % gf.PRIME
    return [(rows[0] - slope * third) % gf.PRIME, (rows[1] + slope) % gf.PRIME]


def _at(coefficients, point):
    return sum(c * point**k for k, c in enumerate(coefficients)) % gf.PRIME


@pytest.mark.parametrize("lie", ["lie in openings", "lie in some openings", "garbage@all", "absent@all"])
def test_wrong_shares_at_opening_are_corrected_and_their_sender_blamed(lie):
    async def one(network):
        dealt = await deal(
            network, "rows", DealerSide.of(share_polynomials(np.arange(5), 1)), dict.fromkeys(range(4), 5)
        )
        values = await open_points(network, "all", dealt.accepted[0].values)
        return values.tolist(), dict(network.blamed)

    found = play([one] * 4, 4, 1, {2: lie})
    for party in (0, 1, 3):
        assert found[party][0] == [0, 1, 2, 3, 4]
    assert sum(2 in found[party][1] for party in (0, 1, 3)) >= 1


def test_more_liars_than_promised_abort_and_give_no_wrong_value():
    async def one(network):
        dealt = await deal(
            network, "rows", DealerSide.of(share_polynomials(np.arange(5), 1)), dict.fromkeys(range(4), 5)
        )
        return await open_points(network, "all", dealt.accepted[0].values)

    found = play([one] * 4, 4, 1, {1: "lie in openings", 2: "absent@all"})
    assert isinstance(found[0], NoiseAborted)
    assert isinstance(found[3], NoiseAborted)


@pytest.mark.parametrize(
    "raw",
    [None, b"", b"{}", b"[1]", b"[[9],[],[]]", b"[[true],[],[]]", b"[[],[[0,1,0,1]],[]]", b"[[],[[0,1,99,1,1]],[]]", b"[[],[],[[0,0],[0,1]]]",
     b"[[],[[0,1,0,1,1],[0,1,0,2,2]],[]]", b"\xff", b"[" * 5000],
)  # fmt: skip
def test_malformed_complaints_count_as_none(raw):
    assert Complaints.from_bytes(raw, 4, {0: 2, 1: 2}) == Complaints()


def test_two_complaints_contradict_each_other_only_about_the_same_value():
    said = {0: Complaints(differing=((3, 1, 0, 5, 6),)), 1: Complaints(differing=((3, 0, 0, 9, 5),))}
    assert disputed(said)[3].contradictions == [(0, 1)]
    said[1] = Complaints(differing=((3, 0, 0, 6, 5),))
    assert disputed(said) == {}
    said[1] = Complaints(differing=((3, 0, 1, 9, 5),))
    assert disputed(said) == {}


def test_an_honest_dealer_reveals_only_those_who_say_something_else_than_it_dealt():
    dealing = DealerSide.of(share_polynomials(np.array([4]), 1))
    part = dealing.part(0)
    truth = (int(gf.evaluate(part.rows, 2)[0]), int(gf.evaluate(part.columns, 2)[0]))
    dispute = Dispute({3}, {(0, 1): (0, *truth), (1, 0): (0, 1, 2)})
    assert dispute.to_reveal(dealing) == [1, 3]
    assert dispute.answered_by([1, 3])
    assert not dispute.answered_by([1])
