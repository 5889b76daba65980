"""Check every limit against a release or against what a policy would publish.

The output goes to build logs that many people read: its messages contain names of columns, definitions and adversaries,
counts and shares, never a data value. For the same reason, errors from reading or judging data are reduced to their
kind, column and position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal

from reticent.attacks import Findings
from reticent.base.cards import Card, CardTable, ShownAsCard, Tone, sentence_case
from reticent.base.context import Context
from reticent.base.files import write_whole
from reticent.definitions import Definition, all_of
from reticent.errors import Cancelled, Infeasible, PolicyError
from reticent.gates.gated_release import GateSubject, planned, released
from reticent.gates.limits import Limits
from reticent.gates.redaction import without_message, without_values
from reticent.release import assess, headline_of, read_claims

GateStatus = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class GateCheck:
    """One limit and its outcome. ``limit`` is its setting, ``line`` its line in the limits file (0: it is always checked)."""

    limit: str
    title: str
    status: GateStatus
    detail: str
    line: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the check as plain data."""
        return {
            "limit": self.limit,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "line": self.line,
        }


@dataclass(frozen=True, repr=False)
class GateResult(ShownAsCard):
    """The checks of one target. It passes if none fails; a limit that cannot be checked fails, one that does not apply
    to the target is skipped.

    ``reservations`` are what a passing target still does not protect: the caveats of its headline, and adversaries that
    succeed.
    """

    target: Path
    kind: Literal["policy", "release"]
    limits: str
    checks: tuple[GateCheck, ...]
    reservations: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the target passes."""
        return not self.failures

    @property
    def failures(self) -> tuple[GateCheck, ...]:
        """The failed checks."""
        return tuple(check for check in self.checks if check.status == "failed")

    def number(self, status: GateStatus) -> int:
        """Return the number of checks with this status."""
        return sum(check.status == status for check in self.checks)

    @property
    def tone(self) -> Tone:
        """The tone of the verdict: good, with reservations, or bad."""
        return "bad" if not self.ok else "doubtful" if self.reservations else "good"

    @property
    def verdict(self) -> str:
        """The verdict in one line."""
        if not self.ok:
            return f"The gate failed: {self.number('failed')} failed."
        return "The gate passed; the guarantees hold, but:" if self.reservations else "The gate passed."

    def card(self) -> Card:
        """Return the verdict, each failure with its line, what is not protected, and every check."""
        failures = [
            f"{self.limits}:{max(1, failure.line)}: {failure.limit}: {failure.title}: {failure.detail}"
            for failure in self.failures
        ]
        return Card(
            self.verdict,
            {"target": str(self.target), "skipped": self.number("skipped")},
            self.tone,
            [CardTable(("limit", "what", "result", "why"), [astuple(check)[:4] for check in self.checks])],
            [*failures, *(f"- {reservation}" for reservation in self.reservations)],
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "target": str(self.target),
            "kind": self.kind,
            "limits": self.limits,
            "passed": self.number("passed"),
            "failed": self.number("failed"),
            "skipped": self.number("skipped"),
            "checks": [check.as_dict() for check in self.checks],
            "reservations": list(self.reservations),
        }

    def write(
        self, *, junit: str | Path | None = None, sarif: str | Path | None = None, markdown: str | Path | None = None
    ) -> None:
        """Write the result as JUnit XML, SARIF 2.1.0 and Markdown, to each path given."""
        from reticent.gates import result_files

        texts = ((junit, result_files.junit), (sarif, result_files.sarif), (markdown, result_files.markdown))
        for path, text in texts:
            if path is not None:
                write_whole(path, text(self).encode())


def gate(target: str | Path, limits: str | Path | Limits, *, context: Context | None = None) -> GateResult:
    """Check a policy (what it would publish; nothing is recorded) or the folder of a release against a file of limits.

    Parameters:
        target: a policy (.toml), or the folder of a release.
        limits: the file of limits (.toml), or limits that were read.
        context: reports progress and can stop the run.

    Returns:
        A :class:`GateResult`: ``ok``, and ``checks`` with a sentence each, without data values. An invalid limits file, or a missing target, is a :class:`PolicyError`; any problem of the target itself is a failed check.

    Example:
        >>> import reticent as rt
        >>> from pathlib import Path
        >>> table = rt.Table({"age": [31, 33, 52, 58]}, quasi=["age"])
        >>> folder = rt.publish(table, rt.KAnonymity(2), method="Mondrian").save("release")
        >>> written = Path("limits.toml").write_text('[definitions]\\nhold = ["KAnonymity(2)"]')
        >>> rt.gate(folder, "limits.toml").ok
        True
    """
    limits_read = limits if isinstance(limits, Limits) else Limits.read(limits)
    path, context = Path(target), context or Context()
    if not path.is_dir() and not (path.suffix == ".toml" and path.is_file()):
        raise PolicyError(
            f"{str(target)!r} is neither the folder of a release nor a policy (.toml). Pass one of them, and the limits with --limits."
        )
    kind: Literal["policy", "release"] = "release" if path.is_dir() else "policy"
    if kind == "release":
        limits_read.check_files()
    try:
        subject = _released(path, limits_read, context) if kind == "release" else planned(path, context)
    except Cancelled:
        raise
    except Exception as error:
        failure = GateCheck("target", f"The {kind} can be judged", "failed", _reduced(error, path))
        return GateResult(path, kind, limits_read.file, (failure,))
    subject = replace(subject, attacked=cache(subject.attacked))
    checks = tuple(check for part in _PARTS for check in part(subject, limits_read, path))
    return GateResult(
        path, kind, limits=limits_read.file, checks=checks, reservations=_reservations(subject, limits_read, context)
    )


def _reservations(subject: GateSubject, limits: Limits, context: Context) -> tuple[str, ...]:
    """Return the caveats of the target's headline, without data values; adversaries count if a limit runs them."""
    side, verification = subject.side, subject.verification
    if side is None:
        return ()
    try:
        headline = headline_of(side, context) if verification is None else verification.headline
        if headline.holds and limits.runs_attacks:
            headline = headline.beside(findings.reservation for findings in subject.attacked() if findings.succeeds)
        claims = [claim.definition for claim in read_claims(side.certificate) if claim.definition is not None]
    except Cancelled:
        raise
    except Exception:
        # A check has already reported it: what cannot be judged does not pass.
        return ()
    parts = [part for claim in claims for part in claim.parts()]
    return tuple(_redacted(reason, parts) for reason in headline.reasons) if headline.holds else ()


