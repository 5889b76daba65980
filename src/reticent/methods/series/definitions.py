"""Guarantees of a series of releases: tau-safety and m-invariance, as definitions on histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reticent.base.exact import whole
from reticent.core import Groups, ReleaseHistory
from reticent.definitions import GENERAL, Assessment, ClaimScope, HistoryDefinition, MUnique, ShownPart, Witness
from reticent.errors import PolicyError
from reticent.methods.series.series import PublishedSeries
from reticent.methods.series.series_check import TauViolation, find_groups_not_unique, find_violations
from reticent.methods.series.state import DeletedPeople, PersonMarks

NOT_JUDGED = "not judged (needs the history)"


@dataclass(frozen=True)
class SeriesEvidence:
    """A series as its publisher knows it: the groups of the last release, the last releases with their people, and the people who left."""

    releases: tuple[Groups, ...]
    series: PublishedSeries
    gone: DeletedPeople | None
    marks: PersonMarks


@dataclass(frozen=True)
class PublicSeries:
    """A series as its public files show it: the groups of each release. Group membership is not public."""

    releases: tuple[Groups, ...]


class _SeriesDefinition(HistoryDefinition):
    """Base of series definitions: every release is m-unique, and people who stay keep the signature of their group."""

    m: int
    kept_by: ClassVar[str] = "Republish(domain=[...]), or reticent republish"
    judged_alone = True

    def assess(self, history: ReleaseHistory) -> Assessment:
        """Judge the publisher's history; public files show only m-uniqueness, and the assessment states this."""
        unique = [MUnique(self.m).assess(groups) for groups in history.releases]
        for number, assessment in enumerate(unique, start=1):
            if not assessment.holds:
                text = assessment.witness.text if assessment.witness is not None else "a group is not m-unique"
                where = f"Release {number}: " if len(unique) > 1 else ""
                return Assessment(self, False, {"m": assessment.value}, Witness(number, f"{where}{text}"))
        achieved = {"m": min(assessment.value for assessment in unique)}
        if isinstance(history, PublicSeries):
            return Assessment(self, True, {**achieved, "invariance": NOT_JUDGED})
        if not isinstance(history, SeriesEvidence):
            raise PolicyError(f"{self} judges a series that a History published.")
        violations = self.violations(history)
        if violations:
            return Assessment(self, False, achieved, Witness(0, violations[0].text()), {"violations": len(violations)})
        return Assessment(self, True, {**achieved, "invariance": "holds"})

    def shown_part(self) -> ShownPart:
        """Return what one release alone shows of the guarantee, and what it does not."""
        return ShownPart(
            f"In every release each group shows at least {self.m} different values, each of them once.",
            f"invariance: {NOT_JUDGED}. Who is in which group is not public, so only the publisher can judge releases together.",
        )

    def violations(self, history: SeriesEvidence) -> list[TauViolation]:
        """Return all people whose signature changed against the rule."""
        raise NotImplementedError

    def series_violations(self, series: PublishedSeries) -> list[TauViolation]:
        """Return every violation in a series: groups that are not m-unique, and people whose signature changed against the rule."""
        evidence = SeriesEvidence((), series, None, PersonMarks(bytes(32)))
        return [*find_groups_not_unique(series), *self.violations(evidence)]


@dataclass(frozen=True)
class TauSafety(_SeriesDefinition):
    """Tau-safety: successive releases of a changing table are safe together.

    Every release is m-unique. A person who stays with an unchanged sensitive value, or returns, keeps the signature of
    the group. Across a sensitive change or a return with another value, the old and the new signature are equal if the
    old one contains the new value, and disjoint otherwise. With ``hardened=False`` nothing is required across a change,
    as printed: a changed signature then proves that the value changed, and the bound of 1/m does not hold.

    Guarantee: no person's value has a probability above 1/m. Proof: permuting the values of one signature in all groups
    that carry it maps consistent worlds to consistent worlds. Adversary: knows all releases, counterfeit counts, who is
    in which group, everybody's quasi values and event lists with the kind of each change, and this definition, and
    considers all consistent worlds equally likely. Source: [Anjum2013], chapter 4; corrected: the rule across changes.

    Parameters:
        m: number of distinct values in a group; no posterior exceeds 1/m.
        hardened: require equal or disjoint signatures across changes too.

    Example:
        >>> import reticent as rt
        >>> print(rt.TauSafety(3))
        TauSafety(m=3)
    """

    m: int
    hardened: bool = True

    def __post_init__(self) -> None:
        whole(self.m, "TauSafety: m", low=2)
        if not isinstance(self.hardened, bool):
            raise PolicyError(
                f"TauSafety: hardened must be true or false, but it is {self.hardened!r}.",
                setting=("hardened",),
                value=self.hardened,
            )

    def violations(self, history: SeriesEvidence) -> list[TauViolation]:
        return find_violations(history.series, hardened=self.hardened, gone=history.gone, marks=history.marks)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        """Return the guarantee in words."""
        if not self.hardened:
            return (
                f"In every release a person's value is one of at least {self.m}, and a person who stays or returns with the same value keeps the set of values of the own group. This is the printed "
                f"definition: an attacker who sees that a person's set of values changed may find a value with a probability above 1/{self.m}."
            )
        return (
            f"No person's value has a probability above 1/{self.m} for an attacker who knows all releases, counterfeit counts, who is in which group, everybody's quasi values and "
            "event lists with the kind of each change, and this definition, and who finds all consistent worlds equally likely."
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return which knowledge and which disclosures the guarantee does not cover."""
        return (
            "Whoever knows somebody's value may learn others' values from it; true totals of sensitive values published elsewhere, priors that are not uniform, changes that depend on each "
            "other, several rows a person, and who is in the table at all are not covered."
        )


@dataclass(frozen=True)
class MInvariance(_SeriesDefinition):
    """m-invariance: every release is m-unique, and an unchanged row keeps the signature of its group over its consecutive lifespan.

    Guarantee: that of a single release, for people who neither change nor return. Adversary: knows who is in which
    group of every release. A baseline: the values of people who leave and return, or change, may be disclosed. Source:
    [Xiao2007].

    Parameters:
        m: number of distinct values in a group.

    Example:
        >>> import reticent as rt
        >>> print(rt.MInvariance(3))
        MInvariance(m=3)
    """

    m: int

    def __post_init__(self) -> None:
        whole(self.m, "MInvariance: m", low=2)

    def violations(self, history: SeriesEvidence) -> list[TauViolation]:
        return find_violations(history.series, hardened=False, returns=False)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return f"In every release a person's value is one of at least {self.m}, and a person who stays from one release to the next with the same value keeps the set of values of the own group."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return which knowledge and which disclosures the guarantee does not cover."""
        return "People who leave and return, or whose sensitive value changes, may be found out by comparing releases (baseline, for comparison only)."
