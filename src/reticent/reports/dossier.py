"""The evidence dossier: the facts about a release, arranged under the headings of a regulatory regime.

It collects the facts of the report, runs attacks, compares measured risks with the threshold of the regime, and lists the statements that only the steward
can make. It is evidence, not a determination: people decide whether the release complies (:attr:`Regime.determination`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from reticent.attacks import compare, run_adversaries
from reticent.base.cards import Card, CardTable, sentence_case
from reticent.base.context import Context
from reticent.base.exact import one_of
from reticent.base.files import write_whole
from reticent.core import AdversaryView
from reticent.errors import PolicyError, did_you_mean
from reticent.release import Headline, PublicSide, Release, headline_of, open_public, readable, verify
from reticent.reports.facts import Comparison, PrivateFacts, ReportFacts, gather
from reticent.reports.page import measured
from reticent.reports.regimes import REGIMES, Evidence, Regime
from reticent.table import Table, to_plain

_OWNER_ONLY = 0o600
_EXAMPLES = 3
_LIMIT = re.compile(r"\s*(\d+/\d+|\d*\.?\d+)(?=$|[\s,;:])")


@dataclass(frozen=True)
class DossierMeasure:
    """A risk measure with its threshold: the value as text and as an exact fraction, and whether it meets the threshold (None: not applicable)."""

    name: str
    measured: str
    exact: str | None
    threshold: str
    meets: bool | None


@dataclass(frozen=True)
class DossierBlock:
    """One kind of evidence: sentences, a table and a list. ``attacks``, if any, are shown as a chart; their examples are confidential."""

    title: str
    text: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    items: tuple[str, ...] = ()
    attacks: tuple[Comparison, ...] = field(default=(), repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the block as JSON-compatible data."""
        rows = [dict(zip(self.heads, row, strict=True)) for row in self.rows]
        return {"title": self.title, "text": list(self.text), "rows": rows, "items": list(self.items)}


@dataclass(frozen=True)
class DossierStatement:
    """A statement by the steward; its answer is None while it is missing."""

    name: str
    question: str
    answer: str | None


@dataclass(frozen=True)
class DossierSection:
    """A heading of the regime with the evidence under it."""

    title: str
    source: str
    lead: str
    blocks: tuple[DossierBlock, ...]
    statements: tuple[DossierStatement, ...]