def _redacted(reason: str, parts: Sequence[Definition]) -> str:
    for part in parts:
        reason = reason.replace(str(part), without_values(part))
    return reason


def _released(path: Path, limits: Limits, context: Context) -> GateSubject:
    sections = limits.sections
    population = sections.population and limits.path(sections.population.source)
    return released(path, limits.keys, population, limits.path(sections.attacks.raw), context)


def _reduced(error: BaseException, path: Path) -> str:
    """Return a safe description of an error from data: its kind, column and position, never its message."""
    if isinstance(error, Infeasible):
        return "No release of these data satisfies the definition of the policy. `reticent preview` shows how far one can get."
    command = f"reticent preview {path.name}" if path.suffix == ".toml" else f"reticent verify {path.name}"
    return f"{without_message(error)}. Its message may show data and is not repeated here: run `{command}` yourself."


def _verified(subject: GateSubject, limits: Limits, path: Path) -> Iterator[GateCheck]:
    """Verify a release: its files, and every claim, against the population if one is named."""
    verification, population = subject.verification, limits.sections.population
    line = limits.line("population") if population is not None else 0
    if verification is None:
        if population is not None:
            yield GateCheck(
                "population", "Verified against the population", "skipped", "Only a release is verified.", line
            )
        return
    claims = [check for check in verification.checks if check.claim]
    failing = [_bare(check.name) for check in verification.failures]
    unknown = [_bare(check.name) for check in claims if check.status == "not re-checked"]
    title = "Verified from the public side" + (" and against the population" if population is not None else "")
    if failing:
        detail = f"These do not hold: {', '.join(dict.fromkeys(failing))}. `reticent verify {path.name}` shows why."
        yield GateCheck("verified", title, "failed", detail, line)
    elif not verification.holds:
        hint = "" if population is not None else " A claim about a population needs [population] source."
        detail = f"These were not re-checked: {', '.join(dict.fromkeys(unknown)) or 'claims'}.{hint}"
        yield GateCheck("verified", title, "failed", detail, line)
    else:
        yield GateCheck("verified", title, "passed", f"{len(claims)} of {len(claims)} claims hold.", line)


