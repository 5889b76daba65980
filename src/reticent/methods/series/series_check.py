"""Check a series against its definition. Shares only the key lookup with the publisher: the input is the group membership in each release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.cards import Card, CardTable, ShownAsCard, tone_of
from reticent.methods.series.person_keys import places_among
from reticent.methods.series.series import EventKind, HasSeries, PublishedSeries, SeriesRelease
from reticent.methods.series.state import DeletedPeople, PersonMarks

Rule = Literal["unique", "stay", "change", "return"]
_WORDS: dict[str, str] = {
    "stay": "stayed with the same sensitive value, but the signature of the group changed",
    "change": "changed the sensitive value, and the signatures before and after are neither equal (new value in the old one) nor disjoint",
    "return": "returned, and the signature is not the one from before (new value in it), nor disjoint from it",
}


@dataclass(frozen=True)
class TauViolation:
    """A person whose signature breaks a rule: the two releases, and both signatures as values."""

    person: Any
    rule: Rule
    times: tuple[int, int]
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    def text(self) -> str:
        """The violation as a sentence."""
        if self.rule == "unique":
            return f"Release {self.times[1]}: a group shows {', '.join(map(str, self.after))}, which are too few values, or one is repeated."
        first, second = (", ".join(map(str, values)) for values in (self.before, self.after))
        return f"{self.person!r} {_WORDS[self.rule]}: {{{first}}} in release {self.times[0]}, {{{second}}} in release {self.times[1]}."


@dataclass(frozen=True, repr=False)
class SeriesVerdict(ShownAsCard):
    """Whether a series satisfies tau-safety, with every violation."""

    m: int
    hardened: bool
    violations: tuple[TauViolation, ...]

    @property
    def holds(self) -> bool:
        """True if there is no violation."""
        return not self.violations

    def card(self) -> Card:
        """Summarise for display: the verdict and every violation."""
        verdict = "holds" if self.holds else "does not hold"
        rows = [
            (str(violation.person), violation.rule, f"{violation.times[0]} -> {violation.times[1]}", violation.text())
            for violation in self.violations
        ]
        return Card(
            f"TauSafety(m={self.m}) {verdict}",
            {"violations": len(rows)},
            tone_of(self.holds),
            [CardTable(("person", "rule", "releases", "why"), rows)],
        )

    def describe(self) -> dict[str, Any]:
        """The verdict as plain data."""
        listed = [
            {
                "person": str(violation.person),
                "rule": violation.rule,
                "times": list(violation.times),
                "text": violation.text(),
            }
            for violation in self.violations
        ]
        return {"holds": self.holds, "m": self.m, "hardened": self.hardened, "violations": listed}


def check_tau_safety(history: HasSeries | PublishedSeries, *, hardened: bool = True) -> SeriesVerdict:
    """Check a whole series (a History or its ``series``) for safety over time, with the hardened rule across changes unless ``hardened=False``."""
    series = PublishedSeries.of(history)
    violations = [*find_groups_not_unique(series), *find_violations(series, hardened=hardened)]
    return SeriesVerdict(series.m, hardened, tuple(violations))


def find_violations(
    series: PublishedSeries,
    *,
    hardened: bool,
    returns: bool = True,
    gone: DeletedPeople | None = None,
    marks: PersonMarks | None = None,
) -> list[TauViolation]:
    """Return everyone whose signature breaks a rule between two consecutive releases that contain them.

    Changes are derived from the values, not from the events. ``gone`` are the people who left before the first given
    release, by their ``marks``. Without ``returns`` a person who comes back counts as new, as in m-invariance.
    """
    violations: list[TauViolation] = []
    width = max((int(release.sizes.max(initial=1)) for release in series), default=1)
    last_seen: _LastSeen | None = None
    for release in series:
        current = _LastSeen.of(release, width)
        if last_seen is not None:
            violations += _broken(current, last_seen, series, hardened, returns)
        last_seen = current if last_seen is None else last_seen.updated(current)
    if gone is not None and marks is not None and len(gone) and len(series):
        violations += _broken_returns(series, hardened, gone, marks)
    return violations


@dataclass(frozen=True)
class _LastSeen:
    """Everyone seen so far: their value, their last group, and the number of that release.

    ``changed``: an event states that the value changed with that release. ``signatures`` are those of the groups:
    increasing codes, padded with -1. The value of a forgotten person is -1.
    """

    people: pl.Series
    value: NDArray[np.int64]
    group: NDArray[np.int64]
    number: NDArray[np.int64]
    changed: NDArray[np.bool_]
    signatures: NDArray[np.int32]

    @classmethod
    def of(cls, release: SeriesRelease, width: int) -> _LastSeen:
        """Return what one release published about its people; signatures (sets of values) are padded to ``width``."""
        number = np.full(len(release.people), release.number)
        changed = release.events == EventKind.SENSITIVE_UPDATED
        signatures = _signatures(release, width)
        return cls(release.people, release.value_of, release.group_of, number, changed, signatures)

    def signature(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the signatures of the groups of some people."""
        return self.signatures[self.group[rows]]

    def updated(self, current: _LastSeen) -> _LastSeen:
        """Return what was last published about every person after a further release; people who are absent from it keep their last group."""
        absent_now = np.flatnonzero(places_among(self.people.cast(current.people.dtype), current.people) < 0)
        groups, group_index = np.unique(self.group[absent_now], return_inverse=True)
        return _LastSeen(
            pl.concat([current.people, self.people.gather(absent_now).cast(current.people.dtype)]),
            np.concatenate([current.value, self.value[absent_now]]),
            np.concatenate([current.group, len(current.signatures) + group_index]),
            np.concatenate([current.number, self.number[absent_now]]),
            np.concatenate([current.changed, self.changed[absent_now]]),
            np.concatenate([current.signatures, self.signatures[groups]]),
        )


