"""BCF-anonymity: how many rows of a class remain possible if rows are only added between releases. Source: [Fung2008]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.errors import DataError
from reticent.methods.series import SeriesRelease

Counts = NDArray[np.int32]


@dataclass(frozen=True)
class BcfAnonymity:
    """The remaining anonymity of people in both releases (``forward``, ``cross``; the same number) and of newcomers
    (``backward``; None if there are none).

    ``worst`` is the pair of groups, or the group of the second release, in which it is smallest.
    """

    forward: int
    backward: int | None
    worst: tuple[int, ...]

    @property
    def cross(self) -> int:
        """How many rows of a group of the second release may belong to a person in both."""
        return self.forward

    @property
    def achieved(self) -> int:
        """The largest k for which both releases together are BCF-anonymous."""
        return self.forward if self.backward is None else min(self.forward, self.backward)


def bcf_of_releases(first: SeriesRelease, second: SeriesRelease, context: Context | None = None) -> BcfAnonymity:
    """Return the BCF-anonymity of two releases of a table to which rows are only added.

    *Adversary.* Knows the quasi-identifiers of a target and whether the target is in the first release, hence her
    groups; and that every row of the first release is some row of the second with the same sensitive value and a box
    that overlaps. Rows of her group that cannot be hers are cracked.

    *Guarantee.* Anonymity is the largest number of rows of the group that can be hers at the same time, over all such
    matchings of the two releases: for a person in both, rows of her first group matched with rows of her second group;
    for a newcomer, rows of her group that are matched with none. If no other group competes these are ``sum of min(g1,
    g2)`` and ``|G| - sum of max(0, G1 - (G2 - g2))`` over sensitive values.

    *Cost.* A maximum flow for each pair of groups with a common person, and each sensitive value.
    """
    context = context or Context()
    group_pairs = _common_groups(first, second)
    graphs = {value: _Flow(first, second, value) for value in np.unique(second.values).tolist()}
    forward: int | None = None
    worst: tuple[int, ...] = ()
    pairs = np.unique(group_pairs, axis=0).tolist()
    for index, (first_group, second_group) in enumerate(pairs):
        context.step("matching groups", index, len(pairs))
        remaining = sum(flow.most_through(first_group, second_group) for flow in graphs.values())
        if forward is None or remaining < forward:
            forward, worst = remaining, (first_group, second_group)
    if forward is None:
        raise DataError("No person is in both releases, so there is nothing to match.")
    is_common = np.isin(second.people.to_numpy(), first.people.to_numpy())
    backward = None
    for group in np.unique(second.group_of[~is_common]).tolist():
        context.step("matching newcomers")
        remaining = int(second.sizes[group]) - sum(flow.least_into(group) for flow in graphs.values())
        if backward is None or remaining < backward:
            backward = remaining
            worst = (group,) if remaining < forward else worst
    return BcfAnonymity(forward, backward, worst)


def _common_groups(first: SeriesRelease, second: SeriesRelease) -> NDArray[np.int64]:
    """Return the pairs (group in the first, group in the second release) of people in both, after checking that the table only grew."""
    if first.buckets is not None or second.buckets is not None:
        raise DataError(
            "BCF-anonymity matches rows of groups by their boxes, but these releases publish boxes of buckets. Use rt.attacks.series."
        )
    if first.counterfeits.any() or second.counterfeits.any():
        raise DataError("BCF-anonymity matches true rows, but groups hold counterfeits. Use rt.attacks.series.")
    first_rows = first.people.to_frame("person").with_columns(one=first.group_of, was=first.value_of)
    second_rows = second.people.to_frame("person").with_columns(other=second.group_of, now=second.value_of)
    common = first_rows.join(second_rows, on="person")
    changed_rows = common.filter(common["was"] != common["now"])
    if common.height < first_rows.height or changed_rows.height:
        removed_rows = first_rows.join(second_rows, on="person", how="anti")
        person = (removed_rows if removed_rows.height else changed_rows)["person"][0]
        change = (
            "is not in the second release"
            if removed_rows.height
            else "has another sensitive value in the second release"
        )
        raise DataError(
            f"{person!r} {change}. BCF-anonymity is for tables to which rows are only added; use rt.attacks.series for others.",
            value=person,
        )
    groups: NDArray[np.int64] = common.select("one", "other").to_numpy()
    return groups


class _Flow:
    """Rows with one sensitive value, as a flow from groups of the first release to overlapping groups of the second.
    Keeps one flow that assigns all rows of the first release, from which others are derived.
    """

    def __init__(self, first: SeriesRelease, second: SeriesRelease, value: int) -> None:
        """Match rows with one sensitive ``value``: a network from groups of the first release to overlapping groups of the second."""
        self._supply = _with_value(first, value)
        self._capacity = _with_value(second, value)
        self._sources = np.flatnonzero(self._supply)
        self._sinks = np.flatnonzero(self._capacity)
        self._edges = list(_overlaps(first, second, self._sources, self._sinks))
        self._flow = self._placed(self._capacity)

    def most_through(self, first_group: int, second_group: int) -> int:
        """Return the largest number of rows of ``first_group`` that can be rows of ``second_group``, among flows that
        assign all rows of the first release.
        """
        if not self._supply[first_group] or not self._capacity[second_group]:
            return 0
        current_flow = int(self._flow[first_group, second_group])
        # The additional flow through this pair is the flow back from its end to its start in the residual network.
        node_count = len(self._supply) + len(self._capacity) + 1
        capacity = np.zeros((node_count, node_count), dtype=np.int32)
        total = int(self._supply.sum())
        inflow = self._flow.sum(axis=0)
        for start, end in self._edges:
            if (start, end) != (first_group, second_group):
                capacity[start, len(self._supply) + end] = total
                capacity[len(self._supply) + end, start] = self._flow[start, end]
        for end in self._sinks.tolist():
            capacity[len(self._supply) + end, -1] = self._capacity[end] - inflow[end]
            capacity[-1, len(self._supply) + end] = inflow[end]
        return current_flow + _maximum(capacity, len(self._supply) + second_group, first_group)

    def least_into(self, other: int) -> int:
        """Return the smallest number of rows of the first release that must be rows of a group of the second."""
        capacity = self._capacity.copy()
        capacity[other] = 0
        return int(self._supply.sum() - self._placed(capacity, must_assign_all=False).sum())

    def _placed(self, room: Counts, must_assign_all: bool = True) -> NDArray[np.int32]:
        """Return a maximum flow: the rows of each group of the first release assigned to each of the second (``room``: their capacity)."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        sources, sinks = len(self._supply), len(room)
        capacity = np.zeros((sources + sinks + 2, sources + sinks + 2), dtype=np.int32)
        capacity[-2, :sources] = self._supply
        capacity[sources : sources + sinks, -1] = room
        for start, end in self._edges:
            capacity[start, sources + end] = self._supply[start]
        result = maximum_flow(csr_array(capacity), sources + sinks, sources + sinks + 1)
        if must_assign_all and result.flow_value < self._supply.sum():
            raise DataError("Some row of the first release fits no row of the second one: boxes or values are wrong.")
        flow: NDArray[np.int32] = np.maximum(result.flow.toarray()[:sources, sources : sources + sinks], 0)
        return flow


def _maximum(capacity: NDArray[np.int32], source: int, sink: int) -> int:
    """Return the value of a maximum flow in a network given by its capacity matrix."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    return int(maximum_flow(csr_array(capacity), source, sink).flow_value)


def _with_value(release: SeriesRelease, value: int) -> Counts:
    """Return the number of rows with a value in each group of a release."""
    group = np.repeat(np.arange(len(release)), release.sizes)
    counts: Counts = np.bincount(group[release.values == value], minlength=len(release)).astype(np.int32)
    return counts


def _overlaps(
    first: SeriesRelease, second: SeriesRelease, first_groups: NDArray[Any], second_groups: NDArray[Any]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of a group of the first release and one of the second with overlapping boxes."""
    for first_group in first_groups.tolist():
        is_overlapping = (second.low[second_groups] <= first.high[first_group]).all(axis=1) & (
            second.high[second_groups] >= first.low[first_group]
        ).all(axis=1)
        for second_group in second_groups[is_overlapping].tolist():
            yield first_group, second_group