def _bare(name: str) -> str:
    """Return the name of a check without the parameters of a definition."""
    return name.partition("(")[0]


def _signed(subject: GateSubject, limits: Limits, _: Path) -> Iterator[GateCheck]:
    """Check that a release was signed with one of the accepted keys."""
    signature = limits.sections.signature
    if signature is None:
        return
    title, line = "Signed by a known publisher", limits.line("signature", "keys")
    if subject.verification is None:
        yield GateCheck("signature.keys", title, "skipped", "A policy is not signed; its release is.", line)
    elif subject.signed_by is not None:
        yield GateCheck("signature.keys", title, "passed", f"Signed with {Path(subject.signed_by).name}.", line)
    else:
        detail = (
            "Signed with a key that is not listed." if subject.verification.signed else "There is no valid signature."
        )
        yield GateCheck("signature.keys", title, "failed", f"{detail} {len(signature.keys)} keys are accepted.", line)


def _columns(subject: GateSubject, limits: Limits, _: Path) -> Iterator[GateCheck]:
    """Check published, declared and unnamed columns against the lists of allowed ones."""
    limits_of_columns, side = limits.sections.columns, subject.side
    table_columns = (
        None if side is None else [column for table in side.manifest.tables.values() for column in table.columns]
    )
    described = [] if side is None else [column.name for column in side.manifest.columns]
    published = None if table_columns is None else [name for name in dict.fromkeys(table_columns) if name in described]
    declared = None if side is None else list(side.manifest.named("declared"))
    for setting, allowed, columns_found, title in (
        ("published", limits_of_columns.published, published, "Published columns"),
        ("declared", limits_of_columns.declared, declared, "Columns declared unknown"),
        ("unnamed", limits_of_columns.unnamed, subject.unnamed, "Columns of the source without a role"),
    ):
        if allowed is None:
            continue
        line, name = limits.line("columns", setting), f"columns.{setting}"
        if columns_found is None and setting == "unnamed":
            yield GateCheck(name, title, "skipped", "A release does not describe its source.", line)
            continue
        if columns_found is None:
            yield GateCheck(name, title, "failed", _UNREADABLE, line)
            continue
        beyond = [column_found for column_found in columns_found if column_found not in allowed]
        beyond_list = ", ".join(map(repr, beyond))
        detail = f"Not allowed: {beyond_list}." if beyond else f"{len(columns_found)}, all of them allowed."
        hint = (
            " Give it a role in the policy, or list it under [columns] unnamed."
            if beyond and setting == "unnamed"
            else ""
        )
        yield GateCheck(name, title, _status(not beyond), detail + hint, line)


_UNREADABLE = "The release cannot be read, so this was not checked."


def _definitions(subject: GateSubject, limits: Limits, _: Path) -> Iterator[GateCheck]:
    """Check each definition that a release must satisfy."""
    for number, definition in enumerate(limits.definitions):
        line, title = limits.line("definitions", "hold", number), without_values(definition)
        status, detail = _definition_status(subject, definition)
        yield GateCheck("definitions.hold", title, status, detail, line)


def _definition_status(subject: GateSubject, definition: Definition) -> tuple[GateStatus, str]:
    """Return whether the published rows satisfy a definition: by a recomputed claim, or else judged here.

    Definitions of mechanisms and of series do not follow from rows: these must be claimed.
    """
    side = subject.side
    if side is None:
        return "failed", _UNREADABLE
    try:
        claimed = {str(claim.definition) for claim in read_claims(side.certificate) if claim.definition is not None}
        unclaimed = tuple(part for part in definition.parts() if str(part) not in claimed)
        recomputed = subject.verification is None or subject.verification.holds
        if not unclaimed:
            return ("passed", "Claimed and recomputed.") if recomputed else ("failed", "Claimed, and not verified.")
        not_by_groups = [part.name for part in unclaimed if part.kind != "groups"]
        if not_by_groups:
            return (
                "failed",
                f"The release does not claim {', '.join(not_by_groups)}, and it does not follow from the rows.",
            )
        holds = assess(side, all_of(unclaimed)).holds
        return (
            ("passed", "Judged on the published rows.")
            if holds
            else ("failed", "The published rows do not satisfy it.")
        )
    except Cancelled:
        raise
    except Exception as error:
        return "failed", f"It could not be judged on these rows ({type(error).__name__})."


