"""The join attack: group membership is unknown; the adversary knows quasi-identifiers and the boxes of groups."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.tracking import _kernels
from reticent.attacks.tracking.fixpoint import Masks, ValuesLeft
from reticent.attacks.tracking.learned import SightingFigures
from reticent.attacks.tracking.tracked_view import Places, Tracks
from reticent.base.context import Context
from reticent.base.ragged import places_in, starts_of
from reticent.errors import DataError, PolicyError
from reticent.methods.series import PublishedSeries, SeriesRelease

MOST_EDGES = 20_000_000
"""The maximum number of pairs of a person and a published row per release."""
_LANES, _WORD = 64, 64


@dataclass(frozen=True)
class _Edges:
    """The candidate pairs of one release: ``person`` (a row of the release) and ``slot`` (a published row). ``track``
    of each person; ``group`` and ``value`` of each slot; ``fakes`` are the groups of counterfeits, one each.
    """

    track: Places
    group: Places
    value: Places
    fakes: Places
    person: Places
    slot: Places

    def kept(self, chosen: NDArray[np.bool_]) -> _Edges:
        return _Edges(self.track, self.group, self.value, self.fakes, self.person[chosen], self.slot[chosen])


@dataclass(frozen=True)
class Memberships:
    """The candidate rows of each sighting, by value: ``counts`` of rows with ``values``, those of a sighting at ``starts``."""

    starts: NDArray[np.int64]
    values: Places
    counts: NDArray[np.int64]

    def of(self, sighting: int) -> dict[int, Fraction]:
        """Return the remaining values with their shares among the remaining rows."""
        part = slice(self.starts[sighting], self.starts[sighting + 1])
        rows = int(self.counts[part].sum())
        return {
            int(value): Fraction(int(count), rows)
            for value, count in zip(self.values[part], self.counts[part], strict=True)
        }

    def figures(self) -> SightingFigures:
        """Return the largest share and the number of remaining values of each sighting."""
        first = self.starts[:-1]
        top, rows = np.maximum.reduceat(self.counts, first), np.add.reduceat(self.counts, first)
        return SightingFigures.of_shares(top, rows, np.diff(self.starts).astype(np.int32))


def join(series: PublishedSeries, tracks: Tracks, context: Context) -> Memberships:
    """Return the candidate rows at the fixpoint, if group membership is unknown.

    *Rules.* A person may be any row of a group whose box contains her quasi-identifiers, if some matching assigns all
    people at the same time (counterfeits are rows of their groups). If boxes of buckets are published, she may be in
    any group with a member whose box contains her. A track has one value. If the series keeps signatures along tracks
    (which its definition states publicly), a track stays within one signature: memberships that would break the
    uniqueness of later releases are dropped. If signatures before and after a change or a return are always equal or
    disjoint (which the hardened definition states publicly), so are those of memberships. Tracks before and after a
    known change differ.

    *Adversary.* Knows all releases, all quasi-identifiers at each, and event lists; not who is in which group.

    *Cost.* A matching and strongly connected components for each release and round, in the number of pairs of people
    and published rows; at most ``MOST_EDGES`` a release.
    """
    series.check_complete("mode='join'")
    wanted = [release for release in series if release.number in tracks.numbers]
    signatures, shown = _signatures(wanted, len(tracks.domain))
    edges = []
    for place, release in enumerate(wanted):
        context.step("joining boxes with people", place, len(wanted))
        mine = tracks.track[tracks.release == place]
        edges.append(_edges(release, series.positions(release.quasi), mine))
    kept = _kept_signatures(edges, wanted, signatures, len(tracks.before))
    apart = kept is not None and bool(_kernels.equal_or_disjoint(tracks.previous, *kept, shown).all())
    if kept is None:
        signatures = [np.zeros_like(each) for each in signatures]
    masks = np.full((len(tracks.before), -(-len(tracks.domain) // _WORD)), ~np.uint64(0))
    rounds = 0
    while True:
        rounds += 1
        size = sum(len(each.slot) for each in edges)
        allowed = _one_signature(edges, signatures, tracks.previous, shown if apart else None)
        for place, each in enumerate(edges):
            context.step("ruling out memberships", place, len(edges), f"round {rounds}")
            mine, value = each.track[each.person], each.value[each.slot]
            bits = (masks[mine, value // _WORD] >> (value % _WORD).astype(np.uint64)) & np.uint64(1)
            pruned = _possible(each.kept(bits.astype(bool) & allowed[place]), tracks.numbers[place])
            masks &= _union(pruned, masks)
            edges[place] = pruned
        _differ(tracks, masks)
        if sum(len(each.slot) for each in edges) == size:
            return _memberships(edges, len(tracks.domain))


def _edges(release: SeriesRelease, points: NDArray[np.float64], tracks: Places) -> _Edges:
    """Return all pairs of a person and a published row of a group whose box contains the person."""
    if np.isnan(points).any():
        raise DataError(f"Release {release.number}: some quasi values are missing or not on the scale of their column.")
    widths = (release.high - release.low).mean(axis=0) / np.maximum(np.ptp(points, axis=0), 1e-12)
    order = np.argsort(release.low[:, int(np.argmin(widths))], kind="stable")
    low, high = release.low[order], release.high[order]
    blocks = np.arange(0, len(low), _LANES)
    bounds = np.minimum.reduceat(low, blocks), np.maximum.reduceat(high, blocks)
    people, boxes = _kernels.covering(points, low, high, *bounds, _LANES, MOST_EDGES)
    people, groups = _groups_of(release, people, order[boxes])
    rows = release.sizes[groups]
    if rows.sum() > MOST_EDGES:
        raise _too_many(release)
    return _Edges(
        tracks,
        np.repeat(np.arange(len(release), dtype=np.int32), release.sizes),
        release.values.astype(np.int32),
        np.repeat(np.arange(len(release), dtype=np.int32), release.counterfeits),
        np.repeat(people, rows),
        places_in(release.offsets[groups], rows).astype(np.int32),
    )


def _groups_of(release: SeriesRelease, people: Places, boxes: NDArray[np.int64]) -> tuple[Places, NDArray[np.int64]]:
    """Return distinct pairs of a person and a group from pairs of a person and a box: a box belongs to every group with a member who shows it."""
    if release.buckets is None:
        return people, boxes
    shown, group, _ = release.box_groups()
    starts = np.searchsorted(shown, np.arange(len(release.low) + 1))
    many = np.diff(starts)[boxes]
    if many.sum() > MOST_EDGES:
        raise _too_many(release)
    coded = np.repeat(people.astype(np.int64), many) * len(release) + group[places_in(starts[boxes], many)]
    distinct = np.unique(coded)
    return (distinct // len(release)).astype(np.int32), distinct % len(release)


def _too_many(release: SeriesRelease) -> PolicyError:
    return PolicyError(
        f"Release {release.number}: boxes overlap so much, or lead to so many groups, that people and published rows make more than {MOST_EDGES:,} pairs. "
        "An adversary who does not know the groups learns little here; use mode='fixpoint', in which they are known.",
        setting=("mode",),
        value="join",
    )


def _possible(edges: _Edges, number: int) -> _Edges:
    """Return the edges that belong to some perfect matching of people and counterfeits with published rows."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    people, slots = len(edges.track), len(edges.value)
    sizes = np.bincount(edges.group)
    width = sizes[edges.fakes]
    fake_rows = np.repeat(people + np.arange(len(edges.fakes)), width)
    fake_slots = places_in(starts_of(sizes)[edges.fakes], width)
    rows = np.concatenate([edges.person, fake_rows]).astype(np.int32)
    columns = np.concatenate([edges.slot, fake_slots]).astype(np.int32)
    graph = csr_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(people + len(edges.fakes), slots))
    partner = maximum_bipartite_matching(graph, perm_type="column")
    if (partner < 0).any():
        raise DataError(
            f"Release {number}: not every person can be assigned to a group whose box contains her quasi-identifiers. Boxes, quasi-identifiers or event lists are wrong; no conclusion about this series is possible."
        )
    passing = csr_array((np.ones(len(rows), dtype=bool), (partner[rows], columns)), shape=(slots, slots))
    cycle = connected_components(passing, directed=True, connection="strong")[1]
    return edges.kept(cycle[partner[edges.person]] == cycle[edges.slot])