@dataclass(frozen=True)
class Dossier:
    """The evidence about a release for one regime. The ``headline`` is the verdict of ``verify``; ``succeeded`` counts successful attacks. ``private``: contains facts that do not follow from the published files."""

    regime: str
    release: str
    headline: Headline
    judged: str
    succeeded: int
    measures: tuple[DossierMeasure, ...]
    sections: tuple[DossierSection, ...]
    private: bool

    @property
    def of(self) -> Regime:
        """The regime."""
        return REGIMES[self.regime]

    @property
    def judgement(self) -> str:
        """Sentence that says whether the threshold is met; empty if the regime has none."""
        first = self.measures[0]
        if first.meets is None:
            return ""
        met = "is met" if first.meets else "is not met"
        return f"The threshold {met}: the {first.name.lower()} is {first.measured} ({first.exact}), and the threshold is {first.threshold}."

    @property
    def attacked(self) -> str:
        """Sentence on the attacks that succeeded; empty if none did."""
        if not self.succeeded:
            return ""
        subject = (
            "One adversary that was run succeeds"
            if self.succeeded == 1
            else f"{self.succeeded} adversaries that were run succeed"
        )
        return f"{subject} against the release: the guarantee does not cover that. See the residual risks."

    @property
    def missing(self) -> tuple[DossierStatement, ...]:
        """Statements that the steward has not made yet."""
        return tuple(
            statement for section in self.sections for statement in section.statements if statement.answer is None
        )

    @property
    def ok(self) -> bool:
        """Always True: a dossier is evidence and neither passes nor fails."""
        return True

    def card(self) -> Card:
        """Return a card with every measure, its threshold, and the missing statements."""
        results = {True: "meets it", False: "above it", None: ""}
        measures = [
            (measure.name, measure.measured, measure.threshold, results[measure.meets]) for measure in self.measures
        ]
        missing = [(statement.name, statement.question) for statement in self.missing]
        return Card(
            f"{self.of.title}: {self.release}",
            tables=[
                CardTable(("measure", "measured", "threshold", "result"), measures),
                CardTable(("field", "what"), missing, "Still to be stated ([dossier] of the policy, or --statements)"),
            ],
            notes=[f"It is evidence, not a determination. {self.of.determination}"],
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the dossier as JSON-compatible data."""
        regime = self.of
        return {
            "regime": self.regime,
            "title": regime.title,
            "sources": list(regime.sources),
            "release": self.release,
            "evidence_not_a_determination": regime.determination,
            "headline": self.headline.as_json(),
            "adversaries_that_succeed": self.succeeded,
            "threshold": None if regime.threshold is None else str(regime.threshold),
            "threshold_words": regime.threshold_words,
            "threshold_met": self.measures[0].meets,
            "measures": [asdict(measure) for measure in self.measures],
            "sections": [
                {
                    "title": section.title,
                    "source": section.source,
                    "evidence": [evidence_block.as_json() for evidence_block in section.blocks],
                    "statements": [asdict(statement) for statement in section.statements],
                }
                for section in self.sections
            ],
            "missing_statements": [statement.name for statement in self.missing],
            "confidential": self.private,
        }

    def save(self, path: str | Path) -> Path:
        """Write the dossier as HTML, PDF (printed by a browser) or JSON, chosen by the file suffix; only the owner can read the file."""
        from reticent.reports.dossier_page import render_dossier
        from reticent.reports.pdf_printer import printed

        target = Path(path)
        kind = target.suffix.lower().removeprefix(".")
        one_of(kind, "the ending of the file", ("html", "pdf", "json"))
        if kind == "json":
            content = readable(to_plain(self.as_dict()))
        else:
            content = render_dossier(self).encode()
            content = printed(content) if kind == "pdf" else content
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, content, _OWNER_ONLY)
        return target


def dossier(
    release: Release | str | Path,
    regime: str,
    *,
    raw: Table | None = None,
    statements: Mapping[str, str] | None = None,
    context: Context | None = None,
) -> Dossier:
    """Return the evidence about a release under the headings of a regulatory regime.

    Parameters:
        release: a release or its folder; with the public folder alone the dossier lacks information loss and the number of suppressed records.
        regime: ``hipaa-expert``, ``gdpr``, ``ema-prci``, ``sp800-188`` or ``satre``.
        raw: the original table; if given, attacks are run before and after publication, with the people in the table as targets.
        statements: the steward's statements by field name; missing ones are listed in the dossier.
        context: reports progress and can stop the run.

    Returns:
        The dossier; ``save`` writes it as HTML, PDF or JSON.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 32, 58, 59]}, quasi=["age"])
        >>> rt.dossier(rt.publish(table, rt.KAnonymity(2)), "ema-prci").measures[0].exact
        '1/2'
    """
    one_of(regime, "regime", REGIMES)
    requirements = REGIMES[regime]
    answers = _checked(statements or {}, requirements)
    context = context or Context()
    side = open_public(release, context=context) if isinstance(release, str | Path) else release.public
    private = _private(release)
    # For a folder the verdict comes from verify, because its files may differ from those that were certified.
    verified = verify(release, context=context) if isinstance(release, str | Path) else None
    context.step("running adversaries")
    pairs: list[Comparison] = (
        list(compare(raw, side, context=context))
        if raw is not None
        else [(None, findings) for findings in run_adversaries(side)]
    )
    facts = gather(side, private, raw, pairs, context=context, verified=verified)
    headline = verified.headline if verified is not None else headline_of(side, context)
    facts = replace(facts, attacks=tuple(pairs), headline=headline)
    measures = tuple(_measures(side.seen, requirements, _limit(answers, requirements)))
    evidence = _EvidenceBlocks(side, facts, raw, measures)
    sections = tuple(
        DossierSection(
            heading.title,
            heading.source,
            heading.lead,
            tuple(evidence.block(kind) for kind in heading.evidence),
            tuple(
                DossierStatement(statement.name, statement.question, answers.get(statement.name))
                for statement in heading.fields
            ),
        )
        for heading in requirements.headings
    )
    return Dossier(
        regime,
        facts.title,
        facts.headline,
        facts.judged,
        sum(after.succeeds for _, after in pairs),
        measures,
        sections,
        private is not None or raw is not None,
    )


def _private(release: Release | str | Path) -> PrivateFacts | None:
    """Return the private facts of a release, or None if its private folder is missing."""
    if not isinstance(release, str | Path):
        return PrivateFacts.of(release)
    return PrivateFacts.read(Path(release)) if (Path(release) / "private").is_dir() else None


def _checked(statements: Mapping[str, str], regime: Regime) -> dict[str, str]:
    """Return the statements that this regime requires. Those of other regimes are ignored; a name that no regime has is an error."""
    field_names = {statement.name for listed_regime in REGIMES.values() for statement in listed_regime.fields}
    for name, answer in statements.items():
        if name not in field_names:
            raise PolicyError(
                f"[dossier] has no field {name!r}.{did_you_mean(name, field_names)} {regime.title} asks for: "
                f"{', '.join(statement.name for statement in regime.fields)}.",
                setting=("dossier", name),
            )
        if not isinstance(answer, str):
            raise PolicyError(
                f"[dossier] {name} must be text, but it is a {type(answer).__name__}.", setting=("dossier", name)
            )
    return {name: answer for name, answer in statements.items() if answer.strip()}


def _limit(answers: Mapping[str, str], regime: Regime) -> Fraction | None:
    """Return the risk threshold: that of the regime, or the one stated by the steward if the regime requires it; None if there is none."""
    if (
        regime.threshold is not None
        or "risk_limit" not in answers
        or all(statement.name != "risk_limit" for statement in regime.fields)
    ):
        return regime.threshold
    match = _LIMIT.match(answers["risk_limit"])
    limit = None if match is None or match[1].endswith("/0") else Fraction(match[1])
    if limit is None or not 0 < limit <= 1:
        raise PolicyError(
            f"[dossier] risk_limit must begin with a probability such as 0.05, but it is {answers['risk_limit']!r}.",
            setting=("dossier", "risk_limit"),
        )
    return limit


def _measures(view: AdversaryView, regime: Regime, limit: Fraction | None) -> Iterator[DossierMeasure]:
    """Yield exact re-identification probabilities, computed from the sizes of the equivalence classes."""
    source = "" if limit == regime.threshold else ", stated by the steward"
    threshold_text = f"at most {_decimal(limit)}{source}" if limit is not None else "no number is named"
    if view.groups is None:
        yield DossierMeasure(
            "Largest probability of re-identification",
            "does not apply: rows are not rows of people, see the guarantee",
            None,
            threshold_text,
            None,
        )
        return
    class_sizes = view.candidates[view.candidates > 0]
    if not len(class_sizes):
        yield DossierMeasure(
            "Largest probability of re-identification", "no records are published", None, threshold_text, None
        )
        return
    smallest, total = int(class_sizes.min()), int(class_sizes.sum())
    largest, average = Fraction(1, smallest), Fraction(len(class_sizes), total)
    yield _compared("Largest probability of re-identification", largest, limit, threshold_text)
    yield _compared("Average probability of re-identification", average, None, "none named")
    yield DossierMeasure("Smallest group of people who look alike", f"{smallest:,}", str(smallest), _least(limit), None)
    if limit is not None:
        above = int(class_sizes[class_sizes.astype(np.int64) * limit.numerator < limit.denominator].sum())
        share = Fraction(above, total)
        yield DossierMeasure(
            f"People with a probability above {_decimal(limit)}",
            f"{float(share):.1%} ({above:,} of {total:,})",
            str(share),
            "none",
            above == 0,
        )


def _compared(name: str, value: Fraction, limit: Fraction | None, named: str) -> DossierMeasure:
    """Return the measure of a probability, with the threshold ``limit`` that it must not exceed (None: no threshold) and that threshold as text (``named``)."""
    return DossierMeasure(name, _decimal(value), str(value), named, None if limit is None else value <= limit)


def _least(limit: Fraction | None) -> str:
    """Return the smallest admissible group size as text: the minimum k with 1/k <= ``limit``."""
    return "none named" if limit is None else f"at least {-(-limit.denominator // limit.numerator)}"


def _decimal(value: Fraction) -> str:
    """Format a probability as a rounded decimal; the exact fraction is shown next to it."""
    return f"{float(value):.4f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class _EvidenceBlocks:
    """Builds the blocks of evidence about a release, one per kind."""

    side: PublicSide
    facts: ReportFacts
    raw: Table | None
    measures: Sequence[DossierMeasure]

    def block(self, kind: Evidence) -> DossierBlock:
        """Return the block for one kind of evidence."""
        builders = {
            "columns": self._columns,
            "flow": self._flow,
            "guarantee": self._guarantee,
            "risk": self._risk,
            "utility": self._utility,
            "residual": self._residual,
            "certificate": self._certificate,
        }
        return builders[kind]() if kind in builders else self._attacks(kind)

    def _columns(self) -> DossierBlock:
        """Return the role of every column and how it is published: its labels, its information loss, rounding."""
        losses = self.facts.private.losses if self.facts.private is not None else {}
        rows = [(name, "identifier", "dropped") for name in (self.raw.identifiers if self.raw is not None else ())]
        for column in self.side.manifest.columns:
            labels = list(column.labels)[:_EXAMPLES]
            published_as = f"{len(column.labels):,} labels, such as {', '.join(labels)}" if labels else "published"
            if column.name in losses:
                published_as += f"; {losses[column.name]:.0%} of its detail lost"
            if column.reason:
                published_as = f"published, declared as not known to others: {column.reason}"
            if column.coarsened:
                published_as += "; rounded or binned"
            rows.append((column.name, _ROLES.get(column.role, column.role), published_as))
        rows += [(name, "no role", "not published") for name in (self.raw.unpublished if self.raw is not None else ())]
        return DossierBlock(
            "Columns, and what others may know",
            (
                "An adversary is taken to know all quasi-identifiers of a person exactly, and that the person is in the table.",
            )
            if self.facts.groups is not None
            else (),
            ("column", "role", "published as"),
            tuple(rows),
        )

    def _flow(self) -> DossierBlock:
        """Return the steps from table to release: records, suppressed records, published rows, and how they were made."""
        facts, certificate = self.facts, dict(self.facts.certificate)
        private = facts.private
        rows = []
        if private is not None:
            rows.append(("Records in the table", f"{facts.rows + private.suppressed:,}"))
            rows.append(
                (
                    "Suppressed records",
                    f"{private.suppressed:,} ({private.suppressed / max(facts.rows + private.suppressed, 1):.1%})",
                )
            )
        rows.append(("Published rows", f"{facts.rows:,}"))
        rows += [
            (name.capitalize(), certificate[name]) for name in ("method", "randomness", "earlier releases", "made")
        ]
        return DossierBlock("Data flow", (), ("step", "what happened"), tuple(rows))

    def _guarantee(self) -> DossierBlock:
        """Return the guaranteed definitions with their meaning and the result of checking them again."""
        rows = tuple((promise.name, promise.meaning, promise.outcome) for promise in self.facts.promises)
        return DossierBlock(
            "The guarantee, recomputed from the files", (), ("definition", "what it means", "result"), rows
        )

    def _risk(self) -> DossierBlock:
        """Return the re-identification probabilities beside their thresholds."""
        rows: tuple[tuple[str, ...], ...] = tuple(
            (measure.name, measure.measured, measure.exact or "", measure.threshold, _RESULTS[measure.meets])
            for measure in self.measures
        )
        heads: tuple[str, ...] = ("measure", "measured", "exactly", "threshold", "result")
        if all(measure.meets is None for measure in self.measures):
            heads, rows = heads[:-1], tuple(row[:-1] for row in rows)
        return DossierBlock(
            "Measured risk",
            (
                "Each probability is for an adversary who knows that a person is in the table and knows all quasi-identifiers exactly. The largest is 1 / smallest group, the average is groups / people.",
            ),
            heads,
            rows,
        )

    def _attacks(self, kind: str) -> DossierBlock:
        """Return the attacks of one kind of risk (singling out, linkability or inference), with success rates before and after publication."""
        pairs = tuple(pair for pair in self.facts.attacks if _kind(pair[1].adversary) == kind)
        if not pairs:
            hint = (
                "" if self.raw is not None else " Adversaries who look people up need the table: pass --policy (raw=)."
            )
            text = f"No adversary of this kind applies to this format of release, or could be run.{hint}"
            return DossierBlock(f"Attacks: {kind}", (text,))
        rows: tuple[tuple[str, ...], ...] = tuple(
            (
                sentence_case(after.adversary),
                "" if before is None else f"{before.share:.1%}",
                f"{after.share:.1%} ({after.hits:,} of {after.people:,})",
                "" if after.baseline is None else f"{after.baseline:.1%}",
                "succeeds" if after.succeeds else "does not succeed" if after.judged else "reported only",
            )
            for before, after in pairs
        )
        knowledge = tuple(f"{sentence_case(after.adversary)} knows {after.knows}." for _, after in pairs)
        succeeding = [after for _, after in pairs if after.succeeds]
        if succeeding:
            text = f"{len(succeeding)} of {len(pairs)} adversaries of this kind succeed against the release: the guarantee does not cover them."
        elif len(pairs) == 1:
            text = "The adversary of this kind that was run does not succeed against the release."
        else:
            text = f"None of the {len(pairs)} adversaries of this kind that were run succeeds against the release."
        heads: tuple[str, ...] = ("adversary", "before", "after", "without the release", "result")
        if all(before is None for before, _ in pairs):
            heads, rows = (heads[0], *heads[2:]), tuple((row[0], *row[2:]) for row in rows)
        return DossierBlock(f"Attacks: {kind}", (text,), heads, rows, knowledge, pairs)

    def _utility(self) -> DossierBlock:
        """Return the utility measures and the verdict on regressions; a sentence if they are unknown."""
        private = self.facts.private
        if private is None or not private.utility:
            return DossierBlock(
                "Utility", ("Not measured here: this needs the confidential table, which only the publisher has.",)
            )
        rows = tuple(measured(name, value) for name, value in private.utility.items())
        analysis = self.facts.analysis
        text = () if analysis is None else (analysis.verdict,)
        return DossierBlock("Utility", text, ("measure", "value", "in plain words (less is better)"), rows)

    def _residual(self) -> DossierBlock:
        """Return the residual risks without repetition: reservations of the verdict, successful attacks, and what the definitions do not cover."""
        succeeded = (after.reservation for _, after in self.facts.attacks if after.succeeds)
        uncovered = (promise.not_covered for promise in self.facts.promises)
        risks = (*self.facts.headline.reasons, *succeeded, *uncovered, *self.facts.residual)
        return DossierBlock("Residual risks", items=tuple(dict.fromkeys(risks)))

    def _certificate(self) -> DossierBlock:
        """Return the entries of the certificate."""
        return DossierBlock(
            "Certificate",
            ("Anyone can check the claims again from the published files: reticent verify.",),
            ("entry", "value"),
            self.facts.certificate,
        )


def _kind(adversary: str) -> str:
    """Return which of the three risks of [WP216] an attack addresses: singling out, linkability or inference."""
    if adversary == "singling out" or adversary.endswith(("known column", "known columns")):
        return "singling out"
    return "linkability" if adversary.startswith(("linka", "probabilistic linkage", "sighting")) else "inference"


_ROLES = {
    "quasi": "quasi-identifier: others may know it",
    "sensitive": "sensitive: must not be learned",
    "declared": "declared as not known to others",
}
_RESULTS = {True: "meets it", False: "above it", None: ""}