def _broken_returns(
    series: PublishedSeries, hardened: bool, deleted: DeletedPeople, marks: PersonMarks
) -> list[TauViolation]:
    """Return violations of people who left before the first given release and are in the last one."""
    last, before = series[-1], series[0].people
    rows = np.flatnonzero(places_among(last.people, before) < 0)
    gone_index = deleted.find(marks.of(last.people.gather(rows)))
    rows, gone_index = rows[gone_index >= 0], gone_index[gone_index >= 0]
    width = max(int(last.sizes.max(initial=1)), deleted.signatures.shape[1])
    current = _LastSeen(
        last.people.gather(rows),
        last.value_of[rows],
        last.group_of[rows],
        np.full(len(rows), last.number),
        np.zeros(len(rows), dtype=bool),
        _signatures(last, width),
    )
    signatures = np.full((len(rows), width), -1, dtype=np.int32)
    signatures[:, : deleted.signatures.shape[1]] = deleted.signatures[gone_index]
    earlier = _LastSeen(
        current.people,
        np.full(len(rows), -1),
        np.arange(len(rows)),
        np.full(len(rows), -1),
        current.changed,
        signatures,
    )
    return _broken(current, earlier, series, hardened, returns=True)


def _broken(
    current: _LastSeen, earlier: _LastSeen, series: PublishedSeries, hardened: bool, returns: bool
) -> list[TauViolation]:
    """Return violations of people who are in the ``current`` release and were in an earlier one.

    A signature is the set of values of a person's group. It may change only with the sensitive value or across an
    absence (``returns``), and only to one without a common value if ``hardened``.
    """
    previous_index = places_among(current.people, earlier.people)
    rows = np.flatnonzero(previous_index >= 0)
    earlier_rows = previous_index[rows]
    same_signature = (current.signature(rows) == earlier.signature(earlier_rows)).all(axis=1)
    # With an unchanged signature the only violation is a new value outside of it, which the group cannot show.
    rows, earlier_rows = rows[~same_signature], earlier_rows[~same_signature]
    old_signatures, new_signatures = earlier.signature(earlier_rows), current.signature(rows)
    is_return = current.number[rows] != earlier.number[earlier_rows] + 1
    # The values of forgotten people are unknown: the event states whether the value changed. Their group contains the
    # value, so no signature disjoint from the group's can contain it.
    is_unknown = (current.value[rows] < 0) | ((earlier.value[earlier_rows] < 0) & ~is_return)
    is_changed = np.where(is_unknown, current.changed[rows], current.value[rows] != earlier.value[earlier_rows])
    contains_value = (old_signatures == current.value[rows][:, None]).any(axis=1) & (current.value[rows] >= 0)
    is_disjoint = ~np.any(
        [
            ((old_signatures == new_values[:, None]) & (new_values >= 0)[:, None]).any(axis=1)
            for new_values in new_signatures.T
        ],
        axis=0,
    )
    is_safe_change = ~contains_value & (is_disjoint if hardened else True)
    is_allowed = np.where(
        is_return, is_safe_change | (not returns), is_changed & (is_safe_change if hardened else True)
    )
    rules = np.where(is_return, "return", np.where(is_changed, "change", "stay"))
    return [
        TauViolation(
            current.people[int(rows[previous_index])],
            str(rules[previous_index]),  # type: ignore[arg-type]  # one of three words
            (int(earlier.number[earlier_rows[previous_index]]), int(current.number[rows[previous_index]])),
            _values(series, old_signatures[previous_index][old_signatures[previous_index] >= 0].tolist()),
            _values(series, new_signatures[previous_index][new_signatures[previous_index] >= 0].tolist()),
        )
        for previous_index in np.flatnonzero(~is_allowed).tolist()
    ]


def find_groups_not_unique(series: PublishedSeries) -> Iterator[TauViolation]:
    """Yield groups with fewer than m values, or with a repeated value."""
    for release in series:
        owner = np.repeat(np.arange(len(release)), release.sizes)
        repeats = np.zeros(len(release), dtype=bool)
        repeats_previous = (np.diff(release.values) == 0) & (np.diff(owner) == 0)
        repeats[owner[1:][repeats_previous]] = True
        for group in np.flatnonzero(repeats | (release.sizes < series.m)).tolist():
            values = release.values[release.offsets[group] : release.offsets[group + 1]].tolist()
            yield TauViolation(None, "unique", (release.number, release.number), (), _values(series, values))


def _signatures(release: SeriesRelease, width: int) -> NDArray[np.int32]:
    """Return the set of published values of each group: increasing codes, padded with -1."""
    owner = np.repeat(np.arange(len(release)), release.sizes)
    repeated = np.concatenate([[False], (np.diff(owner) == 0) & (np.diff(release.values) == 0)])
    owner, values = owner[~repeated], release.values[~repeated]
    starts = np.searchsorted(owner, np.arange(len(release)))
    rows = np.full((len(release), width), -1, dtype=np.int32)
    rows[owner, np.arange(len(owner)) - starts[owner]] = values
    return rows


def _values(series: PublishedSeries, codes: Any) -> tuple[Any, ...]:
    return tuple(series.domain[code] for code in codes)