def _union(edges: _Edges, masks: Masks) -> Masks:
    """Return the values that edges leave to each track of the release; all values for other tracks."""
    found = np.full_like(masks, ~np.uint64(0))
    found[edges.track] = 0
    value = edges.value[edges.slot]
    bits = np.uint64(1) << (value % _WORD).astype(np.uint64)
    np.bitwise_or.at(found, (edges.track[edges.person], value // _WORD), bits)
    return found


def _differ(tracks: Tracks, masks: Masks) -> None:
    """Remove the only value of a track from those that must differ from it."""
    sizes = ValuesLeft(tracks, masks).sizes
    for one in (tracks.before, tracks.after):
        known = np.flatnonzero((one >= 0) & (sizes == 1))
        masks[one[known]] &= ~masks[known]


def _signatures(releases: list[SeriesRelease], domain: int) -> tuple[list[Places], Masks]:
    """Return a number for the signature of each group, consistent over all releases, and the values of each as bits."""
    numbers: dict[frozenset[int], int] = {}
    found = [
        np.array(
            [numbers.setdefault(each.signature(group), len(numbers)) for group in range(len(each))], dtype=np.int32
        )
        for each in releases
    ]
    masks = np.zeros((len(numbers), -(-domain // _WORD)), dtype=np.uint64)
    for signature, number in numbers.items():
        for value in signature:
            masks[number, value // _WORD] |= np.uint64(1) << np.uint64(value % _WORD)
    return found, masks


def _kept_signatures(
    edges: list[_Edges], releases: list[SeriesRelease], signatures: list[Places], tracks: int
) -> tuple[Places, Places] | None:
    """Return the signature of each track, as starts and numbers, if none changes: the definition states this publicly for the whole series."""
    track = np.concatenate([each.track for each in edges])
    shown = np.concatenate([mine[each.group_of] for mine, each in zip(signatures, releases, strict=True)])
    seen = np.full(tracks, -1, dtype=np.int32)
    seen[track] = shown
    if (seen[track] != shown).any():
        return None
    return starts_of(seen >= 0).astype(np.int32), seen[seen >= 0]


def _one_signature(
    edges: list[_Edges], signatures: list[Places], previous: Places, apart: Masks | None
) -> list[NDArray[np.bool_]]:
    """Return for each edge whether its track could have this signature at all releases in which it was seen; ``apart``
    are signatures that are equal or disjoint across changes and returns.
    """
    count = max(int(each.max(initial=0)) for each in signatures) + 1
    pairs = [
        each.track[each.person].astype(np.int64) * count + mine[each.group[each.slot]]
        for each, mine in zip(edges, signatures, strict=True)
    ]
    seen = np.bincount(np.concatenate([each.track for each in edges]), minlength=len(previous))
    found, times = np.unique(np.concatenate([np.unique(each) for each in pairs]), return_counts=True)
    possible = found[times == seen[found // count]]
    if apart is not None:
        starts = np.searchsorted(possible, np.arange(len(previous) + 1) * count)
        possible = possible[_kernels.equal_or_disjoint(previous, starts, possible % count, apart)]
    return [np.isin(each, possible) for each in pairs]


def _memberships(edges: list[_Edges], domain: int) -> Memberships:
    firsts = starts_of([len(each.track) for each in edges])
    coded = np.concatenate(
        [
            (first + each.person).astype(np.int64) * domain + each.value[each.slot]
            for first, each in zip(firsts, edges, strict=False)
        ]
    )
    found, counts = np.unique(coded, return_counts=True)
    starts = np.searchsorted(found, np.arange(int(firsts[-1]) + 1, dtype=np.int64) * domain)
    return Memberships(starts, (found % domain).astype(np.int32), counts)