def _losses(subject: GateSubject, limits: Limits, _: Path) -> Iterator[GateCheck]:
    """Check the loss of the release and of its columns, and the share of suppressed rows."""
    for setting, limit in limits.losses.items():
        line, name = limits.line("loss", *setting), f"loss.{'.'.join(setting)}"
        figure: float | Fraction | None
        if setting == ("total",):
            title, figure, missing = "Loss", subject.loss, "it is in private/, which is missing"
        elif setting == ("suppressed",):
            title, figure, missing = "Suppressed rows", subject.suppressed, "it is in private/, which is missing"
        else:
            title, figure = f"Loss of column {setting[1]!r}", subject.loss_by_column.get(setting[1])
            missing = "it is not a quasi column that is published"
        if figure is None and len(setting) > 1 and subject.kind == "release":
            yield GateCheck(
                name, title, "skipped", "A saved release does not contain it; gate its policy instead.", line
            )
            continue
        if figure is None:
            yield GateCheck(name, title, "failed", f"Not known: {missing}.", line)
            continue
        exceeds = Fraction(figure) > limit
        detail = f"{float(figure):.4f}, {'above' if exceeds else 'at most'} {float(limit):g}."
        yield GateCheck(name, title, _status(not exceeds), detail, line)


def _attacks(subject: GateSubject, limits: Limits, _: Path) -> Iterator[GateCheck]:
    """Run the adversaries if a limit needs them, and check their success."""
    attack_limits = limits.sections.attacks
    if not limits.runs_attacks:
        return
    try:
        all_findings = subject.attacked()
    except Cancelled:
        raise
    except Exception as error:
        detail = f"The adversaries could not run ({type(error).__name__})."
        yield GateCheck("attacks", "Adversaries", "failed", detail, limits.line("attacks"))
        return
    judged = [findings for findings in all_findings if findings.judged]
    if limits.largest_share is not None:
        limit, line = limits.largest_share, limits.line("attacks", "share")
        over = [
            f"{findings.adversary} ({float(_gain(findings)):.1%})" for findings in judged if _gain(findings) > limit
        ]
        detail = (
            f"Above {float(limit):.1%}: {', '.join(over)}."
            if over
            else f"None of {len(judged)} is above {float(limit):.1%}."
        )
        yield GateCheck("attacks.share", "Every adversary", _status(not over), detail, line)
    if attack_limits.none_succeeds:
        succeeding = [
            f"{findings.adversary} ({float(_gain(findings)):.1%})" for findings in judged if findings.succeeds
        ]
        detail = f"Succeeding: {', '.join(succeeding)}." if succeeding else f"None of {len(judged)} succeeds."
        line, status = limits.line("attacks", "none_succeeds"), _status(not succeeding)
        yield GateCheck("attacks.none_succeeds", "No adversary succeeds", status, detail, line)
    for name, limit in limits.shares.items():
        line, setting = limits.line("attacks", "shares", name), f"attacks.shares.{name}"
        own_findings = [
            findings
            for findings in all_findings
            if findings.adversary == name or findings.adversary.startswith(f"{name} with declared")
        ]
        worst = max(map(_gain, own_findings), default=None)
        if worst is None:
            detail = "It did not run on this target. Record linkage needs [attacks] raw."
            yield GateCheck(setting, sentence_case(name), "failed", detail, line)
            continue
        detail = f"{float(worst):.1%}, {'above' if worst > limit else 'at most'} {float(limit):.1%}."
        yield GateCheck(setting, sentence_case(name), _status(worst <= limit), detail, line)


def _gain(findings: Findings) -> Fraction:
    """Return the share of people hit in excess of the success without the release."""
    share = Fraction(findings.hits, findings.people) if findings.people else Fraction(0)
    return max(Fraction(0), share - Fraction(findings.baseline or 0))


def _status(holds: bool) -> GateStatus:
    return "passed" if holds else "failed"


_PARTS: Sequence[Callable[[GateSubject, Limits, Path], Iterator[GateCheck]]] = (
    _verified,
    _signed,
    _columns,
    _definitions,
    _losses,
    _attacks,
)
