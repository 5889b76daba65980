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
        return _Edges(
            self.track,
            self.group,
            value=self.value,
            fakes=self.fakes,
            person=self.person[chosen],
            slot=self.slot[chosen],
        )


@dataclass(frozen=True)
class Memberships:
    """The candidate rows of each sighting, by value: ``counts`` of rows with ``values``, those of a sighting at ``starts``."""

    starts: NDArray[np.int64]
    values: Places
    counts: NDArray[np.int64]

    def of(self, sighting: int) -> dict[int, Fraction]:
        """Return the remaining values with their shares among the remaining rows."""
        entries = slice(self.starts[sighting], self.starts[sighting + 1])
        rows = int(self.counts[entries].sum())
        return {
            int(value): Fraction(int(count), rows)
            for value, count in zip(self.values[entries], self.counts[entries], strict=True)
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
    releases = [release for release in series if release.number in tracks.numbers]
    signatures, signature_masks = _signatures(releases, len(tracks.domain))
    edges = []
    for index, release in enumerate(releases):
        context.step("joining boxes with people", index, len(releases))
        track_of = tracks.track[tracks.release == index]
        edges.append(_edges(release, series.positions(release.quasi), track_of))
    kept_signatures = _kept_signatures(edges, releases, signatures, len(tracks.before))
    are_disjoint_or_equal = kept_signatures is not None and bool(
        _kernels.equal_or_disjoint(tracks.previous, *kept_signatures, signature_masks).all()
    )
    if kept_signatures is None:
        signatures = [np.zeros_like(pairs) for pairs in signatures]
    candidate_masks = np.full((len(tracks.before), -(-len(tracks.domain) // _WORD)), ~np.uint64(0))
    rounds = 0
    while True:
        rounds += 1
        edge_count = sum(len(pairs.slot) for pairs in edges)
        is_allowed = _has_one_signature(
            edges, signatures, tracks.previous, signature_masks if are_disjoint_or_equal else None
        )
        for index, pairs in enumerate(edges):
            context.step("ruling out memberships", index, len(edges), f"round {rounds}")
            track_of, value = pairs.track[pairs.person], pairs.value[pairs.slot]
            is_candidate = (candidate_masks[track_of, value // _WORD] >> (value % _WORD).astype(np.uint64)) & np.uint64(
                1
            )
            pruned = _in_some_matching(pairs.kept(is_candidate.astype(bool) & is_allowed[index]), tracks.numbers[index])
            candidate_masks &= _union(pruned, candidate_masks)
            edges[index] = pruned
        _differ(tracks, candidate_masks)
        if sum(len(pairs.slot) for pairs in edges) == edge_count:
            return _memberships(edges, len(tracks.domain))


def _edges(release: SeriesRelease, points: NDArray[np.float64], tracks: Places) -> _Edges:
    """Return all pairs of a person and a published row of a group whose box contains the person."""
    if np.isnan(points).any():
        raise DataError(f"Release {release.number}: some quasi values are missing or not on the scale of their column.")
    widths = (release.high - release.low).mean(axis=0) / np.maximum(np.ptp(points, axis=0), 1e-12)
    # Boxes are sorted by their most selective column, so that blocks of consecutive ones have tight bounds.
    box_order = np.argsort(release.low[:, int(np.argmin(widths))], kind="stable")
    sorted_low, sorted_high = release.low[box_order], release.high[box_order]
    blocks = np.arange(0, len(sorted_low), _LANES)
    bounds = np.minimum.reduceat(sorted_low, blocks), np.maximum.reduceat(sorted_high, blocks)
    people, boxes = _kernels.covering(points, sorted_low, sorted_high, *bounds, _LANES, MOST_EDGES)
    people, groups = _groups_of(release, people, box_order[boxes])
    rows = release.sizes[groups]
    if rows.sum() > MOST_EDGES:
        raise _too_many(release)
    return _Edges(
        tracks,
        np.repeat(np.arange(len(release), dtype=np.int32), release.sizes),
        value=release.values.astype(np.int32),
        fakes=np.repeat(np.arange(len(release), dtype=np.int32), release.counterfeits),
        person=np.repeat(people, rows),
        slot=places_in(release.offsets[groups], rows).astype(np.int32),
    )


def _groups_of(release: SeriesRelease, people: Places, boxes: NDArray[np.int64]) -> tuple[Places, NDArray[np.int64]]:
    """Return distinct pairs of a person and a group from pairs of a person and a box: a box belongs to every group with a member who shows it."""
    if release.buckets is None:
        return people, boxes
    box_of_pair, group_of_pair, _ = release.box_groups()
    starts = np.searchsorted(box_of_pair, np.arange(len(release.low) + 1))
    groups_per_box = np.diff(starts)[boxes]
    if groups_per_box.sum() > MOST_EDGES:
        raise _too_many(release)
    keys = (
        np.repeat(people.astype(np.int64), groups_per_box) * len(release)
        + group_of_pair[places_in(starts[boxes], groups_per_box)]
    )
    distinct = np.unique(keys)
    return (distinct // len(release)).astype(np.int32), distinct % len(release)


def _too_many(release: SeriesRelease) -> PolicyError:
    """Return the error for a release in which people and rows that could be theirs make too many pairs."""
    return PolicyError(
        f"Release {release.number}: boxes overlap so much, or lead to so many groups, that people and published rows make more than {MOST_EDGES:,} pairs. "
        "An adversary who does not know the groups learns little here; use mode='fixpoint', in which they are known.",
        setting=("mode",),
        value="join",
    )


def _in_some_matching(edges: _Edges, number: int) -> _Edges:
    """Return the edges that belong to some perfect matching of people and counterfeits with published rows."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    people, slots = len(edges.track), len(edges.value)
    sizes = np.bincount(edges.group)
    slot_counts = sizes[edges.fakes]
    counterfeit_rows = np.repeat(people + np.arange(len(edges.fakes)), slot_counts)
    counterfeit_slots = places_in(starts_of(sizes)[edges.fakes], slot_counts)
    rows = np.concatenate([edges.person, counterfeit_rows]).astype(np.int32)
    columns = np.concatenate([edges.slot, counterfeit_slots]).astype(np.int32)
    graph = csr_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(people + len(edges.fakes), slots))
    slot_of_row = maximum_bipartite_matching(graph, perm_type="column")
    if (slot_of_row < 0).any():
        raise DataError(
            f"Release {number}: not every person can be assigned to a group whose box contains her quasi-identifiers. Boxes, quasi-identifiers or event lists are wrong; no conclusion about this series is possible."
        )
    # Given one perfect matching, an edge is in some other iff it lies on an alternating cycle: in the graph of slots
    # that exchange rows, its two ends are in one strongly connected component.
    exchange_graph = csr_array((np.ones(len(rows), dtype=bool), (slot_of_row[rows], columns)), shape=(slots, slots))
    component_of_slot = connected_components(exchange_graph, directed=True, connection="strong")[1]
    return edges.kept(component_of_slot[slot_of_row[edges.person]] == component_of_slot[edges.slot])


def _union(edges: _Edges, masks: Masks) -> Masks:
    """Return, as bits per track, the values of the rows that the people may be by the remaining edges; all values for
    tracks that are not in the release.
    """
    remaining = np.full_like(masks, ~np.uint64(0))
    remaining[edges.track] = 0
    value = edges.value[edges.slot]
    bits = np.uint64(1) << (value % _WORD).astype(np.uint64)
    np.bitwise_or.at(remaining, (edges.track[edges.person], value // _WORD), bits)
    return remaining


def _differ(tracks: Tracks, masks: Masks) -> None:
    """Remove the only value of a track from those that must differ from it."""
    sizes = ValuesLeft(tracks, masks).sizes
    for neighbours in (tracks.before, tracks.after):
        decided = np.flatnonzero((neighbours >= 0) & (sizes == 1))
        masks[neighbours[decided]] &= ~masks[decided]


def _signatures(releases: list[SeriesRelease], domain: int) -> tuple[list[Places], Masks]:
    """Return a number for the signature (the set of sensitive values) of each group, consistent over all releases, and
    per number these values as bits.
    """
    numbers: dict[frozenset[int], int] = {}
    signature_of = [
        np.array(
            [numbers.setdefault(release.signature(group), len(numbers)) for group in range(len(release))],
            dtype=np.int32,
        )
        for release in releases
    ]
    masks = np.zeros((len(numbers), -(-domain // _WORD)), dtype=np.uint64)
    for signature, number in numbers.items():
        for value in signature:
            masks[number, value // _WORD] |= np.uint64(1) << np.uint64(value % _WORD)
    return signature_of, masks


def _kept_signatures(
    edges: list[_Edges], releases: list[SeriesRelease], signatures: list[Places], tracks: int
) -> tuple[Places, Places] | None:
    """Return the signature (set of sensitive values of the group) of each track, in CSR form (starts, signatures); None
    if some track changes its signature.

    That tracks keep their signature is stated publicly by the definition of the series.
    """
    track_of_sighting = np.concatenate([pairs.track for pairs in edges])
    signature_of_sighting = np.concatenate(
        [group_signatures[release.group_of] for group_signatures, release in zip(signatures, releases, strict=True)]
    )
    signature_of_track = np.full(tracks, -1, dtype=np.int32)
    signature_of_track[track_of_sighting] = signature_of_sighting
    if (signature_of_track[track_of_sighting] != signature_of_sighting).any():
        return None
    return starts_of(signature_of_track >= 0).astype(np.int32), signature_of_track[signature_of_track >= 0]


def _has_one_signature(
    edges: list[_Edges], signatures: list[Places], previous: Places, masks: Masks | None
) -> list[NDArray[np.bool_]]:
    """Return, per release, a mask of the edges (a person may be a published row) whose group has a signature that all
    groups of the person's track can have.

    A signature is the set of sensitive values of a group; ``signatures`` numbers them per release and group,
    ``previous`` is the track before each track (-1: none). If ``masks`` (their values as bits) are given, signatures
    before and after a change or return must be equal or disjoint.
    """
    signature_count = max(int(signature.max(initial=0)) for signature in signatures) + 1
    keys = [
        pairs.track[pairs.person].astype(np.int64) * signature_count + group_signatures[pairs.group[pairs.slot]]
        for pairs, group_signatures in zip(edges, signatures, strict=True)
    ]
    release_counts = np.bincount(np.concatenate([pairs.track for pairs in edges]), minlength=len(previous))
    distinct, counts = np.unique(np.concatenate([np.unique(key) for key in keys]), return_counts=True)
    possible_keys = distinct[counts == release_counts[distinct // signature_count]]
    if masks is not None:
        starts = np.searchsorted(possible_keys, np.arange(len(previous) + 1) * signature_count)
        possible_keys = possible_keys[
            _kernels.equal_or_disjoint(previous, starts, possible_keys % signature_count, masks)
        ]
    return [np.isin(key, possible_keys) for key in keys]


def _memberships(edges: list[_Edges], domain: int) -> Memberships:
    """Return for every sighting the values of the rows that the person may be, with the number of such rows."""
    first_sightings = starts_of([len(pairs.track) for pairs in edges])
    keys = np.concatenate(
        [
            (first + pairs.person).astype(np.int64) * domain + pairs.value[pairs.slot]
            for first, pairs in zip(first_sightings, edges, strict=False)
        ]
    )
    distinct, counts = np.unique(keys, return_counts=True)
    starts = np.searchsorted(distinct, np.arange(int(first_sightings[-1]) + 1, dtype=np.int64) * domain)
    return Memberships(starts, (distinct % domain).astype(np.int32), counts)
